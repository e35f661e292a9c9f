"""Which of the paths that the search found are real.

A path passes if its pooled evidence would be rare for a value that nobody holds, and if that evidence is not better
explained otherwise: by a collision of one row with another value, by one of its neighbours in the tree, or by a
neighbour that fell out of the list. What remains of such doubt is added up over all that is accepted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree_levels import Depths, Front, TreeLevels
from hubbub.model.estimates import Query
from hubbub.numeric.tails import normal_quantile_log, normal_tail_log

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree

_DOUBT = 0.05  # expected number of accepted paths that should have been a neighbour
_UNLISTED = 0.01  # how much of the weight of a root's paths may be missing from its list


def accept(
    tree: Tree, depths: Depths, levels: TreeLevels, front: Front, lists: int, query: Query
) -> NDArray[np.uint64]:
    """At most one path of each of some lists of equal length, which stand one after the other."""
    if lists == 0:
        return front.paths
    each = len(front.paths) // lists
    people = float(levels.people.sum())
    needed = tree.acceptance_counts(front.paths, int(people), query).reshape(lists, each)
    rows = levels.parts(tree.buckets(front.paths)).reshape(lists, each, -1)
    totals = rows.sum(axis=2)
    possible = (tree.is_value(front.paths) & np.isfinite(front.scores)).reshape(lists, each)
    lead = np.where(possible, totals - needed, -np.inf)
    best = np.argmax(lead, axis=1)
    # Values that are large enough to matter and not yet taken away: each shares some bucket of a row by chance.
    collision = lists / (1 << tree.plan.bucket_bits)
    doubts = np.full(lists, np.inf)
    for number, place in enumerate(best):
        own, total = rows[number, place], float(totals[number, place])
        alone = _without_one_row(tree, levels, float(needed[number, place]), collision)
        if lead[number, place] < 0 or (total - own < alone).any() or _uneven(tree, depths, levels, own):
            continue
        rivals = np.flatnonzero(np.isfinite(lead[number]) & (np.arange(each) != place))
        ahead = own - rows[number, rivals]
        pull = total / (levels.noise * people)  # nats per person that a path is ahead
        used = front.used[number * each : (number + 1) * each]
        longer = math.log(2) * (used[rivals] - used[place])  # nats by which a rival is rarer beforehand
        doubts[number] = _rivals(ahead, longer, pull, collision) + _UNLISTED * _unlisted(
            tree, depths, own, pull, float(used[place])
        )
    order = np.argsort(doubts, kind="stable")
    sure = order[np.cumsum(doubts[order]) <= _DOUBT]
    return np.asarray(front.paths[sure * each + best[sure]])


def _without_one_row(tree: Tree, levels: TreeLevels, needed: float, collision: float) -> NDArray[np.float64]:
    """What a path must reach without each of its rows, so that no single collision can carry it.

    A collision lets each of `collision` times as many paths do without a row, so the rest may be as rare as that.
    A root that is not hashed has no collisions: its neighbours are in the list.
    """
    people = float(levels.people.sum())
    rare = float(normal_tail_log(needed / math.sqrt(levels.noise * people))) - math.log(collision * tree.rows)
    least = normal_quantile_log(min(rare, -math.log(2))) * np.sqrt(levels.noise * (people - levels.people))
    if tree.plan.chunks[0] == tree.plan.bucket_bits:
        least[0] = -np.inf
    return np.asarray(least)


def _uneven(tree: Tree, depths: Depths, levels: TreeLevels, own: NDArray[np.float64]) -> bool:
    """Whether the depths disagree more than chance allows, by χ²: a path that rides on several collisions."""
    people = depths.people.sum()
    share = min(float(own.sum()) / people, 1.0)
    # Noise of others' and of its own reports, and who of its holders happens to speak of which depth.
    noise = levels.noise * (1 - share) + tree.own_noise * share + share * (1 - share)
    spread = np.maximum(depths.people * noise, depths.variance)
    parts = np.array([own[rows].sum() for rows in depths.rows])
    deviations = (parts - share * depths.people) / np.sqrt(spread)
    degrees = max(len(deviations) - 1, 1)
    return float((deviations**2).sum()) > degrees + 5 * math.sqrt(2 * degrees)


def _rivals(ahead: NDArray[np.float64], longer: NDArray[np.float32], pull: float, collision: float) -> float:
    """The odds that a neighbour is the real one, by how far the path is ahead of it: shape (neighbours, rows).

    Rows they share say the same of both, so the difference is that of the rows after they part. Or one of those is a
    collision, and the neighbour is ahead in the others.
    """
    lead = pull * ahead.sum(axis=1) + longer
    likely = np.exp(-np.clip(lead, -700.0, 700.0)).sum()
    gains = np.maximum(ahead, 0.0)
    without = np.exp(-np.clip(lead[:, np.newaxis] - pull * gains, -700.0, 700.0))
    return float(likely + collision * without[gains > 0].sum())


def _unlisted(tree: Tree, depths: Depths, own: NDArray[np.float64], pull: float, used: float) -> float:
    """The same for all neighbours there are: behind each depth, as many as there are ways to go on.

    Their evidence behind that depth is noise, for which the likelihood ratio is 1 on average. Of the ways to go on
    with a code, few have the fingerprint that the root says.
    """
    length = used if tree.code is not None else depths.bits[-1]
    parts = np.array([own[rows].sum() for rows in depths.rows])
    behind = np.cumsum(parts[::-1])[::-1][1:]
    ways = length - np.array(depths.bits[:-1], float)
    evidence = pull * behind - pull**2 * depths.after / 2
    parting = ways + tree.fingerprint > 0
    return float(np.exp(np.clip(math.log(2) * ways - evidence, -700.0, 700.0))[parting].sum())
