"""How many people must hold a value for the search to find it: the way down the tree, drawn many times.

A value is found if all of its evidence passes the threshold of its prior, if what is known of it at every depth keeps
it in the beam, and if what comes after every depth tells it from the other ways to go on. Each row's matches are
binomial, so the way is drawn exactly; what other values do to it (clutter in the beam, shared buckets) is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.fingerprint import fingerprint_before
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.plan import ROW_BITS, TEXT_BROAD, beam_widths, list_widths
from hubbub.model.estimates import Query
from hubbub.numeric.bisection import bisect

_DRAWS = 2_000
_NORMAL_FROM = 20_000  # people from which the matches of all rows together are as good as normal
_FOUND = 0.95
_MARGIN = 1.08  # for what is not drawn, see docs/limits.md
_LN2 = math.log(2)


def found_from(tree: TreeGeometry, people: int, length: int, query: Query) -> float:
    """The number of holders with which a value of so many code bits is found with a chance of 95 %.

    `people` are all who report. Infinite if not even everybody is enough. About 20 ms.
    """
    key = (people, length, query.level)
    if key not in tree.limits:
        tree.limits[key] = _found_from(tree, people, length, query)
    return tree.limits[key]


def _found_from(tree: TreeGeometry, people: int, length: int, query: Query) -> float:
    way = _Way(tree, people, length, query)
    high = float(people)
    if way.found_chance(high) < _FOUND:
        return math.inf
    _, high = bisect(
        lambda holders: way.found_chance(holders) >= _FOUND,
        0.0,
        high,
        close=lambda low, high: high - low <= max(0.5, 0.003 * high),
    )
    return high * _MARGIN if high * _MARGIN <= people else math.inf


class _Way:
    """The way of a value of so many code bits down a tree: what must be reached where."""

    def __init__(self, tree: TreeGeometry, people: int, length: int, query: Query) -> None:
        self._tree = tree
        self._people = people
        self._shares = np.diff((0, *tree.plan.ends)) / 2.0**ROW_BITS
        level = math.log(query.level / 4)
        every = np.ones(tree.rows, bool)
        # Which rows together must say at least how much. First of all, all of them.
        needs = [(every, tree.count_threshold(people, level - _LN2 * length))]
        depths = np.array(tree.plan.depths)
        steps = sorted(set(tree.plan.depths))
        chunks = [tree.plan.chunks[tree.plan.depths.index(depth)] for depth in steps]
        beams = beam_widths(tree.beam, steps, chunks, tree.coded)
        lists = list_widths(chunks)

        def need(rows: NDArray[np.bool_], log_chance: float) -> None:
            reports = round(people * float(self._shares[rows].sum()))
            needs.append((rows, tree.count_threshold(reports, min(log_chance, -_LN2))))

        for number, depth in enumerate(steps[:-1]):
            fingerprint = fingerprint_before(tree.fingerprint, depth)
            known = depth - fingerprint
            if known >= length:
                break
            # Inside the beam, among all paths of that depth (the roots are all in it, and far below the root of a text
            # has been noticed), and in the list of its root, among those that parted from it at any depth above …
            if number > 0 and not (tree.coded and depth > steps[0] + TEXT_BROAD):
                need(depths <= depth, math.log(beams[number]) - _LN2 * depth)
            for above in steps[:number]:
                if 1 << (depth - above) > lists[number]:
                    need((depths > above) & (depths <= depth), math.log(lists[number]) - _LN2 * (depth - above))
            # … and told from the other ways to go on, less those whose fingerprint is another one.
            need(depths > depth, level - _LN2 * max(length - known - fingerprint, 0))
        self._rows = np.array([rows for rows, _ in needs], np.float64).T
        self._least = np.array([least for _, least in needs])
        self._rng = np.random.default_rng(_DRAWS)
        self._normal = self._rng.standard_normal((_DRAWS, tree.rows)) if people >= _NORMAL_FROM else None
        if self._normal is None:
            # In small crowds chance decides how many speak of which row.
            self._sizes = self._rng.multinomial(people, self._shares, _DRAWS)
            self._state = self._rng.bit_generator.state

    def found_chance(self, held: float) -> float:
        """The chance that the search finds the value if so many hold it."""
        tree, people = self._tree, self._people
        chance = tree.absent + held / max(people, 1) * (tree.true - tree.absent)
        # The same draws every time, so that the chance rises with the holders.
        if self._normal is None:
            self._rng.bit_generator.state = self._state
            return self._passing(self._rng.binomial(self._sizes, chance), self._sizes)
        expected = people * self._shares
        return self._passing(expected * chance + self._normal * np.sqrt(expected * chance * (1 - chance)), expected)

    def _passing(self, matches: NDArray[Any], sizes: NDArray[Any]) -> float:
        """The share of draws in which all that is needed is there, given matches among the reports of every row."""
        counts = (self._tree.symbols * matches - sizes) * self._tree.gain
        return float((counts @ self._rows >= self._least).all(axis=1).mean())
