"""How many people must hold a value for the search to find it: what the rows say of it, drawn many times.

A value is found if it passes every gate (`gates`). What the rows say of it is drawn by its law; what other values do
to it (clutter in the beam, shared buckets) is not.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.beside import ways_to_share
from hubbub.mechanisms.tree.gates import InList, LevelBudget, Neighbours, NoSingleRow, Place, StandsOut
from hubbub.model.estimates import Query
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_quantile

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree

_FOUND = 0.95
_FEW_DRAWS, _ROUGHLY = 300, 0.02  # draws that say where the limit is to about 2 %
_DRAWS = 5_000  # of normal laws
_EXACT_DRAWS = 2_000  # of exact ones, which cost ten times as much; they tell the limit of a value to about 1 %
_NORMAL_FROM = 20_000  # people from which the matches of the rows are as good as normal
_ROUNDING = 1e-6  # people; sums of rows that are as large as needed must not fall short of it by rounding
_REMAINDER = 1.02  # for what is not drawn, see docs/limits.md
_HARDLY = -80.0  # the logarithm of a chance below all that are asked for
_POINTS = 500  # counts for which tails are computed; those of others lie between


class RowDraws:
    """Draws of what every row says of a value that nothing hides, among this many people; `times` as many as usual.

    A report matches the value with chance `true` if its sender holds it, and with chance `absent` if not. Its holders
    and everybody else choose their rows by chance; how many hold it is no chance.
    """

    def __init__(self, tree: Tree, people: int, times: int = 1) -> None:
        self._law, self._people, self._shares = tree.law, people, tree.shape.shares
        self._rng = np.random.default_rng(_DRAWS)
        self._normal = None
        self.draws = _EXACT_DRAWS
        if people >= _NORMAL_FROM:
            self.draws = times * _DRAWS
            self._normal = self._rng.standard_normal((3, self.draws, tree.shape.rows))
        self._state = self._rng.bit_generator.state

    def counts(self, held: float, draws: int | None = None) -> NDArray[np.float64]:
        """What the rows say of a value that `held` people hold, in people; shape (draws, rows).

        The same draws every time, so that chances rise with the holders. Some ms, 20 ms for the exact law.
        """
        law, held = self._law, min(max(held, 0.0), float(self._people))
        draws = self.draws if draws is None else draws
        holders: NDArray[Any]
        others: NDArray[Any]
        matches: NDArray[Any]
        if self._normal is None:
            self._rng.bit_generator.state = self._state
            holders = self._rng.multinomial(round(held), self._shares, draws)
            others = self._rng.multinomial(self._people - round(held), self._shares, draws)
            matches = self._rng.binomial(others, law.absent) + self._rng.binomial(holders, law.true)
        else:
            normal = self._normal[:, :draws]
            holders, others = self._spread(held, normal[0]), self._spread(self._people - held, normal[1])
            variance = holders * law.true * (1 - law.true) + others * law.absent * (1 - law.absent)
            matches = holders * law.true + others * law.absent + np.sqrt(variance) * normal[2]
        return np.asarray((matches - (holders + others) * law.absent) * law.per_match, np.float64)

    def _spread(self, people: float, normal: NDArray[np.float64]) -> NDArray[np.float64]:
        """`people` people, spread over the rows by chance: the normal law with the moments of the multinomial one."""
        roots = np.sqrt(self._shares)
        chance = normal * roots - np.outer(normal @ roots, self._shares)
        return np.asarray(np.maximum(people * self._shares + np.sqrt(people) * chance, 0.0))


class _Way:
    """The way of a value of so many code bits through all gates."""

    def __init__(self, tree: Tree, people: int, bits: int, query: Query, times: int = 1) -> None:
        self._draws = RowDraws(tree, people, times)
        self.draws = self._draws.draws
        sizes = [each.bits for each in tree.shape.classes]
        number = min(int(np.searchsorted(sizes, bits)), len(sizes) - 1)
        kind, log_mass = tree.shape.classes[number], float(tree.code.log_masses[number])
        place = Place(tree.shape, tree.law, kind, bits, log_mass, people * tree.shape.shares)
        budget = LevelBudget(query.level)
        gates = (tree.in_beam, InList(), StandsOut(budget), NoSingleRow(budget, 1), Neighbours(budget))
        windows = [window for gate in gates for window in gate.needs(place)]
        self._sums = [each for each in windows if not each.without]
        self._without = [each for each in windows if each.without]

    def found_chance(self, held: float, draws: int | None = None) -> float:
        """The chance that the search finds the value if `held` people hold it."""
        counts = self._draws.counts(held, draws).T
        sums = np.zeros((len(counts) + 1, counts.shape[1]))  # of the rows above each row, and of all
        np.cumsum(counts, axis=0, out=sums[1:])
        found = np.ones(counts.shape[1], np.bool_)
        for rows, least, _ in self._sums:
            found &= sums[rows.stop] - sums[rows.start] >= least - _ROUNDING
        for rows, least, _ in self._without:
            found &= sums[-1] - counts[rows.start] >= least - _ROUNDING
        return float(found.mean())


def found_from(tree: Tree, people: int, bits: int, query: Query) -> float:
    """The number of holders with which a value of this many code bits is found with a chance of 95 %.

    `people` are all who report. Infinite if not even everybody is enough. About 100 ms for the first asking.

    Few draws say where to look. There, many draws give the chance at three counts. A line through its normal
    quantile, which is nearly straight, gives the result.
    """
    key = (people, bits, query.level)
    if key in tree.limits:
        return tree.limits[key]
    tree.limits[key] = math.inf
    way = _Way(tree, people, bits, query)
    if way.found_chance(people, _FEW_DRAWS) < _FOUND:
        return math.inf
    _, near = bisect(
        lambda held: way.found_chance(held, _FEW_DRAWS) >= _FOUND,
        0.0,
        float(people),
        close=lambda low, high: high - low <= max(0.5, _ROUGHLY * high),
    )
    step, draws = max(2.0, 2 * _ROUGHLY * near), way.draws // 2
    chances = [way.found_chance(near + number * step, draws) for number in (-1, 0, 1)]
    # By Q⁻¹ a chance of 95 % is −1.645; chances of 0 and 1 count as half a draw.
    below, at, above = (normal_quantile(min(max(chance, 0.5 / draws), 1 - 0.5 / draws)) for chance in chances)
    fall = max(below - above, 0.1) / (2 * step)
    needed = ((below + at + above) / 3 - normal_quantile(_FOUND)) / fall
    limit = (near + min(max(needed, -2 * step), 2 * step)) * _REMAINDER
    if limit <= people:
        tree.limits[key] = limit
    return tree.limits[key]


def found_chance(tree: Tree, people: int, held: float, bits: int, query: Query) -> float:
    """The chance that a value of this many code bits is found, if `held` of the people hold it and nothing hides it.

    Costs about 20 ms for the first of many askings about the same people, and then some ms.
    """
    return _way(tree, people, bits, query).found_chance(held)


def named_chance(tree: Tree, people: int, held: float, log_chance: float) -> float:
    """The chance that a candidate is seen if `held` of the people hold it.

    A candidate that nobody holds may get such a count, by noise or by sharing buckets, with a chance of e^log_chance at
    most. Costs about 100 ms for the first of many askings about the same people, and then some ms.
    """
    return _named(tree, people).passing_chance(held, log_chance)


@lru_cache(maxsize=4)
def _named(tree: Tree, people: int) -> _Named:
    return _Named(tree, people)


@lru_cache(maxsize=4)
def _way(tree: Tree, people: int, bits: int, query: Query) -> _Way:
    return _Way(tree, people, bits, query, times=2)  # chances are then known to about 0.4 points


class _Named:
    """What candidates must reach: their tails by noise, and by each way to share buckets with a large value."""

    def __init__(self, tree: Tree, people: int) -> None:
        self._draws = RowDraws(tree, people)
        shape, shares = tree.shape, tree.shape.shares
        ways = [(np.ones(shape.rows, np.bool_), 1.0), *ways_to_share(shape)]
        self._rows = np.array([rows for rows, _ in ways], np.float64)
        self._tails = []
        for rows, chance in ways:
            law = tree.law.count_law(round(people * float(shares[rows].sum())))
            counts = np.linspace(0.0, law.threshold(_HARDLY), _POINTS)
            self._tails.append((counts, law.log_tail(counts, np.zeros(_POINTS)) + math.log(chance)))

    def passing_chance(self, held: float, log_chance: float) -> float:
        """The chance that the tails of a value that `held` people hold are together at most e^log_chance."""
        counts = self._draws.counts(held)
        tails = np.zeros(len(counts))
        for rows, (places, logs) in zip(self._rows, self._tails, strict=True):
            tails += np.exp(np.interp(counts @ rows, places, logs))
        return float((tails <= math.exp(log_chance)).mean())
