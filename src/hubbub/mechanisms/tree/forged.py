"""How few forged reports could have made a difference to a value that was found.

A forger sends what he likes, and draws ids until their row and masks suit him. A report adds `influence` to the count
of a value at most. If it matches a neighbour and not the value, it moves the two against each other by `per_match`.
Only the rows below the step where the two part tell them apart. Reports that crowd a value out of the beam, by lifting
a large part of all paths at once, are not covered (docs/threats.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fit import Fit
from hubbub.mechanisms.tree.gates import LevelBudget, Neighbours, Place, StandsOut, most_of_a_row
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree


def fewest_forged(tree: Tree, fit: Fit, items: Items, query: Query) -> NDArray[np.float64]:
    """For each value: fewer forged reports can neither put it there, nor hide it, nor put another in its place.

    The least of three numbers: what lifts a value that nobody holds to its count, what lowers it until it no longer
    stands out, and what brings a neighbour so near, in the rows that tell them apart, that either may be the real one.
    """
    budget, people = LevelBudget(query.level), fit.row_counts.people
    most, least = tree.influence
    stands_out = StandsOut(budget)
    needed = stands_out.least(tree.law, round(float(people.sum())), tree.code.log_priors(items))
    fewest = np.minimum(fit.counts / (most * fit.inflation), (fit.counts - needed) / -least)
    # A row far above the others may be a collision, and does not count for more than the value explains.
    said = np.minimum(fit.own, most_of_a_row(tree.shape, tree.law, fit.shares, people, len(items)))
    for number, places, _ in tree.code.classes(items):
        kind, log_mass = tree.shape.classes[number], float(tree.code.log_masses[number])
        place = Place(tree.shape, tree.law, kind, kind.bits, log_mass, people)
        for window in Neighbours(budget).needs(place):
            slack = said[places, window.rows].sum(axis=1) - window.least
            fewest[places] = np.minimum(fewest[places], slack / tree.law.per_match)
    return np.maximum(np.ceil(fewest), 0.0)
