"""What a collector keeps: surveys, sums, report ids, and for a few seconds the reports themselves.

`Store` is the way in. One transaction appends reports to a pending table; a folder adds them to the tally and erases
them in one transaction. A report is never counted twice, because its id is kept until its survey closes.
"""

from hubbub.extras import require

require("The store", "sqlalchemy", "server")
