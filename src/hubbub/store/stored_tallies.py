"""The tally of a survey, and the only way to change it.

Nothing is locked while sums are computed. Each change raises the version of the tally. A change that finds a newer
version than it started from discards its work and starts over. So any number of collectors may change it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from sqlalchemy import Connection, Engine, select, update

from hubbub.errors import HubbubError, StoreDamaged, StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.daily import add_to_day
from hubbub.store.schema import reading, tallies, unknown_survey, writing
from hubbub.store.slices import Range, newest_slice, sum_between, write_slice
from hubbub.wire.tally_file import encode_tally, parse_tally

_CONFLICTS: Final = 100


class Change(NamedTuple):
    """A change of a tally.

    Attributes
    ----------
    slice : int
        The first day of the slice that it belongs to.
    add : callable
        Makes the new tally from the old one, whose cells it may use.
    write : callable
        Writes what belongs to it, in one transaction with the tally.
    """

    slice: int
    add: Callable[[Tally], Tally]
    write: Callable[[Connection], None]


def change_tally(
    engine: Engine, survey: int, accumulator: Accumulator, look: Callable[[Connection], Change | None]
) -> tuple[Tally, bool]:
    """Change a tally, once. Returns the sum of all slices, and whether it was changed.

    A change for a later slice than the newest ends that one. A change for an earlier slice is added to it, too.

    `look` reads what the change is made of, in the same snapshot as the tally; None if there is nothing to change. It
    is called again if somebody else has changed the tally meanwhile.
    """
    survey_id, shape = accumulator.survey_id, accumulator.cells_shape
    for _ in range(_CONFLICTS):
        part: Tally | None = None
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
            if row is None:
                raise unknown_survey(survey_id)
            change = look(connection)
            try:
                tally = parse_tally(row.tally, survey_id, shape)
            except HubbubError as error:
                raise StoreDamaged(f"the stored tally of survey {survey_id.hex()[:8]} is damaged: {error}") from None
            if change is None:
                return tally, False
            is_late = change.slice < row.slice
            if is_late:
                part = sum_between(connection, survey, survey_id, shape, Range(change.slice, change.slice + 1))
            elif change.slice > row.slice:
                part = newest_slice(connection, survey, tally)
        count = tally.count
        if part is not None and is_late:
            more = change.add(Tally(survey_id, 0, np.zeros(shape, np.int64)))
            tally, part = tally + more, part + more
        else:
            tally = change.add(tally)
        writes = [change.write]
        if part is not None and part.count:
            writes.append(partial(write_slice, survey, min(change.slice, row.slice), part, is_late))
        newest = max(change.slice, row.slice)
        if replace_tally(engine, survey, row.version, tally, tally.count - count, writes, newest):
            return tally, True
    raise StoreUnavailable(f"a tally was not changed: others changed it {_CONFLICTS} times at the same moment")


def replace_tally(
    engine: Engine,
    survey: int,
    version: int,
    tally: Tally,
    added: int,
    writes: Iterable[Callable[[Connection], None]] = (),
    newest: int | None = None,
) -> bool:
    """Write a tally, add to the reports of the day, and write what belongs to it, in one transaction.

    Returns False, and changes nothing, if `version` is not the newest. `newest` is the first day of the newest slice,
    which stays as it is by default.
    """
    new = {"version": version + 1, "tally": encode_tally(tally), "report_count": tally.count}
    new |= {} if newest is None else {"slice": newest}
    with writing(engine) as connection:
        mine = (tallies.c.survey == survey, tallies.c.version == version)
        if not connection.execute(update(tallies).where(*mine).values(**new)).rowcount:
            return False
        for write in writes:
            write(connection)
        add_to_day(connection, survey, added)
    return True
