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


def accept(
    tree: Tree, levels: TreeLevels, front: Front, let_go: NDArray[np.float64], query: Query, doubt: float
) -> tuple[NDArray[np.uint64], float]:
    """At most one path of each of some lists of equal length, which stand one after the other; and doubt left over.

    `let_go` is the weight of what each list let go, as `list_roots` says; `doubt` is how many of the accepted paths
    may be expected to be a neighbour of the real one.
    """
    lists, depths = len(let_go), Depths(tree, levels)
    if lists == 0:
        return front.paths, doubt
    each = len(front.paths) // lists
    people = float(levels.people.sum())
    needed = tree.acceptance_counts(front.paths, int(people), query).reshape(lists, each)
    rows = levels.parts(tree.buckets(front.paths)).reshape(lists, each, -1)
    totals = rows.sum(axis=2)
    possible = (tree.is_value(front.paths) & np.isfinite(front.scores)).reshape(lists, each)
    lead = np.where(possible, totals - needed, -np.inf)
    best = np.argmax(lead, axis=1)
    pulls, costs = tree.odds(totals[np.arange(lists), best] / people)
    caps = row_caps(tree, levels, pulls, costs)
    used = front.used.reshape(lists, each) if tree.code is not None else np.full((lists, each), depths.bits[-1])
    said = np.minimum(rows, caps[:, np.newaxis, :]).sum(axis=2)
    weights = pulls[:, np.newaxis] * said - costs[:, np.newaxis] * people - math.log(2) * used
    weights = np.where(possible, weights, -np.inf)
    own = np.maximum(weights[np.arange(lists), best], -1e300)  # a list without a value has −∞
    weights[np.arange(lists), best] = let_go  # all that is not the best, listed or not
    doubts = np.exp(np.clip(np.logaddexp.reduce(weights, axis=1) - own, -700.0, 700.0))
    for number, place in enumerate(best):
        parts, total = rows[number, place], float(totals[number, place])
        alone = _without_one_row(tree, levels, float(needed[number, place]), _collision(tree, lists))
        if lead[number, place] < 0 or (total - parts < alone).any() or _uneven(tree, depths, levels, parts):
            doubts[number] = np.inf
    order = np.argsort(doubts, kind="stable")
    sure = order[np.cumsum(doubts[order]) <= doubt]
    return np.asarray(front.paths[sure * each + best[sure]]), doubt - float(doubts[sure].sum())


def row_caps(
    tree: Tree, levels: TreeLevels, pulls: NDArray[np.float64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The most that each row may say of a value, for some values: shape (values, rows).

    A bucket is shared with another value of such a size with a small chance, which is then as good an explanation: a
    row cannot speak for a path more than that chance speaks against it. Roots are not hashed and have no collisions.
    """
    most = -math.log(_collision(tree, len(pulls)))
    caps = (most + np.outer(costs, levels.people)) / np.maximum(pulls, 1e-30)[:, np.newaxis]
    if tree.plan.chunks[0] == tree.plan.bucket_bits:
        caps[:, 0] = np.inf
    return np.asarray(caps)


def _collision(tree: Tree, values: int) -> float:
    """The chance that a bucket holds another value, if so many are near acceptance and as many a little below it."""
    return min(max(2 * values, 16) / (1 << tree.plan.bucket_bits), 0.5)


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
