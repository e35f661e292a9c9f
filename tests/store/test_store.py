"""The store on SQLite and on PostgreSQL: each report once, nothing kept longer than needed, damage noticed."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from errno import EACCES
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from sqlalchemy import delete, event, func, insert, select, update
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub import Integers, Survey, create_survey
from hubbub.errors import ParameterError, StoreBroken, StoreError, StoreUnavailable, SurveyClosed, UnknownSurvey
from hubbub.store.folding import erase_pending
from hubbub.store.life_cycle import close_survey, delete_survey, purge
from hubbub.store.remembering import check_not_lost, shown_database
from hubbub.store.reports import Upload, append
from hubbub.store.schema import meta, pending, reading, report_ids, tallies, writing
from hubbub.store.store import Store, StoredSurvey, for_each
from hubbub.store.stored_tallies import replace_tally
from hubbub.store.tokens import is_token, make_first_token, replace_token, stored_hash
from hubbub.store.upkeep import backup, check

CELLS = 1000


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database, build) as opened:
        yield opened


@pytest.fixture
def stored(store: Store) -> StoredSurvey:
    """A survey in it."""
    return store.add_survey(own_cell_survey(CELLS))


def count(store: Store, table: object) -> int:
    """Rows of a table."""
    with reading(store.engine) as connection:
        return connection.scalar(select(func.count()).select_from(table))


def cells_of(store: Store, stored: StoredSurvey) -> list[int]:
    """The cells that were counted, as often as they were."""
    tally = store.tally(stored.survey_id)
    assert tally.count == tally.cells.sum()
    return [int(cell) for cell in np.repeat(np.arange(CELLS), tally.cells)]


def refuse(*_: object, **__: object) -> NoReturn:
    """What the system does for whoever may not."""
    raise PermissionError(EACCES, os.strerror(EACCES))


class TestAppend:
    """Appending reports."""

    def test_new_reports_are_new(self, store: Store, stored: StoredSurvey) -> None:
        """Reports that nobody has seen are all accepted and counted."""
        (outcome,) = append(store.engine, [Upload(stored.key, some_reports([3, 1, 2]))])
        assert outcome.tolist() == [True] * 3
        assert cells_of(store, stored) == [1, 2, 3]

    def test_a_batch_again_is_all_duplicates(self, store: Store, stored: StoredSurvey) -> None:
        """A retry changes nothing, before and after a fold."""
        batch = Upload(stored.key, some_reports([1, 2]))
        append(store.engine, [batch])
        assert append(store.engine, [batch])[0].tolist() == [False, False]
        store.fold_all()
        assert append(store.engine, [batch])[0].tolist() == [False, False]
        assert cells_of(store, stored) == [1, 2]

    def test_some_are_new(self, store: Store, stored: StoredSurvey) -> None:
        """Of a batch with old and new reports the new ones count, wherever they stand."""
        reports = some_reports([1, 2, 3, 4])
        append(store.engine, [Upload(stored.key, reports[1:3])])
        assert append(store.engine, [Upload(stored.key, reports)])[0].tolist() == [True, False, False, True]
        assert cells_of(store, stored) == [1, 2, 3, 4]

    def test_an_id_twice_in_one_commit(self, store: Store, stored: StoredSurvey) -> None:
        """Within a batch and across the batches of a commit, the first of equal ids counts."""
        reports = some_reports([1, 2])
        double = np.concatenate([reports, reports])
        double["cell"][2:] = [7, 8]
        outcomes = append(store.engine, [Upload(stored.key, double), Upload(stored.key, reports)])
        assert [outcome.tolist() for outcome in outcomes] == [[True, True, False, False], [False, False]]
        assert cells_of(store, stored) == [1, 2]

    def test_ids_belong_to_their_survey(self, store: Store, stored: StoredSurvey) -> None:
        """The same id in two surveys is two reports."""
        other = store.add_survey(own_cell_survey(CELLS, "other"))
        reports = some_reports([5])
        outcomes = append(store.engine, [Upload(stored.key, reports), Upload(other.key, reports)])
        assert [outcome.tolist() for outcome in outcomes] == [[True], [True]]
        assert cells_of(store, stored) == cells_of(store, other) == [5]

    def test_a_refused_batch_does_not_harm_others(self, store: Store, stored: StoredSurvey) -> None:
        """In one commit, a batch to a closed survey and one to none are refused, and the rest is counted."""
        closed = store.add_survey(own_cell_survey(CELLS, "closed"))
        close_survey(store, closed.survey_id)
        reports = some_reports([5])
        outcomes = append(
            store.engine, [Upload(closed.key, reports), Upload(stored.key, reports), Upload(10**6, reports)]
        )
        assert isinstance(outcomes[0], SurveyClosed)
        assert outcomes[1].tolist() == [True]
        assert isinstance(outcomes[2], UnknownSurvey)
        assert cells_of(store, closed) == []

    def test_an_empty_batch(self, store: Store, stored: StoredSurvey) -> None:
        """No reports are no trouble."""
        assert append(store.engine, [Upload(stored.key, some_reports([]))])[0].tolist() == []
        assert count(store, pending) == 0

    def test_many_threads_with_the_same_reports(self, store: Store, stored: StoredSurvey) -> None:
        """Eight writers with overlapping batches in other orders: each report is new to exactly one of them."""
        reports = some_reports(list(range(200)))
        accepted = np.zeros((8, 200), np.int64)
        failures: list[Exception] = []

        def write(number: int) -> None:
            rng = np.random.default_rng(number)
            try:
                for _ in range(10):
                    chosen = rng.permutation(200)[:60]
                    accepted[number, chosen] += append(store.engine, [Upload(stored.key, reports[chosen])])[0]
                    store.tally(stored.survey_id)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        taken = accepted.sum(axis=0)
        assert taken.max() == 1
        assert cells_of(store, stored) == np.flatnonzero(taken).tolist()
        assert check(store).problems == ()


class TestFolding:
    """From pending reports to sums."""

    def test_pending_reports_are_erased(self, store: Store, stored: StoredSurvey) -> None:
        """After a fold the reports are gone, and their ids are not."""
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        assert count(store, pending) == 1
        assert store.fold_all() == 1
        assert (count(store, pending), count(store, report_ids)) == (0, 2)
        assert store.fold_all() == 0

    def test_an_answer_folds_first(self, store: Store, stored: StoredSurvey) -> None:
        """The tally has what was durable when it was asked for."""
        append(store.engine, [Upload(stored.key, some_reports([9]))])
        assert store.tally(stored.survey_id).count == 1
        assert count(store, pending) == 0

    def test_a_fold_on_an_old_tally_is_thrown_away(self, store: Store, stored: StoredSurvey) -> None:
        """Of two folders of the same reports one has to start over: the version it read is gone."""
        append(store.engine, [Upload(stored.key, some_reports([9]))])
        with reading(store.engine) as connection:
            version = connection.scalar(select(tallies.c.version))
        tally = store.tally(stored.survey_id)
        assert not replace_tally(store.engine, stored.key, version, tally, 1)
        assert store.tally(stored.survey_id) == tally

    def test_a_fold_that_erases_less_than_it_added_is_undone(self, store: Store, stored: StoredSurvey) -> None:
        """Reports that are gone when they should be erased were counted by somebody else."""
        tally = store.tally(stored.survey_id)
        with pytest.raises(StoreUnavailable, match="added 1 rows, but only 0 could be erased"):
            replace_tally(store.engine, stored.key, 0, tally, 1, [lambda writer: erase_pending(writer, [12345])])
        with reading(store.engine) as connection:
            assert connection.scalar(select(tallies.c.version)) == 0

    def test_what_is_read_is_one_snapshot(self, store: Store, stored: StoredSurvey) -> None:
        """Whoever reads the tally and then the pending reports finds each report in exactly one of them."""
        append(store.engine, [Upload(stored.key, some_reports([9]))])
        with reading(store.engine) as connection:
            version = connection.scalar(select(tallies.c.version))
            assert store.tally(stored.survey_id).count == 1
            assert connection.scalar(select(func.count()).select_from(pending)) == 1
            assert connection.scalar(select(tallies.c.version)) == version
        assert count(store, pending) == 0

    @pytest.mark.parametrize("damage", ["tally", "pending"])
    def test_a_damaged_survey_does_not_keep_others_from_it(
        self, store: Store, stored: StoredSurvey, damage: str
    ) -> None:
        """What can be folded is folded, and then the damage is told."""
        other = store.add_survey(own_cell_survey(CELLS, "other"))
        append(store.engine, [Upload(stored.key, some_reports([1])), Upload(other.key, some_reports([2]))])
        with writing(store.engine) as connection:
            if damage == "tally":
                connection.execute(update(tallies).where(tallies.c.survey == stored.key).values(tally=b"broken"))
            else:
                connection.execute(update(pending).where(pending.c.survey == stored.key).values(reports=b"123"))
        with pytest.raises(StoreError, match="damaged"):
            store.fold_all()
        with reading(store.engine) as connection:
            assert list(connection.scalars(select(pending.c.survey))) == [stored.key]
        assert cells_of(store, other) == [2]

    def test_many_rows(self, store: Store, stored: StoredSurvey) -> None:
        """More pending rows than one transaction takes are all folded."""
        reports = some_reports(list(range(600)))
        with writing(store.engine) as connection:
            rows = [{"survey": stored.key, "reports": report.tobytes()} for report in reports]
            connection.execute(insert(pending), rows)
        assert cells_of(store, stored) == list(range(600))

    def test_payloads_leave_the_files(self, tmp_path: Path) -> None:
        """After a fold no file of SQLite holds a payload any more, not even the write-ahead log."""
        payload = 0xDEADBEEF
        needle = payload.to_bytes(4, "little")
        with Store(str(tmp_path / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS))
            reports = some_reports([payload] * 50)
            append(store.engine, [Upload(stored.key, reports)])

            def found() -> bool:
                return any(needle in path.read_bytes() for path in tmp_path.iterdir())

            assert found(), "the payload is there while it is pending"
            with writing(store.engine) as connection:  # these cells do not exist: erased as a fold erases
                connection.execute(delete(pending))
            store.guard.has_erased_rows = True
            store.guard.remove_erased()
            assert not found()

    def test_ids_leave_the_files(self, tmp_path: Path) -> None:
        """After a close, `purge` and the next round no file of SQLite holds an id any more."""
        with Store(str(tmp_path / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS))
            reports = some_reports([1, 2, 3])
            needles = [report["id"].tobytes() for report in reports]
            append(store.engine, [Upload(stored.key, reports)])
            close_survey(store, stored.survey_id)
            store.fold_all()

            def found() -> bool:
                files = [path.read_bytes() for path in tmp_path.iterdir()]
                return any(needle in file for needle in needles for file in files)

            assert found(), "ids are there until they are dropped"
            purge(store)
            store.fold_all()
            assert not found()

    def test_postgresql_vacuums_ids(self, postgresql: str) -> None:
        """After a close the space of the ids is given back before the survey counts as closed."""
        from tests.databases import emptied

        with Store(emptied(postgresql), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS))
            append(store.engine, [Upload(stored.key, some_reports([1]))])
            close_survey(store, stored.survey_id)
            said: list[str] = []
            event.listen(store.engine, "before_cursor_execute", lambda *all_: said.append(all_[2]))
            purge(store)
            vacuum = said.index(f"VACUUM {report_ids.name}")
            assert any(one.startswith("DELETE FROM hubbub_report_ids") for one in said[:vacuum])
            assert any(one.startswith("UPDATE hubbub_surveys") for one in said[vacuum:])

    def test_an_answer_while_the_log_is_emptied(self, tmp_path: Path) -> None:
        """What an answer erases while the folder empties the log is taken away in the next round."""
        log = tmp_path / "a.db-wal"
        with Store(str(tmp_path / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS))

            answered: list[bool] = []

            def answer(*_: object) -> None:
                """Erase a report as soon as the connection that emptied the log is given back."""
                if answered:
                    return
                answered.append(True)
                append(store.engine, [Upload(stored.key, some_reports([1]))])
                store.tally(stored.survey_id)

            event.listen(store.engine, "checkin", answer)
            store.guard.remove_erased()
            assert log.stat().st_size > 0
            store.fold_all()
            assert log.stat().st_size == 0

    def test_a_log_that_cannot_be_emptied(self, tmp_path: Path) -> None:
        """What SQLite says on a connection of its own is an error of the store, too, and it is tried again."""
        with Store(str(tmp_path / "a.db"), build) as store:
            with store.engine.connect() as connection, connection.begin():
                raw = connection.connection.driver_connection
                raw.set_authorizer(lambda _, name, *__: int(name == "wal_checkpoint"))
            with pytest.raises(StoreUnavailable, match="not authorized"):
                store.fold_all()
            raw.set_authorizer(None)
            assert store.fold_all() == 0
            assert (tmp_path / "a.db-wal").stat().st_size == 0

    def test_the_log_is_emptied_after_an_answer(self, tmp_path: Path) -> None:
        """An answer folds, too: the next round empties the log, at once or when nobody reads from it any more."""
        log = tmp_path / "a.db-wal"
        with Store(str(tmp_path / "a.db"), build) as store:
            stored = store.add_survey(own_cell_survey(CELLS))
            append(store.engine, [Upload(stored.key, some_reports([1]))])
            with reading(store.engine) as reader:
                reader.execute(select(meta)).all()
                store.tally(stored.survey_id)
                store.fold_all()
                assert log.stat().st_size > 0
            store.fold_all()
            assert log.stat().st_size == 0


class TestSurveys:
    """Surveys come, close and go."""

    def test_closing_drops_ids_and_keeps_the_tally(self, store: Store, stored: StoredSurvey) -> None:
        """What was appended before the close is counted; the ids are gone after `purge`; nothing more is taken."""
        batch = Upload(stored.key, some_reports([1, 2]))
        append(store.engine, [batch])
        assert close_survey(store, stored.survey_id).count == 2
        purge(store)
        assert count(store, report_ids) == 0
        assert isinstance(append(store.engine, [batch])[0], SurveyClosed)
        assert store.survey(stored.survey_id).closed
        assert cells_of(store, stored) == [1, 2]
        assert close_survey(store, stored.survey_id).count == 2
        assert check(store).problems == ()

    def test_deleting_leaves_nothing(self, store: Store, stored: StoredSurvey) -> None:
        """After a delete and `purge` no row of the survey is left, and its key is not given again."""
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        delete_survey(store, stored.survey_id)
        with pytest.raises(UnknownSurvey):
            store.survey(stored.survey_id)
        purge(store)
        assert [count(store, table) for table in (pending, report_ids, tallies)] == [0, 0, 0]
        assert isinstance(append(store.engine, [Upload(stored.key, some_reports([1]))])[0], UnknownSurvey)
        assert store.add_survey(stored.survey).key != stored.key

    def test_a_damaged_survey_does_not_keep_others_open(self, store: Store, stored: StoredSurvey) -> None:
        """Of two surveys that are being closed, the one that can be is, and the damage of the other is told."""
        other = store.add_survey(own_cell_survey(CELLS, "other"))
        for each in (stored, other):
            append(store.engine, [Upload(each.key, some_reports([1]))])
            close_survey(store, each.survey_id)
        with writing(store.engine) as connection:
            connection.execute(update(tallies).where(tallies.c.survey == stored.key).values(tally=b"broken"))
        with pytest.raises(StoreError, match="damaged"):
            purge(store)
        with reading(store.engine) as connection:
            assert list(connection.scalars(select(report_ids.c.survey))) == [stored.key]

    def test_a_close_does_not_hold_up_folding(
        self, store: Store, stored: StoredSurvey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When its time is over `purge` says that there is more to do, and goes on with it the next time."""
        monkeypatch.setattr("hubbub.store.life_cycle.IDS_AT_ONCE", 1)
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        close_survey(store, stored.survey_id)
        assert (purge(store, 0), count(store, report_ids)) == (False, 1)
        assert (purge(store, 0), count(store, report_ids)) == (False, 0)
        assert purge(store, 0)

    def test_the_state_follows_the_clock(self, store: Store) -> None:
        """A survey opens and closes at the second that it names, and a close by hand is final."""
        opens, closes = (datetime(2030, 1, day, tzinfo=UTC) for day in (1, 2))
        stored = store.add_survey(own_cell_survey(CELLS, opens=opens, closes=closes))
        second = timedelta(seconds=1)
        times = (opens - second, opens, closes - second, closes)
        assert [stored.state(now) for now in times] == ["not yet open", "open", "open", "closed"]
        close_survey(store, stored.survey_id)
        assert {store.survey(stored.survey_id).state(now) for now in times} == {"closed"}

    def test_a_survey_is_added_once(self, store: Store, stored: StoredSurvey) -> None:
        """The same survey again is refused in one sentence."""
        with pytest.raises(ParameterError, match="must be new"):
            store.add_survey(stored.survey)

    def test_what_was_read_before_a_change_is_not_remembered(self, store: Store, stored: StoredSurvey) -> None:
        """A survey that is deleted while another thread reads it is gone for the next one that asks."""

        def build_slowly(survey: Survey) -> object:
            delete_survey(store, stored.survey_id)
            return build(survey)

        store.build = build_slowly
        store.forget_state(stored.survey_id)
        store.survey(stored.survey_id)
        with pytest.raises(UnknownSurvey):
            store.survey(stored.survey_id)

    def test_the_registry_stays_closed(self, tmp_path: Path) -> None:
        """A store that nobody hands a mechanism to takes those of the registry only."""
        with Store(str(tmp_path / "a.db")) as store, pytest.raises(ParameterError, match="mechanism must be one of"):
            store.add_survey(own_cell_survey(CELLS))

    def test_a_real_survey(self, store: Store) -> None:
        """A survey of the default mechanism comes back as it went in."""
        survey = create_survey("real", Integers(16), 1)
        assert store.add_survey(survey, ["https://a.example"]).survey == survey
        with Store(str(store.engine.url.render_as_string(hide_password=False)), build) as again:
            stored = again.survey(survey.survey_id)
        assert (stored.survey, stored.document, stored.origins) == (survey, survey.to_json(), ("https://a.example",))


