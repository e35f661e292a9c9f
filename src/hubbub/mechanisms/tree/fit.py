"""Counts of values against one another: least squares over what every row says of them.

In a hashed row two values may share a bucket, and what a row says there is the sum of both. Say that values i and j
share buckets in rows that G_ij of all people speak about; then the sums over rows of what their buckets say have the
mean G·counts and the covariance noise·people·G. So the counts are G⁻¹·sums: unbiased whatever is shared, with less
certainty the more it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.row_counts import RowCounts

_FEW_MATCHES = 4.0  # in a pool of rows, for a normal law to be near enough
_AT_MOST_DROPPED = 1 / 3  # of the people
_STEP = 3.5  # standard errors between the rows above and below
_LEAST_APART = 0.1  # of the people, in the rows below


@dataclass(frozen=True)
class Fit:
    """Counts of values against one another.

    Attributes
    ----------
    row_counts : RowCounts
        What the tally says.
    buckets : int64 array, shape (values, rows)
        Where the values lie.
    shares : float array
        Holders of each value, as a share of the people.
    counts : float array
        People who hold each value: least squares over all rows, so that values which share buckets are told apart by
        the rows where they do not.
    with_shared : float array
        The same with rows that a text seems to share with another one, which are left out of `counts`.
    inflation : float array
        How many times the variance of a value that shares no bucket each count has; at least 1.
    trusted : bool array, shape (values, rows)
        The rows that were used. A row that says far more of a value than the others do is a collision with a value
        that is not in the fit, or forged reports, and is left out; so are the first rows of a text if they say more
        than the rest, since another text that begins alike shares them.
    uneven : bool array
        Values of which the rows say different things, whether or not rows were left out.
    """

    row_counts: RowCounts
    buckets: NDArray[np.int64]
    shares: NDArray[np.float64]
    with_shared: NDArray[np.float64]
    inflation: NDArray[np.float64]
    trusted: NDArray[np.bool_]
    uneven: NDArray[np.bool_]

    @property
    def counts(self) -> NDArray[np.float64]:
        """People who hold each value."""
        return self.shares * float(self.row_counts.people.sum())

    @cached_property
    def left(self) -> RowCounts:
        """The row counts without the values. Copies all estimates.

        What a bucket holds of the values is estimated by their shares of its row and by what the bucket says, weighted
        by their variances. Where the bucket is not trusted the rest may be another value's.
        """
        row_counts, seen = self.row_counts, self.row_counts.parts(self.buckets)
        left = row_counts.estimates.copy()
        expected = _expected(np.maximum(self.shares, 0.0), row_counts.people, self.buckets)
        weight = self.trusted * expected / (expected + row_counts.noise * row_counts.people + 1e-12)
        held = np.maximum(expected + (seen - expected) * weight, 0.0)
        left[np.arange(len(row_counts.people)), self.buckets] = seen - held  # who shares a bucket has the same there
        return replace(row_counts, estimates=left)


def refit(tree: TreeGeometry, row_counts: RowCounts, paths: NDArray[np.uint64]) -> Fit:
    """Count the values on some paths together. Costs values²·rows."""
    return fit_buckets(tree, row_counts, tree.buckets(paths).astype(np.int64))


def fit_buckets(tree: TreeGeometry, row_counts: RowCounts, buckets: NDArray[np.int64]) -> Fit:
    """Count values together, given the bucket of each in each row: those of a fit, less some, are counted again so."""
    seen = row_counts.parts(buckets)
    trusted = np.ones(seen.shape, bool)
    shares, inflation = solve_shares(row_counts.people, buckets, seen, trusted)
    others = _expected(shares, row_counts.people, buckets) - np.outer(shares, row_counts.people)
    judged = [trusted_rows(tree, row_counts, parts) for parts in seen - others]
    trusted = np.array([rows for rows, _ in judged], bool).reshape(seen.shape)
    uneven = np.array([not even for _, even in judged], bool) | ~trusted.all(axis=1)
    if not trusted.all():
        shares, inflation = solve_shares(row_counts.people, buckets, seen, trusted)
    with_all, shared = shares, np.zeros(len(buckets), np.int64)
    if tree.coded:
        shared = np.array(
            [_rows_shared(tree, row_counts, *each) for each in zip(seen - others, trusted, strict=True)], int
        )
    if shared.any():
        trusted &= np.arange(tree.rows) >= shared[:, np.newaxis]
        shares, inflation = solve_shares(row_counts.people, buckets, seen, trusted)
    return Fit(row_counts, buckets, shares, with_all * float(row_counts.people.sum()), inflation, trusted, uneven)


def overlap(
    some: NDArray[np.int64],
    others: NDArray[np.int64],
    weights: NDArray[np.float64],
    counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The weight of the rows where two values have one bucket, for each pair of one of `some` and one of `others`.

    A row weighs what `weights` says, the same for all of `some` or in a line for each; where `counted` is false for one
    of the others it weighs nothing.
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
    """The shares that explain best what the trusted buckets say, and how much larger their variance is than alone.

    A bucket that one value trusts and another does not holds people of both all the same.
    """
    normal = overlap(buckets, buckets, people * trusted)
    both = normal if trusted.all() else overlap(buckets, buckets, people * trusted, trusted)
    total = max(float(people.sum()), 1e-9)
    inverse = np.linalg.inv(normal + 1e-9 * total * np.eye(len(buckets)))
    shares = inverse @ (seen * trusted).sum(axis=1)
    return shares, np.maximum(((inverse @ both) * inverse).sum(axis=1) * total, 1.0)


def influences(fit: Fit, most: float, least: float) -> NDArray[np.float64]:
    """The most that one report adds to each count of a fit, in people: all rows that are used stay what they are.

    A count is a sum of what buckets say, each with a weight. A report speaks of one row: it adds `most` to the buckets
    whose symbol it has and `least` to the others, and its sender can draw ids until these are the ones she likes. So it
    is the largest over the rows of Σ max(weight·most, weight·least), attained where such an id is found. For a value
    that shares no bucket it is `most` times the `inflation`. Costs values²·rows.
    """
    people, buckets, trusted = fit.row_counts.people, fit.buckets, fit.trusted
    if not len(buckets):
        return np.empty(0)
    total = max(float(people.sum()), 1e-9)
    normal = overlap(buckets, buckets, people * trusted)
    inverse = np.linalg.inv(normal + 1e-9 * total * np.eye(len(buckets)))
    largest = np.zeros(len(buckets))
    for row in range(buckets.shape[1]):
        order = np.argsort(buckets[:, row], kind="stable")
        starts = np.flatnonzero(np.diff(buckets[order, row], prepend=-1))
        weights = np.add.reduceat(total * (inverse * trusted[:, row])[:, order], starts, axis=1)
        largest = np.maximum(largest, np.maximum(weights * most, weights * least).sum(axis=1))
    return largest


def _expected(
    shares: NDArray[np.float64], people: NDArray[np.float64], buckets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each value and row, the reporters that its bucket should have of all the values together."""
    found = np.empty(buckets.shape)
    for row, size in enumerate(people):
        _, where = np.unique(buckets[:, row], return_inverse=True)
        found[:, row] = np.bincount(where, shares * size)[where]
    return found


