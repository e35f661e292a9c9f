"""Removes what a database keeps of erased rows: copies in its log, dead rows, and pages that nothing uses."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import closing
from typing import Final

from sqlalchemy import Engine, Table, text

from hubbub.store.schema import BUSY_MILLISECONDS, PAGE_BYTES, available, pending

STEP_BYTES: Final = 8 << 20
"""About how many bytes one transaction of folding, purging or shrinking changes, not counting the tally."""

_MOST_PAGES: Final = 1000
_CHECKPOINT_MILLISECONDS: Final = 100


def remove_copies(engine: Engine) -> bool:
    """Remove the copies of erased rows that the database keeps outside its tables; return whether all are gone.

    SQLite: the write-ahead log is emptied, unless somebody is reading from it. PostgreSQL: the pending table is
    vacuumed.
    """
    if engine.dialect.name != "sqlite":
        vacuum(engine, pending)
        return True
    with available(), closing(engine.raw_connection()) as pooled:
        cursor = pooled.cursor()
        try:
            # Nobody can write while this waits for a reader, so it waits for 0.1 s only.
            cursor.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MILLISECONDS}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()
            return busy is not None and busy[0] == 0
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")


def shrink(engine: Engine, deadline: float, step_bytes: int = STEP_BYTES) -> bool:
    """Return unused pages of SQLite's file to the disk: one step at least, then on until `deadline`.

    The deadline is in seconds of the monotonic clock. Returns False if it came before all pages were returned.
    """
    if engine.dialect.name != "sqlite":
        return True
    pages = max(1, min(_MOST_PAGES, step_bytes // PAGE_BYTES))
    with available(), closing(engine.raw_connection()) as pooled:
        connection: sqlite3.Connection = pooled.driver_connection  # type: ignore[assignment]
        before = math.inf
        while 0 < (after := connection.execute("PRAGMA freelist_count").fetchone()[0]) < before:
            if before < math.inf and time.monotonic() >= deadline:
                return False
            before = after
            # As a script: otherwise the driver stops after the first page, and each page would be a commit.
            connection.executescript(f"PRAGMA incremental_vacuum({pages})")
        return True


def vacuum(engine: Engine, table: Table) -> None:
    """Vacuum one table of PostgreSQL, which works outside a transaction only. SQLite needs no such thing."""
    if engine.dialect.name != "sqlite":
        with available(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
            plain.execute(text(f"VACUUM {table.name}"))