class TestTheOwner:
    """The owner's token."""

    def test_it_is_made_once_and_hashed(self, store: Store) -> None:
        """The first start makes a token; no other does; the database does not hold it."""
        token = make_first_token(store.engine)
        assert len(token) >= 43
        assert make_first_token(store.engine) is None
        assert is_token(stored_hash(store.engine), token)
        assert not is_token(stored_hash(store.engine), token[:-1])
        assert not is_token(stored_hash(store.engine), "")
        with reading(store.engine) as connection:
            assert token not in str(connection.execute(select(meta)).all())

    def test_a_new_one_replaces_it(self, store: Store) -> None:
        """After a replacement the old token is worth nothing; without any, nobody is the owner."""
        assert not is_token(stored_hash(store.engine), "x")
        old = make_first_token(store.engine)
        new = replace_token(store.engine)
        assert is_token(stored_hash(store.engine), new)
        assert not is_token(stored_hash(store.engine), old)


class TestSchema:
    """What a store refuses to open."""

    @pytest.mark.parametrize("content", [b"", b"not a database" * 100])
    def test_files(self, tmp_path: Path, content: bytes) -> None:
        """An empty file becomes a store; a file that is no database is refused."""
        path = tmp_path / "file"
        path.write_bytes(content)
        if content:
            with pytest.raises(StoreBroken, match="not a database"):
                Store(str(path))
        else:
            Store(str(path)).close()

    def test_somebody_elses(self, tmp_path: Path) -> None:
        """A database with other tables is refused, and left as it is."""
        path = str(tmp_path / "other.db")
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE notes (text)")
        connection.close()
        before = Path(path).read_bytes()
        with pytest.raises(StoreError, match="a table 'notes'"):
            Store(path)
        assert Path(path).read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["other.db"]

    @pytest.mark.parametrize(
        "url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "://", "postgresql+asyncpg://x/y"]
    )
    def test_urls(self, url: str) -> None:
        """Only files of SQLite and PostgreSQL are taken."""
        with pytest.raises(StoreError, match="db must be"):
            Store(url)

    def test_no_password_in_an_error(self) -> None:
        """A database that cannot be reached is one sentence, without the password."""
        with pytest.raises(StoreUnavailable, match="the database cannot be used now") as caught:
            Store("postgresql://someone:secret-word@127.0.0.1:1/x")
        assert "secret-word" not in str(caught.value)
        for address, shown in {
            "postgresql://me:secret-word@host/x?password=secret-word": "host/x",
            "postgresql://me:secret@word@host:5433/x": "host:5433/x",
            "postgresql://host/x": "host/x",
            "postgresql:///x?host=one.example&user=me&password=secret-word": "one.example/x",
            "postgresql://me:secret-word@/x?host=two.example&port=5433": "two.example:5433/x",
            "postgresql:///x?host=one:1&host=two:2": "one:1,two:2/x",
            "postgresql:///?host=/run/pg&dbname=y": "/run/pg/y",
            "postgresql:///?service=z": "/ of service z",
            "postgresql://me:secret-word@host:port/x": "postgresql://…",
        }.items():
            assert shown_database(address) == shown

    def test_a_file_that_cannot_be_opened_is_named(self, tmp_path: Path) -> None:
        """With the reason, which SQLite does not tell; also where the path is given as a URL."""
        file = tmp_path / "file"
        file.write_text("")
        for path, reason in (
            (tmp_path / "no" / "a.db", "no such directory"),
            (tmp_path, "is a directory"),
            (file / "a.db", "not a directory"),
        ):
            for database in (str(path), f"sqlite:///{path}"):
                with pytest.raises(StoreUnavailable) as caught:
                    Store(database)
                assert str(caught.value) == f"db must be a file that can be opened, got {str(path)!r} ({reason})"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_a_file_that_may_not_be_opened_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file and a directory that somebody else may write; a directory that may not be listed is no error yet."""
        path = tmp_path / "a.db"
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(StoreUnavailable) as caught:
                Store(str(path))
        assert str(caught.value) == f"db must be a file that can be opened, got {str(path)!r} (permission denied)"
        path.write_text("")
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_: False)
            with pytest.raises(StoreUnavailable) as caught:
                Store(str(path))
        assert str(caught.value) == (
            f"db must be in a directory that can be written, got {str(path)!r} (permission denied in its directory)"
        )
        with monkeypatch.context() as patch:
            patch.setattr(Path, "stat", refuse)
            check_not_lost(str(tmp_path / "new.db"), new=False)

    def test_two_collectors_start_at_once(self, database: str) -> None:
        """Two first starts on one database make one schema and one token."""
        tokens: list[str | None] = []

        def start() -> None:
            with Store(database, build) as store:
                tokens.append(make_first_token(store.engine))

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tokens) == 4
        assert sum(token is not None for token in tokens) == 1

    def test_sqlite_is_durable(self, tmp_path: Path) -> None:
        """SQLite runs with a write-ahead log, full synchronisation and secure deletion."""
        with Store(str(tmp_path / "a.db")) as store, reading(store.engine) as connection:
            settings = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "secure_delete")
            }
        assert settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}


class TestUpkeep:
    """Checks and copies."""

    def test_a_check_counts(self, store: Store, stored: StoredSurvey) -> None:
        """A whole store is whole, with reports folded and pending."""
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        store.fold_all()
        append(store.engine, [Upload(stored.key, some_reports([3], seed=2))])
        found = check(store)
        assert (found.surveys, found.reports, found.pending, found.ids, found.problems) == (1, 2, 1, 3, ())

    @pytest.mark.parametrize("damage", ["tally bit", "no tally", "lost id", "document", "cut report"])
    def test_damage_is_found(self, store: Store, stored: StoredSurvey, damage: str) -> None:
        """A changed bit of a tally or a survey, a lost id and a cut report are found."""
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        assert check(store).problems == ()
        from hubbub.store.schema import surveys

        with writing(store.engine) as connection:
            blob = bytearray(connection.scalar(select(tallies.c.tally)))
            blob[100] ^= 1
            statements = {
                "tally bit": update(tallies).values(tally=bytes(blob)),
                "no tally": delete(tallies),
                "lost id": delete(report_ids).where(report_ids.c.id == some_reports([1, 2])[0]["id"].tobytes()),
                "document": update(surveys).values(document=stored.document.replace(b"own cells", b"own calls")),
                "cut report": update(pending).values(reports=b"123"),
            }
            connection.execute(statements[damage])
        assert len(check(store).problems) == 1

    def test_a_damaged_tally_gives_no_answer(self, store: Store, stored: StoredSurvey) -> None:
        """A tally that does not match its checksum is an error, and is not folded into."""
        with writing(store.engine) as connection:
            blob = bytearray(connection.scalar(select(tallies.c.tally)))
            blob[100] ^= 1
            connection.execute(update(tallies).values(tally=bytes(blob)))
        with pytest.raises(StoreError, match="is damaged: a tally must match its checksum"):
            store.tally(stored.survey_id)

    def test_a_backup_is_a_store(self, store: Store, stored: StoredSurvey, tmp_path: Path) -> None:
        """A copy holds everything, has no pending reports, and refuses what the original has seen."""
        batch = Upload(stored.key, some_reports([1, 2]))
        token = make_first_token(store.engine)
        append(store.engine, [batch])
        copy = tmp_path / "copy.db"
        assert backup(store, copy) == copy.stat().st_size
        assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == ["copy.db"]
        with Store(str(copy), build) as again:
            assert check(again).problems == ()
            assert (count(again, pending), is_token(stored_hash(again.engine), token)) == (0, True)
            assert append(again.engine, [batch])[0].tolist() == [False, False]
            assert cells_of(again, again.survey(stored.survey_id)) == [1, 2]
        with pytest.raises(ParameterError, match="must be a new file"):
            backup(store, copy)
        with pytest.raises(ParameterError, match="can be written"):
            backup(store, tmp_path / "no" / "such" / "folder.db")


def test_a_heartbeat_writes(store: Store) -> None:
    """A heartbeat leaves one small row, however often it is made."""
    store.heartbeat()
    store.heartbeat()
    assert count(store, meta) == 2


def test_many_heartbeats_at_once(store: Store) -> None:
    """Collectors that share a database do not take each other's heartbeats for failures."""
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(store.heartbeat) for _ in range(80)]:
            done.result()


def test_a_stored_survey_must_match_its_id(store: Store, stored: StoredSurvey) -> None:
    """A document that was changed in the database is not served."""
    from hubbub.store.schema import surveys

    other: Survey = own_cell_survey(CELLS, "something else")
    with writing(store.engine) as connection:
        connection.execute(update(surveys).values(document=other.to_json()))
    store.forget_state(stored.survey_id)
    with pytest.raises(StoreError, match="its document has another id"):
        store.survey(stored.survey_id)


def test_a_survey_that_was_deleted_meanwhile_is_no_failure() -> None:
    """Work over several surveys goes on without it, and other errors are still raised at the end."""

    def work(number: int) -> int:
        if number == 2:
            raise UnknownSurvey("it was deleted")
        if number == 4:
            raise StoreUnavailable("no room")
        return number

    assert for_each(work, [1, 2, 3]) == [1, 3]
    with pytest.raises(StoreUnavailable, match="no room"):
        for_each(work, [2, 4, 5])
