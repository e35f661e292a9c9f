"""Folding: pending reports are added to their tally and erased, in one transaction.

Nothing is locked while the sums are computed. Each fold raises the version of the tally. A fold that finds a newer
version than it started from discards its work and starts over. So any number of collectors may fold at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import accumulate
from typing import Final

import numpy as np
from sqlalchemy import Engine, Table, delete, func, select, text, update

from hubbub.errors import HubbubError, StoreDamaged, StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.daily import add_to_day
from hubbub.store.schema import (
    PAGE_BYTES,
    available,
    pending,
    reading,
    report_ids,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.wire.tally_file import encode_tally, parse_tally

_ROWS_AT_ONCE: Final = 500
STEP_BYTES: Final = 8 << 20
"""About how many bytes one transaction of folding, purging or shrinking changes, not counting the tally."""

_CONFLICTS: Final = 100
_MOST_PAGES: Final = 1000


def fold(
    engine: Engine,
    survey: int,
    survey_id: bytes,
    accumulator: Accumulator,
    step_bytes: int = STEP_BYTES,
    require_room: Callable[[int], None] = lambda _: None,
) -> tuple[Tally, bool]:
    """Add all reports that were durable when this was called to the tally, and erase them.

    Parameters
    ----------
    engine : Engine
        The database.
    survey : int
        The survey's key in the database.
    survey_id : bytes
        The survey's id, which is part of the tally.
    accumulator : Accumulator
        The survey's mechanism.
    step_bytes : int
        About how many bytes of reports one transaction erases. It erases 500 rows at most.
    require_room : callable
        Called before each of these transactions with `step_bytes`; raises if there is no room for so much.

    Returns
    -------
    Tally
        The new tally.
    bool
        Whether reports were erased, so that `Store.remove_erased` has something to do.
    """
    last: int | None = None
    conflicts, erased = 0, False
    while conflicts < _CONFLICTS:
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
            if row is None:
                raise unknown_survey(survey_id)
            # Read in the same snapshot as the tally, so that a report is in exactly one of the two.
            if last is None:
                last = connection.scalar(select(func.max(pending.c.key)).where(pending.c.survey == survey)) or 0
            mine = select(pending.c.key, func.length(pending.c.reports)).where(pending.c.survey == survey)
            query = mine.where(pending.c.key <= last).order_by(pending.c.key).limit(_ROWS_AT_ONCE)
            rows = connection.execute(query).all()
            sizes = accumulate(length for _, length in rows)
            keys = [key for (key, _), size in zip(rows, sizes, strict=True) if size <= step_bytes]
            keys = keys or [key for key, _ in rows[:1]]  # one row at least, even if it has more bytes
            parts = connection.scalars(select(pending.c.reports).where(pending.c.key.in_(keys))).all() if keys else []
        try:
            tally = parse_tally(row.tally, survey_id, accumulator.cells_shape)
        except HubbubError as error:
            raise StoreDamaged(f"the stored tally of survey {survey_id.hex()[:8]} is damaged: {error}") from None
        if not keys:
            return tally, erased
        if any(len(part) % accumulator.report_dtype.itemsize for part in parts):
            raise StoreDamaged(f"the pending reports of survey {survey_id.hex()[:8]} are damaged: some are cut short")
        reports = np.frombuffer(b"".join(parts), accumulator.report_dtype)
        accumulator.accumulate(tally.cells, reports)
        folded = Tally(survey_id, tally.count + len(reports), tally.cells)
        require_room(step_bytes)
        if len(parts) == len(keys) and replace_tally(engine, survey, row.version, folded, keys, len(reports)):
            erased = True
        else:
            conflicts += 1
    raise StoreUnavailable(f"folding failed {_CONFLICTS} times, because other collectors folded at the same moment")


def replace_tally(engine: Engine, survey: int, version: int, tally: Tally, folded: list[int], added: int = 0) -> bool:
    """Write the tally, erase the folded rows, and add to the reports of the day.

    Returns False, and changes nothing, if `version` is not the newest.
    """
    new = {"version": version + 1, "tally": encode_tally(tally), "report_count": tally.count}
    with writing(engine) as connection:
        mine = (tallies.c.survey == survey, tallies.c.version == version)
        if not connection.execute(update(tallies).where(*mine).values(**new)).rowcount:
            return False
        erased = connection.execute(delete(pending).where(pending.c.key.in_(folded))).rowcount
        if erased != len(folded):
            raise StoreUnavailable(f"a fold was undone: it added {len(folded)} rows, but only {erased} could be erased")
        add_to_day(connection, survey, added)
    return True


def shrink(engine: Engine, deadline: float, step_bytes: int = STEP_BYTES) -> bool:
    """Return unused pages of SQLite's file to the disk: one step at least, then on until `deadline`.

    The deadline is in seconds of the monotonic clock. Returns False if it came before all pages were returned.
    """
    if engine.dialect.name != "sqlite":
        return True
    pages = max(1, min(_MOST_PAGES, step_bytes // PAGE_BYTES))
    with available():
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            while True:
                cursor.execute("PRAGMA freelist_count")
                before = (cursor.fetchone() or (0,))[0]
                # As a script: otherwise the driver stops after the first page, and each page would be a commit.
                cursor.executescript(f"PRAGMA incremental_vacuum({pages})")
                cursor.execute("PRAGMA freelist_count")
                after = (cursor.fetchone() or (0,))[0]
                if after == 0 or after >= before:
                    return True
                if time.monotonic() >= deadline:
                    return False
        finally:
            connection.close()


def vacuum_ids(engine: Engine) -> None:
    """Remove deleted report ids from the files of PostgreSQL. For SQLite `Store.remove_erased` does so."""
    if engine.dialect.name != "sqlite":
        with available():
            vacuum(engine, report_ids)


def vacuum(engine: Engine, table: Table) -> None:
    """Vacuum one table of PostgreSQL, which works outside a transaction only."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
        plain.execute(text(f"VACUUM {table.name}"))
