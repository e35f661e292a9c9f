"""Counts of candidates next to values that were already found, by least squares as in `fit`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import overlap, refit
from hubbub.mechanisms.tree.forged import moves_of
from hubbub.mechanisms.tree.gates import first_hashed
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.shape import Shape
from hubbub.model.estimates import Estimates
from hubbub.model.mechanism import Items

_AT_ONCE = 2048
_LARGE = 64  # assumed number of values that the search missed though they are large enough to fake another
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
    fakes : float array
        How few forged reports could give each value its count if nobody held it.
    moves : float array, shape (values, 2)
        The most and the least that one report adds to each count.
    """

    counts: NDArray[np.float64]
    added: NDArray[np.float64]
    left: RowCounts
    fakes: NDArray[np.float64]
    moves: NDArray[np.float64]

    def estimates(
        self,
        shape: Shape,
        law: MatchLaw,
        items: Items,
        stderrs: NDArray[np.float64],
        buckets: NDArray[np.int64],
        numbers: NDArray[np.int64],
    ) -> Estimates:
        """The counts of items as estimates, with the chances of sharing; buckets and `numbers` as for `beside`."""
        tails, weakest = sharing_tails(shape, law, self.left, buckets)
        weakest[numbers >= 0] = np.inf  # what is left has nothing of these
        more = (self.fakes, self.moves, None, weakest)
        return Estimates(items, self.counts, stderrs, -np.inf, np.nan, None, None, tails, None, None, None, *more)


def beside(
    law: MatchLaw,
    row_counts: RowCounts,
    mine: NDArray[np.int64],
    known: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> Beside:
    """Count some values next to known ones, given the bucket of each in each row.

    `numbers` has for each of the values its number among the known ones, or −1. Costs len(mine)·rows +
    len(known)²·rows, and for values that share a bucket with a known one len(known)² each.
    """
    people = max(float(row_counts.people.sum()), 1.0)
    shares = row_counts.people / people
    fit = refit(law, row_counts, known)
    theirs, fitted = fit.buckets, fit.counts
    inverse = np.linalg.pinv(overlap(theirs, theirs, shares), rcond=1e-6, hermitian=True)
    estimates = row_counts.estimates.astype(np.float64)
    for row, share in enumerate(shares):
        np.subtract.at(estimates[row], theirs[:, row], fitted * share)
    left = RowCounts(estimates.astype(np.float32), row_counts.people, row_counts.noise)
    counts, added = left.sums(mine), np.zeros(len(mine))
    of_known = moves_of(fit, law.influence)
    moves = np.tile(law.influence, (len(mine), 1))
    touched = np.flatnonzero(np.any([np.isin(mine[:, r], theirs[:, r]) for r in range(mine.shape[1])], axis=0))
    holders = np.maximum(fitted, 0.0)
    for start in range(0, len(touched), _AT_ONCE):
        some = touched[start : start + _AT_ONCE]
        shared = overlap(mine[some], theirs, shares)
        own = numbers[some]
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
        # A report that lowers a known value raises the values that share its buckets, and the other way round.
        others = (law.influence - shared @ of_known[:, ::-1]) / apart[:, np.newaxis]
        moves[some] = np.where(is_known[:, np.newaxis], of_known[own], others)
    return Beside(counts, added, left, np.ceil(np.maximum(counts, 0.0) / moves[:, 0] - 1e-9), moves)


def sharing_tails(
    shape: Shape, law: MatchLaw, left: RowCounts, buckets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The chance that an absent value gets so high a count by sharing buckets with a large value not yet found.

    A large value can share one hashed row. It may add any amount there, so only the other rows count: the result is
    the chance of sharing times the tail probability of the other rows, summed over all rows that could be shared, and
    multiplied by their number (so that it can be compared with a level). Counts within one standard error of 0 get 0.
    Costs len(buckets)·rows for each row. Also returns the counts of the rows that can be shared without the largest.
    """
    parts = left.parts(buckets)
    noisy = law.spread(float(left.people.sum()))
    asked = np.flatnonzero(parts.sum(axis=1) > _UNLIKELY * noisy)
    hidden = np.mean(left.estimates.astype(np.float64) ** 2, axis=1) - left.noise * left.people
    tails = np.zeros(len(buckets))
    for rest, chance in ways_to_share(shape):
        rest_law = law.count_law(round(float(left.people[rest].sum())))
        counts = parts[asked][:, rest].sum(axis=1)
        extra = np.full(len(asked), float(np.maximum(hidden[rest], 0.0).sum()))
        tails[asked] += chance * np.exp(rest_law.log_tail(counts, extra))
    return tails, parts.sum(axis=1) - parts[:, first_hashed(shape) :].max(axis=1)


def ways_to_share(shape: Shape) -> list[tuple[NDArray[np.bool_], float]]:
    """All ways to share a bucket with a large value: a mask of the rows that are not shared, and the chance.

    Each chance is multiplied by the number of ways.
    """
    shared = range(first_hashed(shape), shape.rows)
    chance = len(shared) * min(1.0, _LARGE * 2.0**-shape.bucket_bits)
    return [(np.arange(shape.rows) != row, chance) for row in shared]
