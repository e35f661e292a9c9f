"""Counts of candidates next to values that were already found, by least squares as in `fit`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import influences, overlap, refit
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.row_counts import RowCounts

_AT_ONCE = 2048
_LARGE = 64  # assumed number of values that the search missed though they are large enough to fake another
_CLUSTERED = 8  # two names begin alike this many times more often than the bits of their codes suggest
_PREFIXES = 6  # first depths at which a shared path is considered; deeper ones are too rare
_UNLIKELY = 1.0  # standard errors; below this, noise alone explains a count
_APART = 0.02  # least share of people whose reports tell two values apart; below it the count is unknown


class Beside(NamedTuple):
    """Counts of some values next to known ones.

    Attributes
    ----------
    counts : float array
        People who hold each.
    added : float array
        The variance that sharing buckets adds to each.
    left : RowCounts
        The row counts after the known values are subtracted.
    influences : float array
        The most that one report adds to each count, in people, as long as the set of trusted rows stays the same.
    """

    counts: NDArray[np.float64]
    added: NDArray[np.float64]
    left: RowCounts
    influences: NDArray[np.float64]


def beside(
    tree: TreeGeometry,
    row_counts: RowCounts,
    paths: NDArray[np.uint64],
    known: NDArray[np.uint64],
    influence: tuple[float, float],
) -> Beside:
    """Count the values on `paths` next to the `known` ones, which may be among them.

    `influence` is the most and the least that one report adds to a plain sum over rows, in people. Costs
    len(paths)·rows + len(known)²·rows, and for values that share a bucket with a known one len(known)² each.
    """
    people = max(float(row_counts.people.sum()), 1.0)
    shares = row_counts.people / people
    fit = refit(tree, row_counts, tree.buckets(known))
    theirs, fitted = fit.buckets, fit.with_shared  # shared buckets are separated below
    inverse = np.linalg.pinv(overlap(theirs, theirs, shares), rcond=1e-6, hermitian=True)
    estimates = row_counts.estimates.astype(np.float64)
    for row, share in enumerate(shares):
        np.subtract.at(estimates[row], theirs[:, row], fitted * share)
    left = RowCounts(estimates.astype(np.float32), row_counts.people, row_counts.noise)
    mine = tree.buckets(paths)
    counts, added = left.sums(mine), np.zeros(len(mine))
    most, least = influence
    of_known, largest = influences(fit, most, least), np.full(len(mine), most)
    fall = influences(fit, -least, -most)  # the most that one report takes from each known value
    touched = np.flatnonzero(np.any([np.isin(mine[:, r], theirs[:, r]) for r in range(tree.rows)], axis=0))
    holders = np.maximum(fitted, 0.0)
    numbers = {path.tobytes(): number for number, path in enumerate(known)}
    for start in range(0, len(touched), _AT_ONCE):
        some = touched[start : start + _AT_ONCE]
        shared = overlap(mine[some], theirs, shares)
        own = np.array([numbers.get(path.tobytes(), -1) for path in paths[some]], np.int64)
        is_known = own >= 0
        apart = 1 - np.einsum("ij,jk,ik->i", shared, inverse, shared)
        # For a known value: the share of it that is independent of the other known values.
        apart = np.where(is_known, 1 / np.maximum(np.diag(inverse)[own], 1.0), apart)
        told, apart = apart >= _APART, np.maximum(apart, _APART)
        counts[some] = np.where(is_known, fitted[own], np.where(told, counts[some] / apart, 0.0))
        # How many holders of the known values report on the shared rows is random.
        who = shared @ holders - np.where(is_known, holders[own], 0.0)
        known_less = row_counts.noise * people * (1 / apart - 1) + np.maximum(who, 0.0) / apart**2
        added[some] = np.where(told, known_less, people**2)
        # A report that lowers a known value raises the values that share its buckets.
        largest[some] = np.where(is_known, of_known[own], (most + shared @ fall) / apart)
    return Beside(counts, added, left, largest)


def sharing_tails(tree: TreeGeometry, left: RowCounts, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The chance that an absent value gets so high a count by sharing buckets with a large value not yet found.

    A large value can share one hashed row, or the first rows if both paths begin alike. It may add any amount there,
    so only the other rows count: the result is the chance of sharing times the tail probability of the other rows,
    summed over all ways to share, and multiplied by the number of ways (so that it can be compared with a level).
    Counts within one standard error of 0 get 0. Costs len(paths)·rows for each way.
    """
    parts = left.parts(tree.buckets(paths))
    people = float(left.people.sum())
    noisy = np.sqrt(left.noise * people)
    asked = np.flatnonzero(parts.sum(axis=1) > _UNLIKELY * noisy)
    hidden = np.mean(left.estimates.astype(np.float64) ** 2, axis=1) - left.noise * left.people
    tails = np.zeros(len(paths))
    for rest, chance in ways_to_share(tree):
        law = tree.count_law(round(float(left.people[rest].sum())))
        counts = parts[asked][:, rest].sum(axis=1)
        extra = np.full(len(asked), float(np.maximum(hidden[rest], 0.0).sum()))
        tails[asked] += chance * np.exp(law.log_tail(counts, extra))
    return tails


def ways_to_share(tree: TreeGeometry) -> list[tuple[NDArray[np.bool_], float]]:
    """All ways to share buckets with a large value: a mask of the rows that are not shared, and the chance.

    Each chance is multiplied by the number of ways.
    """
    first = tree.plan.chunks[0] == tree.plan.bucket_bits  # a root that is not hashed is shared by equal prefixes only
    ways = [(slice(row, row + 1), 2.0**-tree.plan.bucket_bits) for row in range(int(first), tree.rows)]
    ways += [
        (slice(0, row + 1), _CLUSTERED * 2.0 ** -tree.plan.depths[row]) for row in range(min(_PREFIXES, tree.rows - 1))
    ]
    found = []
    for rows, chance in ways:
        rest = np.ones(tree.rows, np.bool_)
        rest[rows] = False
        found.append((rest, len(ways) * min(1.0, _LARGE * chance)))
    return found
