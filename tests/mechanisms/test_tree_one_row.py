"""A tree with one row: its masks are independent, so that all pairs of values have one symbol equally often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2
from tests.reference import naive

from hubbub import Categories, Integers, create_survey, find, mechanism_for
from hubbub.mechanisms.tree import law
from hubbub.model.mechanism import tally_of
from hubbub.numeric.count_law import mean_variance
from hubbub.numeric.randomness import SeededRandomWords
from hubbub.testing import public_seed


def symbols_of(bits: int, masks: int, first: int) -> np.ndarray:
    """The symbol of every bucket, with a given first mask."""
    buckets = np.arange(1 << bits)
    symbols = np.zeros(1 << bits, np.int64)
    for place, mask in enumerate(naive.independent_masks(first, masks, bits)):
        symbols |= (np.bitwise_count(buckets & mask) & 1).astype(np.int64) << place
    return symbols


def test_polynomials_are_the_least_irreducible_ones() -> None:
    """By division by everything smaller."""
    for bits, low in enumerate(law.POLYNOMIALS, start=1):
        least = next(number for number in range(2**bits + 1, 2 ** (bits + 1), 2) if naive.is_irreducible(number))
        assert least == 1 << bits | low


@pytest.mark.parametrize("bits", range(1, 9))
def test_every_pair_of_values_collides_equally_often(bits: int) -> None:
    """Over all first masks: exactly 2^(b−s) − 1 of 2^b − 1 times, whichever two values they are."""
    for masks in range(1, bits + 1):
        collisions = np.zeros(1 << bits, np.int64)  # symbols are linear: two values collide if their difference has 0
        for first in range(1, 1 << bits):
            symbols = symbols_of(bits, masks, first)
            assert set(np.bincount(symbols, minlength=1 << masks)) == {1 << (bits - masks)}
            collisions += symbols == 0
        assert set(collisions[1:].tolist()) == {(1 << (bits - masks)) - 1}
        assert law.one_row_collision(bits, masks) == collisions[1] / ((1 << bits) - 1)


def test_independent_random_masks_would_be_noticed() -> None:
    """With masks that are not independent some symbols are those of no value."""
    buckets = np.arange(8)
    symbols = (np.bitwise_count(buckets & 5) & 1) * 3  # the same mask twice
    assert set(np.bincount(symbols, minlength=4)) != {2}


def test_masks_are_chosen_for_the_size_of_the_list() -> None:
    """A list of two values has one mask at any epsilon, and one of eight has three where more would pay elsewhere."""
    assert [law.list_masks(2, epsilon) for epsilon in (0.1, 1, 6)] == [1, 1, 1]
    assert [law.list_masks(8, epsilon) for epsilon in (0.5, 1, 2, 6)] == [1, 2, 3, 3]
    assert [law.list_masks(1 << 20, epsilon) for epsilon in (0.5, 1, 2, 4)] == [1, 2, 3, 6]
    # With as many symbols as values it is randomised response over the values.
    true, lie = math.exp(2) / (math.exp(2) + 3), 1 / (math.exp(2) + 3)
    assert law.list_noise(4, 2) == pytest.approx((true * (1 - true) + 3 * lie * (1 - lie)) / 4 / (true - lie) ** 2)


@pytest.mark.parametrize(("size", "epsilon", "times"), [(2, 1, 4.7), (2, 4, 34.5), (8, 2, 1.9), (64, 1, 1.04)])
def test_random_masks_would_cost_what_the_decision_says(size: int, epsilon: float, times: float) -> None:
    """docs/decisions.md, 8: the variance of a count with random masks over that with independent ones."""
    symbols = 1 << create_survey("random masks", Integers(64), epsilon).parameters["masks"]
    true = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
    random = mean_variance(size, true, 1 / symbols, true - 1 / symbols)
    assert random / law.list_noise(size, epsilon) == pytest.approx(times, rel=0.01)


def errors_of(domain, epsilon: float, counts: list[int], runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors of two counts over their standard errors, errors of their difference, and its variances; run by run."""
    items = np.array([[0], [1]], np.uint64)
    held = np.repeat(np.arange(len(counts), dtype=np.uint64)[:, np.newaxis], counts, axis=0)
    errors, gaps, variances = [], [], []
    for run in range(runs):
        survey = create_survey("list", domain, epsilon, mechanism="tree", public_seed=public_seed(run))
        tree = mechanism_for(survey)
        tally = tally_of(tree, held, SeededRandomWords(run).draw(len(held), 4))
        found = tree.estimate(tally, items)
        errors.append((found.counts - counts[:2]) / found.stderrs)
        one, two = (type(found)(items[[k]], found.counts[[k]], found.stderrs[[k]]) for k in (0, 1))
        variances.append(tree.gap_variance(tally, one, two)[0])
        gaps.append((errors[-1] * found.stderrs) @ [1, -1])
    return np.array(errors), np.array(gaps), np.array(variances)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (2, 4.0), (3, 2.0), (8, 4.0), (300, 1.0), (1 << 14, 2.0)])
def test_standard_errors_of_two_values_of_half_the_people_are_right(size: int, epsilon: float) -> None:
    """Two values with 50 % each: the squares of standardised errors are χ², and so are those of the difference."""
    domain = Integers(14) if size == 1 << 14 else Categories([f"v{k}" for k in range(size)], other=False)
    runs = 400
    errors, gaps, variances = errors_of(domain, epsilon, [500, 500], runs)
    low, high = chi2.ppf([1e-5, 1 - 1e-5], runs)
    for squares in ((errors[:, 0] ** 2).sum(), (errors[:, 1] ** 2).sum(), (gaps**2 / variances).sum()):
        assert low < squares < high
    assert np.abs(errors.mean(axis=0)).max() < 4.5 / math.sqrt(runs)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_variance_of_a_difference_is_a_close_bound(epsilon: float) -> None:
    """Where most people hold other values: not too small, and far from the largest that it could be."""
    domain, runs = Categories([f"v{k}" for k in range(100)], other=False), 400
    _, gaps, variances = errors_of(domain, epsilon, [20, 20, 300, 100, *[5] * 96], runs)
    ratio = float(np.mean(gaps**2 / variances))
    assert 0.8 < ratio < chi2.ppf(1 - 1e-5, runs) / runs


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 4])
def test_lists_that_are_answered_by_a_tree(epsilon: float) -> None:
    """The intervals of a whole list hold together, and half is ahead of everything but the other half."""
    domain = Categories([f"v{k}" for k in range(9)], other=False)
    values = ["v0"] * 2_000 + ["v1"] * 2_000
    missed = 0
    for seed in range(40):
        answer = find(values, epsilon, domain, "tree", seed=seed)
        true = {"v0": 2_000, "v1": 2_000}
        missed += any(not row.low <= true.get(str(row.value), 0) <= row.high for row in answer.hitters)
        assert {row.value for row in answer.hitters[:2]} == {"v0", "v1"}
        assert all(row.ahead_of in (7, 8) for row in answer.hitters[:2])
    assert missed <= 4  # 2.5 % are allowed; five of 40 would have a chance of 3·10^-3
