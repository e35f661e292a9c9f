"""Restores what was lost or damaged, from a copy that `upkeep.backup` made."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, select, text, update

from hubbub.errors import ParameterError, StoreBroken, StoreDamaged, StoreError, StoreUnavailable
from hubbub.mechanisms.registry import mechanism_for
from hubbub.store.addresses import file_of
from hubbub.store.keys import end_sessions
from hubbub.store.schema import (
    daily,
    imports,
    pending,
    reading,
    remembered,
    report_ids,
    sites,
    slices,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.store.store import Build, Store
from hubbub.store.upkeep import ROWS_AT_ONCE, check, replace_rows


def restore(copy: Path, database: str, build: Build = mechanism_for) -> int:
    """Restore a store from a copy, at a place without a store; return the number of its surveys.

    `copy` is a file that `hubbub store backup` made. It is checked first, and not changed. `database` is as for
    `Store`: a file that does not exist or is empty, or an empty PostgreSQL database. Raises StoreError if the copy is
    damaged, or there is a store already.
    """
    _check_copy(copy)
    file = file_of(database)
    with tempfile.TemporaryDirectory(prefix=".hubbub-restore-", dir=None if file is None else file.parent) as folder:
        own = Path(folder) / "copy.db"  # opening a store may upgrade it, and the given copy must not change
        shutil.copyfile(copy, own)
        with _opened(own, build) as source:
            with _sound():
                found = check(source)
                if found.problems:
                    raise StoreDamaged(found.problems[0])
            end_sessions(source.engine)  # some may have been ended since the copy was made
            if file is None:
                _copy_into(source, database, build)
                return found.surveys
        # When its last connection closed, SQLite moved everything from the log into the file.
        _put_in_place(own, file)
    return found.surveys


def _opened(own: Path, build: Build) -> Store:
    """Open a copy."""
    with _sound():
        return Store(str(own), build, create=False)


@contextmanager
def _sound() -> Iterator[None]:
    """Turn an error about a copy into one that says to take another: `hubbub store restore` is what failed."""
    try:
        yield
    except (StoreBroken, StoreDamaged) as error:
        cause = error.__cause__  # the error of the database; the sentence of `error` is about a store in use
        reason = str(error if cause is None else getattr(cause, "orig", cause)).partition("\n")[0]
        raise StoreError(f"the copy is damaged ({reason[:200]}): take another copy") from None


def _check_copy(copy: Path) -> None:
    """Raise ParameterError if there is no such file, and StoreError if it is empty."""
    if not copy.is_file():
        raise ParameterError(f"a copy must be a file that exists, got {str(copy)!r}")
    if copy.stat().st_size == 0:
        raise StoreError("the copy is damaged (it is an empty file): take another copy")


def _put_in_place(own: Path, file: Path) -> None:
    """Move a file to the place of the database, unless there is one."""
    if file.exists() and file.stat().st_size:
        raise StoreError(f"restore needs a path where no store exists, got {str(file)!r}; move that file away first")
    for suffix in ("-wal", "-shm"):  # left by the lost database; they would damage this one
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    own.chmod(0o600)
    with open(own, "rb") as opened:
        os.fsync(opened.fileno())
    own.replace(file)


def _copy_into(source: Store, database: str, build: Build) -> None:
    """Copy all rows into an empty database of PostgreSQL."""
    with Store(database, build) as target, reading(source.engine) as rows, writing(target.engine) as connection:
        if connection.scalar(select(func.count()).select_from(surveys)):
            raise StoreError("restore needs a database without surveys, got one that has some")
        replace_rows(rows, connection)
        if connection.dialect.name != "sqlite":
            for name in (surveys.name, pending.name, sites.name):
                statement = f"SELECT setval(pg_get_serial_sequence('{name}', 'key'), MAX(key)) FROM {name}"  # noqa: S608
                connection.execute(text(statement))


def restore_survey(store: Store, copy: Path, survey_id: bytes) -> int:
    """Restore the sums and the ids of one survey from a copy; return the number of reports in the sums.

    Reports that were folded after the copy was made are lost. Tallies that were merged after it can be merged again.
    Reports that are still pending are kept. Collectors may run meanwhile.
    """
    _check_copy(copy)
    with tempfile.TemporaryDirectory(prefix="hubbub-restore-") as folder:
        own = Path(folder) / "copy.db"
        shutil.copyfile(copy, own)
        with _opened(own, store.build) as source:
            with _sound():
                old = source.survey(survey_id)
                tally = source.tally(survey_id)
            with reading(source.engine) as rows, writing(store.engine) as connection:
                mine = surveys.c.survey_id == survey_id
                columns = (surveys.c.key, surveys.c.state, surveys.c.id_slice)
                found = connection.execute(select(*columns).where(mine)).one_or_none()
                if found is None:
                    raise unknown_survey(survey_id)
                key = found.key
                stored = rows.execute(select(tallies).where(tallies.c.survey == old.key)).one()
                newer = {"tally": stored.tally, "report_count": tally.count, "slice": stored.slice}
                change = update(tallies).where(tallies.c.survey == key).values(**newer, version=tallies.c.version + 1)
                if not connection.execute(change).rowcount:
                    connection.execute(insert(tallies).values(**newer, survey=key, version=stored.version))
                purged = rows.scalar(select(surveys.c.ids_purged).where(surveys.c.key == old.key))
                whole = {"damage": None, "document": old.document, "slice_days": old.slice_days, "ids_purged": purged}
                connection.execute(update(surveys).where(mine).values(**whole))
                for table in (slices, imports, daily, remembered):  # what sums are made of, and what was found
                    connection.execute(delete(table).where(table.c.survey == key))
                    mine_then = rows.execute(select(table).where(table.c.survey == old.key)).all()
                    if mine_then:
                        connection.execute(insert(table), [{**row._mapping, "survey": key} for row in mine_then])
                if found.state == "open":
                    _restore_ids(rows, connection, old.key, key, found.id_slice, old.mechanism.report_dtype.itemsize)
    store.forget_state(survey_id)
    return tally.count


def _restore_ids(source: Connection, target: Connection, old: int, key: int, start: int, size: int) -> None:
    """Replace the ids of a survey by those of a copy and of its pending reports, each once.

    All are noted with the slice of new ones, which begins at `start`, so that none is purged too early.
    """
    kept: set[bytes] = set()
    for reports in target.scalars(select(pending.c.reports).where(pending.c.survey == key)):
        if len(reports) % size:
            raise StoreUnavailable("the pending reports of the survey are damaged, too; restore the whole store")
        kept.update(bytes(reports)[start : start + 16] for start in range(0, len(reports), size))
    noted = {"survey": key, "slice": start}
    target.execute(delete(report_ids).where(report_ids.c.survey == key))
    query = select(report_ids.c.id).where(report_ids.c.survey == old)
    for part in source.scalars(query, execution_options={"yield_per": ROWS_AT_ONCE}).partitions():
        ids = [bytes(each) for each in part]
        both = kept.intersection(ids)
        if both:
            raise StoreUnavailable("a report of the copy is pending again; restore the whole store")
        target.execute(insert(report_ids), [{**noted, "id": each} for each in ids])
    if kept:
        target.execute(insert(report_ids), [{**noted, "id": each} for each in sorted(kept)])
