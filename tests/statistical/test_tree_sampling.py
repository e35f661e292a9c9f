"""The sampler of `tree` is held to the per-person path by what a decoder reads: counts, the largest, what is found."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from hubbub import Histogram, Integers, SeededRandomWords, create_survey, mechanism_for
from hubbub.mechanisms.survey_mechanism import Sample, make_reports
from hubbub.mechanisms.tree import Tree
from hubbub.model.estimates import Query
from hubbub.model.mechanism import add_up
from hubbub.testing import FALSE_ALARM, assert_same_law

pytestmark = pytest.mark.slow

BITS, PEOPLE, EPSILON = 24, 4_000, 2
DRAWS, RUNS = 120, 12


@cache
def tree() -> Tree:
    """A tree with several rows, small enough to be asked often."""
    survey = create_survey("x", Integers(BITS), EPSILON, None, "tree", {"size": "small"}, PEOPLE, public_seed=bytes(32))
    built = mechanism_for(survey)
    assert isinstance(built, Tree)
    assert built.rows > 1
    return built


def crowd(held: int, people: int = PEOPLE, values: int = 1) -> Histogram:
    """Some values from 7 on that as many hold each; everybody else is alone."""
    alone = people - held * values
    items = np.concatenate([7 + np.arange(values), 1_000 + np.arange(alone)]).astype(np.uint64)[:, np.newaxis]
    return Histogram(items, np.array([*[held] * values, *[1] * alone], np.int64))


def by_person(histogram: Histogram, rng: np.random.Generator) -> Sample:
    """Everybody makes a report."""
    built = tree()
    people = np.repeat(histogram.items, histogram.counts, axis=0)
    reports = make_reports(built, [people], SeededRandomWords(int(rng.integers(2**63))))
    tally = add_up(built, reports)
    return Sample(lambda query: built.discover(tally, query), lambda items: built.estimate(tally, items), list, "")


ASKED = np.concatenate([[7], 10_000_000 + 37 * np.arange(1_000)]).astype(np.uint64)[:, np.newaxis]


def readings(draw: object, histogram: Histogram, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The count of the value that is held, and the largest of a thousand that nobody holds, in many draws."""
    rng = np.random.default_rng(seed)
    counts = np.array([draw(histogram, rng).estimate(ASKED).counts for _ in range(DRAWS)])
    return counts[:, 0], counts[:, 1:].max(axis=1)


@cache
def by_everybody(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the per-person path says."""
    return readings(by_person, crowd(500), seed)


@pytest.fixture
def real(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for all tests."""
    return by_everybody(seed)


def test_counts_and_the_largest_of_absent_values_have_one_law(real: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    """Both have the law of the per-person path, by the exact two-sample test."""
    held, largest = readings(tree().sample, crowd(500), seed + 1)
    assert_same_law(held, real[0])
    assert_same_law(largest, real[1])


def test_people_who_are_alone_may_be_pooled(real: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    """The same where those who are alone are not listed."""
    pooled = Histogram(np.array([[7]], np.uint64), np.array([500]), singletons=PEOPLE - 500)
    held, largest = readings(tree().sample, pooled, seed + 2)
    assert_same_law(held, real[0])
    assert_same_law(largest, real[1])


def test_wrong_samplers_are_rejected(real: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    """The same tests reject the noise of twice as many people, and holders that are too few."""
    _, largest = readings(tree().sample, crowd(500, 2 * PEOPLE), seed + 3)
    with pytest.raises(AssertionError):
        assert_same_law(largest, real[1])
    held, _ = readings(tree().sample, crowd(350), seed + 4)
    with pytest.raises(AssertionError):
        assert_same_law(held, real[0])


def test_the_same_is_found(seed: int) -> None:
    """Near the detection limit values are found as often, and errors of what is found are as large."""
    near, values = 450, 3
    found, errors = {}, {}
    for number, draw in enumerate((by_person, tree().sample)):
        rng = np.random.default_rng(seed + 5 + number)
        answers = [draw(crowd(near, values=values), rng).discover(Query()) for _ in range(RUNS)]
        hits = [answer.counts[np.isin(answer.items[:, 0], 7 + np.arange(values))] for answer in answers]
        errors[number] = np.concatenate(hits) - near
        found[number] = len(errors[number])
    rest = [values * RUNS - found[number] for number in found]
    assert stats.fisher_exact([[found[0], rest[0]], [found[1], rest[1]]]).pvalue >= FALSE_ALARM
    assert_same_law(errors[0], errors[1])
    # A sampler that finds nothing is rejected by the same test.
    assert stats.fisher_exact([[found[0], rest[0]], [0, values * RUNS]]).pvalue < FALSE_ALARM


def test_small_universes_go_person_by_person() -> None:
    """In less than 2^10 buckets the matches depend on one another, and nothing is sampled at once."""
    small = mechanism_for(create_survey("x", Integers(4), 1, None, "tree"))
    assert not small.samples_any_crowd
    crowd = Histogram(np.array([[3]], np.uint64), np.array([1_000]))
    assert small.sample(crowd, np.random.default_rng(1)).approximation == ""
    large = tree().sample(crowd, np.random.default_rng(1))
    assert large.approximation
    assert tree().sample_tally(crowd, np.random.default_rng(1)).count == 1_000
