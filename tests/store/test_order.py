"""In which order reports arrived cannot be seen within a commit, nor in a copy of the store."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select, text
from tests.collector.own_cell import OwnCell, build, own_cell_survey, some_reports

from hubbub.store.reports import Upload, append
from hubbub.store.schema import pending, reading
from hubbub.store.store import Store
from hubbub.store.upkeep import backup

EACH = 200


def ids_of(reports: bytes) -> list[bytes]:
    """The ids of whole reports."""
    size = OwnCell.report_dtype.itemsize
    return [reports[start : start + 16] for start in range(0, len(reports), size)]


def test_pending_reports_are_in_the_order_of_their_ids(database: str) -> None:
    """The reports of uploads that share a commit are stored in the order of their ids, with the right payloads."""
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(EACH))
        parts = [some_reports(list(range(first, first + EACH // 4)), first) for first in range(0, EACH, EACH // 4)]
        append(store.engine, [Upload(stored.key, part) for part in parts])
        with reading(store.engine) as connection:
            (kept,) = connection.scalars(select(pending.c.reports)).all()
            if not store.embedded:
                heap = text("SELECT id FROM hubbub_report_ids ORDER BY ctid")
                assert [bytes(each) for each in connection.scalars(heap)] == sorted(ids_of(kept))
        found = ids_of(bytes(kept))
        assert found == sorted(found)
        assert found != ids_of(b"".join(part.tobytes() for part in parts))
        assert store.tally(stored.survey_id).cells.tolist() == [1] * EACH


def test_a_copy_has_ids_in_their_order(database: str, tmp_path: Path) -> None:
    """Two commits whose ids are mixed: the places of ids in the file of a copy do not tell which came first."""
    target = tmp_path / "copy.db"
    reports = some_reports(list(range(EACH)))
    with Store(database, build) as store:
        stored = store.add_survey(own_cell_survey(EACH))
        for part in (reports[: EACH // 2], reports[EACH // 2 :]):
            append(store.engine, [Upload(stored.key, part)])
        backup(store, target)
    data = target.read_bytes()
    by_page: dict[int, list[int]] = {}
    for each in sorted(ids_of(reports.tobytes())):
        place = data.index(each)
        by_page.setdefault(place // 4096, []).append(place)
    assert len(by_page) > 1
    for places in by_page.values():  # SQLite fills a page from its end
        assert places == sorted(places, reverse=True)
