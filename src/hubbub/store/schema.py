"""The tables, their version, and the connections to the database: SQLite by default, PostgreSQL by URL."""

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

from hubbub.errors import StoreError, StoreUnavailable, UnknownSurvey

SCHEMA_VERSION: Final = 1
BUSY_MILLISECONDS: Final = 10_000
_CREATION_LOCK: Final = 0x68756262  # any number will do: two collectors must not create the tables at the same time
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
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),  # small, never used again
    Column("survey_id", LargeBinary, nullable=False, unique=True),  # SHA-256 of the document
    Column("document", LargeBinary, nullable=False),  # the canonical JSON; immutable
    Column("origins", Text, nullable=False),  # web origins that may report, as a JSON list
    Column("state", Text, nullable=False),  # open, closing (its ids are still there), closed or deleting
    sqlite_autoincrement=True,
)

tallies = Table(
    "hubbub_tallies",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # goes up with each fold, so that conflicts are noticed
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
    """Return the engine for a database, which is given as a URL or as the path of a SQLite file."""
    url = _parse_database(database)
    if url.get_backend_name() == "sqlite":
        # The connection that was used last is used again: its cache is warm, and the others stay small.
        engine = create_engine(url, hide_parameters=True, pool_use_lifo=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL needs a driver; install it with: pip install 'hubbub[postgres]'") from None


def _parse_database(database: str) -> URL:
    """Return the URL of a database; refuse what is neither SQLite nor PostgreSQL. Errors never show a password."""
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
        raise StoreError("db must be a file, so that what is acknowledged is kept, got one in memory")
    return url


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Set up a new connection to SQLite: durable commits, and deleted data overwritten."""
    connection.isolation_level = None  # `_begin_sqlite` begins the transactions
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables or meta.name in tables:  # this changes the file, and the file of another program must not change
        connection.execute("PRAGMA journal_mode = WAL")
    for pragma in (
        "synchronous = FULL",  # a commit is on the disk when it returns
        "secure_delete = ON",  # what is deleted is overwritten with zeros
        "cache_size = -16384",  # 16 MiB for each connection
        "wal_autocheckpoint = 20000",  # the folding thread empties the log every few seconds, so SQLite rarely has to
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. One that writes takes the lock at once, so that it cannot fail half-way."""
    writes = connection.get_execution_options().get("hubbub_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads. All its reads see the same snapshot."""
    options = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}
    with available(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes. At the end all of it is durable, or none of it happened."""
    with available(), engine.connect().execution_options(**_WRITES) as connection, connection.begin():
        yield connection


@contextmanager
def available() -> Iterator[None]:
    """Turn every error of the database into a StoreUnavailable of one sentence, without any stored or sent data."""
    try:
        yield
    except DBAPIError as error:
        reason = (str(error.orig).splitlines() or [""])[0][:200]
        raise StoreUnavailable(f"the database cannot be used now: {reason}") from error
    except sqlite3.Error as error:  # from a connection that is used directly
        raise StoreUnavailable(f"the database cannot be used now: {str(error)[:200]}") from error
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"the database cannot be used now: {type(error).__name__}") from error


def is_sqlite(connection_or_engine: Connection | Engine) -> bool:
    """Return True for SQLite and False for PostgreSQL."""
    return connection_or_engine.dialect.name == "sqlite"


def unknown_survey(survey_id: bytes) -> UnknownSurvey:
    """Return the error to raise when there is no survey of this id."""
    return UnknownSurvey(f"there is no survey with the id {survey_id.hex()[:8]}…")


def prepare_schema(engine: Engine) -> None:
    """Create the tables in an empty database. Refuse one of a newer version, or one of another program."""
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
    """Return the version of the tables, or None if the database is empty."""
    with reading(engine) as connection:
        names = inspect(connection).get_table_names()
        if meta.name not in names:
            if names and is_sqlite(connection):
                raise StoreError(f"db must be empty or made by hubbub, got a database with a table {names[0]!r}")
            return None
        return connection.scalar(select(meta.c.value).where(meta.c.name == "schema_version"))
