"""Counts of named values beside values that are known, by the least squares of `fit`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import overlap, refit
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.levels import TreeLevels

_AT_ONCE = 2048
_LARGE = 64  # values that the search has not found and that are large enough to fake another
_CLUSTERED = 8  # how many times more often two names begin alike than bits of their codes say
_PREFIXES = 6  # depths down to which two values may share a path; deeper hardly ever
_UNLIKELY = 1.0  # standard errors below which nobody asks what else may explain a count
_APART = 0.02  # the least share of people whose reports must tell two values apart; with fewer nothing is known


def beside(
    tree: TreeGeometry, levels: TreeLevels, paths: NDArray[np.uint64], known: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], TreeLevels]:
    """Counts of some values beside known ones, the variance that sharing adds to each, and the rows without the known.

    The known values may be among those counted. Costs len(paths)·rows, and the square of the known ones.
    """
    people = max(float(levels.people.sum()), 1.0)
    shares = levels.people / people
    fit = refit(tree, levels, known)
    theirs, fitted = fit.buckets, fit.with_shared  # whatever is shared is told apart below
    inverse = np.linalg.pinv(overlap(theirs, theirs, shares), rcond=1e-6, hermitian=True)
    estimates = levels.estimates.astype(np.float64)
    for row, share in enumerate(shares):
        np.subtract.at(estimates[row], theirs[:, row], fitted * share)
    left = TreeLevels(estimates.astype(np.float32), levels.people, levels.noise)
    mine = tree.buckets(paths).astype(np.int64)
    counts, added = left.sums(mine), np.zeros(len(mine))
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
        known_less = levels.noise * people * (1 / apart - 1) + np.maximum(who, 0.0) / apart**2
        added[some] = np.where(told, known_less, people**2)
    return counts, added, left


def sharing_tails(tree: TreeGeometry, left: TreeLevels, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
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
    first = tree.plan.chunks[0] == tree.plan.bucket_bits  # a root that is not hashed is shared by paths alike only
    ways = [(slice(row, row + 1), 2.0**-tree.plan.bucket_bits) for row in range(int(first), tree.rows)]
    ways += [
        (slice(0, row + 1), _CLUSTERED * 2.0 ** -tree.plan.depths[row]) for row in range(min(_PREFIXES, tree.rows - 1))
    ]
    tails = np.zeros(len(paths))
    for rows, chance in ways:
        rest = np.ones(tree.rows, np.bool_)
        rest[rows] = False
        law = tree.count_law(round(float(left.people[rest].sum())))
        counts = parts[asked][:, rest].sum(axis=1)
        extra = np.full(len(asked), float(np.maximum(hidden[rest], 0.0).sum()))
        tails[asked] += len(ways) * min(1.0, _LARGE * chance) * np.exp(law.log_tail(counts, extra))
    return tails
