"""Trends: counts period by period with intervals that hold together, and statements only where they are sure."""

from __future__ import annotations

import json
import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.test_documents import SURVEY, answers

from hubbub import (
    Answer,
    Categories,
    Histogram,
    Question,
    Tallies,
    Tally,
    Trend,
    create_survey,
    mechanism_for,
    plan,
    trend,
)
from hubbub.analysis.trend import Period, Point, Series
from hubbub.analysis.trend_power import SHARE, gain_needed, rising_chance
from hubbub.analysis.trend_words import ONCE
from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.testing import public_seed

DRINKS = ["tea", "coffee", "milk", "juice"]
LIST = create_survey("drinks", Categories(DRINKS, other=False), 4, mechanism="subset", public_seed=public_seed(1))
BUILT = mechanism_for(LIST)
MONDAY = date(2026, 10, 5)


def week(*shares: int, people: int = 20_000, seed: int = 1) -> Tally:
    """The tally of people who hold the drinks in these shares, in per cent; the rest holds the last one."""
    counts = np.array([people * share // 100 for share in shares])
    counts[-1] += people - counts.sum()
    crowd = Histogram(LIST.domain.encode(DRINKS[: len(shares)]), counts)
    return BUILT.sample_tally(crowd, np.random.default_rng([seed, *shares]))


def weeks(*each: tuple[int, ...], **knobs: int) -> dict[date, Tally]:
    """Tallies of weeks, one after the other."""
    return {MONDAY + timedelta(weeks=k): week(*shares, **knobs, seed=k) for k, shares in enumerate(each)}


def said(found: Trend) -> dict[object, tuple[str, int | None]]:
    """What is said of each value, and the week that it is compared with."""
    return {
        each.value: (each.change, None if each.since is None else (each.since - MONDAY).days // 7)
        for each in found.series
    }


def test_every_statement() -> None:
    """Rising and falling against the last week that differs, highest since, new and gone; and nothing of what stays."""
    found = trend(LIST, weeks((40, 30, 0, 30), (30, 30, 10, 30), (50, 20, 0, 30)), repeats=True)
    assert said(found) == {"tea": ("highest", 0), "coffee": ("falling", 1), "milk": ("gone", 1), "juice": ("", None)}
    found = trend(LIST, weeks((40, 30, 0, 30), (30, 30, 0, 40), (35, 25, 10, 30)), repeats=True)
    assert said(found) == {"tea": ("rising", 1), "coffee": ("falling", 1), "milk": ("new", 0), "juice": ("falling", 1)}
    first = next(each.text for each in found.sentences() if each.kind == "change")
    assert first.startswith("tea is rising: about 3")
    slow = trend(LIST, weeks((30, 70), (31, 69), (32, 68), (33, 67)), repeats=True)
    assert said(slow)["tea"] == ("rising", 1), "a slow rise is told against the last week that surely differs"


def test_what_cannot_be_compared() -> None:
    """Not if devices answer once, not with a period that goes on, and not with one alone: each has its sentence."""
    changed = weeks((50, 50), (20, 80))
    once = trend(LIST, changed)
    assert set(said(once).values()) == {("", None)}
    assert ONCE in [each.text for each in once.sentences()]
    assert once.series[0].points == trend(LIST, changed, repeats=True).series[0].points
    for unfinished, few in ((True, changed), (False, weeks((50, 50)))):
        found = trend(LIST, few, repeats=True, unfinished=unfinished)
        assert set(said(found).values()) == {("", None)}
        assert "Two whole periods are needed before anything can be compared." in repr(found)
    assert [each.whole for each in trend(LIST, changed, unfinished=True).periods] == [True, False]
    flat = trend(LIST, weeks((50, 50), (50, 50)), repeats=True)
    assert "No value changed beyond noise." in repr(flat)


def test_counts_add_up_and_ends_share_the_level() -> None:
    """Counts of weeks sum up to those of all time; 2·m·d ends of d values in m weeks share an eighth of the level."""
    found = trend(LIST, weeks((40, 30, 0, 30), (30, 30, 10, 30), (50, 20, 0, 30)), level=0.02)
    for row, series in zip(found.answer.hitters, found.series, strict=True):
        assert sum(point.count for point in series.points) == pytest.approx(row.count)
    point, law = found.series[0].points[1], BUILT.count_law(20_000)
    end = float(law.log_chances(point.count - law.step / 2, point.low)[0])
    assert math.exp(end) * 1.1 == pytest.approx(0.02 / 8 / len(DRINKS) / (2 * 3), rel=1e-3)


def test_a_question_and_its_limits() -> None:
    """What a trend cannot do is refused in a sentence; a period without reports is one with empty intervals."""
    tallies = weeks((50, 50), (20, 80))
    for days, message in (
        ({}, "tallies must be at least one, got none"),
        ({"soon": tallies[MONDAY]}, "the day of a tally must be a date such as 2026-10-05, got 'soon'"),
        ({MONDAY: tallies[MONDAY], "2026-10-05": tallies[MONDAY]}, "each be of another day, got 2 of 1 days"),
        ({7: tallies[MONDAY]}, "must be a date such as 2026-10-05, got 7"),
    ):
        with pytest.raises(ParameterError, match=message):
            trend(LIST, days)
    with pytest.raises(ParameterError, match="guesses must be 0 in a trend, got guesses=3"):
        trend(LIST, tallies, Question(guesses=3))
    with pytest.raises(SurveyMismatch):
        trend(SURVEY, tallies)
    empty = Tally(LIST.survey_id, 0, np.zeros(BUILT.cells_shape, np.int64))
    found = trend(LIST, {**tallies, MONDAY - timedelta(weeks=1): empty}, repeats=True)
    assert found.series[0].points[0] == Point(0.0, 0.0, 0.0, 0.0, 0.0)
    assert said(found)["coffee"] == ("rising", 0)
    assert not trend(LIST, {MONDAY: empty}, hitters_only=True).series


def test_a_survey_that_repeats_says_so_itself() -> None:
    """Slices are added up to its periods, these are compared, and the one that goes on is not."""
    opens = date.today() - timedelta(days=date.today().weekday() + 7 * 5)
    month = create_survey("m", Categories(DRINKS, other=False), "0.5", opens=f"{opens}T00:00:00Z", every=14)
    built, items = mechanism_for(month), Categories(DRINKS, other=False).encode(DRINKS)
    tallies = Tallies(
        {
            opens + timedelta(weeks=k): built.sample_tally(
                Histogram(items, 2_000 * np.array(held)), np.random.default_rng(k)
            )
            for k, held in enumerate([(9, 1, 5, 5), (9, 1, 5, 5), (5, 5, 5, 5), (5, 5, 5, 5), (1, 9, 5, 5)])
        }
    )
    found = trend(month, tallies)
    assert [(each.reports, each.whole) for each in found.periods] == [(80_000, True), (80_000, True), (40_000, False)]
    assert {each.value: each.change for each in found.series if each.change} == {"tea": "falling", "coffee": "rising"}
    plain = trend(month, tallies, repeats=False)
    assert (len(plain.periods), plain.repeats) == (5, False)
    assert trend(LIST, weeks((50, 50), (20, 80))).repeats is False


def test_every_form_has_all_periods() -> None:
    """CSV and frames have a row for each value and period, with the same numbers; a formula is harmless."""
    found = trend(LIST, weeks((50, 50), (20, 80)), repeats=True)
    rows = found.to_csv().splitlines()
    assert len(rows) == 1 + 2 * len(found.series)
    assert rows[0].startswith("value,period,reports,whole,count,share,stderr,low,high,change,since")
    frame = found.to_pandas()
    assert frame["count"].tolist() == [point.count for series in found.series for point in series.points]
    assert found.to_arrow().to_pandas().equals(frame)
    assert found.to_polars().to_dicts() == frame.to_dict("records")
    assert len(found.plot().axes) == 6
    html = found._repr_html_()
    assert html.count("<svg") == len(found.series)


points = st.builds(Point, *[st.floats(-1e9, 1e9)] * 3, *[st.floats(0, 1e9)] * 2)
days = st.dates(date(1990, 1, 1), date(2100, 1, 1))
statements = st.just(("", None)) | st.tuples(st.sampled_from(["rising", "falling", "new", "gone", "highest"]), days)


@st.composite
def trends(draw: st.DrawFn) -> Trend:
    """Any trend, of values from strangers; a statement is about one of its periods."""
    answer: Answer = draw(answers)
    periods = tuple(
        Period(day, draw(st.integers(0, 10**9)), whole)
        for day, whole in zip(sorted(draw(st.sets(days, min_size=1, max_size=6))), [True] * 6, strict=False)
    )
    series = []
    for row in answer.hitters:
        change, since = draw(statements)
        since = None if since is None else draw(st.sampled_from(periods)).start
        shown = draw(st.lists(points, min_size=len(periods), max_size=len(periods)))
        series.append(Series(row.value, tuple(shown), change, since))
    return Trend(draw(st.floats(1e-9, 1)), draw(st.booleans()), periods, answer, tuple(series))


@settings(max_examples=40, deadline=None)
@given(trends())
def test_any_trend_comes_back(found: Trend) -> None:
    """From its document comes an equal trend with the same words."""
    read = Trend.from_document(json.loads(found.to_json()))
    assert read == found
    assert (repr(read), read.to_csv(), read._repr_html_()) == (repr(found), found.to_csv(), found._repr_html_())


def test_hostile_documents() -> None:
    """Anything else than a trend is refused with an error that callers expect."""
    good = json.loads(trend(LIST, weeks((50, 50), (20, 80)), repeats=True).to_json())
    first = good["series"][0]
    for change in (
        {"level": "0.05"},
        {"repeats": 1},
        {"periods": good["periods"][:1]},
        {"periods": [{**each, "start": "soon"} for each in good["periods"]]},
        {"periods": [{**each, "start": 7} for each in good["periods"]]},
        {"periods": good["periods"][::-1]},
        {"periods": [{**each, "whole": False} for each in good["periods"]]},
        {"periods": [], "series": [{**each, "points": []} for each in good["series"]]},
        {"series": [{**first, "since": "2020-01-01"}, *good["series"][1:]]},
        {"series": good["series"][1:]},
        {"series": None},
        {"series": [{**first, "change": "sinking"}, *good["series"][1:]]},
        {"series": [{**first, "since": None}, *good["series"][1:]]},
        {"series": [{**first, "points": [{}, {}]}, *good["series"][1:]]},
        {"series": [{**first, "value": [1]}, *good["series"][1:]]},
    ):
        with pytest.raises((KeyError, TypeError, AttributeError)):
            Trend.from_document({**good, **change})


def test_the_gain_that_is_called_rising() -> None:
    """A tenth must gain about 5.6 points among 10,000 people at ε = 2; fewer people more, and no gain hardly shows."""
    sites = Categories([str(number) for number in range(19)])
    built = mechanism_for(create_survey("x", sites, 2, mechanism="subset", public_seed=public_seed(1)))
    needed = gain_needed(built, 10_000)
    assert needed == pytest.approx(0.056, abs=0.002)
    assert rising_chance(built, 10_000, SHARE, needed) == pytest.approx(0.95, abs=0.01)
    assert rising_chance(built, 10_000, SHARE, 0.0) < 0.05 / 4 / 20
    assert rising_chance(built, 2_000, SHARE, needed) < 0.2
    assert gain_needed(built, 30) == math.inf
    said = "a value that 1 in 10 hold must gain about 6 points in a period to be called rising"
    assert said in str(plan(sites, people=10_000, epsilon=2, every=28))
