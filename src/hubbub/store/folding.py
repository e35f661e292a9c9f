"""Folding: pending reports are added to their tally and erased, in one transaction.

Nothing is locked while the sums are computed. Whoever folds first raises the version of the tally; whoever comes
second finds that version gone, throws its work away and starts over. So any number of collectors may fold at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from sqlalchemy import Connection, Engine, Table, delete, func, select, text, update

from hubbub.errors import HubbubError, StoreError, StoreUnavailable, UnknownSurvey
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.schema import (
    BUSY_MILLISECONDS,
    available,
    is_sqlite,
    pending,
    reading,
    report_ids,
    surveys,
    tallies,
    writing,
)
from hubbub.wire.tally_file import encode_tally, parse_tally

_ROWS_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 32 << 20
_CONFLICTS: Final = 100
_CHECKPOINT_MILLISECONDS: Final = 100


def fold(engine: Engine, survey: int, survey_id: bytes, accumulator: Accumulator) -> tuple[Tally, bool]:
    """Add to the tally every report that was durable when this was called, and erase it.

    Returns
    -------
    Tally
        The new one.
    bool
        Whether anything was erased, so that `forget` has something to do.
    """
    last: int | None = None
    conflicts, erased = 0, False
    while conflicts < _CONFLICTS:
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
            if row is None:
                raise UnknownSurvey(f"no survey of this id is here, got {survey_id.hex()[:8]}")
            # In the same snapshot as the tally: a report is in exactly one of the two.
            if last is None:
                last = connection.scalar(select(func.max(pending.c.key)).where(pending.c.survey == survey)) or 0
            keys = _next_keys(connection, survey, last)
            parts = connection.scalars(select(pending.c.reports).where(pending.c.key.in_(keys))).all() if keys else []
        try:
            tally = parse_tally(row.tally, survey_id, accumulator.cells_shape)
        except HubbubError as error:
            raise StoreError(f"a stored tally must be whole, got a damaged one: {error}") from None
        if not keys:
            return tally, erased
        if any(len(part) % accumulator.report_dtype.itemsize for part in parts):
            raise StoreError("pending reports must be whole, got some that were cut short")
        reports = np.frombuffer(b"".join(parts), accumulator.report_dtype)
        accumulator.accumulate(tally.cells, reports)
        folded = Tally(survey_id, tally.count + len(reports), tally.cells)
        if len(parts) == len(keys) and _replace(engine, survey, row.version, folded, keys):
            erased = True
        else:
            conflicts += 1
    raise StoreUnavailable(f"a fold must succeed in {_CONFLICTS} tries, got as many folds by others in between")


def _next_keys(connection: Connection, survey: int, last: int) -> list[int]:
    """The next rows to fold: a few, and not more bytes than fit in memory with ease."""
    query = select(pending.c.key, func.length(pending.c.reports)).order_by(pending.c.key).limit(_ROWS_AT_ONCE)
    keys: list[int] = []
    size = 0
    for key, length in connection.execute(query.where(pending.c.survey == survey, pending.c.key <= last)):
        size += length
        if keys and size > _BYTES_AT_ONCE:
            break
        keys.append(key)
    return keys


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


def forget(engine: Engine) -> bool:
    """Take away the copies of erased reports that a database keeps outside of its tables; whether that is done.

    SQLite: the write-ahead log is emptied, unless somebody reads from it just now. PostgreSQL: the space of erased rows
    is given back.
    """
    with available():
        if not is_sqlite(engine):
            _vacuum(engine, pending)
            return True
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            # While this waits for a reader nobody can write, so it must not wait for long; it is tried again.
            cursor.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MILLISECONDS}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()
            return busy is not None and busy[0] == 0
        finally:
            try:
                connection.cursor().execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
            finally:
                connection.close()


def forget_ids(engine: Engine) -> None:
    """Give back the space of ids that were dropped; for SQLite `forget` does it."""
    if not is_sqlite(engine):
        with available():
            _vacuum(engine, report_ids)


def _vacuum(engine: Engine, table: Table) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
        plain.execute(text(f"VACUUM {table.name}"))


def surveys_with_pending(engine: Engine) -> list[bytes]:
    """The ids of surveys whose reports wait to be folded."""
    waiting = surveys.c.key.in_(select(pending.c.survey))
    with reading(engine) as connection:
        return [bytes(survey_id) for survey_id in connection.scalars(select(surveys.c.survey_id).where(waiting))]
