"""What went wrong in a database is told by its codes: a full disk, damaged pages, or anything else."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select, text
from tests.collector.own_cell import build, own_cell_survey, some_reports
from tests.databases import emptied

from hubbub.errors import StoreBroken, StoreFull, StoreUnavailable, UnknownSurvey
from hubbub.store.reports import Upload, append
from hubbub.store.schema import PAGE_BYTES, report_ids, writing
from hubbub.store.store import Store


def test_a_file_that_may_not_grow_is_full(tmp_path: Path) -> None:
    """SQLite's code for a full disk is one, whatever its message says."""
    with Store(str(tmp_path / "a.db"), build) as store:
        with store.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
        with pytest.raises(StoreFull):
            store.heartbeat(100_000)


def test_words_alone_mean_nothing(tmp_path: Path) -> None:
    """An error whose words speak of a full disk or of damage is any error."""
    words = "the disk is full, and the image is malformed: not a database"
    with Store(str(tmp_path / "a.db"), build) as store:
        with writing(store.engine) as connection:
            trigger = "CREATE TRIGGER refuse BEFORE INSERT ON hubbub_meta BEGIN SELECT RAISE(ABORT, '%s'); END"
            connection.exec_driver_sql(trigger.replace("%s", words))
        with pytest.raises(StoreUnavailable, match=words) as caught:
            store.heartbeat()
    assert type(caught.value) is StoreUnavailable


def test_damaged_pages_are_known(tmp_path: Path) -> None:
    """Pages that are overwritten are found when they are read."""
    path = tmp_path / "a.db"
    Store(str(path), build).close()
    damaged = bytearray(path.read_bytes())
    damaged[PAGE_BYTES:] = b"\xff" * (len(damaged) - PAGE_BYTES)
    path.write_bytes(damaged)
    with pytest.raises(StoreBroken, match="hubbub store restore"), Store(str(path), build) as store:
        store.heartbeat()


@pytest.mark.parametrize(
    ("code", "kind"),
    [("53100", StoreFull), ("XX001", StoreBroken), ("XX002", StoreBroken), ("53200", StoreUnavailable)],
)
def test_codes_of_postgresql(postgresql: str, code: str, kind: type[StoreUnavailable]) -> None:
    """Its classes of errors name a full disk and corrupted data; running out of memory is neither."""
    with (
        Store(emptied(postgresql), build) as store,
        pytest.raises(StoreUnavailable) as caught,
        writing(store.engine) as connection,
    ):
        connection.execute(text(f"DO $$ BEGIN RAISE 'x' USING ERRCODE = '{code}'; END $$"))
    assert type(caught.value) is kind


def test_a_commit_that_fails_at_its_end_stores_nothing(postgresql: str) -> None:
    """Ids, which come first, are stored with their reports or not at all; the same connection works afterwards."""
    refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'x'; END $$"
    with Store(emptied(postgresql), build) as store:
        stored = store.add_survey(own_cell_survey(10))
        with writing(store.engine) as connection:
            connection.exec_driver_sql(refuse)
            connection.exec_driver_sql(
                "CREATE TRIGGER refuse BEFORE INSERT ON hubbub_pending EXECUTE FUNCTION refuse()"
            )
        uploads = [Upload(stored.key, some_reports([1, 2]))]
        with pytest.raises(StoreUnavailable, match="cannot be used now: x"):
            append(store.engine, uploads)
        with writing(store.engine) as connection:
            assert connection.scalar(select(func.count()).select_from(report_ids)) == 0
            connection.exec_driver_sql("DROP TRIGGER refuse ON hubbub_pending")
        assert append(store.engine, uploads)[0].tolist() == [True, True]
        assert append(store.engine, uploads)[0].tolist() == [False, False]
        more = [*uploads, Upload(stored.key, some_reports([1, 2, 3])), Upload(stored.key + 1, some_reports([1]))]
        known, some, nobody = append(store.engine, more)
        assert (known.tolist(), some.tolist()) == ([False, False], [False, False, True])
        assert isinstance(nobody, UnknownSurvey)
        assert store.tally(stored.survey_id).count == 3


def test_a_connection_that_is_lost_is_replaced(postgresql: str) -> None:
    """A server that ends a session between two commits, or within one, costs at most the commit that was running."""
    with Store(emptied(postgresql), build) as store:
        stored = store.add_survey(own_cell_survey(10))

        def end_sessions() -> bool:
            with psycopg.connect(postgresql, autocommit=True) as other:
                others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                other.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}")
            return True

        assert append(store.engine, [Upload(stored.key, some_reports([1], 1))])[0].tolist() == [True]
        end_sessions()
        assert append(store.engine, [Upload(stored.key, some_reports([2], 2))])[0].tolist() == [True]
        with pytest.raises(StoreUnavailable):
            append(store.engine, [Upload(stored.key, some_reports([3], 3), claim=end_sessions)])
        assert append(store.engine, [Upload(stored.key, some_reports([3], 3))])[0].tolist() == [True]
        assert store.tally(stored.survey_id).count == 3
