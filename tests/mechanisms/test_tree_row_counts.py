"""Counts of several values together: least squares over what their buckets say, and rows that are not trusted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from hubbub import Hostnames, Integers, create_survey, mechanism_for
from hubbub.mechanisms.tree.fit import refit, solve_shares, trusted_rows
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.testing import public_seed


class Law(NamedTuple):
    """As much of the law of reports as a fit asks for."""

    own_noise: float = 0.5
    symbols: int = 4


def dense_fit(
    people: np.ndarray, buckets: np.ndarray, seen: np.ndarray, trusted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Counts and the diagonal of the inverse, from one line for each bucket that a value trusts: slow and obvious."""
    lines, said, weights = [], [], []
    for row, size in enumerate(people):
        for bucket in sorted(set(buckets[:, row])):
            line = size * ((buckets[:, row] == bucket) & trusted[:, row])
            if line.any():
                lines.append(line)
                said.append(seen[np.flatnonzero(line)[0], row])
                weights.append(1 / size)  # what a bucket says has a variance of so many people's noise
    lines, root = np.array(lines), np.sqrt(weights)
    shares = np.linalg.lstsq(lines * root[:, np.newaxis], np.array(said) * root, rcond=None)[0]
    inverse = np.linalg.inv(lines.T @ (lines * np.array(weights)[:, np.newaxis]))
    return shares * people.sum(), np.diag(inverse) * people.sum()


def random_case(seed: int) -> tuple[np.ndarray, RowCounts, np.ndarray]:
    """The buckets of a few values that share many, the row counts that they and noise make, and their true shares."""
    rng = np.random.default_rng(seed)
    values, rows = int(rng.integers(1, 8)), int(rng.integers(5, 20))
    buckets = rng.integers(0, 8, (values, rows))
    buckets[:, -4:] = rng.permuted(np.tile(np.arange(8), (4, 1)), axis=1)[:, :values].T  # below, all have parted
    people = rng.integers(2000, 9000, rows).astype(np.float64)
    shares = rng.uniform(0.02, 0.1, values)
    estimates = rng.normal(0, np.sqrt(0.4 * people)[:, np.newaxis], (rows, 8))
    for value in range(values):
        estimates[np.arange(rows), buckets[value]] += shares[value] * people
    return buckets, RowCounts(estimates.astype(np.float32), people, 0.4), shares


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_least_squares(seed: int) -> None:
    """Values that share buckets are counted as a dense solver counts them, and so is what sharing costs."""
    buckets, row_counts, shares = random_case(seed)
    fit = refit(Law(), row_counts, buckets)
    assert fit.trusted.all()
    assert not fit.uneven.any()
    counts, inflation = dense_fit(row_counts.people, buckets, row_counts.parts(buckets), fit.trusted)
    assert np.allclose(fit.counts, counts, rtol=1e-6, atol=1e-3)
    assert np.allclose(fit.inflation, inflation, rtol=1e-6)
    stderrs = np.sqrt(0.4 * row_counts.people.sum() * fit.inflation)
    assert (np.abs(fit.counts - shares * row_counts.people.sum()) < 6 * stderrs).all()


