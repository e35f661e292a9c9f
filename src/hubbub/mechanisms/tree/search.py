"""The search: a beam in each class, a list under each promising root, the gates, subtraction, repeat.

A path is scored by the sum of its estimates over all rows so far, so that every report on one of its prefixes counts.
Accepted values are subtracted, and the search repeats on the residual, where collisions with large values no longer
hide or fake small ones. `spec` has the same in 50 lines, for a first reading.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.descend import Descent, Front
from hubbub.mechanisms.tree.fit import Fit, refit, trusted_rows
from hubbub.mechanisms.tree.gates import (
    LevelBudget,
    Neighbours,
    NoSingleRow,
    Place,
    StandsOut,
    crowded_caps,
    most_of_a_row,
)
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.tuning import TUNING
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items
from hubbub.numeric.threads import in_threads

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree


class Found(NamedTuple):
    """Values that stand out, their fit, for each the odds that a neighbour is the real value, and its rival.

    A rival is a neighbour for which so many of the reports speak that tell the two apart that only forged reports
    explain it: either may be the real one. A value without a rival has itself in its place.
    """

    items: Items
    fit: Fit
    doubts: NDArray[np.float64]
    rivals: Items

    def without(self, tree: Tree, row_counts: RowCounts, place: int) -> Found:
        """The same without one value."""
        rest = np.arange(len(self.items)) != place
        fit = refit(tree.law, row_counts, self.fit.buckets[rest])
        return Found(self.items[rest], fit, self.doubts[rest], self.rivals[rest])


def search(tree: Tree, row_counts: RowCounts, query: Query) -> Found:
    """The values that stand out.

    With `best_guess`, if fewer stand out than are asked for, then also the best guesses among the rest, in doubt.
    """
    people, gate = int(row_counts.people.sum()), StandsOut(LevelBudget(query.level))
    # "(other)" is no text, and many people may hold it: it is scored by name.
    items = tree.survey.domain.outside[np.newaxis][: int(tree.coded)]
    counts = row_counts.sums(tree.code.buckets(items))
    items = items[counts >= gate.least(tree.law, people, tree.code.log_priors(items))]
    found = Found(items, refit(tree.law, row_counts, tree.code.buckets(items)), np.zeros(len(items)), items)
    doubt = LevelBudget(query.level).neighbours
    for number in range(TUNING.passes):
        a_pass = _Pass(tree, found.fit.left, query, capped=number > 0)
        fresh, theirs, rivals = a_pass.accepted(doubt)
        doubt -= float(theirs.sum())
        known = {item.tobytes() for item in found.items}
        new = np.array([item.tobytes() not in known for item in fresh], bool)
        few = 8 * np.count_nonzero(new) <= len(found.items)
        found = _with(tree, row_counts, found, fresh[new], theirs[new], rivals[new])
        # A value that rested on collisions with another may now be too small: remove such values. One at a time, the
        # worst first, since of two that share most rows each may look too small beside the other.
        while len(found.items):
            lead = found.fit.counts - gate.least(tree.law, people, tree.code.log_priors(found.items))
            worst = int(np.argmin(lead))
            if lead[worst] >= 0:
                break
            found = found.without(tree, row_counts, worst)
        if few and a_pass.capped:  # too few new values for another pass to find more
            break
    if query.best_guess and len(found.items) < query.top:
        guesses = guess(tree, found.fit.left, query, found.items, query.top - len(found.items))
        found = _with(tree, row_counts, found, guesses.items, guesses.doubts, guesses.items)
    return found


class Guesses(NamedTuple):
    """The best values of some roots, best root first: what the rows say of each, and the odds of its neighbours."""

    items: Items
    counts: NDArray[np.float64]
    doubts: NDArray[np.float64]


def guess(tree: Tree, left: RowCounts, query: Query, known: Items, most: int, far: float = math.inf) -> Guesses:
    """The best values besides the known ones, which were subtracted; at most so many.

    A root is looked at if its best value is at most `far` standard errors below acceptance.
    """
    return _Pass(tree, left, query, capped=True).guesses(most, {item.tobytes() for item in known}, far)


def _with(
    tree: Tree, row_counts: RowCounts, found: Found, items: Items, doubts: NDArray[np.float64], rivals: Items
) -> Found:
    """What was found, and more values."""
    items = np.concatenate([found.items, items])
    fit = refit(tree.law, row_counts, tree.code.buckets(items)) if len(items) else found.fit
    return Found(items, fit, np.concatenate([found.doubts, doubts]), np.concatenate([found.rivals, rivals]))


class _Paths(NamedTuple):
    """Values on some paths: where each path stands, and the value's item, log-prior, rows and count."""

    front: NDArray[np.int64]
    place: NDArray[np.int64]
    items: Items
    log_priors: NDArray[np.float64]
    parts: NDArray[np.float64]

    @property
    def counts(self) -> NDArray[np.float64]:
        """People who hold each."""
        return np.asarray(self.parts.sum(axis=1))

    def take(self, chosen: NDArray[np.int64]) -> _Paths:
        """The values at these places."""
        rest = self.items[chosen], self.log_priors[chosen], self.parts[chosen]
        return _Paths(self.front[chosen], self.place[chosen], *rest)


