"""How the room of a survey that ended comes back to the disk."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub.store import erasing
from hubbub.store.erasing import shrink
from hubbub.store.life_cycle import close_survey, purge
from hubbub.store.reports import Upload, append
from hubbub.store.store import Store


def spare_pages(store: Store) -> int:
    """Pages of the file that nothing is in."""
    with store.engine.connect() as connection:
        return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())


def closed_survey(store: Store) -> None:
    """A survey with 20,000 reports, which is closed."""
    stored = store.add_survey(own_cell_survey(20_000))
    append(store.engine, [Upload(stored.key, some_reports(list(range(20_000))))])
    close_survey(store, stored.survey_id)


def test_many_pages_are_given_back_at_once(tmp_path: Path) -> None:
    """One commit gives back hundreds of pages: a commit for each would take hours for a large survey."""
    with Store(str(tmp_path / "a.db"), build) as store:
        closed_survey(store)
        before = spare_pages(store)
        assert before > 50
        assert not shrink(store.engine, time.monotonic(), 50 * 4096)
        assert spare_pages(store) == before - 50
        assert shrink(store.engine, time.monotonic())
        assert spare_pages(store) == 0


def test_room_is_given_back_after_a_survey_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time runs out when the survey is closed already: what is left is given back later, also after a restart."""
    monkeypatch.setattr(erasing, "_MOST_PAGES", 50)
    with Store(str(tmp_path / "a.db"), build) as store:
        closed_survey(store)
        assert not purge(store, 0)
        assert spare_pages(store) > 100
    with Store(str(tmp_path / "a.db"), build) as store:
        for _ in range(20):
            done = purge(store, 0)
        assert done
        assert spare_pages(store) == 0
    assert (tmp_path / "a.db").stat().st_size < 500_000
