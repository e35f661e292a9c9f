"""Checking a store for damage, and copying it or one of its tallies while it is in use."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, Row, func, insert, select

from hubbub.errors import HubbubError, ParameterError, StoreError
from hubbub.store.migrations import copy_sqlite
from hubbub.store.schema import (
    imports,
    metadata,
    pending,
    reading,
    report_ids,
    slices,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.store.slices import ALL, Range, date_of, unpack
from hubbub.store.store import Store
from hubbub.wire.tally_file import encode_tally, parse_tally

ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Findings:
    """Numbers of surveys, of reports in tallies, of reports to be folded, and of ids; a sentence for each problem."""

    surveys: int
    reports: int
    pending: int
    ids: int
    problems: tuple[str, ...]


def check(store: Store) -> Findings:
    """Read the whole store and look for damage. Collectors may run meanwhile.

    Checks the checksums, the ids of surveys, and that each report of an open survey was counted exactly once. Reads
    every row once.
    """
    problems: list[str] = []
    totals = (0, 0, 0)
    with reading(store.engine) as connection:  # one snapshot, so that changes by collectors do not matter
        if connection.dialect.name == "sqlite":
            found = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check(10)")]
            problems += [f"SQLite says: {line}" for line in found if line != "ok"]
        rows = connection.execute(select(surveys).where(surveys.c.state != "deleting").order_by(surveys.c.key)).all()
        for row in rows:
            try:
                counted = _check_survey(store, connection, row)
            except HubbubError as error:
                problems.append(f"survey {bytes(row.survey_id).hex()[:8]}: {error}")
            else:
                totals = (totals[0] + counted[0], totals[1] + counted[1], totals[2] + counted[2])
    return Findings(len(rows), *totals, tuple(problems))


def _check_survey(
    store: Store, connection: Connection, row: Row[tuple[int, bytes, bytes, str, str]]
) -> tuple[int, int, int]:
    """Return how many reports of a survey are in its tally, how many are pending, and how many ids there are."""
    survey_id = bytes(row.survey_id)
    _, mechanism = store.load(survey_id, row.document, row.state)
    stored = connection.execute(select(tallies).where(tallies.c.survey == row.key)).one_or_none()
    if stored is None:
        raise StoreError("its tally is missing")
    tally = parse_tally(bytes(stored.tally), survey_id, None if mechanism is None else mechanism.cells_shape)
    if stored.report_count != tally.count:
        raise StoreError(f"lists show {stored.report_count} reports, but its tally has {tally.count}")
    for part in connection.execute(select(slices).where(slices.c.survey == row.key)):
        if unpack(bytes(part.tally), survey_id, tally.cells.shape).count != part.report_count:
            raise StoreError(f"lists show {part.report_count} reports of a slice, but its tally has others")
    # How long a report of an earlier version is, is not known here.
    each, size = (
        (pending.c.report_count, 1)
        if mechanism is None
        else (func.length(pending.c.reports), mechanism.report_dtype.itemsize)
    )
    length = select(func.coalesce(func.sum(each), 0)).where(pending.c.survey == row.key)
    waiting, left_over = divmod(int(connection.scalar(length) or 0), size)
    if left_over:
        raise StoreError(f"its pending reports are cut short: {left_over} bytes are left over")
    count_ids = select(func.count()).select_from(report_ids).where(report_ids.c.survey == row.key)
    ids = int(connection.scalar(count_ids) or 0)
    merged = select(func.coalesce(func.sum(imports.c.reports), 0)).where(imports.c.survey == row.key)
    sent = tally.count - int(connection.scalar(merged) or 0)  # the ids of merged tallies are not here
    if row.state == "open" and ids + row.ids_purged != sent + waiting:
        purged = f" and {row.ids_purged} that were purged" if row.ids_purged else ""
        raise StoreError(f"it has {ids} report ids{purged}, but {sent} counted and {waiting} pending reports")
    return tally.count, waiting, ids


def tally_file(store: Store, survey_id: bytes, asked: Range = ALL) -> bytes:
    """Return a survey's tally, or that of some slices, as a file has it. That of a single slice names its day.

    That of an earlier version is returned as it is stored, without pending reports.
    """
    stored = store.survey(survey_id)
    if not stored.earlier:
        tally = store.tally(survey_id, asked)
        is_one = asked.first is not None and asked.until == asked.first + stored.slice_days
        return encode_tally(replace(tally, day=date_of(asked.first or 0) if is_one else None))
    with reading(store.engine) as connection:
        data = connection.scalar(select(tallies.c.tally).where(tallies.c.survey == stored.key))
    if data is None:  # deleted a moment ago
        raise unknown_survey(survey_id)
    return bytes(data)


def backup(store: Store, target: Path) -> int:
    """Copy the store to a new SQLite file, which can be served directly. Returns its size in bytes."""
    if target.exists():
        raise ParameterError(f"a backup must be a new file, got {str(target)!r}, which exists")
    store.fold_all()  # so that the copy holds sums instead of reports
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise ParameterError(f"a backup must be a file that can be written, got {error.strerror}") from None
    os.close(handle)
    try:
        if store.embedded:
            # As a single file, with all rows written anew: places of ids in a page tell in which order they arrived.
            copy_sqlite(store.engine, Path(name), "PRAGMA journal_mode = DELETE", "VACUUM")
        else:
            os.unlink(name)
            _copy_rows(store, name)
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.link(name, target)  # unlike a rename, this never replaces a file
        return target.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise ParameterError(f"a backup must be a file that can be written, got {error}") from None
    finally:
        with contextlib.suppress(OSError):  # the copy is complete, or refused, whether this works or not
            for suffix in ("", "-wal", "-shm"):
                Path(name + suffix).unlink(missing_ok=True)


def _copy_rows(store: Store, name: str) -> None:
    """Copy a PostgreSQL store to a new SQLite file, row by row."""
    with Store(name, store.build) as copy:
        with reading(store.engine) as source, writing(copy.engine) as target:
            replace_rows(source, target)
        copy.guard.remove_erased()


def replace_rows(source: Connection, target: Connection) -> None:
    """Replace all rows of a store by those of another, in the order of their keys and not as they arrived."""
    for table in metadata.sorted_tables:
        target.execute(table.delete())
        ordered = select(table).order_by(*table.primary_key)
        rows = source.execute(ordered, execution_options={"yield_per": ROWS_AT_ONCE})
        for part in rows.partitions():
            target.execute(insert(table), [dict(row._mapping) for row in part])