class _Root(NamedTuple):
    """A promising root: its class, the values of its list, what the rows say of each, clipped, and log-weights.

    A weight is prior times likelihood; `rest` is that of all values of the root that are not on the list.
    """

    number: int
    values: _Paths
    said: NDArray[np.float64]
    weights: NDArray[np.float64]
    rest: float

    def doubt(self, without: list[int], at: int) -> float:
        """The posterior odds of all values of the root without some, against the value at a place."""
        others = np.append(np.delete(self.weights, without), self.rest)
        return math.exp(min(max(float(np.logaddexp.reduce(others) - self.weights[at]), -700.0), 700.0))


@dataclass(frozen=True)
class _Pass:
    """One search of all classes.

    From the second pass on it is `capped` (`crowded_caps`), once the giants are gone.
    """

    tree: Tree
    row_counts: RowCounts
    query: Query
    capped: bool

    @property
    def _people(self) -> int:
        return int(self.row_counts.people.sum())

    @property
    def _descent(self) -> Descent:
        return Descent(self.tree.code, self.tree.law, self.row_counts, self.tree.in_beam)

    def _values(self, fronts: list[Front]) -> _Paths:
        """The paths of some fronts that are values."""
        code = self.tree.code
        items = np.concatenate([code.to_items(front.number, front.paths) for front in fronts])
        numbers = np.repeat([front.number for front in fronts], [len(front.paths) for front in fronts])
        of_front = np.repeat(np.arange(len(fronts)), [len(front.paths) for front in fronts])
        place = np.concatenate([np.arange(len(front.paths)) for front in fronts])
        valid = code.valid(numbers, items)
        items = items[valid]
        parts = self.row_counts.parts(code.buckets(items))
        return _Paths(of_front[valid], place[valid], items, code.log_priors(items), parts)

    def _beams(self, near: float) -> list[Front]:
        """The ends of the beams of all classes, if so few standard errors below acceptance. At most 64 of a root."""
        descent, gate = self._descent, StandsOut(LevelBudget(self.query.level))
        caps = crowded_caps(self.row_counts) if self.capped else np.full(self.tree.rows, np.inf)
        classes = self.tree.shape.classes

        def beam(number: int) -> Front:
            front = descent.beam(number, caps)
            order = np.argsort(-front.scores, kind="stable")
            if math.isfinite(near):
                shortest = classes[number - 1].bits + 1 if number else min(classes[0].bits, 1)
                shortest = shortest if self.tree.coded else classes[0].bits
                usual = gate.least(self.tree.law, self._people, np.array([-math.log(2) * shortest]))[0]
                least = usual - near * self.tree.law.spread(self._people)
                order = order[: np.count_nonzero(front.scores >= least)]
            roots = front.paths[order, 0] >> np.uint64(64 - classes[number].steps[0])
            by_root = np.argsort(roots, kind="stable")  # the best of each root first
            starts = np.flatnonzero(np.diff(roots[by_root], prepend=roots[by_root][:1] + np.uint64(1)))
            ranks = np.arange(len(by_root)) - np.repeat(starts, np.diff([*starts, len(by_root)]))
            order = np.sort(order[by_root[ranks < TUNING.listed]])
            return front._replace(paths=front.paths[order], scores=front.scores[order])

        # Long classes take longest, so they begin.
        numbers = list(range(len(classes)))[::-1]
        return in_threads(beam, numbers)[::-1]

    def _roots(self, fronts: list[Front], near: _Paths) -> Iterator[_Root]:
        """Yield the root of each path with the values of its list, if it has any."""
        tree, descent = self.tree, self._descent
        shares = near.counts / max(self._people, 1)
        caps = most_of_a_row(tree.shape, tree.law, shares, self.row_counts.people, len(near.items))
        pulls, costs = tree.law.odds(shares)

        def one(number: int) -> Front:
            front = fronts[near.front[number]]
            path = front.paths[near.place[number]]
            found = descent.list_of(front.number, path, caps[number], pulls[number], costs[number])
            return found._replace(paths=found.paths[: TUNING.listed], scores=found.scores[: TUNING.listed])

        lists = in_threads(one, list(range(len(near.items))))
        values = self._values(lists) if lists else near
        for number, front in enumerate(lists):
            own = values.take(np.flatnonzero(values.front == number))
            if len(own.items):
                said = np.minimum(own.parts, caps[number])
                weights = pulls[number] * said.sum(axis=1) + own.log_priors
                yield _Root(front.number, own, said, weights, front.let_go + costs[number] * self._people)

    def _near(self, fronts: list[Front], values: _Paths, far: float) -> _Paths:
        """The best value of each root, best first, if its count is at most so many standard errors below acceptance."""
        gate = StandsOut(LevelBudget(self.query.level))
        lead = values.counts - gate.least(self.tree.law, self._people, values.log_priors)
        order = np.argsort(-lead, kind="stable")
        order = order[lead[order] >= -far * self.tree.law.spread(max(self._people, 1))]
        best: dict[tuple[int, int], int] = {}
        for each in order.tolist():
            front = fronts[values.front[each]]
            shift = np.uint64(64 - self.tree.shape.classes[front.number].steps[0])
            best.setdefault((front.number, int(front.paths[values.place[each], 0] >> shift)), each)
        return values.take(np.array(list(best.values())[: TUNING.roots], np.int64))

    def accepted(self, doubt: float) -> tuple[Items, NDArray[np.float64], Items]:
        """The values that pass all gates, the posterior odds of their neighbours, and their rivals.

        The odds are together at most `doubt`. They are of all neighbours but the rival.
        """
        tree, budget = self.tree, LevelBudget(self.query.level)
        fronts = self._beams(2 * TUNING.near)
        near = self._near(fronts, self._values(fronts), TUNING.near)
        gate, no_single_row = StandsOut(budget), NoSingleRow(budget, len(near.items))
        best, doubts, rivals = [near.items[:0]], [], [near.items[:0]]
        for root in self._roots(fronts, near):
            at = int(np.argmax(root.weights))
            first = root.values.take(np.array([at]))
            parts, prior = first.parts[0], float(first.log_priors[0])
            if first.counts[0] < gate.least(tree.law, self._people, first.log_priors)[0]:
                continue
            if not self._carried(parts, prior):
                continue
            if not no_single_row.passes(tree.shape, tree.law, self.row_counts.people, parts, prior):
                continue
            rival = self._rival(root.number, root.said, at)
            best.append(first.items)
            rivals.append(root.values.items[[rival]])
            doubts.append(root.doubt([at, rival], at))
        order = np.argsort(doubts, kind="stable")
        sure = order[np.cumsum(np.array(doubts)[order]) <= doubt] if len(order) else order
        return np.concatenate(best)[sure], np.array(doubts)[sure], np.concatenate(rivals)[sure]

    def _rival(self, number: int, said: NDArray[np.float64], at: int) -> int:
        """The place of the strongest rival of the value at a place, or of the value itself, given what the rows say.

        In the rows below the step where they part, a rival stands out among all that part there, at a thousandth of the
        level, and has a quarter of what the value has at least. Noise alone hardly ever makes a rival of a neighbour.
        """
        tree, people = self.tree, self.row_counts.people
        kind = tree.shape.classes[number]
        place = Place(tree.shape, tree.law, kind, kind.bits, float(tree.code.log_masses[number]), people)
        least = np.array([window.least for window in Neighbours(LevelBudget(self.query.level / 1000)).needs(place)])
        shared = np.cumprod(said == said[at], axis=1).astype(bool)  # the rows above the one where they part
        below = np.where(shared, 0.0, said).sum(axis=1)
        value = np.where(shared, 0.0, said[at]).sum(axis=1)
        needed = np.maximum(least[np.minimum(np.maximum(shared.sum(axis=1), 1), len(least)) - 1], value / 4)
        below[at] = -math.inf
        strongest = int(np.argmax(below - needed))
        return strongest if below[strongest] >= needed[strongest] else at

    def _carried(self, parts: NDArray[np.float64], log_prior: float) -> bool:
        """Whether the rows that agree with one another suffice; and if rows still disagree, whether they do everywhere.

        Then the upper, middle and lower third of the path must each show at least a quarter of the expected count.
        """
        law, people = self.tree.law, self.row_counts.people
        trusted, even = trusted_rows(law, self.row_counts, parts)
        rare = StandsOut(LevelBudget(self.query.level)).log_chance(log_prior)
        if parts[trusted].sum() < law.threshold_of(int(people[trusted].sum()), rare):
            return False
        if even:
            return True
        share = parts.sum() / people.sum()
        middle = (np.cumsum(people) - people / 2) / people.sum()
        thirds = np.minimum((3 * middle).astype(np.int64), 2)
        return all(parts[thirds == k].sum() >= 0.25 * share * people[thirds == k].sum() for k in range(3))

    def guesses(self, most: int, known: set[bytes], far: float) -> Guesses:
        """The best value under each of the best roots, whether it stands out or not."""
        fronts = self._beams(far)
        near = self._near(fronts, self._values(fronts), far)
        near = near.take(np.arange(min(most + len(known), len(near.items))))
        items, counts, doubts = [near.items[:0]], [], []
        for root in self._roots(fronts, near):
            at = int(np.argmax(root.weights))
            if root.values.items[at].tobytes() not in known:
                items.append(root.values.items[[at]])
                counts.append(float(root.said[at].sum()))
                doubts.append(root.doubt([at], at))
        return Guesses(np.concatenate(items)[:most], np.array(counts[:most]), np.array(doubts[:most]))
