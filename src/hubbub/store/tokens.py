"""The tokens of the owner and of the relay: made once, shown once, stored as hashes."""

from __future__ import annotations

import hmac
import secrets
from typing import Literal, TypeAlias

from sqlalchemy import Connection, Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from hubbub.errors import StoreUnavailable
from hubbub.store.hashing import hash_of
from hubbub.store.keys import forget_keys
from hubbub.store.schema import meta, reading, writing

Whose: TypeAlias = Literal["owner", "relay"]


def make_first_token(engine: Engine) -> str | None:
    """Make and return the owner's token; None if there is one already. It cannot be read again: its hash is stored."""
    if stored_hash(engine) is not None:
        return None
    try:
        with writing(engine) as connection:
            return _insert_token(connection)
    except StoreUnavailable as error:
        if isinstance(error.__cause__, IntegrityError):  # another collector has just made one
            return None
        raise


def replace_token(engine: Engine, whose: Whose = "owner") -> str:
    """Make and return a new token. The old one is invalid from now on, and so are all sessions if it is the owner's.

    Read-only tokens stay: whoever had the owner's token may have made some, so look at their list.
    """
    with writing(engine) as connection:
        connection.execute(delete(meta).where(meta.c.name == _name(whose)))
        if whose == "owner":
            forget_keys(connection)  # whoever had the old token may have logged in with it
        return _insert_token(connection, whose)


def stored_hash(engine: Engine, whose: Whose = "owner") -> str | None:
    """Return the hash of a token, or None if there is none. Costs one short read of the database."""
    with reading(engine) as connection:
        return connection.scalar(select(meta.c.value).where(meta.c.name == _name(whose)))


def is_token(stored: str | None, token: str) -> bool:
    """Return whether this is the token of a stored hash. Takes the same time for every wrong token."""
    return stored is not None and hmac.compare_digest(stored, hash_of(token))


def _insert_token(connection: Connection, whose: Whose = "owner") -> str:
    """Store the hash of a new random token; return the token."""
    token = secrets.token_urlsafe(32)
    connection.execute(insert(meta).values(name=_name(whose), value=hash_of(token)))
    return token


def _name(whose: Whose) -> str:
    """Return the name under which the hash of a token is stored."""
    return f"{whose}_token"
