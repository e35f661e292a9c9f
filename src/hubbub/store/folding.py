"""Folding: pending reports are added to their tally and erased, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
from sqlalchemy import Connection, Engine, delete, func, select

from hubbub.errors import StoreDamaged, StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.disk_guard import DiskGuard
from hubbub.store.schema import pending
from hubbub.store.stored_tallies import Change, change_tally

_ROWS_AT_ONCE: Final = 500


def fold(engine: Engine, survey: int, accumulator: Accumulator, guard: DiskGuard) -> Tally:
    """Add all reports that were durable when this was called to the tally, and erase them; return the tally.

    The guard says about how many bytes of reports one transaction erases, and whether there is room for it. It erases
    500 rows at most.
    """
    last: int | None = None

    def look(connection: Connection) -> Change | None:
        """Read the next reports; a report is either in the tally of this snapshot, or pending."""
        nonlocal last
        if last is None:
            last = connection.scalar(select(func.max(pending.c.key)).where(pending.c.survey == survey)) or 0
        mine = select(pending.c.key, func.length(pending.c.reports), pending.c.slice).where(pending.c.survey == survey)
        # The oldest slice first: the next one ends it.
        query = mine.where(pending.c.key <= last).order_by(pending.c.slice, pending.c.key).limit(_ROWS_AT_ONCE)
        rows = connection.execute(query).all()
        if not rows:
            return None
        start = rows[0].slice
        sizes = accumulate(length for _, length, _ in rows)
        each = zip(rows, sizes, strict=True)
        keys = [row.key for row, size in each if size <= guard.step_bytes and row.slice == start]
        keys = keys or [rows[0].key]  # one row at least, even if it has more bytes
        parts = connection.scalars(select(pending.c.reports).where(pending.c.key.in_(keys))).all()
        return Change(start, lambda tally: add(tally, parts), lambda connection: erase_pending(connection, keys))

    def add(tally: Tally, parts: Sequence[bytes]) -> Tally:
        """Add the reports of some rows."""
        if any(len(part) % accumulator.report_dtype.itemsize for part in parts):
            short = accumulator.survey_id.hex()[:8]
            raise StoreDamaged(f"the pending reports of survey {short} are damaged: some are cut short")
        reports = np.frombuffer(b"".join(parts), accumulator.report_dtype)
        accumulator.accumulate(tally.cells, reports)
        guard.require(guard.step_bytes)
        return Tally(tally.survey_id, tally.count + len(reports), tally.cells)

    while True:
        tally, changed = change_tally(engine, survey, accumulator, look)
        if not changed:
            return tally
        guard.has_erased_rows = True


def erase_pending(connection: Connection, keys: list[int]) -> None:
    """Erase rows whose reports were added. If some are gone, others have added them: then the transaction is undone."""
    erased = connection.execute(delete(pending).where(pending.c.key.in_(keys))).rowcount
    if erased != len(keys):
        raise StoreUnavailable(f"a fold was undone: it added {len(keys)} rows, but only {erased} could be erased")
