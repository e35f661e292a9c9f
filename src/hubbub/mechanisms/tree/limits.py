"""How many people must hold a value for the search to find it: the way down the tree, drawn many times.

A value is found if all of its evidence passes the threshold of its prior, if what is known of it at every depth keeps
it in the beam, and if what comes after every depth tells it from the other ways to go on. What the rows say of it is
drawn by its law (`draws`); what other values do to it (clutter in the beam, shared buckets) is not.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.accept import collision_chance
from hubbub.mechanisms.tree.beside import ways_to_share
from hubbub.mechanisms.tree.draws import RowDraws
from hubbub.mechanisms.tree.fingerprint import fingerprint_before
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.kernels import EVIDENCE_FROM, EVIDENCE_STEPS, EVIDENCE_TO
from hubbub.mechanisms.tree.plan import TEXT_BROAD, beam_widths, list_widths
from hubbub.mechanisms.tree.text_beam import ENDED, FINE_CHUNK, LEAST_RANK, ROOTS_APART
from hubbub.model.estimates import Query
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_quantile

_FOUND = 0.95
_FEW_DRAWS, _ROUGHLY = 300, 0.02  # draws that say where the limit is to about 2 %
_ROUNDING = 1e-6  # people; sums of rows that are as large as needed must not fall short of it by rounding
_MARGIN = 1.08  # for what is not drawn, see docs/limits.md
_LN2 = math.log(2)
_HARDLY = -80.0  # the logarithm of a chance below all that are asked for
# Other values fill the beam of texts. Its last path then ranks between what noise alone makes of it and the highest cut
# of `TextBeam`. This is in bits, two lower than that cut: what fits crowds of words, host names and text best.
_FILLED = 4.0
_FULL = 2.0  # the highest cut: what is stated holds for a beam that is as full as it may become
_CHANCES = 2  # times as many draws where chances are asked for: these are then known to about 0.4 points
_POINTS = 500  # counts for which tails are computed; those of others lie between


def found_from(tree: TreeGeometry, people: int, length: int, query: Query) -> float:
    """The number of holders with which a value of this many code bits is found with a chance of 95 %.

    `people` are all who report. Infinite if not even everybody is enough. About 100 ms for the first asking.

    Few draws say where to look. There, many draws give the chance at three counts. A line through its normal
    quantile, which is nearly straight, gives the result.
    """
    key = (people, length, query.level)
    if key in tree.limits:
        return tree.limits[key]
    tree.limits[key] = math.inf
    way = _Way(tree, people, length, query)
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
    limit = (near + min(max(needed, -2 * step), 2 * step)) * _MARGIN
    if limit <= people:
        tree.limits[key] = limit
    return tree.limits[key]


def found_chance(tree: TreeGeometry, people: int, held: float, length: int, query: Query) -> float:
    """The chance that a value of this many code bits is found, if `held` of the people hold it and nothing hides it.

    Costs about 20 ms for the first of many askings about the same people, and then less than 1 ms.
    """
    return _way(tree, people, length, query).found_chance(held)


def named_chance(tree: TreeGeometry, people: int, held: float, log_chance: float) -> float:
    """The chance that a candidate is seen if `held` of the people hold it.

    A candidate that nobody holds may get such a count, by noise or by sharing buckets, with a chance of e^log_chance at
    most. Costs about 100 ms for the first of many askings about the same people, and then some ms.
    """
    return _named(tree, people).passing_chance(held, log_chance)


@lru_cache(maxsize=4)
def _named(tree: TreeGeometry, people: int) -> _Named:
    return _Named(tree, people)


@lru_cache(maxsize=4)
def _way(tree: TreeGeometry, people: int, length: int, query: Query) -> _Way:
    return _Way(tree, people, length, query, low_chances=True)


class _Way:
    """The way of a value of this many code bits down a tree: what must be reached where."""

    def __init__(self, tree: TreeGeometry, people: int, length: int, query: Query, low_chances: bool = False) -> None:
        self._draws = RowDraws(tree, people, _CHANCES if low_chances else 1)
        self.draws = self._draws.draws
        level = math.log(query.level / 4)
        # Rows from … to … together must say at least …. First of all, all of them.
        needs = [(0, tree.rows, tree.count_threshold(people, level - _LN2 * length))]
        steps = sorted(set(tree.plan.depths))
        chunks = [tree.plan.chunks[tree.plan.depths.index(depth)] for depth in steps]
        beams = beam_widths(tree.beam, steps, chunks, tree.coded)
        lists = list_widths(chunks)

        # A list of texts has room for all that parted from the value, at whatever depth. Where chances are asked for,
        # half of it is left to those that parted elsewhere; what is stated at 95 % has its margin for that.
        parted = _LN2 if low_chances and tree.coded else 0.0

        def need(first: int, end: int, log_chance: float) -> None:
            reports = round(people * float(self._draws.shares[first:end].sum()))
            needs.append((first, end, tree.count_threshold(reports, min(log_chance, -_LN2))))

        for number, depth in enumerate(steps[:-1]):
            fingerprint = fingerprint_before(tree.fingerprint, depth)
            known, end = depth - fingerprint, bisect_right(tree.plan.depths, depth)
            if known >= length:
                break
            # Inside the beam, among all paths of that depth (the roots are all in it, and far below the root of a text
            # has been noticed), and in the list of its root, among those that parted from it at any depth above …
            if number > 0 and not (tree.coded and depth > steps[0] + TEXT_BROAD):
                need(0, end, math.log(beams[number]) - _LN2 * depth - tree.codec.log_open[depth])
            for above in steps[:number]:
                if 1 << (depth - above) > lists[number]:
                    among = math.log(lists[number]) - parted - _LN2 * (depth - above)
                    need(bisect_right(tree.plan.depths, above), end, among)
            # … and told from the other ways to go on, less those whose fingerprint is another one.
            need(end, tree.rows, level - _LN2 * max(length - known - fingerprint, 0))
        self._firsts = np.array([first for first, _, _ in needs])
        self._ends = np.array([end for _, end, _ in needs])
        self._least = np.array([least for _, _, least in needs]) - _ROUNDING
        # What is accepted must be rare enough without any one row, which a collision may have lifted (`accept`). That
        # decides where chances are low, and not where they are 95 %.
        alone = level - _LN2 * length - math.log(collision_chance(tree, 1) * tree.rows)
        first = 1 if tree.plan.chunks[0] == tree.plan.bucket_bits else 0  # such roots do not collide
        self._without = {
            row: tree.count_threshold(round(people * float(1 - self._draws.shares[row])), min(alone, -_LN2))
            for row in (range(first, tree.rows) if low_chances else ())
        }
        filled = _FILLED if low_chances else _FULL
        self._notice = _Notice(tree, people, length, self._draws.shares, filled) if tree.coded else None

    def found_chance(self, held: float, draws: int | None = None) -> float:
        """The chance that the search finds the value if `held` people hold it."""
        counts = self._draws.counts(held, draws).T
        sums = np.zeros((len(counts) + 1, counts.shape[1]))  # of the rows above each row, and of all
        np.cumsum(counts, axis=0, out=sums[1:])
        found = (sums[self._ends] - sums[self._firsts] >= self._least[:, np.newaxis]).all(axis=0)
        for row, least in self._without.items():
            found &= sums[-1] - counts[row] >= least - _ROUNDING
        if self._notice is not None:
            found &= self._notice.noticed(sums)
        return float(found.mean())


class _Notice:
    """How the root of a text comes to have a list of its own, as `TextBeam` judges.

    At some depth of the beam the rows well below the root say enough, less the code bits used there; or the text has
    ended, and all rows down to there do. Down to that depth it must have stayed in the beam.
    """

    def __init__(
        self, tree: TreeGeometry, people: int, length: int, shares: NDArray[np.float64], filled: float
    ) -> None:
        steps = sorted(set(tree.plan.depths))
        chunks = [tree.plan.chunks[tree.plan.depths.index(depth)] for depth in steps]
        beams = beam_widths(tree.beam, steps, chunks, tree.coded)
        ends = next((number for number, chunk in enumerate(chunks) if number and chunk > FINE_CHUNK), len(steps))
        above = max(depth for depth in steps if depth <= steps[0] + ROOTS_APART)
        known = above - fingerprint_before(tree.fingerprint, above)
        errors = np.arange(-EVIDENCE_FROM * EVIDENCE_STEPS, EVIDENCE_TO * EVIDENCE_STEPS + 1) / EVIDENCE_STEPS

        def least(first: int, end: int, bits: float) -> float:
            reports = max(people * float(shares[first:end].sum()), 1e-9)
            return float(np.interp(bits, tree.evidence(reports), errors)) * math.sqrt(tree.noise * reports)

        # Of each depth: where its rows end, and what they must say to stay in the beam, below the root, at the end.
        self._below, self._steps = bisect_right(tree.plan.depths, above), []
        for number in range(steps.index(above) + 1, ends):
            depth = steps[number]
            fingerprint = fingerprint_before(tree.fingerprint, depth)
            used = min(depth - fingerprint, length)
            end = bisect_right(tree.plan.depths, depth)
            among = math.log(beams[number]) - _LN2 * (used + fingerprint) - tree.codec.log_open[depth]
            stays = tree.count_threshold(round(people * float(shares[:end].sum())), min(among, -_LN2))
            stays = max(stays, least(0, end, used + fingerprint - math.log2(beams[number]) - filled))
            shown = least(self._below, end, LEAST_RANK + max(used - known, 0))
            ended = least(0, end, LEAST_RANK - ENDED + length) if used == length else math.inf
            self._steps.append((end, stays, shown, ended))

    def noticed(self, sums: NDArray[np.float64]) -> NDArray[np.bool_]:
        """In which of some draws the root is noticed, given what the rows above each row say together."""
        inside, found = np.ones(sums.shape[1], np.bool_), np.zeros(sums.shape[1], np.bool_)
        for end, stays, shown, ended in self._steps:
            inside &= sums[end] >= stays
            found |= inside & ((sums[end] - sums[self._below] >= shown) | (sums[end] >= ended))
        return found


class _Named:
    """What candidates must reach: their tails by noise, and by each way to share buckets with a large value."""

    def __init__(self, tree: TreeGeometry, people: int) -> None:
        self._draws = RowDraws(tree, people)
        ways = [(np.ones(tree.rows, np.bool_), 1.0), *ways_to_share(tree)]
        self._rows = np.array([rows for rows, _ in ways], np.float64)
        self._tails = []
        for rows, chance in ways:
            law = tree.count_law(round(people * float(self._draws.shares[rows].sum())))
            counts = np.linspace(0.0, law.threshold(_HARDLY), _POINTS)
            self._tails.append((counts, law.log_tail(counts, np.zeros(_POINTS)) + math.log(chance)))

    def passing_chance(self, held: float, log_chance: float) -> float:
        """The chance that the tails of a value that `held` people hold are together at most e^log_chance."""
        counts = self._draws.counts(held)
        tails = np.zeros(len(counts))
        for rows, (places, logs) in zip(self._rows, self._tails, strict=True):
            tails += np.exp(np.interp(counts @ rows, places, logs))
        return float((tails <= math.exp(log_chance)).mean())
