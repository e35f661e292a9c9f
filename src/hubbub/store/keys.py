"""Keys of the dashboard: codes that log in once, and sessions. Both are random, and stored as hashes."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, Engine, delete, func, insert, select

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


def is_session(engine: Engine, key: str) -> bool:
    """Return whether this is the key of a session whose time is not over. Costs one short read."""
    return _is_known(engine, key, "session")


def end_session(engine: Engine, key: str) -> None:
    """End a session; do nothing if there is none with this key, so that strangers make nobody write."""
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


def _is_known(engine: Engine, key: str, kind: Kind) -> bool:
    """Return whether the key of a session, or a code, is stored and its time is not over."""
    with reading(engine) as connection:
        query = select(keys.c.expires).where(keys.c.hash == hash_of(key), keys.c.kind == kind)
        expires = connection.scalar(query)
    return expires is not None and expires > _now()


def _insert(connection: Connection, kind: Kind, seconds: int) -> str:
    """Store the hash of a new key; return the key."""
    key = secrets.token_urlsafe(24)
    connection.execute(insert(keys).values(hash=hash_of(key), kind=kind, expires=_now() + seconds))
    return key


def _now() -> int:
    """Return the time in whole seconds since 1970."""
    return int(time.time())


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key or a token in hex. One pass is enough, since they have 192 random bits or more."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
