"""What went wrong in a database is told by its codes: a full disk, damaged pages, or anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text
from tests.collector.own_cell import build
from tests.databases import emptied

from hubbub.errors import StoreBroken, StoreFull, StoreUnavailable
from hubbub.store.schema import PAGE_BYTES, writing
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
