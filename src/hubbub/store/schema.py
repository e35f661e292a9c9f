"""The tables, their version, and the engine that reaches them: SQLite by default, PostgreSQL by URL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from hubbub.errors import StoreError, StoreUnavailable

SCHEMA_VERSION: Final = 1
BUSY_MILLISECONDS: Final = 10_000
_CREATION_LOCK: Final = 0x68756262  # an arbitrary number: two collectors must not create the tables at once
_WRITES: Final = {"hubbub_writes": True}

metadata = MetaData()

meta = Table(
    "hubbub_meta",
    metadata,
    Column("name", Text, primary_key=True),  # schema_version, owner_token, probe
    Column("value", Text, nullable=False),
)

surveys = Table(
    "hubbub_surveys",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),  # small, and never used again
    Column("survey_id", LargeBinary, nullable=False, unique=True),  # SHA-256 of the document
    Column("document", LargeBinary, nullable=False),  # the canonical JSON; immutable
    Column("origins", Text, nullable=False),  # web origins that may report, as a JSON list
    Column("state", Text, nullable=False),  # open, closing (ids still there), closed, deleting
    sqlite_autoincrement=True,
)

tallies = Table(
    "hubbub_tallies",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # goes up with every fold: who folds on an old one has to start over
    Column("tally", LargeBinary, nullable=False),  # hubbub.wire.tally_file, with its checksum
)

report_ids = Table(
    "hubbub_report_ids",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, primary_key=True),  # 16 bytes; dropped when the survey closes
    sqlite_with_rowid=False,
)

pending = Table(
    "hubbub_pending",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("survey", BigInteger, nullable=False),
    Column("reports", LargeBinary, nullable=False),  # whole reports, one after the other; erased within seconds
    sqlite_autoincrement=True,
)


def open_engine(database: str) -> Engine:
    """The engine of a database given as a URL, or as the path of an SQLite file."""
    url = _parse_database(database)
    if url.get_backend_name() == "sqlite":
        # The connection used last comes first: its cache is warm, and the others stay small.
        engine = create_engine(url, hide_parameters=True, pool_use_lifo=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL needs a driver that is not installed: pip install 'hubbub[postgres]'") from None


def _parse_database(database: str) -> URL:
    if "://" not in database:
        return URL.create("sqlite", database=str(Path(database)))
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        raise StoreError(
            f"db must be a path, sqlite:///PATH or postgresql://HOST/NAME, got {database.partition('://')[0]!r}://…"
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise StoreError(f"db must be SQLite or PostgreSQL, got {url.drivername!r}")
    if url.drivername == "sqlite" and url.database in (None, "", ":memory:"):
        raise StoreError("db must be a file, so that what is acknowledged is kept, got a database in memory")
    return url


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables or meta.name in tables:  # it changes the file, and somebody else's is left as it is
        connection.execute("PRAGMA journal_mode = WAL")
    for pragma in (
        "synchronous = FULL",  # a commit is on the disk when it returns
        "secure_delete = ON",  # what is deleted is overwritten with zeros
        "cache_size = -16384",  # 16 MiB for each connection
        "wal_autocheckpoint = 20000",  # the folder empties the log every few seconds; pages are written once until then
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("hubbub_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads, all of it from one snapshot."""
    options = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}
    with available(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: all of it is durable at the end, or nothing of it happened."""
    with available(), engine.connect().execution_options(**_WRITES) as connection, connection.begin():
        yield connection


@contextmanager
def available() -> Iterator[None]:
    """Turn whatever a database can suffer from into one sentence, without a parameter of any statement."""
    try:
        yield
    except DBAPIError as error:
        reason = (str(error.orig).splitlines() or [""])[0][:200]
        raise StoreUnavailable(f"the database must be there and writable, got {reason!r}") from error
    except sqlite3.Error as error:  # from a connection that is used directly
        raise StoreUnavailable(f"the database must be there and writable, got {str(error)[:200]!r}") from error
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"the database must be there and writable, got {type(error).__name__}") from error


def is_sqlite(connection_or_engine: Connection | Engine) -> bool:
    """Whether this is SQLite, else it is PostgreSQL."""
    return connection_or_engine.dialect.name == "sqlite"


def prepare_schema(engine: Engine) -> None:
    """Make the tables in an empty database; refuse one that is newer, or somebody else's."""
    if (version := _stored_version(engine)) is None:
        with writing(engine) as connection:
            if not is_sqlite(connection):
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION_LOCK})
            if not inspect(connection).has_table(meta.name):
                metadata.create_all(connection)
                connection.execute(insert(meta).values(name="schema_version", value=str(SCHEMA_VERSION)))
        version = _stored_version(engine)
    if version != str(SCHEMA_VERSION):
        raise StoreError(f"the database must have schema version {SCHEMA_VERSION} or older, got version {version}")


def _stored_version(engine: Engine) -> str | None:
    with reading(engine) as connection:
        names = inspect(connection).get_table_names()
        if meta.name not in names:
            if names and is_sqlite(connection):
                raise StoreError(f"db must be empty or made by hubbub, got a database with a table {names[0]!r}")
            return None
        return connection.scalar(select(meta.c.value).where(meta.c.name == "schema_version"))
