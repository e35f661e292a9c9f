"""The collector's database: surveys, sums, report ids and, for a few seconds, the reports themselves.

Start with `Store`. `reports.append` writes reports to a pending table in one transaction. `folding.fold` adds them to
the tally and erases them, also in one transaction. A report is never counted twice, because its id is kept until its
survey is closed. `tokens` has the owner's token, `life_cycle` closes and deletes surveys, `upkeep` checks and copies a
whole store.
"""

from hubbub.extras import require

require("The store", "sqlalchemy", "server")
