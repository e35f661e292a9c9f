"""The tables, and the connections to the database: SQLite by default, PostgreSQL by URL.

If you change a table, add a step to `migrations`, too.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
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
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hubbub.errors import StoreBroken, StoreError, StoreFull, StoreUnavailable, UnknownSurvey
from hubbub.store.addresses import check_file, parse_database

BUSY_MILLISECONDS: Final = 10_000
PAGE_BYTES: Final = 4096
_MOST_WAL_BYTES: Final = 64 << 20
_WAL_SHARE: Final = 16  # the write-ahead log takes at most this part of a small disk
_CHECKPOINT_PAGES: Final = 2048  # the log restarts at this length; until its file has grown to it, commits take longer
_COMMITS_BETWEEN: Final = 16  # the fewest large commits before their pages are copied from the log to the file
_WRITES: Final = {"hubbub_writes": True}
# Codes of SQLite, and of PostgreSQL: its disk is full; data or an index is corrupted. A full disk can make SQLite fail
# in the middle of a write, too, which is an error of input and output.
_FULL: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, "53100")
_BROKEN: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, "XX001", "XX002")

metadata = MetaData()

meta = Table(
    "hubbub_meta",
    metadata,
    Column("name", Text, primary_key=True),  # schema_version, owner_token, relay_token, heartbeat, address
    Column("value", Text, nullable=False),
)

surveys = Table(
    "hubbub_surveys",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),  # small, never used again
    Column("survey_id", LargeBinary, nullable=False, unique=True),  # SHA-256 of the document
    Column("state", Text, nullable=False),  # open, closing (its ids are still there), closed, earlier or deleting
    Column("created", BigInteger),  # seconds since 1970
    Column("closes", BigInteger),  # seconds since 1970, as in the document; NULL if the owner closes it
    Column("over_since", BigInteger),  # when a collector first saw that its time is over; NULL while it is not
    Column("damage", Text),  # what is wrong with its document or its tally; NULL if nothing is
    Column("summary", Text, nullable=False, server_default="{}"),  # what a list shows of the document, as JSON
    Column("origins", Text, nullable=False),  # web origins that may report, as a JSON list
    Column("slice_days", Integer, nullable=False, server_default="7"),  # the length of a slice: a week, or 1 day
    Column("id_slice", Integer, nullable=False, server_default="0"),  # the slice with which new ids are noted
    Column("id_waits", Text, nullable=False, server_default="{}"),  # how long earlier ones wait, as JSON: see aging_ids
    Column("ids_due", Integer),  # ids of slices up to this one are to be purged; NULL if none are
    Column("ids_purged", BigInteger, nullable=False, server_default="0"),  # how many were, while it was open
    Column("document", LargeBinary, nullable=False),  # the canonical JSON; immutable; the last, since it may be long
    sqlite_autoincrement=True,
)

tallies = Table(
    "hubbub_tallies",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),  # goes up with each fold, so that conflicts are noticed
    Column("tally", LargeBinary, nullable=False),  # hubbub.wire.tally_file, with its checksum
    Column("report_count", BigInteger, nullable=False, server_default="0"),  # as in the tally, for lists
    Column("slice", Integer, nullable=False, server_default="0"),  # the first day of the newest slice, since 1970
)

slices = Table(
    "hubbub_slices",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("start", Integer, primary_key=True, autoincrement=False),  # its first day, since 1970, in UTC
    Column("report_count", BigInteger, nullable=False),  # as in the tally
    Column("changed", Integer, nullable=False),  # 1 if reports were added after it had ended
    Column("tally", LargeBinary, nullable=False),  # hubbub.store.slices.pack, with its checksum
)

report_ids = Table(
    "hubbub_report_ids",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("id", LargeBinary, primary_key=True),  # 16 bytes; dropped 14 days after its slice, or when the survey closes
    Column("slice", Integer, nullable=False, server_default="0"),  # the first day of a slice; see aging_ids
    sqlite_with_rowid=False,
)

pending = Table(
    "hubbub_pending",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("survey", BigInteger, nullable=False),
    Column("reports", LargeBinary, nullable=False),  # whole reports, one after the other; erased within seconds
    Column("report_count", BigInteger, nullable=False, server_default="0"),  # how many they are
    Column("slice", Integer, nullable=False, server_default="0"),  # the first day of the slice that they belong to
    sqlite_autoincrement=True,
)

imports = Table(
    "hubbub_imports",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("key", Text, primary_key=True),  # chosen by the sender of the tally
    Column("digest", LargeBinary, nullable=False),  # SHA-256 of the tally's bytes
    Column("reports", BigInteger, nullable=False),  # the reports in the tally; their ids are not in report_ids
)

daily = Table(
    "hubbub_daily",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("day", Integer, primary_key=True, autoincrement=False),  # days since 1970, in UTC
    Column("reports", BigInteger, nullable=False),  # folded on this day; the time of a single report is not kept
)

names = Table(
    "hubbub_names",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("names", Text, nullable=False),  # JSON: lists of names, `fixed` before the first report and `later`
)

remembered = Table(
    "hubbub_remembered",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("slice", Integer, primary_key=True, autoincrement=False),  # the last slice that was searched
    Column("names", Text, nullable=False),  # what the search of all slices up to it found, as a JSON list
)

sites = Table(
    "hubbub_sites",
    metadata,
    Column("key", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),  # small, never used again
    Column("site", Text, nullable=False, unique=True),  # 32 hex digits, in the line that pages have
    Column("name", Text, nullable=False),
    Column("origins", Text, nullable=False),  # web origins that may report, as a JSON list
    Column("own", Text, nullable=False),  # hosts that are no referrers, as a JSON list
    Column("epsilon", Text, nullable=False),  # of a new question, unless it says another
    Column("people", BigInteger, nullable=False),  # who are expected in each period, for all questions together
    Column("every", Integer),  # the days of a period; NULL if each browser is asked once
    Column("opens", Text),  # when the first period began, as in a survey's document; NULL without periods
    Column("slice_days", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),  # seconds since 1970
    sqlite_autoincrement=True,
)

questions = Table(
    "hubbub_questions",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("site", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),  # in the owner's order
    Column("asks", Text, nullable=False),  # a kind of hubbub.analysis.ready_made
    Column("of", Text, nullable=False),  # the name of a goal or of an own question, or the parameter of a search
)

scripts = Table(
    "hubbub_scripts",
    metadata,
    Column("name", Text, primary_key=True),  # with its hash: hubbub-0123456789abcdef.js
    Column("body", LargeBinary, nullable=False),  # immutable; pages may name a script of an older version
)

keys = Table(
    "hubbub_keys",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of a random text that only its holder has
    Column("kind", Text, nullable=False),  # code (opens a session, once) or session
    Column("expires", BigInteger, nullable=False),  # seconds since 1970
    Column("reader", Text),  # the hash of the read-only token that opened the session; NULL for the owner's
)

sealing_keys = Table(
    "hubbub_sealing_keys",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False, unique=True),  # SHA-256 of the public half, in hex, as surveys have it
    Column("public", LargeBinary, nullable=False),  # an uncompressed point of P-256
    Column("private", LargeBinary, nullable=False),  # the row is deleted when the survey closes
)

releases = Table(
    "hubbub_releases",
    metadata,
    Column("survey", BigInteger, primary_key=True, autoincrement=False),
    Column("release", LargeBinary, primary_key=True),  # 16 random bytes, made by the relay
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("parts", Integer, nullable=False),  # of the whole release
    Column("reports", BigInteger, nullable=False),  # in this part that were new
)


def open_engine(database: str, create: bool = True) -> Engine:
    """Return the engine for a database, which is given as a URL or as the path of a SQLite file.

    Raises
    ------
    StoreError
        The database is neither SQLite nor PostgreSQL; or the file does not exist or is empty, and `create` is false.
    """
    url = parse_database(database)
    if url.get_backend_name() == "sqlite":
        return _open_sqlite(url, Path(str(url.database)), create)
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL needs a driver; install it with: pip install 'hubbub[postgres]'") from None


def _open_sqlite(url: URL, path: Path, create: bool) -> Engine:
    """Return the engine for a SQLite file. Only the owner may read a new file."""
    there = os.path.exists(path)  # unlike Path.exists, it never raises
    if not create and (not there or path.stat().st_size == 0):
        found = "an empty file" if there else "no file"
        raise StoreError(f"db must be a store that exists, got {found} at {str(path)!r}")
    check_file(path, create)
    # Reuse the connection that was used last: its cache is warm, and the caches of the others stay small.
    engine = create_engine(url, hide_parameters=True, pool_use_lifo=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    with suppress(OSError):
        opened = path.stat()
        engine.update_execution_options(hubbub_file=(path, opened.st_dev, opened.st_ino))
    return engine


def database_file(engine: Engine) -> Path | None:
    """Return the file of a SQLite database, or None for PostgreSQL."""
    return Path(str(engine.url.database)).absolute() if engine.dialect.name == "sqlite" else None


def wal_limit(path: Path) -> int:
    """Return the most bytes that the write-ahead log should have: 64 MiB, or a sixteenth of a small disk."""
    disk = os.statvfs(path.parent)
    return min(_MOST_WAL_BYTES, disk.f_frsize * disk.f_blocks // _WAL_SHARE)


def _prepare_sqlite(connection: Any, record: Any) -> None:
    """Set up a new connection to SQLite: durable commits, deleted data overwritten, and a log that stays small."""
    connection.isolation_level = None  # `_begin_sqlite` begins the transactions
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that the file can become smaller
    if not tables or meta.name in tables:  # this changes the file, and the file of another program must not change
        connection.execute("PRAGMA journal_mode = WAL")
    file = next((row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main"), "")
    limit = wal_limit(Path(file)) if file else _MOST_WAL_BYTES
    record.info["most_wal_pages"] = max(16, limit // PAGE_BYTES)
    record.info["wal_pages"] = min(_CHECKPOINT_PAGES, record.info["most_wal_pages"])
    for pragma in (
        "synchronous = FULL",  # a commit is on the disk when it returns
        "secure_delete = ON",  # what is deleted is overwritten with zeros
        "cache_size = -16384",  # 16 MiB for each connection
        f"wal_autocheckpoint = {record.info['wal_pages']}",
        f"journal_size_limit = {limit}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction. One that writes takes the lock at once, so that it cannot fail half-way."""
    options = connection.get_execution_options()
    if options.get("hubbub_writes", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        _check_same_file(options)
    else:
        connection.exec_driver_sql("BEGIN")


def _check_same_file(options: Mapping[str, Any]) -> None:
    """Refuse to write when the file of an engine with these options is no longer the one that was opened.

    SQLite would continue to write to a deleted or replaced file, and everything would be lost when the process ends.
    Costs a few microseconds.
    """
    if "hubbub_file" in options:
        path, *opened = options["hubbub_file"]
        try:
            found = os.stat(path)
            same = [found.st_dev, found.st_ino] == opened
        except OSError:
            same = False
        if not same:
            raise StoreUnavailable("the file of the database was deleted or replaced while it was in use")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads. All its reads see the same snapshot."""
    options = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with available(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes. At the end all of it is durable, or none of it happened."""
    with available(), engine.connect().execution_options(**_WRITES) as connection, connection.begin():
        yield connection


@contextmanager
def writing_by_driver(engine: Engine, pages: int) -> Iterator[Any]:
    """Open a transaction that writes, on the driver's own connection: SQLAlchemy would take longer than a small commit.

    With PostgreSQL the connection is in a pipeline: what is executed is sent when a reply is needed, or at the end with
    the commit. `pages` says how many pages it may change, so that the log of SQLite can hold several such transactions.
    A page that many commits change is copied to the file once, when the log restarts. Commits of single reports are
    fastest with a short log, whose file need not grow; commits of thousands, with a long one.
    """
    with available(), closing(engine.raw_connection()) as pooled:  # closing rolls back what was not committed
        connection: Any = pooled.driver_connection
        if engine.dialect.name == "sqlite":
            pages = min(max(_CHECKPOINT_PAGES, _COMMITS_BETWEEN * pages), pooled.info["most_wal_pages"])
            if pages != pooled.info["wal_pages"]:
                connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
                pooled.info["wal_pages"] = pages
            connection.execute("BEGIN IMMEDIATE")
            _check_same_file(engine.get_execution_options())
            yield connection
            connection.commit()
            return
        connection.autocommit = True  # the driver would wait for a BEGIN and a COMMIT of its own
        try:
            with connection.pipeline():
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
        except connection.Error as error:
            raise _fault(error) from error
        finally:
            with suppress(connection.Error):  # if it is lost
                connection.rollback()
                connection.autocommit = False
            if connection.closed:
                pooled.invalidate()


def _fault(error: BaseException | None) -> StoreUnavailable:
    """Return what an error of the database means, by its code and never by its words."""
    reason = (str(error).splitlines() or [""])[0][:200]
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its details
    if code in _BROKEN:
        return StoreBroken(
            f"the database is damaged or not hubbub's ({reason}); `hubbub store restore` restores a copy"
        )
    return (StoreFull if code in _FULL else StoreUnavailable)(f"the database cannot be used now: {reason}")


@contextmanager
def available() -> Iterator[None]:
    """Turn every error of the database into a StoreUnavailable of one sentence, without any stored or sent data."""
    try:
        yield
    except DBAPIError as error:
        raise _fault(error.orig) from error
    except sqlite3.Error as error:  # from a connection that is used directly
        raise _fault(error) from error
    except SQLAlchemyError as error:
        raise StoreUnavailable(f"the database cannot be used now: {type(error).__name__}") from error


def unknown_survey(survey_id: bytes) -> UnknownSurvey:
    """Return the error to raise when there is no survey of this id."""
    return UnknownSurvey(f"there is no survey with the id {survey_id.hex()[:8]}…")