def trusted_rows(
    tree: TreeGeometry, row_counts: RowCounts, parts: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], bool]:
    """Which rows to believe of a value, and whether those agree. `parts` is what each row says of it.

    By χ², after neighbouring rows with few reporters are pooled. While the rows disagree, the one that is highest
    above the others is dropped: a collision or forged reports add to one row. Rows that are too low stay: they may
    tell that the others belong to another value.
    """
    trusted = np.ones(len(parts), bool)
    pools = pool_rows(row_counts.people, _FEW_MATCHES * tree.symbols)
    starts = np.flatnonzero(np.diff(pools, prepend=-1))
    while True:
        sizes = np.add.reduceat(row_counts.people * trusted, starts)
        people = float(sizes.sum())
        share = min(max(float(parts[trusted].sum()) / max(people, 1e-9), 0.0), 1.0)
        # Noise of others' and of its own reports, and who of its holders happens to speak of which row.
        noise = row_counts.noise * (1 - share) + tree.own_noise * share + share * (1 - share)
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


def _rows_shared(
    tree: TreeGeometry, row_counts: RowCounts, parts: NDArray[np.float64], trusted: NDArray[np.bool_]
) -> int:
    """How many of the first rows a text seems to share with another one that is not known. `parts` is what rows say.

    Two texts that begin alike, with fingerprints that begin alike, share their buckets down to where they part: the
    rows above say more than those below, and only those below speak of one text alone.
    """
    people = row_counts.people * trusted
    before, after = np.cumsum(people)[:-1], np.cumsum(people[::-1])[::-1][1:]
    enough = (before > 0) & (after >= _LEAST_APART * people.sum())
    if not enough.any():
        return 0
    above, below = np.cumsum(parts * trusted)[:-1], np.cumsum((parts * trusted)[::-1])[::-1][1:]
    share = min(max(float((parts * trusted).sum() / people.sum()), 0.0), 1.0)  # if no row is shared
    noise = row_counts.noise * (1 - share) + (tree.own_noise + 1 - share) * share
    spread = np.sqrt(noise * (1 / np.maximum(before, 1e-9) + 1 / np.maximum(after, 1e-9)))
    steps = np.where(enough, (above / np.maximum(before, 1e-9) - below / np.maximum(after, 1e-9)) / spread, -np.inf)
    highest = int(np.argmax(steps))
    return highest + 1 if steps[highest] >= _STEP else 0


def pool_rows(people: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """The number of the pool of each row: neighbours together until a pool has this many people."""
    pools = np.zeros(len(people), np.int64)
    number, size = 0, 0.0
    for row, more in enumerate(people):
        pools[row] = number
        size += more
        if size >= least:
            number, size = number + 1, 0.0
    # What is left over at the end goes to the last full pool.
    return np.minimum(pools, max(number - 1, 0))
