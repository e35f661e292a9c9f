"""Counts of several values at once: least squares over the estimates of every row.

In a hashed row two values may share a bucket, whose estimate is then the sum of both. Let G_ij be the share of all
people who report on a row where values i and j share a bucket. Then the sums over rows of the values' buckets have the
mean G·counts and the covariance noise·people·G. So the counts are G⁻¹·sums: unbiased whichever buckets are shared, and
less certain the more are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts

_FEW_MATCHES = 4.0  # expected matches in a pool of rows from which a normal law is close enough
_AT_MOST_DROPPED = 1 / 3  # of the people, in rows that are not trusted


@dataclass(frozen=True)
class Fit:
    """Counts of several values, fitted together.

    Attributes
    ----------
    row_counts : RowCounts
        The estimates that were fitted.
    buckets : int64 array, shape (values, rows)
        The bucket of each value in each row.
    shares : float array
        Holders of each value, as a share of the people.
    counts : float array
        People who hold each value: least squares over all rows, so that values which share buckets are told apart by
        the rows where they do not.
    inflation : float array
        The variance of each count, divided by that of a value that shares no bucket; at least 1.
    trusted : bool array, shape (values, rows)
        The rows that were used. A row far above the others is taken for a collision with a value outside the fit, or
        for forged reports, and is left out.
    uneven : bool array
        Values whose rows disagree, whether or not rows were left out.
    """

    row_counts: RowCounts
    buckets: NDArray[np.int64]
    shares: NDArray[np.float64]
    counts: NDArray[np.float64]
    inflation: NDArray[np.float64]
    trusted: NDArray[np.bool_]
    uneven: NDArray[np.bool_]

    @property
    def own(self) -> NDArray[np.float64]:
        """What each row says of each value, without the other values that share its bucket; shape (values, rows)."""
        people = self.row_counts.people
        others = _expected(self.shares, people, self.buckets) - np.outer(self.shares, people)
        return self.row_counts.parts(self.buckets) - others

    @cached_property
    def left(self) -> RowCounts:
        """The row counts after the fitted values are subtracted. Copies all estimates.

        The amount to subtract from a bucket is the mean of the fitted amount and the bucket's own estimate, weighted
        by their variances. From a bucket that is not trusted only the fitted amount is subtracted: the rest may belong
        to another value.
        """
        row_counts, seen = self.row_counts, self.row_counts.parts(self.buckets)
        left = row_counts.estimates.copy()
        expected = _expected(np.maximum(self.shares, 0.0), row_counts.people, self.buckets)
        weight = self.trusted * expected / (expected + row_counts.noise * row_counts.people + 1e-12)
        held = np.maximum(expected + (seen - expected) * weight, 0.0)
        left[np.arange(len(row_counts.people)), self.buckets] = seen - held  # the same for all values of a bucket
        return replace(row_counts, estimates=left)


def refit(law: MatchLaw, row_counts: RowCounts, buckets: NDArray[np.int64]) -> Fit:
    """Count some values together, given the bucket of each value in each row. Costs values²·rows."""
    seen = row_counts.parts(buckets)
    trusted = np.ones(seen.shape, bool)
    shares, inflation = solve_shares(row_counts.people, buckets, seen, trusted)
    others = _expected(shares, row_counts.people, buckets) - np.outer(shares, row_counts.people)
    judged = [trusted_rows(law, row_counts, parts) for parts in seen - others]
    trusted = np.array([rows for rows, _ in judged], bool).reshape(seen.shape)
    uneven = np.array([not even for _, even in judged], bool) | ~trusted.all(axis=1)
    if not trusted.all():
        shares, inflation = solve_shares(row_counts.people, buckets, seen, trusted)
    people = float(row_counts.people.sum())
    return Fit(row_counts, buckets, shares, shares * people, inflation, trusted, uneven)


def overlap(
    some: NDArray[np.int64],
    others: NDArray[np.int64],
    weights: NDArray[np.float64],
    counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The total weight of the rows in which two values share a bucket: shape (len(some), len(others)).

    `weights` has the weight of each row, the same for all of `some` (shape (rows,)) or for each (shape (some, rows)).
    A row where `counted` (shape (others, rows)) is false for the other value weighs nothing.
    """
    weights = np.broadcast_to(weights, some.shape)
    total = np.zeros((len(some), len(others)))
    for row in range(some.shape[1]):
        held = weights[:, row, np.newaxis] * (some[:, row, np.newaxis] == others[np.newaxis, :, row])
        total += held if counted is None else held * counted[:, row]
    return total