def test_a_value_that_shares_nothing_has_the_sum_of_its_rows() -> None:
    """One value alone: the plain sum, and no inflation."""
    buckets, row_counts, shares = random_case(11)
    assert len(shares) == 1
    fit = refit(Law(), row_counts, buckets)
    assert fit.counts[0] == pytest.approx(row_counts.sums(buckets)[0], rel=1e-6)
    assert fit.inflation[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_a_forged_row_is_left_out_and_counts_are_those_of_the_rest(seed: int) -> None:
    """Whoever shares the bucket does not trust it and is marked; counts are right, and least squares of the rest."""
    buckets, row_counts, shares = random_case(100 + seed)
    row = seed % 4
    bucket = int(buckets[0, row])
    row_counts.estimates[row, bucket] += 0.4 * row_counts.people[row]
    fit = refit(Law(), row_counts, buckets)
    hit = buckets[:, row] == bucket
    assert not fit.trusted[hit, row].any()
    assert fit.uneven[hit].all()
    if len(shares) == 1 or fit.trusted[:, row].tolist() == (~hit).tolist() == fit.trusted.all(axis=1).tolist():
        counts, inflation = dense_fit(row_counts.people, buckets, row_counts.parts(buckets), fit.trusted)
        assert np.allclose(fit.counts, counts, rtol=1e-6, atol=1e-3)
        assert np.allclose(fit.inflation, inflation, rtol=1e-6)
    stderrs = np.sqrt(0.4 * row_counts.people.sum() * fit.inflation)
    assert (np.abs(fit.counts - shares * row_counts.people.sum()) < 6 * stderrs).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_row_that_only_one_of_two_trusts_still_holds_both(seed: int) -> None:
    """Without noise, shares are exact whichever rows each value trusts: the other's people are there all the same.

    The variance is that of the solution as a linear map of what the buckets say.
    """
    buckets, row_counts, shares = random_case(seed)
    rng = np.random.default_rng(seed)
    trusted = rng.random(buckets.shape) < 0.75
    trusted[:, -4:] = True
    rows = np.arange(len(row_counts.people))
    exact = np.zeros(row_counts.estimates.shape)
    for value, share in zip(buckets, shares, strict=True):
        exact[rows, value] += share * row_counts.people

    def solved(estimates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return solve_shares(row_counts.people, buckets, estimates[rows, buckets], trusted)

    found, inflation = solved(exact)
    assert np.allclose(found, shares, rtol=1e-6)
    variance = np.zeros(len(shares))
    for row, bucket in np.ndindex(exact.shape):
        one = np.zeros(exact.shape)
        one[row, bucket] = 1.0
        variance += solved(one)[0] ** 2 * row_counts.people[row]
    assert np.allclose(inflation, variance * row_counts.people.sum(), rtol=1e-6)


def test_what_is_left_has_no_trace_of_the_values() -> None:
    """Buckets that nobody shares keep what they say; those of the values keep noise."""
    buckets, row_counts, _ = random_case(7)
    fit = refit(Law(), row_counts, buckets)
    rows = np.arange(len(row_counts.people))
    touched = np.zeros(row_counts.estimates.shape, bool)
    for value in buckets:
        touched[rows, value] = True
    assert np.array_equal(fit.left.estimates[~touched], row_counts.estimates[~touched])
    spread = np.sqrt(0.4 * row_counts.people)[:, np.newaxis] * np.ones(row_counts.estimates.shape)
    assert (np.abs(fit.left.estimates[touched]) < 6 * spread[touched]).all()


def test_nothing_is_left_of_nobody() -> None:
    """Without values there is nothing to count, and the row_counts stay."""
    buckets, row_counts, _ = random_case(1)
    fit = refit(Law(), row_counts, buckets[:0])
    assert len(fit.counts) == len(fit.inflation) == len(fit.uneven) == 0
    assert np.array_equal(fit.left.estimates, row_counts.estimates)


def parts_of(tree, share: float, people: int, rng: np.random.Generator) -> tuple[RowCounts, np.ndarray]:
    """Rows with a multinomial crowd, and what each says of a value that a share holds: matches are binomial."""
    ends = np.array(tree.shape.ends) / 2**24
    sizes = rng.multinomial(people, np.diff(ends, prepend=0.0))
    held = rng.binomial(sizes, share)
    matches = rng.binomial(held, tree.law.true) + rng.binomial(sizes - held, tree.law.absent)
    row_counts = RowCounts(np.zeros((tree.rows, 1), np.float32), sizes.astype(np.float64), tree.law.noise)
    return row_counts, (matches - sizes * tree.law.absent) * tree.law.per_match


def make(domain, epsilon: float):
    """A tree."""
    return mechanism_for(create_survey("t", domain, epsilon, public_seed=public_seed(2)))


@pytest.mark.parametrize("domain", [Hostnames(), Integers(64)], ids=["hosts", "64 bits"])
@pytest.mark.parametrize(("epsilon", "people", "share"), [(4, 2000, 0.3), (4, 50_000, 0.02), (1, 100_000, 0.3)])
def test_honest_rows_are_all_trusted(domain, epsilon: float, people: int, share: float) -> None:
    """In 200 crowds in which everybody tells what their noise says, no row is dropped."""
    tree, rng = make(domain, epsilon), np.random.default_rng(11)
    for _ in range(200):
        row_counts, parts = parts_of(tree, share, people, rng)
        trusted, even = trusted_rows(tree.law, row_counts, parts)
        assert trusted.all()
        assert even


@pytest.mark.parametrize("domain", [Hostnames(), Integers(64)], ids=["hosts", "64 bits"])
def test_a_row_that_says_too_much_is_dropped(domain) -> None:
    """Of a value, as many forged reports as its own holders in a row: that row is dropped, and few others with it."""
    tree, rng = make(domain, 4), np.random.default_rng(12)
    for row in range(tree.rows):
        row_counts, parts = parts_of(tree, 0.2, 20_000, rng)
        parts[row] += max(0.5 * row_counts.people[row], 100.0) * tree.law.per_match
        trusted, even = trusted_rows(tree.law, row_counts, parts)
        if row_counts.people[row] < row_counts.people.sum() / 3:
            assert not trusted[row]
            assert even
            assert row_counts.people[trusted].sum() >= row_counts.people.sum() * 2 / 3 - row_counts.people[row]


def test_rows_that_are_too_low_stay() -> None:
    """A value that some rows do not know is uneven, and keeps all its rows."""
    tree = make(Hostnames(), 4)
    row_counts, parts = parts_of(tree, 0.2, 20_000, np.random.default_rng(13))
    parts[tree.rows // 2 :] = 0.0
    trusted, even = trusted_rows(tree.law, row_counts, parts)
    assert trusted[tree.rows // 2 :].all()
    assert not even


def test_small_rows_are_pooled() -> None:
    """Neighbours together until they have enough people; what is left over joins the last pool; one pool at least."""
    people = np.array([500.0, 100, 200, 200, 600, 600, 700, 100, 200, 200, 90])
    row_counts = RowCounts(np.zeros((len(people), 2), np.float32), people, 0.4)
    for symbols, pools in ((125, [0, 1, 1, 1, 2, 3, 4, 5, 5, 5, 5]), (100_000, [0] * len(people))):
        for row in range(len(people)):  # a row that is too high is left out, with the rest of its pool
            parts = 0.1 * people
            parts[row] += 400
            trusted, even = trusted_rows(Law(symbols=symbols), row_counts, parts)
            alone = np.array(pools) != pools[row]
            assert even
            assert trusted.tolist() == (alone if alone.any() else ~alone).tolist()
