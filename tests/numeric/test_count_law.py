"""The law of a count: its tails are those of exact convolutions, and its limits undo them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hubbub.numeric.count_law import UNDERSTATED, gap_law, gaussian_law, laplace_law, response_law
from hubbub.numeric.tails import binomial_threshold, normal_quantile

OVERSTATED = 1.35  # a handful of people at a large ε; it makes intervals wider, never narrower


def keep_of(epsilon: float, symbols: int) -> float:
    """How often the truth is kept."""
    return math.expm1(epsilon) / (math.exp(epsilon) + symbols - 1)


def matches(people: int, held: int, symbols: int, keep: float) -> np.ndarray:
    """The exact law of the matches, by convolution."""
    own = stats.binom.pmf(np.arange(held + 1), held, keep + (1 - keep) / symbols)
    return np.convolve(own, stats.binom.pmf(np.arange(people - held + 1), people - held, 1 / symbols))


@pytest.mark.parametrize(("epsilon", "symbols"), [(1, 2), (1, 4), (4, 2), (4, 64), (6, 256)])
@pytest.mark.parametrize("people", [10, 50, 200, 1000])
def test_tails_of_responses_are_those_of_the_exact_law(epsilon: int, symbols: int, people: int) -> None:
    """Both tails down to 10⁻¹² are at most 10 % too small and a third too large; Gaussian ones are not (mutant)."""
    keep = keep_of(epsilon, symbols)
    law = response_law(people, symbols, keep)
    counts = (symbols * np.arange(people + 1) - people) * law.step / symbols
    gaussian = []
    for held in sorted({0, 1, 2, 5, people // 10, people // 2, people - 1, people}):
        exact = matches(people, held, symbols, keep)
        above, below = exact[::-1].cumsum()[::-1], exact.cumsum()
        for true, said in (
            (above, law.log_chances(counts - law.step / 2, held)[0]),
            (below, law.log_chances(counts + law.step / 2, held)[1]),
        ):
            some = (true < 0.4) & (true > 1e-12)
            ratio = true[some] / np.exp(said[some])
            assert (ratio <= UNDERSTATED).all()
            assert (ratio >= 1 / OVERSTATED).all()
        z = (counts - held - law.step / 2) / np.sqrt(law.variance(np.array(float(held))))
        some = (above < 0.4) & (above > 1e-12)
        gaussian += (above[some] / stats.norm.sf(z[some])).tolist()
    if symbols > 2:
        assert max(gaussian) > 2


@pytest.mark.parametrize("sizes", [(30, 30), (30, 400), (400, 30), (300, 500)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.4])
def test_tails_of_a_gap_are_those_of_the_exact_law(sizes: tuple[int, int], share: float) -> None:
    """The difference of two shares: tails down to 10⁻⁹ are hardly too small; those of a normal law are (mutant)."""
    keep, symbols = keep_of(2, 8), 8
    first, second = (response_law(people, symbols, keep) for people in sizes)
    match = 1 / symbols + share * keep * (1 - 1 / symbols)
    ones, others = (stats.binom.pmf(np.arange(people + 1), people, match) for people in sizes)
    counts = [(np.arange(people + 1) - people / symbols) * first.step / people for people in sizes]
    every = np.round((counts[0][:, np.newaxis] - counts[1]).ravel(), 9)
    gaps, places = np.unique(every, return_inverse=True)
    above = np.bincount(places, np.outer(ones, others).ravel())[::-1].cumsum()[::-1]
    some = np.flatnonzero((above < 0.2) & (above > 1e-9))[:: max(1, len(gaps) // 400)]
    law = gap_law(first, second, np.full(len(some), share))
    edges = gaps[some] - first.step / (2 * max(sizes))
    ratio = above[some] / np.exp(law.log_chances(edges, float(sizes[0]))[0])
    assert ratio.max() <= UNDERSTATED
    assert ratio.min() >= 1 / 2.5
    if sizes == (30, 400):
        z = edges / math.sqrt(float(law.variance(np.array(30.0))))
        assert (above[some] / stats.norm.sf(z)).max() > 3


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("people", [1, 2, 5, 30])
def test_tails_of_laplace_noise_are_those_of_the_exact_law(rate: float, people: int) -> None:
    """Tails of sums are never too small by more than is allowed for, and at most a fifth too large."""
    reach = int(60 / rate)
    one = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    exact = np.ones(1)
    for _ in range(people):
        exact = np.convolve(exact, one / one.sum())
    above = exact[::-1].cumsum()[::-1]
    some = (above < 0.4) & (above > 1e-10)
    counts = np.arange(len(exact)) - len(exact) // 2
    held = people // 2
    ratio = above[some] / np.exp(laplace_law(people, rate).log_chances(counts[some] + held - 0.5, held)[0])
    assert (ratio <= UNDERSTATED).all()
    assert (ratio >= 1 / 1.2).all()


@pytest.mark.parametrize(
    "law", [response_law(500, 64, keep_of(4, 64)), response_law(500, 2, 0.5), laplace_law(500, 0.5)]
)
@pytest.mark.parametrize("extra", [0.0, 400.0])
def test_limits_undo_tails(law, extra: float) -> None:
    """At a limit between nobody and everybody the tail is what was asked for; beyond, it is that or more."""
    counts = np.linspace(-60.0, 520.0, 41)
    more = np.full_like(counts, extra)
    chance = math.log(0.001)
    width = normal_quantile(0.001)
    low, high = law.limits(counts, more, width)
    assert (low <= high).all()
    inside = (low > 0) & (low < 500)
    tails = law.log_chances(counts - law.step / 2, low, more)[0]
    assert inside.sum() > 10
    assert tails[inside] == pytest.approx(chance, abs=1e-4)
    assert (tails[low == 0] >= chance - 1e-4).all()
    inside = (high > 0) & (high < 500)
    tails = law.log_chances(counts + law.step / 2, high, more)[1]
    assert inside.sum() > 10
    assert tails[inside] == pytest.approx(chance, abs=1e-4)
    assert (tails[high == 500] >= chance - 1e-4).all()


def test_thresholds_are_exactly_binomial() -> None:
    """Without collisions a threshold is the exact binomial one, half a step down; with them it is larger."""
    law = response_law(2000, 64, keep_of(4, 64))
    for log_chance in (math.log(0.0125 / 1000), -64 * math.log(2)):
        least = (binomial_threshold(2000, 1 / 64, log_chance) - 0.5 - 2000 / 64) * law.step
        assert law.threshold(log_chance) == pytest.approx(least)
        assert law.threshold(log_chance, 100.0) > least
        assert float(law.log_chances(law.threshold(log_chance, 100.0), 0.0, 100.0)[0]) == pytest.approx(
            log_chance, rel=1e-6
        )
    noise = laplace_law(20, 0.5)
    assert float(noise.log_chances(noise.threshold(-9.0), 0.0)[0]) == pytest.approx(-9.0, rel=1e-6)


def test_without_a_law_of_reports_all_is_gaussian() -> None:
    """Limits are then the count and so many standard errors either way, and the threshold a Gaussian quantile."""
    law = gaussian_law(10_000)
    assert law.collisions(np.array([5.0]), np.array([30.0])) == 900.0
    assert law.limits(np.array([500.0]), np.array([900.0]), 3.0)[0] == pytest.approx(410.0)
    assert law.limits(np.array([500.0]), np.array([900.0]), 3.0)[1] == pytest.approx(590.0)
    assert law.threshold(math.log(0.001), 900.0) == pytest.approx(30 * normal_quantile(0.001), rel=1e-6)
    assert law.seen_from(100.0, 900.0, 1.645) == pytest.approx(100 + 30 * 1.645, rel=1e-6)
    assert law.seen_from(9_999.0, 900.0, 1.645) > 10_000


def test_many_counts_are_interpolated() -> None:
    """Limits of many counts are those of each alone, to within a thousandth of a standard error."""
    law = response_law(10_000, 4, keep_of(1, 4))
    counts = np.random.default_rng(1).normal(300, 400, 20_000)
    for extra in (np.full(20_000, 900.0), np.random.default_rng(2).uniform(0, 900, 20_000)):
        some = np.arange(0, 20_000, 97)
        said = *law.limits(counts, extra, 4.0), law.log_tail(counts, extra)
        alone = *law.limits(counts[some], extra[some], 4.0), law.log_tail(counts[some], extra[some])
        for many, few in zip(said, alone, strict=True):
            assert many[some] == pytest.approx(few, rel=1e-3, abs=0.2)


def test_arrays_are_searched_together() -> None:
    """Each place finds its own limits and chances, as it would alone."""
    law = response_law(2000, 4, 0.5)
    counts, more = np.array([-40.0, 3.0, 120.0, 1999.0]), np.array([0.0, 9.0, 0.0, 400.0])
    together = *law.limits(counts, more, 3.0), *law.log_chances(counts + 0.1, 50.0, more)
    for place in range(len(counts)):
        here = counts[[place]], more[[place]]
        alone = *law.limits(*here, 3.0), *law.log_chances(here[0] + 0.1, 50.0, here[1])
        assert [each[0] for each in alone] == [each[place] for each in together]
