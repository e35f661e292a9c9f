"""Counts of named values beside values that are known, by the least squares of `fit`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import influences, overlap, refit
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.row_counts import RowCounts

_AT_ONCE = 2048
_LARGE = 64  # values that the search has not found and that are large enough to fake another
_CLUSTERED = 8  # how many times more often two names begin alike than bits of their codes say
_PREFIXES = 6  # depths down to which two values may share a path; deeper hardly ever
_UNLIKELY = 1.0  # standard errors below which nobody asks what else may explain a count
_APART = 0.02  # the least share of people whose reports must tell two values apart; with fewer nothing is known


class Beside(NamedTuple):
    """Counts of some values beside known ones.

    Attributes
    ----------
    counts : float array
        People who hold each.
    added : float array
        The variance that sharing buckets adds to each.
    left : RowCounts
        The rows without the known values.
    influences : float array
        The most that one report adds to each count, in people, as long as the rows that are used stay the same.
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
    """Count some values beside known ones, which may be among them; `influence` is that of one report on a plain sum.

    Costs len(paths)·rows, and the square of the known ones.
    """
    people = max(float(row_counts.people.sum()), 1.0)
    shares = row_counts.people / people
    fit = refit(tree, row_counts, known)
    theirs, fitted = fit.buckets, fit.with_shared  # whatever is shared is told apart below
    inverse = np.linalg.pinv(overlap(theirs, theirs, shares), rcond=1e-6, hermitian=True)
    estimates = row_counts.estimates.astype(np.float64)
    for row, share in enumerate(shares):
        np.subtract.at(estimates[row], theirs[:, row], fitted * share)
    left = RowCounts(estimates.astype(np.float32), row_counts.people, row_counts.noise)
    mine = tree.buckets(paths).astype(np.int64)
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
        # Of a known value: what is left of it when the others are fitted as well.
        apart = np.where(is_known, 1 / np.maximum(np.diag(inverse)[own], 1.0), apart)
        told, apart = apart >= _APART, np.maximum(apart, _APART)
        counts[some] = np.where(is_known, fitted[own], np.where(told, counts[some] / apart, 0.0))
        # Which of their holders happen to speak of the shared rows is chance.
        who = shared @ holders - np.where(is_known, holders[own], 0.0)
        known_less = row_counts.noise * people * (1 / apart - 1) + np.maximum(who, 0.0) / apart**2
        added[some] = np.where(told, known_less, people**2)
        # What is taken from a known value is found again in the values that share its buckets.
        largest[some] = np.where(is_known, of_known[own], (most + shared @ fall) / apart)
    return Beside(counts, added, left, largest)


def sharing_tails(tree: TreeGeometry, left: RowCounts, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The chance that an absent value comes so high because it shares buckets with a large value not yet found.

    Such a value may share any one hashed row with it, or the first rows, where both paths begin alike. What it adds
    there may be anything, so the other rows must speak for themselves: the chance is that of sharing, times the tail
    of the other rows, summed over all ways to share and times their number (so that the sum is a level). Values so
    low that noise explains them get 0.
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
    """All ways to share buckets with a large value: the rows that are not shared, and the chance of the way.

    The chances are times the number of ways.
    """
    first = tree.plan.chunks[0] == tree.plan.bucket_bits  # a root that is not hashed is shared by paths alike only
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
