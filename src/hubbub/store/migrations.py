"""Making the tables of a new database, and bringing those of an older version up to date.

The version of a database is one more than the number of steps applied to it. A new database is made from the tables of
`schema`, and counts as having all steps. When an older one is opened, the missing steps are applied in one transaction;
before that, a SQLite database is copied to a file in the same directory. A newer one is refused.

To change a table, change it in `schema`, and append a step to `STEPS` that makes the same change in an existing
database. A step is never changed once it is released, and it uses plain SQL instead of the tables of `schema`, which
may change later. tests/store/test_migrations.py applies all steps to the first version, and compares the result with a
new database.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, insert, inspect, select, text, update

from hubbub.errors import StoreError
from hubbub.store import showing_tables  # noqa: F401  # its tables belong to `metadata`, too
from hubbub.store.schema import available, database_file, meta, metadata, reading, writing

log = logging.getLogger("hubbub.store")

_CREATION_LOCK: Final = 0x68756262  # any number will do: two collectors must not create the tables at the same time
_SUMMARY: Final = ("name", "mechanism", "epsilon", "delta", "opens", "closes", "expected_reports")


def _lists_without_documents(connection: Connection) -> None:
    """Step to version 2: columns for lists of surveys, for closing by the clock, and for damage of a survey."""
    for column in (
        "hubbub_surveys ADD COLUMN summary TEXT NOT NULL DEFAULT '{}'",
        "hubbub_surveys ADD COLUMN created BIGINT",
        "hubbub_surveys ADD COLUMN closes BIGINT",
        "hubbub_surveys ADD COLUMN over_since BIGINT",
        "hubbub_surveys ADD COLUMN damage TEXT",
        "hubbub_tallies ADD COLUMN report_count BIGINT NOT NULL DEFAULT 0",
        "hubbub_pending ADD COLUMN report_count BIGINT NOT NULL DEFAULT 0",
    ):
        connection.execute(text(f"ALTER TABLE {column}"))
    for key, document in connection.execute(text("SELECT key, document FROM hubbub_surveys")).all():
        try:
            facts = json.loads(bytes(document))
            values = {"summary": summary_of(facts), "closes": seconds_of(facts["closes"])}
        except (ValueError, KeyError, TypeError):  # it was damaged before, and stays damaged
            values = {"summary": "{}", "closes": None}
        change = text("UPDATE hubbub_surveys SET summary = :summary, closes = :closes WHERE key = :key")
        connection.execute(change, {**values, "key": key})
    for survey, tally in connection.execute(text("SELECT survey, tally FROM hubbub_tallies")).all():
        count = int.from_bytes(bytes(tally)[34:42], "little")  # of a tally file, version 1
        change = text("UPDATE hubbub_tallies SET report_count = :count WHERE survey = :survey")
        connection.execute(change, {"count": min(count, 2**62), "survey": survey})


def _tables_of_the_dashboard(connection: Connection) -> None:
    """Step to version 3: reports by day, scripts of older versions, codes and sessions."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    for table in (
        "hubbub_daily (survey BIGINT NOT NULL, day INTEGER NOT NULL, reports BIGINT NOT NULL,"
        " PRIMARY KEY (survey, day))",
        f"hubbub_scripts (name TEXT NOT NULL, body {binary} NOT NULL, PRIMARY KEY (name))",
        "hubbub_keys (hash TEXT NOT NULL, kind TEXT NOT NULL, expires BIGINT NOT NULL, PRIMARY KEY (hash))",
    ):
        connection.execute(text(f"CREATE TABLE {table}"))


