"""Keys of the dashboard: codes that log in once, and sessions. Both are random, and stored as hashes.

A session is the owner's, or was opened by a read-only token: then it can read what the token is for, and ends with it.
"""

from __future__ import annotations

import secrets
import time
from typing import Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, insert, select

from hubbub.store.hashing import hash_of
from hubbub.store.readers import Reader, readers_by_hash
from hubbub.store.schema import keys, reading, writing

CODE_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 7 * 86_400
Kind: TypeAlias = Literal["code", "session"]


def make_code(engine: Engine, seconds: int = CODE_SECONDS) -> str:
    """Return a new code that opens one session within this time. Keys whose time is over are deleted."""
    with writing(engine) as connection:
        connection.execute(delete(keys).where(keys.c.expires <= _now()))
        return _insert(connection, "code", seconds)


def open_session(engine: Engine, code: str, seconds: int = SESSION_SECONDS) -> str | None:
    """Use a code up, and return the key of a new session; None if the code is unknown, used or too old.

    A wrong code costs one short read. There is nothing to guess: a code has 192 random bits.
    """
    if not _is_known(engine, code, "code"):
        return None
    with writing(engine) as connection:
        mine = (keys.c.hash == hash_of(code), keys.c.kind == "code")
        expires = connection.scalar(delete(keys).where(*mine).returning(keys.c.expires))
        if expires is None or expires <= _now():  # another request used it, or its time is over
            return None
        return _insert(connection, "session", seconds)


def open_reading(engine: Engine, token: str, seconds: int = SESSION_SECONDS) -> str | None:
    """Return the key of a new session that only reads; None if there is no read-only token of this text."""
    if readers_by_hash(engine).get(hash_of(token)) is None:
        return None
    with writing(engine) as connection:
        return _insert(connection, "session", seconds, hash_of(token))


def is_session(engine: Engine, key: str) -> bool:
    """Return whether this is the key of a session of the owner whose time is not over. Costs one short read."""
    return _is_known(engine, key, "session", keys.c.reader.is_(None))


def session_reader(engine: Engine, key: str) -> Reader | None:
    """Return who reads in the session with this key; None if it is the owner's, or there is none."""
    with reading(engine) as connection:
        mine = (keys.c.hash == hash_of(key), keys.c.kind == "session", keys.c.expires > _now())
        reader = connection.scalar(select(keys.c.reader).where(*mine))
    return None if reader is None else readers_by_hash(engine).get(reader)


def end_session(engine: Engine, key: str) -> None:
    """End a session, also one that reads; do nothing if there is none, so that strangers make nobody write."""
    if _is_known(engine, key, "session"):
        with writing(engine) as connection:
            connection.execute(delete(keys).where(keys.c.hash == hash_of(key), keys.c.kind == "session"))


def count_sessions(engine: Engine) -> int:
    """Return how many sessions are open."""
    with reading(engine) as connection:
        query = select(func.count()).select_from(keys).where(keys.c.kind == "session", keys.c.expires > _now())
        return connection.scalar(query) or 0


def end_sessions(engine: Engine) -> int:
    """End all sessions, and make all codes invalid; return how many sessions were open."""
    with writing(engine) as connection:
        return forget_keys(connection)


def forget_keys(connection: Connection) -> int:
    """Delete all sessions and codes; return how many sessions were open. The transaction is the caller's."""
    ended = connection.execute(delete(keys).where(keys.c.kind == "session", keys.c.expires > _now())).rowcount
    connection.execute(delete(keys))
    return ended


def _is_known(engine: Engine, key: str, kind: Kind, *also: ColumnElement[bool]) -> bool:
    """Return whether the key of a session, or a code, is stored and its time is not over."""
    with reading(engine) as connection:
        query = select(keys.c.expires).where(keys.c.hash == hash_of(key), keys.c.kind == kind, *also)
        expires = connection.scalar(query)
    return expires is not None and expires > _now()


def _insert(connection: Connection, kind: Kind, seconds: int, reader: str | None = None) -> str:
    """Store the hash of a new key; return the key."""
    key = secrets.token_urlsafe(24)
    connection.execute(insert(keys).values(hash=hash_of(key), kind=kind, expires=_now() + seconds, reader=reader))
    return key


def _now() -> int:
    """Return the time in whole seconds since 1970."""
    return int(time.time())
