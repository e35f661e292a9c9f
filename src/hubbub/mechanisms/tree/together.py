"""Counts of groups of values, from the joint law of their members' counts.

The sums s over rows of the values' buckets have the mean G·counts and the covariance noise·people·G, as in `fit`. So
how many people hold any value of a group g is w·s with G·w = 1 for its members and 0 for all other known values: it
counts each member once, and nobody who holds another known value. G is the unit matrix but for the few buckets that two
values share, so the system is solved by conjugate gradients, without the matrix.

A report of a row adds to the group the weight a of each bucket that it matches, a being the sum of the weights of the
values in it. So its variance is noise·Σa² for a person who holds none of the values. A holder of the value y adds a(y)
on average, which differs from row to row; over rows its mean is 1 for a member and 0 for another value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import Fit
from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.model.estimates import Totals
from hubbub.model.mechanism import Items

_ROUNDS = 200  # of conjugate gradients; about ten are enough unless values share most of their buckets
_CLOSE = 1e-12

Floats = NDArray[np.float64]


class Shared(NamedTuple):
    """The places where known values share a bucket: value, number of the bucket, and the share of people in its row."""

    values: NDArray[np.int64]
    buckets: NDArray[np.int64]
    shares: Floats

    def weights(self, each: Floats) -> Floats:
        """For each place, the weights of all values in its bucket."""
        return np.asarray(np.bincount(self.buckets, each[self.values])[self.buckets])

    def times(self, each: Floats) -> Floats:
        """G times a vector."""
        return each + self.spread(self.weights(each) - each[self.values], len(each))

    def spread(self, what: Floats, size: int) -> Floats:
        """For each value the mean over rows of something that is 0 where no bucket is shared."""
        return np.asarray(np.bincount(self.values, self.shares * what, size), np.float64)


def number(groups: Sequence[Items], found: Items) -> tuple[Items, list[NDArray[np.int64]]]:
    """All members and found values, each once, and the places of each group's members among them."""
    items, numbers = np.unique(np.concatenate([*groups, found]), axis=0, return_inverse=True)
    return items, np.split(numbers.ravel().astype(np.int64), np.cumsum([len(each) for each in groups]))[:-1]


def shared_places(buckets: NDArray[np.int64], shares: Floats) -> Shared:
    """Where values share a bucket, given the bucket of each value in each row."""
    rows = np.arange(buckets.shape[1], dtype=np.int64)
    names = rows * (1 << 32) + buckets
    _, where, many = np.unique(names, return_inverse=True, return_counts=True)
    where = where.reshape(names.shape)
    values, row = np.nonzero(many[where] > 1)
    return Shared(values, np.unique(where[values, row], return_inverse=True)[1], shares[row])


def count_groups(law: MatchLaw, fit: Fit, buckets: NDArray[np.int64], groups: Sequence[NDArray[np.int64]]) -> Totals:
    """How many people hold any value of each group, and its variance beyond that of uncorrelated counts.

    Parameters
    ----------
    law : MatchLaw
        What a report says.
    fit : Fit
        The values that were found. What is left besides them are values that may share any bucket by chance.
    buckets : int64 array, shape (values, rows)
        The buckets of all known values: the members of groups, and those that were found.
    groups : sequence of int64 arrays
        The places of each group's members among these.
    """
    row_counts, left = fit.row_counts, fit.left.estimates.astype(np.float64)
    hidden = float(np.maximum((left**2).mean(axis=1) - law.noise * row_counts.people, 0.0).sum())
    people = max(float(row_counts.people.sum()), 1.0)
    shared = shared_places(buckets, row_counts.people / people)
    sums = row_counts.sums(buckets)
    counts, extras = np.empty(len(groups)), np.empty(len(groups))
    for place, members in enumerate(groups):
        wanted = np.zeros(len(sums))
        wanted[members] = 1.0
        weighed = weigh(shared, wanted)
        uneven = float(np.maximum(sums, 0.0) @ np.maximum(weighed.squares - wanted, 0.0))
        counts[place] = weighed.weights @ sums
        beyond = law.noise * people * (weighed.total - len(members)) + (1 + law.own_noise - law.noise) * uneven
        extras[place] = max(beyond + hidden * weighed.total, 0.0) if weighed.solved else people**2
    return Totals(counts, extras)


class Weighed(NamedTuple):
    """The weights w of the known values, Σa² as a mean over rows, and for each value the mean over rows of its a².

    Not `solved` if a member and another value share every bucket that anybody reported on, as in a crowd of one.
    """

    weights: Floats
    total: float
    squares: Floats
    solved: bool


def weigh(shared: Shared, wanted: Floats) -> Weighed:
    """How to count a group once: `wanted` is 1 for its members and 0 for all other known values."""
    weights, solved = _solve(shared, wanted)
    more = shared.weights(weights) ** 2 - weights[shared.values] ** 2
    squares = weights**2 + shared.spread(more, len(weights))
    return Weighed(weights, float(weights @ shared.times(weights)), squares, solved)


def _solve(shared: Shared, wanted: Floats) -> tuple[Floats, bool]:
    """The w with G·w = wanted, by conjugate gradients, and whether there is one."""
    found, left = wanted.copy(), wanted - shared.times(wanted)
    step, square = left.copy(), float(left @ left)
    for _ in range(_ROUNDS):
        if square <= _CLOSE:
            break
        image = shared.times(step)
        bend = float(step @ image)
        if bend <= _CLOSE * float(step @ step):
            break
        length = square / bend
        found, left = found + length * step, left - length * image
        square, before = float(left @ left), square
        step = left + square / before * step
    return found, square <= _CLOSE