def _tallies_that_were_merged(connection: Connection) -> None:
    """Step to version 4: the keys of tallies that the owner merged."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.execute(
        text(
            f"CREATE TABLE hubbub_imports (survey BIGINT NOT NULL, key TEXT NOT NULL, digest {binary} NOT NULL,"
            " reports BIGINT NOT NULL, PRIMARY KEY (survey, key))"
        )
    )


def _surveys_of_the_first_tree(connection: Connection) -> None:
    """Step to version 5: surveys of the mechanism tree as it was before it had steps get the state `earlier`."""
    for key, survey_id, document in connection.execute(
        text("SELECT key, survey_id, document FROM hubbub_surveys WHERE state <> 'deleting'")
    ).all():
        try:
            facts = json.loads(bytes(document))
            is_earlier = facts["mechanism"] == "tree" and "steps" not in facts["parameters"]
        except (ValueError, KeyError, TypeError):  # it was damaged before, and stays damaged
            continue
        if is_earlier:
            mine = {"key": key}
            connection.execute(text("UPDATE hubbub_surveys SET state = 'earlier' WHERE key = :key"), mine)
            count = text("SELECT COALESCE(SUM(report_count), 0) FROM hubbub_pending WHERE survey = :key")
            log.warning(
                "survey %s was made by an earlier version and is closed; %d of its reports are not in its tally",
                bytes(survey_id).hex()[:8],
                connection.scalar(count, mine),
            )


def _slices_of_time(connection: Connection) -> None:
    """Step to version 6: tallies by slice. What a survey has so far is one slice, that in which it was made."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    connection.execute(
        text(
            "CREATE TABLE hubbub_slices (survey BIGINT NOT NULL, start INTEGER NOT NULL, report_count BIGINT NOT NULL,"
            f" changed INTEGER NOT NULL, tally {binary} NOT NULL, PRIMARY KEY (survey, start))"
        )
    )
    for column in (
        "hubbub_surveys ADD COLUMN slice_days INTEGER NOT NULL DEFAULT 7",
        "hubbub_tallies ADD COLUMN slice INTEGER NOT NULL DEFAULT 0",
        "hubbub_pending ADD COLUMN slice INTEGER NOT NULL DEFAULT 0",
    ):
        connection.execute(text(f"ALTER TABLE {column}"))
    for key, created in connection.execute(text("SELECT key, created FROM hubbub_surveys")).all():
        day = int(time.time() if created is None else created) // 86_400
        week = {"key": key, "monday": day - (day - 4) % 7}  # day 4 of 1970 was a Monday, counted from 0
        for table in ("tallies", "pending"):
            connection.execute(text(f"UPDATE hubbub_{table} SET slice = :monday WHERE survey = :key"), week)  # noqa: S608


def _names_of_surveys(connection: Connection) -> None:
    """Step to version 7: the names that stay with a survey."""
    connection.execute(
        text("CREATE TABLE hubbub_names (survey BIGINT NOT NULL, names TEXT NOT NULL, PRIMARY KEY (survey))")
    )


def _remembered_names(connection: Connection) -> None:
    """Step to version 8: what was found at the end of each slice."""
    connection.execute(
        text(
            "CREATE TABLE hubbub_remembered (survey BIGINT NOT NULL, slice INTEGER NOT NULL, names TEXT NOT NULL,"
            " PRIMARY KEY (survey, slice))"
        )
    )


def _ids_of_slices(connection: Connection) -> None:
    """Step to version 9: ids are noted with their slice. Those that are there are of slice 0, which ends when seen."""
    for column in (
        "hubbub_surveys ADD COLUMN id_slice INTEGER NOT NULL DEFAULT 0",
        "hubbub_surveys ADD COLUMN id_waits TEXT NOT NULL DEFAULT '{}'",
        "hubbub_surveys ADD COLUMN ids_due INTEGER",
        "hubbub_surveys ADD COLUMN ids_purged BIGINT NOT NULL DEFAULT 0",
        "hubbub_report_ids ADD COLUMN slice INTEGER NOT NULL DEFAULT 0",
    ):
        connection.execute(text(f"ALTER TABLE {column}"))


