"""Remembers where a store is, so that a lost store is not silently replaced by a new one.

When a store is created, this is noted in two places: in a file next to the database (`<database>-made`), and in the
state directory of the user who runs the collector. If the database is missing or empty but a note exists, something
went wrong: a disk is not mounted, a file was deleted, or a name is wrong.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, delete, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError

from hubbub.errors import StoreError
from hubbub.store.schema import meta, open_engine, reading, writing

_ADDRESS: Final = meta.c.name == "address"
_HOW: Final = "bring it back with `hubbub store restore`, or begin an empty one with --new"


def state_directory() -> Path:
    """Return the directory for notes: $XDG_STATE_HOME/hubbub/stores, by default below ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return home / "hubbub" / "stores"


def check_not_lost(database: str, new: bool) -> None:
    """Raise StoreError if a noted store is missing and `new` is False, or if a store exists and `new` is True."""
    notes = _notes(database)
    if _is_file(database):
        file = _file(database)
        there = os.path.exists(file) and file.stat().st_size > 0  # unlike Path.exists, it never raises
        log = file.with_name(file.name + "-wal")
        trace = "it is an empty file" if os.path.exists(file) else ""
        trace = trace or ("only its log is there" if os.path.exists(log) and log.stat().st_size else "")
        shown = str(file)
    else:
        there = _has_tables(database)
        trace, shown = "", shown_database(database)
    if there and new:
        raise StoreError(f"--new must name a place without a store, got {shown!r}, where there is one")
    known = any(map(os.path.exists, notes))
    if not there and not new and (trace or known):
        reason = trace or "it is missing, but there was one"
        raise StoreError(f"the store {shown!r} is lost ({reason}): {_HOW}")


def note_address(engine: Engine, address: str) -> None:
    """Store the URL at which a collector listens. If there are several, the last one that started counts."""
    with writing(engine) as connection:
        connection.execute(delete(meta).where(_ADDRESS))
        connection.execute(insert(meta).values(name="address", value=address))


def noted_address(engine: Engine) -> str | None:
    """Return the URL at which a collector of the store listened last, or None if none ever did."""
    with reading(engine) as connection:
        return connection.scalar(select(meta.c.value).where(_ADDRESS))


def remember(database: str) -> None:
    """Note that there is a store. A note that cannot be written is skipped."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    sentence = f"A hubbub store has been here since {now}: {shown_database(database)}\n"
    for note in _notes(database):
        with suppress(OSError):
            if not note.exists():
                note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                with open(handle, "w", encoding="utf-8") as file:
                    file.write(sentence)


def _notes(database: str) -> list[Path]:
    """Return the paths of the notes about a store."""
    beside = [_file(database).with_name(_file(database).name + "-made")] if _is_file(database) else []
    name = hashlib.sha256(shown_database(database).encode()).hexdigest()[:32]
    with suppress(RuntimeError):  # the user has no home directory
        return [*beside, state_directory() / name]
    return beside


def shown_database(database: str) -> str:
    """Return a name for a database: the real path of its file, or host, port and name of one of PostgreSQL.

    A URL may name them as options, too, which then count: `postgresql:///name?host=db.example`.
    """
    if _is_file(database):
        return str(_file(database))
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        return database.partition("://")[0] + "://…"
    host = (url.host or "").rpartition("@")[2]  # a password may have an @ that should have been escaped
    ports = () if url.port is None else str(url.port)
    hosts, ports, name, services = (
        ",".join([found] if isinstance(found, str) else found)
        for found in (
            url.query.get("host") or url.query.get("hostaddr") or host,
            url.query.get("port", ports),
            url.query.get("dbname", url.database or ()),
            url.query.get("service", ()),
        )
    )
    return hosts + (f":{ports}" if ports else "") + f"/{name}" + (f" of service {services}" if services else "")


def _is_file(database: str) -> bool:
    """Return whether a database is one of SQLite."""
    return "://" not in database or database.startswith("sqlite:")


def _file(database: str) -> Path:
    """Return the real, absolute path of a SQLite database."""
    return Path(os.path.realpath(database.removeprefix("sqlite:///")))


def _has_tables(database: str) -> bool:
    """Return whether a database of PostgreSQL has the tables of a store."""
    engine = open_engine(database)
    try:
        with reading(engine) as connection:
            return inspect(connection).has_table(meta.name)
    finally:
        engine.dispose()
