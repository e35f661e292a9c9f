"""Inspects a store from outside, without changing it: its file, disk, version and damage."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from sqlalchemy import Engine, func, inspect, select

from hubbub.errors import StoreError
from hubbub.store.migrations import SCHEMA_VERSION
from hubbub.store.schema import database_file, meta, open_engine, pending, reading, surveys, wal_limit

_LITTLE_BYTES: Final = 1 << 30

Verdict = Literal["ok", "look", "wrong"]


class Finding(NamedTuple):
    """One finding: a verdict, its subject, and a sentence that says what was found and what to do."""

    verdict: Verdict
    about: str
    sentence: str


def inspect_store(database: str) -> Iterator[Finding]:
    """Yield findings about a database. Nothing is written. Reads every page of a SQLite file once."""
    try:
        engine = open_engine(database, create=False)
    except StoreError as error:
        yield Finding("wrong", "database", f"{error}; bring it back with `hubbub store restore`")
        return
    try:
        file = database_file(engine)
        if file is not None:
            yield from _look_at_files(file)
        yield from _look_inside(engine)
    except StoreError as error:
        yield Finding("wrong", "database", str(error))
    finally:
        engine.dispose()


def _look_at_files(file: Path) -> Iterator[Finding]:
    """Yield findings about the files: permissions, free disk space, and the size of the log."""
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        yield Finding("look", "permissions", f"others may read {file.name} ({mode:04o}): chmod 600 it and its -wal")
    else:
        yield Finding("ok", "permissions", f"only its owner may read {file.name}")
    disk = shutil.disk_usage(file.parent)
    free = f"{disk.free / 1e9:.1f} GB of {disk.total / 1e9:.1f} GB are free"
    if disk.free < 64 << 20:
        yield Finding("wrong", "disk", f"{free}: uploads are refused soon; make room, or close surveys that are done")
    elif disk.free < _LITTLE_BYTES:
        yield Finding("look", "disk", f"{free}: an open survey takes about 40 bytes for each report")
    else:
        yield Finding("ok", "disk", free)
    log = file.with_name(file.name + "-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > 8 * wal_limit(file):
        yield Finding("look", "log", f"{log.name} has {size >> 20} MiB: does a program read the database all the time?")
    else:
        yield Finding("ok", "log", f"the write-ahead log has {size >> 10} KiB")


def _look_inside(engine: Engine) -> Iterator[Finding]:
    """Yield findings about the tables: version, damaged pages, damaged surveys, and pending uploads."""
    with reading(engine) as connection:
        if not inspect(connection).has_table(meta.name):
            yield Finding("wrong", "database", "it has no tables: is it the right one?")
            return
        version = connection.scalar(select(meta.c.value).where(meta.c.name == "schema_version"))
        if version != str(SCHEMA_VERSION):
            newer = str(version).isdigit() and int(version or 0) > SCHEMA_VERSION
            what = "install a newer hubbub" if newer else "the next `hubbub serve` copies it and brings it up to date"
            yield Finding("wrong" if newer else "look", "version", f"schema {version}, not {SCHEMA_VERSION}: {what}")
            return
        yield Finding("ok", "version", f"schema {version}")
        if connection.dialect.name == "sqlite":
            found = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(1)")]
            if found != ["ok"]:
                yield Finding("wrong", "pages", f"SQLite says {found[0][:80]!r}: restore a copy")
            else:
                yield Finding("ok", "pages", "SQLite finds no damage")
        damaged = connection.scalar(select(func.count()).where(surveys.c.damage.is_not(None)))
        many = connection.scalar(select(func.count()).select_from(surveys))
        if damaged:
            yield Finding("wrong", "surveys", f"{damaged} of {many} are damaged: `hubbub store check` names them")
        else:
            yield Finding("ok", "surveys", f"{many} survey{'s' * (many != 1)}, none known to be damaged")
        waiting = connection.scalar(select(func.count()).select_from(pending))
        if waiting and waiting > 10_000:
            yield Finding("look", "folding", f"{waiting} uploads wait to be folded: does a collector run?")
        else:
            yield Finding("ok", "folding", f"{waiting} uploads wait to be folded")