def _sites(connection: Connection) -> None:
    """Step to version 10: sites, and the surveys that are their questions."""
    key = "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT"
    if connection.dialect.name != "sqlite":
        key = "BIGSERIAL PRIMARY KEY"
    for table in (
        f"hubbub_sites (key {key}, site TEXT NOT NULL UNIQUE, name TEXT NOT NULL, origins TEXT NOT NULL,"
        " own TEXT NOT NULL, epsilon TEXT NOT NULL, people BIGINT NOT NULL, every INTEGER, opens TEXT,"
        " slice_days INTEGER NOT NULL, created BIGINT NOT NULL)",
        "hubbub_questions (survey BIGINT NOT NULL, site BIGINT NOT NULL, place INTEGER NOT NULL, asks TEXT NOT NULL,"
        ' "of" TEXT NOT NULL, PRIMARY KEY (survey))',
    ):
        connection.execute(text(f"CREATE TABLE {table}"))


def _surveys_through_relays(connection: Connection) -> None:
    """Step to version 11: keys of surveys whose reports are sealed, and releases that relays sent."""
    binary = "BLOB" if connection.dialect.name == "sqlite" else "BYTEA"
    for table in (
        f"hubbub_sealing_keys (survey BIGINT NOT NULL, hash TEXT NOT NULL, public {binary} NOT NULL,"
        f" private {binary} NOT NULL, PRIMARY KEY (survey), UNIQUE (hash))",
        f"hubbub_releases (survey BIGINT NOT NULL, release {binary} NOT NULL, part INTEGER NOT NULL,"
        " parts INTEGER NOT NULL, reports BIGINT NOT NULL, PRIMARY KEY (survey, release, part))",
    ):
        connection.execute(text(f"CREATE TABLE {table}"))


def _read_only_tokens(connection: Connection) -> None:
    """Step to version 12: read-only tokens, what they are for, and sessions that they opened."""
    for statement in (
        "CREATE TABLE hubbub_readers (hash TEXT NOT NULL, name TEXT NOT NULL UNIQUE, created BIGINT NOT NULL,"
        " everything INTEGER NOT NULL, live INTEGER NOT NULL, PRIMARY KEY (hash))",
        "CREATE TABLE hubbub_reader_surveys (reader TEXT NOT NULL, survey BIGINT NOT NULL,"
        " PRIMARY KEY (reader, survey))",
        "CREATE TABLE hubbub_reader_sites (reader TEXT NOT NULL, site BIGINT NOT NULL, PRIMARY KEY (reader, site))",
        "ALTER TABLE hubbub_keys ADD COLUMN reader TEXT",
    ):
        connection.execute(text(statement))


def _answers_for_everybody(connection: Connection) -> None:
    """Step to version 13: what is shown of a survey to everybody, and the answers that were shown."""
    for table in (
        "hubbub_pages (survey BIGINT NOT NULL, shown INTEGER NOT NULL, hidden TEXT NOT NULL, lang TEXT NOT NULL,"
        " texts TEXT NOT NULL, webhook TEXT, secret TEXT, PRIMARY KEY (survey))",
        "hubbub_published (survey BIGINT NOT NULL, until INTEGER NOT NULL, made BIGINT NOT NULL,"
        " final INTEGER NOT NULL, answer TEXT NOT NULL, tries INTEGER NOT NULL, next_try BIGINT,"
        " PRIMARY KEY (survey, until))",
    ):
        connection.execute(text(f"CREATE TABLE {table}"))


STEPS: Final[tuple[Callable[[Connection], None], ...]] = (
    _lists_without_documents,
    _tables_of_the_dashboard,
    _tallies_that_were_merged,
    _surveys_of_the_first_tree,
    _slices_of_time,
    _names_of_surveys,
    _remembered_names,
    _ids_of_slices,
    _sites,
    _surveys_through_relays,
    _read_only_tokens,
    _answers_for_everybody,
)
"""The steps from version 1 on, in order."""

