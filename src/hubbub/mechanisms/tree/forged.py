"""How few forged reports could have made a difference to a value that was found.

A forger sends what he likes, and draws ids until their row and masks suit him. A report adds `influence` to the count
of a value at most. If it matches a neighbour and not the value, it moves the two against each other by `per_match`.
Only the rows below the step where the two part tell them apart. Reports that crowd a value out of the beam, by lifting
a large part of all paths at once, are not covered (docs/threats.md).

Counts that are fitted together move by more than `influence`: `moves_of` has how far, by the weights of the fit.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import Fit, overlap
from hubbub.mechanisms.tree.gates import (
    InList,
    LevelBudget,
    Neighbours,
    NoSingleRow,
    Place,
    StandsOut,
    most_of_a_row,
)
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree


class Forgers(NamedTuple):
    """What forged reports can do to each found value.

    `fakes` is how few could have put it there, hidden it, or put another in its place; `stands` the most without which
    the search would still accept it; `moves` the most and the least that one report adds to its count.
    """

    fakes: NDArray[np.float64]
    stands: NDArray[np.float64]
    moves: NDArray[np.float64]


def of_forgers(tree: Tree, fit: Fit, items: Items, query: Query) -> Forgers:
    """What forged reports can do to each value that was found.

    Fewer than `fakes` can neither put a value there, nor hide it, nor put another in its place. That is the least of
    three numbers: what lifts a value that nobody holds to its count, what lowers it until it no longer stands out, and
    what brings a neighbour so near, in the rows that tell them apart, that either may be the real one. Up to `stands`
    can be taken away from any rows, and what is left passes all gates.
    """
    budget, people = LevelBudget(query.level), fit.row_counts.people
    moves = moves_of(fit, tree.influence)
    most, least = moves.T
    stands_out = StandsOut(budget)
    needed = stands_out.least(tree.law, round(float(people.sum())), tree.code.log_priors(items))
    lead = fit.counts - needed
    fewest, stands = np.minimum(fit.counts / most, lead / -least), lead / most
    # A row far above the others may be a collision, and does not count for more than the value explains.
    said = np.minimum(fit.own, most_of_a_row(tree.shape, tree.law, fit.shares, people, len(items)))
    for number, places, _ in tree.code.classes(items):
        kind, log_mass = tree.shape.classes[number], float(tree.code.log_masses[number])
        place = Place(tree.shape, tree.law, kind, kind.bits, log_mass, people)
        for window in Neighbours(budget).needs(place):
            slack = (said[places, window.rows].sum(axis=1) - window.least) / tree.law.per_match
            fewest[places] = np.minimum(fewest[places], slack)
            stands[places] = np.minimum(stands[places], slack)
        others = NoSingleRow(budget, len(items))
        for window in chain(tree.in_beam.needs(place), InList().needs(place), others.needs(place)):
            told = said[places, window.rows].sum(axis=1)
            told = said[places].sum(axis=1) - told if window.without else told
            stands[places] = np.minimum(stands[places], (told - window.least) / most[places])
    return Forgers(np.maximum(np.ceil(fewest), 0.0), np.maximum(np.ceil(stands - 1e-6) - 1, 0.0), moves)


def moves_of(fit: Fit, influence: tuple[float, float]) -> NDArray[np.float64]:
    """The most and the least that one more report, of any row, adds to each count of a fit: shape (values, 2).

    A report matches any set of a row's buckets, if its masks suit. Each bucket has a weight in each count, which is
    what the fit makes of it. A report also makes its row weigh more, by which a count moves if not all rows are used or
    if buckets are shared. Costs values²·rows. The rows that are used and the found values are taken as they are.
    """
    most, least = influence
    people, trusted, buckets = fit.row_counts.people, fit.trusted, fit.buckets
    total, size = max(float(people.sum()), 1e-9), len(fit.counts)
    inverse = np.linalg.inv(overlap(buckets, buckets, people * trusted) + 1e-9 * total * np.eye(size))
    found = np.tile([-np.inf, np.inf], (size, 1))
    for row, used in enumerate(trusted.T):
        _, where = np.unique(buckets[:, row], return_inverse=True)
        several = int(where.max(initial=-1)) + 1
        weights = np.zeros((size, several))
        np.add.at(weights.T, where, (inverse * used).T)
        weights *= total
        held = np.bincount(where, fit.shares, several)  # in each bucket
        shift = fit.shares - weights @ held
        up = shift + np.maximum(weights * most, weights * least).sum(axis=1)
        down = shift + np.minimum(weights * most, weights * least).sum(axis=1)
        found = np.column_stack([np.maximum(found[:, 0], up), np.minimum(found[:, 1], down)])
    return found
