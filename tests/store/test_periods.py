"""Periods of a survey: slices, or those of a survey that repeats, which are compared only if they are whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
from tests.store.test_slices import MONDAY, Clock

from hubbub import Categories, Histogram, Question, create_survey
from hubbub.analysis.trending import trend_of
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.periods import periods_between, tallies_of
from hubbub.store.slices import ALL, Range, date_of
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.upkeep import tally_file
from hubbub.wire.tally_file import parse_tally

WEEKS = [(600, 400), (500, 500), (300, 700), (200, 800), (900, 100)]  # tea and coffee


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that the test sets."""
    return Clock(monkeypatch)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty store."""
    with Store(database) as opened:
        yield opened


def made(store: Store, every: int | None) -> StoredSurvey:
    """A survey with five weeks of reports, the last of which goes on."""
    opens = None if every is None else f"{date_of(MONDAY)}T00:00:00Z"
    drinks = Categories(["tea", "coffee"], other=False)
    survey = create_survey("x", drinks, "0.5", opens=opens, every=every, public_seed=bytes(32))
    stored = store.add_survey(survey)
    for number, held in enumerate(WEEKS):
        crowd = Histogram(drinks.encode(["tea", "coffee"]), 100 * np.array(held))
        tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(number))
        merge_tally(store, stored.survey_id, str(number), bytes(32), tally, MONDAY + 7 * number)
    return stored


def reports(store: Store, stored: StoredSurvey, asked: Range = ALL) -> tuple[dict[int, int], bool, bool]:
    """The reports of each period, by its number of weeks; whether the survey repeats, and whether the last goes on."""
    found = periods_between(store, stored, asked)
    counts = {(day - date_of(MONDAY)) // timedelta(weeks=1): tally.count for day, tally in found.tallies.items()}
    return counts, found.repeats, found.unfinished


def test_periods_are_whole_or_go_on(store: Store, clock: Clock) -> None:
    """Slices of a survey that is answered once; periods of one that repeats, without those partly in the range."""
    clock.day = MONDAY + 30
    once, twice = made(store, None), made(store, 14)
    each = 100_000
    assert reports(store, once) == (dict.fromkeys(range(5), each), False, True)
    assert reports(store, twice) == ({0: 2 * each, 2: 2 * each, 4: each}, True, True)
    assert reports(store, twice, Range(MONDAY + 7)) == ({2: 2 * each, 4: each}, True, True)
    assert reports(store, twice, Range(None, MONDAY + 21)) == ({0: 2 * each}, True, False)
    assert reports(store, twice, Range(MONDAY - 70, MONDAY - 63)) == ({-10: 0}, True, False)
    clock.day = MONDAY + 42
    assert reports(store, twice)[2] is False


def test_tallies_of_a_store(store: Store, clock: Clock) -> None:
    """Slice by slice, any range, and the same trend as the collector's."""
    clock.day = MONDAY + 30
    stored = made(store, 14)
    tallies = tallies_of(store, stored.survey_id)
    assert [*tallies] == [date_of(MONDAY + 7 * week) for week in range(5)]
    between = tallies.between(date_of(MONDAY + 7), date_of(MONDAY + 21)).total
    assert between == store.tally(stored.survey_id, Range(MONDAY + 7, MONDAY + 21))
    assert tallies.total == store.tally(stored.survey_id)
    one = parse_tally(tally_file(store, stored.survey_id, Range(MONDAY, MONDAY + 7)), stored.survey_id, None)
    assert (one.day, one.count) == (date_of(MONDAY), 100_000)
    more = parse_tally(tally_file(store, stored.survey_id, Range(MONDAY, MONDAY + 14)), stored.survey_id, None)
    assert more.day is None


def test_a_collector_says_what_is_rising(store: Store, clock: Clock) -> None:
    """The last whole period is compared with the one before; the one that goes on, in which all has changed, is not."""
    clock.day = MONDAY + 30
    for stored, said in ((made(store, 14), {"coffee": "rising", "tea": "falling"}), (made(store, None), {})):
        found = periods_between(store, stored, ALL)
        asked = Question().about(stored.survey.domain)
        trend = trend_of(stored.mechanism, found.tallies, asked, found.repeats, found.unfinished)
        assert {each.value: each.change for each in trend.series if each.change} == said