SCHEMA_VERSION: Final = 1 + len(STEPS)


def summary_of(facts: dict[str, object]) -> str:
    """Return the fields of a survey's document that a list shows, as JSON."""
    more = {name: facts[name] for name in ("every", "crowd") if name in facts}
    return json.dumps({name: facts[name] for name in _SUMMARY} | more)


def seconds_of(moment: object) -> int | None:
    """Return the seconds since 1970 of a time in a survey's document; None for None."""
    return None if moment is None else int(datetime.fromisoformat(str(moment)).timestamp())


def prepare_schema(engine: Engine, create: bool = True) -> None:
    """Make the tables, or bring them up to date. Refuse a newer version, and the database of another program.

    Parameters
    ----------
    engine : Engine
        The database.
    create : bool
        Whether tables are made in a database that has none. Otherwise it is refused.
    """
    version = _stored_version(engine)
    if version is None and not create:
        raise StoreError("db must be a store that exists, got a database without its tables")
    if version is None:
        with writing(engine) as connection:
            _lock(connection)
            if not inspect(connection).has_table(meta.name):
                metadata.create_all(connection)
                connection.execute(insert(meta).values(name="schema_version", value=str(SCHEMA_VERSION)))
        version = _stored_version(engine)
    number = int(version) if version and version.isdigit() else 0
    if number < 1 or number > SCHEMA_VERSION:
        raise StoreError(f"the database must have schema version {SCHEMA_VERSION} or older, got version {version}")
    if number < SCHEMA_VERSION:
        _upgrade(engine, number)


def _upgrade(engine: Engine, version: int) -> None:
    """Copy a SQLite database, apply all missing steps, and shrink the file."""
    file = database_file(engine)
    kept = "" if file is None else f"; a copy of the old one is in {_keep_copy(engine, file, version)}"
    with writing(engine) as connection:
        _lock(connection)
        stored = connection.scalar(select(meta.c.value).where(meta.c.name == "schema_version"))
        for step in STEPS[int(stored or version) - 1 :]:  # none if another collector has just done it
            step(connection)
        change = update(meta).where(meta.c.name == "schema_version").values(value=str(SCHEMA_VERSION))
        connection.execute(change)
    log.warning("the database was upgraded from schema version %d to %d%s", version, SCHEMA_VERSION, kept)
    if file is not None:
        file.chmod(0o600)
        with available(), closing(engine.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA auto_vacuum = INCREMENTAL")
            raw.cursor().execute("VACUUM")


def copy_sqlite(engine: Engine, target: Path, *afterwards: str) -> None:
    """Copy a SQLite database to a file with SQLite's own backup, and run some statements on the copy."""
    with available(), closing(engine.raw_connection()) as source, closing(sqlite3.connect(target)) as copy:
        source.driver_connection.backup(copy)  # type: ignore[union-attr]  # sqlite3's own
        for statement in afterwards:
            copy.execute(statement)


def _keep_copy(engine: Engine, file: Path, version: int) -> Path:
    """Copy a SQLite file to a new file in the same directory; return its path."""
    target = file.with_name(f"{file.name}.version-{version}")
    number = 1
    while target.exists():
        number += 1
        target = file.with_name(f"{file.name}.version-{version}-{number}")
    target.touch(mode=0o600)
    try:
        copy_sqlite(engine, target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def _lock(connection: Connection) -> None:
    """Let only one collector at a time make or change tables. SQLite has one writer at a time anyway."""
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION_LOCK})


def _stored_version(engine: Engine) -> str | None:
    """Return the version of the tables, or None if the database is empty."""
    with reading(engine) as connection:
        names = inspect(connection).get_table_names()
        if meta.name not in names:
            if names and connection.dialect.name == "sqlite":
                raise StoreError(f"db must be empty or made by hubbub, got a database with a table {names[0]!r}")
            return None
        return connection.scalar(select(meta.c.value).where(meta.c.name == "schema_version"))
