"""The addresses of databases: the path of a SQLite file, or a URL of SQLite or PostgreSQL."""

from __future__ import annotations

import os
from errno import ENOENT
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from hubbub.errors import StoreError, StoreUnavailable


def parse_database(database: str) -> URL:
    """Return the URL of a SQLite or PostgreSQL database; refuse others. Errors never show a password."""
    try:
        url = make_url(database) if "://" in database else URL.create("sqlite", database=str(Path(database)))
    except (ArgumentError, ValueError):
        raise StoreError(
            f"db must be a path, sqlite:///PATH or postgresql://HOST/NAME, got {database.partition('://')[0]!r}://…"
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise StoreError(f"db must be SQLite or PostgreSQL, got {url.drivername!r}")
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("db must be a file, so that what is acknowledged is kept, got one in memory")
    return url


def check_file(path: Path, create: bool) -> None:
    """Create the file if it does not exist. SQLite gives its other files the same mode.

    Raises
    ------
    StoreUnavailable
        The file cannot be opened. The message has its name and the reason, which SQLite's errors do not. A read-only
        file is left to SQLite if `create` is false.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        if create or os.path.isdir(path) or not os.access(path, os.R_OK):
            reason = "no such directory" if error.errno == ENOENT else (error.strerror or type(error).__name__).lower()
            raise StoreUnavailable(f"db must be a file that can be opened, got {str(path)!r} ({reason})") from None
        return
    if create and not os.access(path.absolute().parent, os.W_OK) and not os.path.exists(f"{path}-wal"):
        raise StoreUnavailable(
            f"db must be in a directory that can be written, got {str(path)!r} (permission denied in its directory)"
        )


def file_of(database: str) -> Path | None:
    """Return the file of a database, given as for `open_engine`; None for PostgreSQL. Opens nothing."""
    url = parse_database(database)
    return Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None
