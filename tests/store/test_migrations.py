"""A database of every version so far becomes one of today, with everything that was in it."""

from __future__ import annotations

import random
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine, inspect, text, update
from tests.collector.own_cell import build, own_cell_survey, some_reports
from tests.collector.simulation import zygote
from tests.store.earlier import turn_back

from hubbub.errors import StoreError
from hubbub.model.tally import Tally
from hubbub.store.aging_ids import note_old_ids
from hubbub.store.life_cycle import purge
from hubbub.store.migrations import SCHEMA_VERSION
from hubbub.store.names import change_names, names_of
from hubbub.store.overview import list_surveys
from hubbub.store.reports import Upload, append
from hubbub.store.schema import meta, open_engine, reading, writing
from hubbub.store.store import Store
from hubbub.store.upkeep import check
from hubbub.wire.tally_file import encode_tally

CELLS = 100
BLOB, KEY = "{blob}", "{key}"
VERSION_1 = [
    "CREATE TABLE hubbub_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE hubbub_surveys (key {key}, survey_id {blob} NOT NULL UNIQUE, document {blob} NOT NULL,"
    " origins TEXT NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE hubbub_tallies (survey BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, tally {blob} NOT NULL)",
    "CREATE TABLE hubbub_report_ids (survey BIGINT NOT NULL, id {blob} NOT NULL, PRIMARY KEY (survey, id)){rowid}",
    "CREATE TABLE hubbub_pending (key {key}, survey BIGINT NOT NULL, reports {blob} NOT NULL)",
    "INSERT INTO hubbub_meta VALUES ('schema_version', '1')",
]


def make_version_1(database: str) -> None:
    """A database as the first version made it: a survey with one folded and one pending report, and a damaged one."""
    engine = open_engine(database)
    sqlite = engine.dialect.name == "sqlite"
    words = {
        "blob": "BLOB" if sqlite else "BYTEA",
        "key": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT" if sqlite else "BIGSERIAL PRIMARY KEY",
        "rowid": " WITHOUT ROWID" if sqlite else "",
    }
    survey = own_cell_survey(CELLS, closes="2031-01-01T00:00:00Z")
    cells = np.zeros(CELLS, np.int64)
    cells[7] = 1
    reports = some_reports([7, 8])
    rows = [
        ("surveys (survey_id, document, origins, state)", [survey.survey_id, survey.to_json(), '["*"]', "open"]),
        ("surveys (survey_id, document, origins, state)", [bytes(32), b"{", '["*"]', "open"]),
        ("tallies (survey, version, tally)", [1, 4, encode_tally(Tally(survey.survey_id, 1, cells))]),
        ("pending (survey, reports)", [1, reports[1:].tobytes()]),
        *(("report_ids (survey, id)", [1, report["id"].tobytes()]) for report in reports),
    ]
    with writing(engine) as connection:
        for statement in VERSION_1:
            connection.execute(text(statement.format(**words)))
        for table, values in rows:
            names = ", ".join(f":v{number}" for number in range(len(values)))
            statement = text(f"INSERT INTO hubbub_{table} VALUES ({names})")  # noqa: S608  # a test's own
            connection.execute(statement, {f"v{number}": value for number, value in enumerate(values)})
    engine.dispose()


def shape(engine: Engine) -> dict[str, set[tuple[str, str, bool]]]:
    """All tables with their columns: name, type and whether they may be NULL."""
    found = inspect(engine)
    return {
        table: {
            (column["name"], str(column["type"]), bool(column["nullable"]))
            for column in found.get_columns(table)
        }
        for table in found.get_table_names()
    }  # fmt: skip


def test_a_database_of_version_1_becomes_one_of_today(database: str) -> None:
    """The step keeps every report, fills what is new, and ends with the tables of a new database."""
    make_version_1(database)
    survey = own_cell_survey(CELLS, closes="2031-01-01T00:00:00Z")
    with Store(database, build) as store:
        first, damaged = list_surveys(store.engine)
        assert (first.survey_id, first.name, first.reports) == (survey.survey_id, survey.name, 1)
        assert first.closes == survey.closes
        assert damaged.damage == "its document could not be read"
        assert np.flatnonzero(store.tally(survey.survey_id).cells).tolist() == [7, 8]
        assert list_surveys(store.engine)[0].reports == 2
        assert len(check(store).problems) == 1
        migrated = shape(store.engine)
        with reading(store.engine) as connection:
            assert connection.scalar(meta.select().with_only_columns(meta.c.value)) == str(SCHEMA_VERSION)
    with Store(database, build) as again:
        assert shape(again.engine) == migrated