def solve_shares(
    people: NDArray[np.float64], buckets: NDArray[np.int64], seen: NDArray[np.float64], trusted: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares of the people that fit the trusted buckets best, and the `inflation` of their variances.

    `seen` has the estimate of each value's bucket in each row. A bucket that is trusted for one value and not for
    another still holds people of both.
    """
    normal = overlap(buckets, buckets, people * trusted)
    both = normal if trusted.all() else overlap(buckets, buckets, people * trusted, trusted)
    total = max(float(people.sum()), 1e-9)
    inverse = np.linalg.inv(normal + 1e-9 * total * np.eye(len(buckets)))
    shares = inverse @ (seen * trusted).sum(axis=1)
    return shares, np.maximum(((inverse @ both) * inverse).sum(axis=1) * total, 1.0)


def _expected(
    shares: NDArray[np.float64], people: NDArray[np.float64], buckets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each value and row, the expected number of reporters in its bucket, from all values together."""
    found = np.empty(buckets.shape)
    for row, size in enumerate(people):
        _, where = np.unique(buckets[:, row], return_inverse=True)
        found[:, row] = np.bincount(where, shares * size)[where]
    return found


def trusted_rows(law: MatchLaw, row_counts: RowCounts, parts: NDArray[np.float64]) -> tuple[NDArray[np.bool_], bool]:
    """A mask of the rows to trust for a value, and whether these agree. `parts` has each row's estimate for the value.

    A χ² test, after neighbouring rows with few reporters are pooled. While rows disagree, the pool furthest above the
    others is dropped, since a collision or forged reports raise one row. Rows that are too low stay: they may show
    that the others belong to another value.
    """
    trusted, pools = np.ones(len(parts), bool), np.zeros(len(parts), np.int64)
    number, size = 0, 0.0
    for row, more in enumerate(row_counts.people):
        pools[row] = number
        size += more
        if size >= _FEW_MATCHES * law.symbols:
            number, size = number + 1, 0.0
    pools = np.minimum(pools, max(number - 1, 0))  # a remainder at the end joins the last full pool
    starts = np.flatnonzero(np.diff(pools, prepend=-1))
    while True:
        sizes = np.add.reduceat(row_counts.people * trusted, starts)
        people = float(sizes.sum())
        share = min(max(float(parts[trusted].sum()) / max(people, 1e-9), 0.0), 1.0)
        # The noise of others' reports and of its holders' own, and the chance by which holders report on each row.
        noise = row_counts.noise * (1 - share) + law.own_noise * share + share * (1 - share)
        spread = np.sqrt(np.maximum(sizes * noise, 1e-9))
        deviations = (np.add.reduceat(parts * trusted, starts) - share * sizes) / spread
        degrees = max(int(np.count_nonzero(sizes)) - 1, 1)
        if float((deviations[sizes > 0] ** 2).sum()) <= degrees + 5 * math.sqrt(2 * degrees):
            return trusted, True
        worst = int(np.argmax(deviations))
        rest = trusted & (pools != worst)
        if deviations[worst] < 3.0 or row_counts.people[rest].sum() < (1 - _AT_MOST_DROPPED) * row_counts.people.sum():
            return trusted, False
        trusted = rest
