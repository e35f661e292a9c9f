"""Answers: simultaneous intervals, confidence, and what happens at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import Categories, Histogram, Integers, Query, Tally, Text, create_survey, find_hitters, mechanism_for
from hubbub.analysis.intervals import simultaneous_width
from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.simulation import population
from hubbub.testing import assert_binomial, public_seed


def answer(domain, crowd: Histogram, seed: int, mechanism: str = "jl", epsilon: object = 1, **options):
    """The answer of one simulated survey."""
    survey = create_survey("x", domain, epsilon, None, mechanism, options, crowd.people, public_seed=public_seed(seed))
    built = mechanism_for(survey)
    return find_hitters(survey, built.sample_tally(crowd, np.random.default_rng(seed)), Query(), built)


@pytest.mark.parametrize(
    ("mechanism", "bits", "people", "options"),
    [
        ("jl", 12, 1_000_000, {}),
        ("jl", 12, 20_000_000, {"calibration": "tight"}),
        ("naive-laplace", 8, 100_000, {}),
        ("bucket", 40, 3_000_000, {}),
    ],
)
def test_whole_answers_are_wrong_at_most_as_often_as_the_level(mechanism, bits, people, options) -> None:
    """Over 200 crowds, answers with a value nobody holds or an interval that misses are within 5 % (exact tail)."""
    wrong = found = 0
    runs = 200
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        crowd = population.zipf(people, 1.3, 200, bits, rng)
        true = {int(item[0]): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
        hitters = answer(Integers(bits), crowd, seed, mechanism, **options).hitters
        found += len(hitters)
        wrong += any(h.value not in true or not h.low <= true[h.value] <= h.high for h in hitters)
    assert found >= runs
    assert_binomial(min(wrong, int(0.05 * runs)), runs, 0.05)
    assert wrong <= 0.05 * runs + 6 * math.sqrt(0.05 * runs)


def test_intervals_are_not_idle() -> None:
    """The width is far below a union bound over the universe, and grows as the level falls."""
    width = simultaneous_width(10**6, 2**64, 9.5 * 1000, 1000, 0.025)
    assert 3 < width < 4
    assert simultaneous_width(10**6, 2**64, 9.5 * 1000, 1000, 0.0001) > width
    assert simultaneous_width(10**6, 2**64, -math.inf, 1000, 0.025) > 9
    assert simultaneous_width(0, 2**64, 100.0, 1000, 0.025) == 0


@pytest.mark.parametrize("mechanism", ["jl", "bucket", "naive-laplace"])
def test_nothing_stands_out(mechanism: str) -> None:
    """A crowd of distinct values gives no hitter, and a finite limit says what could have been seen."""
    crowd = population.uniform(5000, 255, 8, np.random.default_rng(1))
    got = answer(Integers(8), crowd, 4, mechanism)
    assert got.hitters == ()
    assert 0 < got.detection_limit < math.inf
    assert got.reports == 5000


@pytest.mark.parametrize("mechanism", ["jl", "bucket", "naive-laplace"])
@pytest.mark.parametrize("people", [0, 1, 10])
def test_tiny_crowds(mechanism: str, people: int) -> None:
    """No reports, one, ten: no crash and nothing found."""
    crowd = Histogram(np.array([[3]], np.uint64), np.array([people], np.int64))
    survey = create_survey("x", Integers(8), 1, mechanism=mechanism)
    tally = mechanism_for(survey).sample_tally(crowd, np.random.default_rng(1))
    got = find_hitters(survey, tally)
    assert got.hitters == ()
    assert got.detection_limit == math.inf if people == 0 else got.detection_limit > people


def test_everyone_holds_one_value() -> None:
    """All people on one value: it is the only hitter, with nearly all of them."""
    for mechanism in ("jl", "bucket", "naive-laplace"):
        crowd = Histogram(np.array([[77]], np.uint64), np.array([200_000], np.int64))
        (hitter,) = answer(Integers(8), crowd, 1, mechanism).hitters
        assert hitter.value == 77
        assert hitter.low <= 200_000 <= hitter.high
        assert hitter.confidence > 0.999999
        assert hitter.share == pytest.approx(hitter.count / 200_000)


def test_other_is_a_hitter_too() -> None:
    """Values outside the list are counted together."""
    domain = Categories(["a", "b"])
    crowd = Histogram(domain.encode(["nowhere"]), np.array([50_000]))
    assert answer(domain, crowd, 1).hitters[0].value == "(other)"


def test_items_that_are_no_text_are_dropped() -> None:
    """A decoded item that is not UTF-8 is not shown as a value."""
    domain = Text(2)
    crowd = Histogram(np.array([[0xFFFF]], np.uint64), np.array([50_000]))
    assert answer(domain, crowd, 1).hitters == ()


def test_foreign_tallies_are_refused() -> None:
    """A tally of another survey or shape is an error, never an answer."""
    survey = create_survey("x", Integers(8), 1)
    mechanism = mechanism_for(survey)
    with pytest.raises(SurveyMismatch, match="a tally must be of survey"):
        mechanism.discover(Tally(bytes(32), 1, np.zeros(256, np.int64)), Query())
    with pytest.raises(ParameterError, match="shape"):
        mechanism.estimate(Tally(survey.survey_id, 1, np.zeros(255, np.int64)), np.zeros((1, 1), np.uint64))
    with pytest.raises(SurveyMismatch, match="merge only within one survey"):
        Tally(bytes(32), 1, np.zeros(2, np.int64)) + Tally(bytes(31) + b"x", 1, np.zeros(2, np.int64))


def test_tallies_are_values() -> None:
    """Equal tallies are equal, others are not, and none can be a key."""
    one = Tally(bytes(32), 1, np.array([1, 2]))
    assert one == Tally(bytes(32), 1, np.array([1, 2]))
    assert one != Tally(bytes(32), 1, np.array([1, 3]))
    assert one != "tally"
    with pytest.raises(TypeError):
        hash(one)
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    "arguments", [{"top": 0}, {"top": True}, {"top": 1.0}, {"level": 0}, {"level": 1}, {"level": "x"}]
)
def test_bad_queries(arguments: dict) -> None:
    """A query that cannot be is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        Query(**arguments)
