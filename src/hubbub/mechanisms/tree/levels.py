"""What a tally of the tree says: estimates of every bucket, by row and by depth, and the same without known values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.geometry import TreeGeometry


@dataclass(frozen=True)
class TreeLevels:
    """Estimates of every row and bucket, the reporters of every row, and the noise variance one reporter adds."""

    estimates: NDArray[np.float32]
    people: NDArray[np.float64]
    noise: float

    def without(self, estimates: NDArray[np.float32]) -> TreeLevels:
        """The same people, with other estimates."""
        return TreeLevels(estimates, self.people, self.noise)

    def parts(self, buckets: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What each row says of its bucket, shape (n, rows)."""
        rows = np.arange(len(self.people))
        return np.asarray(self.estimates[rows, buckets.astype(np.int64)], np.float64)

    def sums(self, buckets: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The sum over rows."""
        return np.asarray(self.parts(buckets).sum(axis=1))


class Depths:
    """Rows gathered by depth (the deepest may have several), with the noise of each depth."""

    def __init__(self, tree: TreeGeometry, levels: TreeLevels) -> None:
        self.bits = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.bits]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([levels.people[rows].sum() for rows in self.rows])
        self.variance = levels.noise * np.maximum(self.people, 1e-9)
        self.so_far = np.cumsum(self.variance)


class Front(NamedTuple):
    """Paths of one depth: score, state of the text code's automaton, and code bits used (0 without a code)."""

    paths: NDArray[np.uint64]
    scores: NDArray[np.float32]
    nodes: NDArray[np.int32]
    used: NDArray[np.float32]

    def take(self, chosen: NDArray[np.int64]) -> Front:
        """Some of them."""
        return Front(self.paths[chosen], self.scores[chosen], self.nodes[chosen], self.used[chosen])


class Fit(NamedTuple):
    """Counts of values against one another.

    Attributes
    ----------
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
    left : TreeLevels
        The levels without the values.
    """

    counts: NDArray[np.float64]
    with_shared: NDArray[np.float64]
    inflation: NDArray[np.float64]
    trusted: NDArray[np.bool_]
    uneven: NDArray[np.bool_]
    left: TreeLevels


def refit(tree: TreeGeometry, levels: TreeLevels, paths: NDArray[np.uint64]) -> Fit:
    """Count the values together, and take them out of the levels. Costs values²·rows."""
    buckets = tree.buckets(paths).astype(np.int64)
    seen = levels.parts(buckets.astype(np.uint64))
    trusted = np.ones(seen.shape, bool)
    shares, inflation = _least_squares(levels.people, buckets, seen, trusted)
    others = _expected(shares, levels.people, buckets) - np.outer(shares, levels.people)
    judged = [trusted_rows(tree, levels, parts) for parts in seen - others]
    trusted = np.array([rows for rows, _ in judged], bool).reshape(seen.shape)
    uneven = np.array([not even for _, even in judged], bool) | ~trusted.all(axis=1)
    if not trusted.all():
        shares, inflation = _least_squares(levels.people, buckets, seen, trusted)
    with_all, shared = shares, np.zeros(len(paths), np.int64)
    if tree.code is not None:
        shared = np.array([_rows_shared(tree, levels, *each) for each in zip(seen - others, trusted, strict=True)], int)
    if shared.any():
        trusted &= np.arange(tree.rows) >= shared[:, np.newaxis]
        shares, inflation = _least_squares(levels.people, buckets, seen, trusted)
    left = levels.estimates.copy()
    # What a bucket holds of them is estimated by their shares of its row and by what the bucket says, weighted by
    # their variances. Where the bucket is not trusted the rest may be another value's.
    expected = _expected(np.maximum(shares, 0.0), levels.people, buckets)
    weight = trusted * expected / (expected + levels.noise * levels.people + 1e-12)
    held = np.maximum(expected + (seen - expected) * weight, 0.0)
    rows = np.arange(len(levels.people))
    left[rows, buckets] = seen - held  # values that share a bucket have the same there
    people = float(levels.people.sum())
    return Fit(shares * people, with_all * people, inflation, trusted, uneven, levels.without(left))


def _least_squares(
    people: NDArray[np.float64], buckets: NDArray[np.int64], seen: NDArray[np.float64], trusted: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares that explain best what the trusted buckets say, and how much larger their variance is than alone.

    A bucket that one value trusts and another does not holds people of both all the same.
    """
    normal = np.zeros((len(buckets), len(buckets)))
    both = np.zeros_like(normal)
    for row, size in enumerate(people):
        of_row, believed = buckets[:, row], trusted[:, row]
        held = size * (of_row[:, np.newaxis] == of_row) * believed[:, np.newaxis]
        normal += held
        both += held * believed
    total = max(float(people.sum()), 1e-9)
    normal += 1e-9 * total * np.eye(len(buckets))
    inverse = np.linalg.inv(normal)
    shares = inverse @ (seen * trusted).sum(axis=1)
    return shares, np.maximum(((inverse @ both) * inverse).sum(axis=1) * total, 1.0)


def _expected(
    shares: NDArray[np.float64], people: NDArray[np.float64], buckets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each value and row, the reporters that its bucket should have of all the values together."""
    found = np.empty(buckets.shape)
    for row, size in enumerate(people):
        _, where = np.unique(buckets[:, row], return_inverse=True)
        found[:, row] = np.bincount(where, shares * size)[where]
    return found


_FEW_MATCHES = 4.0  # in a pool of rows, for a normal law to be near enough
_AT_MOST_DROPPED = 1 / 3  # of the people
_STEP = 3.5  # standard errors between the rows above and below
_LEAST_APART = 0.1  # of the people, in the rows below


def trusted_rows(tree: TreeGeometry, levels: TreeLevels, parts: NDArray[np.float64]) -> tuple[NDArray[np.bool_], bool]:
    """Which rows to believe of a value, and whether those agree. `parts` is what each row says of it.

    By χ², after neighbouring rows with few reporters are pooled. While the rows disagree, the one that is highest
    above the others is dropped: a collision or forged reports add to one row. Rows that are too low stay: they may
    tell that the others belong to another value.
    """
    trusted = np.ones(len(parts), bool)
    pools = _pools(levels.people, _FEW_MATCHES * tree.symbols)
    starts = np.flatnonzero(np.diff(pools, prepend=-1))
    while True:
        sizes = np.add.reduceat(levels.people * trusted, starts)
        people = float(sizes.sum())
        share = min(max(float(parts[trusted].sum()) / max(people, 1e-9), 0.0), 1.0)
        # Noise of others' and of its own reports, and who of its holders happens to speak of which row.
        noise = levels.noise * (1 - share) + tree.own_noise * share + share * (1 - share)
        spread = np.sqrt(np.maximum(sizes * noise, 1e-9))
        deviations = (np.add.reduceat(parts * trusted, starts) - share * sizes) / spread
        degrees = max(int(np.count_nonzero(sizes)) - 1, 1)
        if float((deviations[sizes > 0] ** 2).sum()) <= degrees + 5 * math.sqrt(2 * degrees):
            return trusted, True
        worst = int(np.argmax(deviations))
        rest = trusted & (pools != worst)
        if deviations[worst] < 3.0 or levels.people[rest].sum() < (1 - _AT_MOST_DROPPED) * levels.people.sum():
            return trusted, False
        trusted = rest


def _rows_shared(tree: TreeGeometry, levels: TreeLevels, parts: NDArray[np.float64], trusted: NDArray[np.bool_]) -> int:
    """How many of the first rows a text seems to share with another one that is not known. `parts` is what rows say.

    Two texts that begin alike, with fingerprints that begin alike, share their buckets down to where they part: the
    rows above say more than those below, and only those below speak of one text alone.
    """
    people = levels.people * trusted
    before, after = np.cumsum(people)[:-1], np.cumsum(people[::-1])[::-1][1:]
    enough = (before > 0) & (after >= _LEAST_APART * people.sum())
    if not enough.any():
        return 0
    above, below = np.cumsum(parts * trusted)[:-1], np.cumsum((parts * trusted)[::-1])[::-1][1:]
    share = min(max(float((parts * trusted).sum() / people.sum()), 0.0), 1.0)  # if no row is shared
    noise = levels.noise * (1 - share) + (tree.own_noise + 1 - share) * share
    spread = np.sqrt(noise * (1 / np.maximum(before, 1e-9) + 1 / np.maximum(after, 1e-9)))
    steps = np.where(enough, (above / np.maximum(before, 1e-9) - below / np.maximum(after, 1e-9)) / spread, -np.inf)
    highest = int(np.argmax(steps))
    return highest + 1 if steps[highest] >= _STEP else 0


def _pools(people: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """The number of the pool of each row: neighbours together until a pool has so many people."""
    pools = np.zeros(len(people), np.int64)
    number, size = 0, 0.0
    for row, more in enumerate(people):
        pools[row] = number
        size += more
        if size >= least:
            number, size = number + 1, 0.0
    # What is left over at the end goes to the last full pool.
    return np.minimum(pools, max(number - 1, 0))