def test_migrated_and_new_databases_are_alike(tmp_path: Path) -> None:
    """Whoever changes a table without a step, or a step without the table, hears of it here."""
    make_version_1(str(tmp_path / "old.db"))
    with Store(str(tmp_path / "old.db"), build) as old, Store(str(tmp_path / "new.db"), build) as new:
        assert shape(old.engine) == shape(new.engine)


@pytest.mark.slow
def test_migrated_and_new_databases_are_alike_in_postgresql(postgresql: str) -> None:
    """The same for PostgreSQL."""
    from tests.databases import new_postgresql_database

    names = [new_postgresql_database(postgresql) for _ in range(2)]
    make_version_1(names[0])
    with Store(names[0], build) as old, Store(names[1], build) as new:
        assert shape(old.engine) == shape(new.engine)


def test_surveys_without_names_stay(database: str) -> None:
    """A database of the version before surveys had names keeps its surveys and their reports; names can be added."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(CELLS))
        append(store.engine, [Upload(stored.key, some_reports([7, 8]))])
        store.fold_all()
        with writing(store.engine) as connection:
            turn_back(connection, 6)
    with Store(database, build) as store:
        stored = store.survey(stored.survey_id)
        assert store.tally(stored.survey_id).count == 2
        assert not any(names_of(store.engine, stored))
        assert change_names(store.engine, stored, ["7"])[0] == ((), ("7",), (), ())


def test_ids_of_version_8_stay(database: str) -> None:
    """Reports whose ids came before ids had slices are known, and none of their ids is due."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(CELLS))
        append(store.engine, [Upload(stored.key, some_reports([7, 8]))])
        with writing(store.engine) as connection:
            turn_back(connection, 8)
    with Store(database, build) as store:
        note_old_ids(store, int(time.time()), True)
        assert purge(store)
        (known,) = append(store.engine, [Upload(stored.key, some_reports([7, 8]))])
        assert not np.asarray(known).any()
        assert store.tally(stored.survey_id).count == 2
        assert check(store).problems == ()


@pytest.mark.slow
def test_a_migration_that_is_killed(tmp_path: Path) -> None:
    """Killed at any moment, it happened or it did not: no report is lost or doubled, and the next start goes on."""
    path, rng = str(tmp_path / "a.db"), random.Random(29)
    with Store(path, build) as store:
        stored = store.add_survey(own_cell_survey(CELLS))
        append(store.engine, [Upload(stored.key, some_reports([7] * 2_000))])
        store.fold_all()
        append(store.engine, [Upload(stored.key, some_reports([8], 2))])
    versions, longest = [], 0.15
    with zygote() as forks:
        listener = forks.ask(do="bind")["listener"]
        for _ in range(25):
            with Store(path, build) as store, writing(store.engine) as connection:
                turn_back(connection, 8)
            pid = forks.ask(do="start", database=path, listener=listener)["pid"]
            time.sleep(rng.random() * longest)
            forks.ask(do="kill", pid=pid)
            with closing(sqlite3.connect(path)) as plain:
                (version,) = plain.execute("SELECT value FROM hubbub_meta WHERE name = 'schema_version'").fetchone()
            versions.append(version)
            longest *= 1.5 if version == "8" else 0.75  # so that half of the kills come before the step's end
            with Store(path, build) as store:
                (known,) = append(store.engine, [Upload(stored.key, some_reports([8], 2))])
                assert not np.asarray(known).any()
                assert check(store).problems == ()
    assert len(set(versions)) == 2, "kills must come before and after the step"
    with Store(path, build) as store:
        assert store.tally(stored.survey_id).cells[[7, 8]].tolist() == [2_000, 1]


def test_the_database_as_it_was_is_kept(tmp_path: Path) -> None:
    """A file of SQLite is copied beside itself before the steps; a second upgrade does not overwrite the copy."""
    path = tmp_path / "a.db"
    for number in range(2):
        path.unlink(missing_ok=True)
        make_version_1(str(path))
        Store(str(path), build).close()
        copy = tmp_path / ("a.db.version-1" if number == 0 else "a.db.version-1-2")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        engine = create_engine(f"sqlite:///{copy}")
        assert "summary" not in {column["name"] for column in inspect(engine).get_columns("hubbub_surveys")}
        engine.dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("version", [str(SCHEMA_VERSION + 1), "0", "x"])
def test_other_versions_are_refused(database: str, version: str) -> None:
    """A newer database, and one whose version makes no sense, are refused in one sentence and left as they are."""
    with Store(database, build) as store, writing(store.engine) as connection:
        connection.execute(update(meta).where(meta.c.name == "schema_version").values(value=version))
    with pytest.raises(StoreError, match=rf"schema version {SCHEMA_VERSION} or older, got version {version}"):
        Store(database)
