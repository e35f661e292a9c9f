"""How often answers are wrong: exactly where the law can be enumerated, and by fixed seeds where it cannot.

Each check has a mutant, the Gaussian answer or one that forgets something, which it must reject.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import signal, stats

from hubbub import Hostnames, Integers, SeededRandomWords, Words, create_survey, find_hitters, mechanism_for
from hubbub.analysis.asking import stand_out
from hubbub.analysis.intervals import simultaneous_width
from hubbub.model.estimates import Estimates, Query
from hubbub.model.tally import Tally
from hubbub.numeric.count_law import gaussian_law
from hubbub.numeric.tails import binomial_tail, normal_quantile_log, normal_tail
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import FALSE_ALARM, assert_mean_zero, public_seed

INTERVALS, LISTED = 0.025, 0.0125


@cache
def rows_of_all_counts(mechanism: str, bits: int, epsilon: float, people: int, gaussian_for: int = 0):
    """Whether each possible number of matches is reported, and the interval that goes with it.

    With `gaussian_for` people who hold the largest value, the mutant: one step more to be reported, and the Gaussian
    width that its standard error gives.
    """
    survey = create_survey("x", Integers(bits), epsilon, None, mechanism, {}, people, public_seed=public_seed(1))
    built = mechanism_for(survey)
    law = built.count_law(people)
    counts = law.step * (np.arange(people + 1) - people * law.tail_chance)
    threshold = law.threshold(math.log(0.025) - bits * math.log(2))
    stderrs = np.sqrt(law.variance(np.clip(counts, 0, people)))
    if gaussian_for:
        threshold += law.step / 2 + 1e-9
        stderr = float(np.sqrt(law.variance(np.array(float(gaussian_for)))))
        width = gaussian_width(people, 2**bits, threshold, stderr, INTERVALS)
        return law, counts > threshold, counts - width * stderrs, counts + width * stderrs
    width = simultaneous_width(law, 2**bits, threshold, 0.0, INTERVALS)
    none = np.zeros_like(counts)
    return law, counts > threshold, *law.limits(counts, none, width)


def gaussian_width(people: int, size: int, threshold: float, stderr: float, level: float) -> float:
    """The mutant: Gaussian, and supposing that no estimate is more than the threshold above its truth."""
    held = np.unique(np.geomspace(1, people, 4000))
    absent = float(normal_tail(threshold / stderr))

    def miss(width: float) -> float:
        above = np.maximum(normal_tail(np.maximum(width, (threshold - held) / stderr)) - absent, 0.0)
        below = np.where(held > threshold + width * stderr, normal_tail(width), 0.0)
        return min(float(np.max((above + below) * people / held)), size * float(np.max(above + below)))

    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if miss(middle) > level else (low, middle)
    return high


def chance_of_a_miss(crowd: dict[int, int], mechanism: str, bits: int, epsilon: float, people: int, gaussian: bool):
    """Summed over the values of a crowd ({holders: how many values}), by the exact law of the matches."""
    law, reported, low, high = rows_of_all_counts(mechanism, bits, epsilon, people, max(crowd) if gaussian else 0)
    true = law.tail_chance + 1 / law.step
    total = 0.0
    for held, values in crowd.items():
        own = stats.binom.pmf(np.arange(held + 1), held, true)
        other = stats.binom.pmf(np.arange(people - held + 1), people - held, law.tail_chance)
        chances = np.maximum(signal.fftconvolve(own, other), 0.0)
        total += values * float(chances[reported & ~((low <= held) & (held <= high))].sum())
    return total


def zipf(people: int, exponent: float = 1.3) -> dict[int, int]:
    """Holders of 200 values in proportion to rank^−exponent, and how many values have as many."""
    weights = np.arange(1, 201) ** -exponent
    held, values = np.unique((people * weights / weights.sum()).astype(int), return_counts=True)
    return {int(h): int(v) for h, v in zip(held, values, strict=True) if h > 0}


@pytest.mark.parametrize("people", [50, 200, 1000])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 6.0])
def test_intervals_of_few_people_hold_together(epsilon: float, people: int) -> None:
    """`tree` with 2^10 values: the exact chance of any miss is within 2.5 %, whoever holds what."""
    equal = ({held: people // held} for held in (1, 2, 3, 5, 8, 12, 20, 25, 39, 40))
    for crowd in (zipf(people), zipf(people, 1.0), zipf(people, 0.6), *equal):
        assert chance_of_a_miss(crowd, "tree", 10, epsilon, people, False) <= INTERVALS


@pytest.mark.parametrize(("epsilon", "people", "held"), [(6.0, 200, 25), (6.0, 1000, 39), (4.0, 1000, 115)])
def test_gaussian_intervals_of_few_people_do_not(epsilon: float, people: int, held: int) -> None:
    """With people in groups of equal size Gaussian intervals, the mutant, miss too often; these do not."""
    crowd = {held: people // held}
    assert chance_of_a_miss(crowd, "tree", 10, epsilon, people, False) <= INTERVALS
    assert chance_of_a_miss(crowd, "tree", 10, epsilon, people, True) > INTERVALS


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "people"), [("jl", 1.0, 20_000), ("jl", 0.5, 20_000), ("tree", 1.0, 20_000)]
)
def test_intervals_of_flat_crowds_hold_together(mechanism: str, epsilon: float, people: int) -> None:
    """All values are held alike, so noise alone lifts what is reported: within 2.5 %, and not for the mutant."""
    crowd = {people // 1000: 1000}
    assert chance_of_a_miss(crowd, mechanism, 10, epsilon, people, False) <= INTERVALS
    assert chance_of_a_miss(crowd, mechanism, 10, epsilon, people, True) > INTERVALS


def test_the_threshold_of_a_list_is_binomial() -> None:
    """Hosts, ε = 4, 2,000 people, 1,000 candidates: the exact chance is within 1.25 %; the Gaussian one is not."""
    built = mechanism_for(create_survey("x", Hostnames(), 4, None, "tree", {}, 2000, public_seed=public_seed(1)))
    law = built.count_law(2000)
    log_level = math.log(LISTED / 1000)
    for threshold, holds in (
        (law.threshold(log_level), True),
        (gaussian_law(2000).threshold(log_level, float(law.variance(np.zeros(1))[0])), False),
    ):
        matches = math.ceil(threshold / law.step + 2000 / built.law.symbols)
        assert (1000 * binomial_tail(matches, 2000, 1 / built.law.symbols) <= LISTED) == holds


@pytest.mark.slow
def test_candidates_that_share_buckets_with_giants_do_not_stand_out() -> None:
    """Where two giants were not found, absent words stand out within 1.25 % of surveys; forgetting to look shows."""
    runs, domain, query = 30, Words(), Query(level=2 * LISTED)
    wrong = {True: 0, False: 0}
    for seed in range(runs):
        rng = np.random.default_rng([seed, 3])
        items = domain.encode(["".join(chr(97 + x) for x in rng.integers(0, 26, 6)) for _ in range(4000)])
        survey = create_survey("x", domain, 6, None, "tree", {"size": "small"}, 2000, public_seed=public_seed(seed))
        built = mechanism_for(survey)
        tally = rehearse(built, [np.repeat(items[:2], 1000, axis=0)], SeededRandomWords(seed))
        scored = built.estimate_beside(tally, items[2:], items[:0])
        for looked, each in ((True, scored), (False, replace(scored, sharing_tails=None))):
            wrong[looked] += bool(stand_out(built.count_law(2000), each, query).any())
    most = stats.binom.isf(FALSE_ALARM, runs, LISTED)
    assert wrong[True] <= most < wrong[False]


@pytest.mark.slow
def test_counts_beside_known_values_are_right_whatever_is_shared() -> None:
    """A word that shares its first rows with a known one is unbiased, with the error it states; alone it is not."""
    domain = Words()
    beside, alone = [], []
    survey = create_survey("x", domain, 6, None, "tree", {"size": "small"}, 3000, public_seed=public_seed(3))
    built = mechanism_for(survey)
    both = np.concatenate(siblings(built, domain))
    held = np.repeat(both, [2000, 600], axis=0)
    for seed in range(40):
        tally = rehearse(built, [held], SeededRandomWords(seed))
        for errors, got in (
            (beside, built.estimate_beside(tally, both[1:], both[:1])),
            (alone, built.estimate(tally, both[1:])),
        ):
            errors.append(float((got.counts[0] - 600) / got.stderrs[0]))
    assert_mean_zero(np.array(beside))
    assert np.sum(np.square(beside)) <= stats.chi2.isf(FALSE_ALARM, len(beside))
    with pytest.raises(AssertionError):
        assert_mean_zero(np.array(alone))


def siblings(built, domain):
    """Two words of one class that share their first two rows."""
    letters = [chr(97 + number) for number in range(26)]
    items = domain.encode(["sta" + "".join(some) for some in product(letters, repeat=3)])
    for number, places, paths in built.code.classes(items):
        depth = np.uint64(64 - built.shape.classes[number].depths[1])
        order = np.argsort(paths[:, 0], kind="stable")
        alike = np.flatnonzero(np.diff(paths[order, 0] >> depth) == 0)
        if len(alike):
            return items[places[order[alike[0]]]][np.newaxis], items[places[order[alike[0] + 1]]][np.newaxis]
    raise AssertionError("no two words share their first rows")


def test_what_is_found_beyond_the_rows_shown_is_taken_away_too() -> None:
    """With one row asked for, a candidate that shares a bucket with the second value found is counted right."""
    asked: list[int] = []

    class Watched:
        """A mechanism that notes how many values it is asked for."""

        def __init__(self, built) -> None:
            self.built, self.survey = built, built.survey
            self.estimate_beside, self.count_law = built.estimate_beside, built.count_law
            self.named_chance = built.named_chance
            self.most_subtracted, self.influence = built.most_subtracted, built.influence
            self.certifies = built.certifies

        def discover(self, tally: Tally, query: Query) -> Estimates:
            """As the mechanism does."""
            asked.append(query.top)
            return self.built.discover(tally, query)

    survey = create_survey("x", Integers(8), 2, None, "tree", {}, 3000, public_seed=public_seed(1))
    built = mechanism_for(survey)
    items = np.repeat(np.array([[1], [2], [3]], np.uint64), 1000, axis=0)
    tally = rehearse(built, [items], SeededRandomWords(1))
    got = find_hitters(survey, tally, top=1, decoder=Watched(built), candidates=[3])
    assert len(got.hitters) == 1
    assert asked[0] > 100


def test_a_width_is_a_quantile() -> None:
    """Where nothing was selected the width is the quantile of level/(2·size), with what tails may be understated."""
    width = simultaneous_width(gaussian_law(100), 1000, -math.inf, 25.0, 0.025)
    assert normal_quantile_log(math.log(0.0125 / 1000)) < width < normal_quantile_log(math.log(0.0125 / 1200))
