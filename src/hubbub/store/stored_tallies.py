"""The tally of a survey, and the only way to change it.

Nothing is locked while sums are computed. Each change raises the version of the tally. A change that finds a newer
version than it started from discards its work and starts over. So any number of collectors may change it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine, select, update

from hubbub.errors import HubbubError, StoreDamaged, StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.daily import add_to_day
from hubbub.store.schema import reading, tallies, unknown_survey, writing
from hubbub.wire.tally_file import encode_tally, parse_tally

_CONFLICTS: Final = 100


Change: TypeAlias = tuple[Callable[[Tally], Tally], Callable[[Connection], None]]
"""Makes the new tally from the old one, whose cells it may use; and writes what belongs to it, in one transaction."""


def change_tally(
    engine: Engine, survey: int, accumulator: Accumulator, look: Callable[[Connection], Change | None]
) -> tuple[Tally, bool]:
    """Change a tally, once. Returns the tally, and whether it was changed.

    `look` reads what the change is made of, in the same snapshot as the tally; None if there is nothing to change. It
    is called again if somebody else has changed the tally meanwhile.
    """
    survey_id = accumulator.survey_id
    for _ in range(_CONFLICTS):
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
            if row is None:
                raise unknown_survey(survey_id)
            change = look(connection)
        try:
            tally = parse_tally(row.tally, survey_id, accumulator.cells_shape)
        except HubbubError as error:
            raise StoreDamaged(f"the stored tally of survey {survey_id.hex()[:8]} is damaged: {error}") from None
        if change is None:
            return tally, False
        add, write = change
        changed = add(tally)
        if replace_tally(engine, survey, row.version, changed, changed.count - tally.count, write):
            return changed, True
    raise StoreUnavailable(f"a tally was not changed: others changed it {_CONFLICTS} times at the same moment")


def replace_tally(
    engine: Engine,
    survey: int,
    version: int,
    tally: Tally,
    added: int,
    write: Callable[[Connection], None] = lambda _: None,
) -> bool:
    """Write a tally, add to the reports of the day, and write what belongs to it, in one transaction.

    Returns False, and changes nothing, if `version` is not the newest.
    """
    new = {"version": version + 1, "tally": encode_tally(tally), "report_count": tally.count}
    with writing(engine) as connection:
        mine = (tallies.c.survey == survey, tallies.c.version == version)
        if not connection.execute(update(tallies).where(*mine).values(**new)).rowcount:
            return False
        write(connection)
        add_to_day(connection, survey, added)
    return True
