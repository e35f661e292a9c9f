"""Folding: pending reports are added to their tally and erased, in one transaction.

Nothing is locked while the sums are computed. Whoever folds first raises the version of the tally; whoever comes
second finds that version gone, throws its work away and starts over. So any number of collectors may fold at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from sqlalchemy import Engine, delete, select, text, update

from hubbub.errors import StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.schema import available, is_sqlite, pending, reading, tallies, writing
from hubbub.wire.tally_file import encode_tally, parse_tally

_ROWS_AT_ONCE: Final = 500
_TRIES: Final = 100


def fold(engine: Engine, survey: int, survey_id: bytes, accumulator: Accumulator) -> Tally:
    """Add to the tally every report that was durable when this was called, and erase it; the new tally."""
    for _ in range(_TRIES):
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one()
            # After the tally, not before: what another folder has taken in between then shows in its version.
            query = select(pending.c.key, pending.c.reports).where(pending.c.survey == survey).order_by(pending.c.key)
            rows = connection.execute(query.limit(_ROWS_AT_ONCE)).all()
        tally = parse_tally(row.tally, survey_id, accumulator.cells_shape)
        if not rows:
            return tally
        reports = np.frombuffer(b"".join(waiting.reports for waiting in rows), accumulator.report_dtype)
        accumulator.accumulate(tally.cells, reports)
        folded = Tally(survey_id, tally.count + len(reports), tally.cells)
        if (
            _replace(engine, survey, row.version, folded, [waiting.key for waiting in rows])
            and len(rows) < _ROWS_AT_ONCE
        ):
            return folded
    raise StoreUnavailable(f"a fold must come to an end, got {_TRIES} folds by others in between")


def _replace(engine: Engine, survey: int, version: int, tally: Tally, folded: list[int]) -> bool:
    """Write the tally and erase what was folded, unless somebody else has folded since."""
    with writing(engine) as connection:
        changed = connection.execute(
            update(tallies)
            .where(tallies.c.survey == survey, tallies.c.version == version)
            .values(version=version + 1, tally=encode_tally(tally))
        ).rowcount
        if not changed:
            return False
        erased = connection.execute(delete(pending).where(pending.c.key.in_(folded))).rowcount
        if erased != len(folded):
            raise StoreUnavailable(f"a fold must erase the {len(folded)} rows it added, got {erased}")
    return True


def forget(engine: Engine) -> None:
    """Take away the copies of erased reports that a database keeps outside of its tables.

    SQLite: the write-ahead log is emptied. PostgreSQL: the space of erased rows is given back.
    """
    with available():
        if is_sqlite(engine):
            connection = engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
        else:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
                plain.execute(text(f"VACUUM {pending.name}"))


def surveys_with_pending(engine: Engine) -> list[int]:
    """The keys of surveys whose reports wait to be folded."""
    with reading(engine) as connection:
        return sorted(connection.scalars(select(pending.c.survey).distinct()))
