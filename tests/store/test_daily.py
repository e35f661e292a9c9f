"""Reports by day, scripts and the version of a tally: the small tables of the store."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from hubbub import Integers, SeededRandomWords, Tally, create_survey
from hubbub.store.daily import reports_by_day, tally_version
from hubbub.store.kept_scripts import keep_scripts, kept_script
from hubbub.store.life_cycle import delete_survey
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.reports import Upload, append
from hubbub.store.store import Store, StoredSurvey


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database) as opened:
        yield opened


def add(store: Store, stored: StoredSurvey, number: int, seed: int) -> None:
    """Append some reports."""
    items = stored.survey.domain.encode([1] * number)
    random_words = SeededRandomWords(seed).draw(number, stored.mechanism.random_words_per_report)
    append(store.engine, [Upload(stored.key, stored.mechanism.randomize(items, random_words))])


def test_reports_are_counted_by_day(store: Store) -> None:
    """A fold counts its reports as those of the day, once; a survey that is deleted leaves no counter."""
    stored = store.add_survey(create_survey("ids", Integers(8), 1, mechanism="subset", public_seed=bytes(32)))
    first = int(time.time()) // 86_400
    assert reports_by_day(store.engine, stored.key) == {}
    for seed, number in enumerate((3, 2, 0)):
        if number:
            add(store, stored, number, seed)
        version = tally_version(store.engine, stored.key)
        assert store.tally(stored.survey_id).count == sum((3, 2, 0)[: seed + 1])
        assert tally_version(store.engine, stored.key) == version + (1 if number else 0)
    days = reports_by_day(store.engine, stored.key)
    assert sum(days.values()) == 5
    assert set(days) <= {first, first + 1}
    delete_survey(store, stored.survey_id)
    assert reports_by_day(store.engine, stored.key) == {}
    assert tally_version(store.engine, stored.key) == -1


def test_merged_tallies_are_counted_by_day(store: Store) -> None:
    """A tally that was counted elsewhere is added to the day of its merge, once for its key, beside what was folded."""
    stored = store.add_survey(create_survey("ids", Integers(8), 1, mechanism="subset", public_seed=bytes(32)))
    add(store, stored, 2, 0)
    assert store.tally(stored.survey_id).count == 2
    more = Tally(stored.survey_id, 40, np.zeros(stored.mechanism.cells_shape, np.int64))
    assert [merge_tally(store, stored.survey_id, "monday", bytes(32), more) for _ in range(2)] == [True, False]
    assert sum(reports_by_day(store.engine, stored.key).values()) == 42
    assert store.tally(stored.survey_id).count == 42


def test_scripts_are_kept(store: Store) -> None:
    """A script stays under its name; what is there already is not written again."""
    keep_scripts(store.engine, {"a.js": b"1"})
    keep_scripts(store.engine, {"a.js": b"2", "b.js": b"3"})
    assert [kept_script(store.engine, name) for name in ("a.js", "b.js", "c.js")] == [b"1", b"3", None]
