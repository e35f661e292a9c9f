"""The search down the tree: a beam from the root, a list inside each promising root, acceptance, subtraction, again.

A path is scored by the sum of its estimates over all depths so far, so that everybody who spoke of its prefixes
counts. What is accepted is subtracted, and the search repeats on what is left, where collisions with large values no
longer hide or fake small ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.model.estimates import Query
from hubbub.numeric import tree_kernels
from hubbub.numeric.tails import normal_quantile_log

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree

_PASSES = 4
_BROTHER_GAP = 14.0  # nats
_LIST_WIDTH = 512
_LISTED = 64
_MAX_ROOTS = 512  # promising roots looked into in one pass
_NEAR = 1.0  # a root is promising from this many standard errors below acceptance
_QUOTA = 128  # paths of the beam under one root: without it the children of one giant fill the beam


@dataclass(frozen=True)
class TreeLevels:
    """Estimates of every row and bucket, the reporters of every row, and the noise variance one reporter adds."""

    estimates: NDArray[np.float32]
    people: NDArray[np.float64]
    noise: float

    def parts(self, buckets: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What each row says of its bucket, shape (n, rows)."""
        rows = np.arange(len(self.people))
        return np.asarray(self.estimates[rows, buckets.astype(np.int64)], np.float64)

    def sums(self, buckets: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The sum over rows."""
        return np.asarray(self.parts(buckets).sum(axis=1))


def search(
    tree: Tree, levels: TreeLevels, accept: float, query: Query
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Paths of the values that stand out, and their counts."""
    depths = _Depths(tree, levels)
    accepted = np.empty((0, tree.item_words), np.uint64)
    counts = np.empty(0)
    left = levels
    for number in range(_PASSES):
        promising = _beam(tree, depths, left, capped=number > 0)
        if query.best_guess:
            listed = _list_roots(tree, depths, left, promising[:1])
            return listed[0, :1], refit(tree, levels, listed[0, :1])[0]
        listed = _list_roots(tree, depths, left, _near_roots(tree, depths, left, promising, accept))
        fresh = _accept(tree, depths, left, listed, accept, query)
        fresh = fresh[~_contains(accepted, fresh)]
        if not len(fresh):
            break
        accepted = np.concatenate([accepted, fresh])
        counts, left = refit(tree, levels, accepted)
        keep = counts >= accept  # a value that stood on another's collisions falls when they are taken away
        if not keep.all():
            accepted = accepted[keep]
            counts, left = refit(tree, levels, accepted)
    return accepted, counts


class _Depths:
    """Rows gathered by depth: the deepest has several."""

    def __init__(self, tree: Tree, levels: TreeLevels) -> None:
        self.bits = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.bits]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([levels.people[rows].sum() for rows in self.rows])
        self.variance = levels.noise * np.maximum(self.people, 1e-9)

    def parts(self, tree: Tree, levels: TreeLevels, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What each depth says of the paths, shape (n, depths)."""
        by_row = levels.parts(tree.buckets(paths))
        return np.stack([by_row[:, rows].sum(axis=1) for rows in self.rows], axis=1)


def _grow(
    tree: Tree,
    depths: _Depths,
    number: int,
    levels: NDArray[np.float32],
    paths: NDArray[np.uint64],
    scores: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Scores of all children at the given depth, with hopeless brothers dropped."""
    key = tree._keys[2]
    children = np.empty((len(paths), 1 << depths.chunks[number]), np.float32)
    tree_kernels.expand(
        np.uint32(key.low),
        np.uint32(key.high),
        paths,
        scores,
        tree.arrays["parent_masks"],
        depths.rows[number],
        depths.chunks[number],
        tree.plan.bucket_bits,
        levels,
        children,
    )
    tree_kernels.drop_weak_brothers(scores, children, 1.0 / depths.variance[number], _BROTHER_GAP)
    return children


def _descend(
    depths: _Depths,
    number: int,
    paths: NDArray[np.uint64],
    children: NDArray[np.float32],
    chosen: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """The chosen children as paths with scores."""
    chunk = depths.chunks[number]
    grown = np.empty((len(chosen), paths.shape[1]), np.uint64)
    tree_kernels.with_chunk(paths, chosen >> chunk, chosen & ((1 << chunk) - 1), depths.bits[number], chunk, grown)
    return grown, children.ravel()[chosen]


def _roots(tree: Tree, depths: _Depths, levels: NDArray[np.float32]) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Every root with its score."""
    paths = np.zeros((1 << depths.bits[0], tree.item_words), np.uint64)
    paths[:, 0] = np.arange(len(paths), dtype=np.uint64) << np.uint64(64 - depths.bits[0])
    key = tree._keys[2]
    buckets = np.empty(len(paths), np.uint64)
    tree_kernels.buckets(
        np.uint32(key.low),
        np.uint32(key.high),
        paths,
        tree.arrays["parent_masks"][0],
        0,
        depths.bits[0],
        depths.chunks[0],
        tree.plan.bucket_bits,
        buckets,
    )
    return paths, levels[0, buckets.astype(np.int64)]


def _beam(tree: Tree, depths: _Depths, levels: TreeLevels, capped: bool) -> NDArray[np.uint64]:
    """The best paths of full depth, best first.

    From the second pass on no row may give more than ln(buckets/32) nats: more than that is a collision more often
    than a value, once the giants are gone.
    """
    estimates = levels.estimates
    if capped:
        most = math.sqrt(2 * math.log((1 << tree.plan.bucket_bits) / 32))
        caps = most * np.sqrt(levels.noise * levels.people)
        estimates = np.minimum(estimates, caps[:, np.newaxis].astype(np.float32))
    paths, scores = _roots(tree, depths, estimates)
    chosen = _largest(scores, tree.beam)
    paths, scores = paths[chosen], scores[chosen]
    for number in range(1, len(depths.bits)):
        children = _grow(tree, depths, number, estimates, paths, scores)
        chosen = _largest(children.ravel(), 2 * tree.beam)
        chosen = _within_quota(paths[chosen >> depths.chunks[number]], depths.bits[0], chosen, children)
        chosen = chosen[: tree.beam]
        paths, scores = _descend(depths, number, paths, children, chosen)
    return paths[np.argsort(-scores, kind="stable")]


def _largest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Indices of the largest scores, in no particular order, without those given up."""
    if len(scores) > count:
        chosen = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    else:
        chosen = np.arange(len(scores))
    return chosen[scores[chosen] > -np.inf]


def _within_quota(
    paths: NDArray[np.uint64], root_bits: int, chosen: NDArray[np.int64], children: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Best first, at most a quota under each root."""
    order = np.argsort(-children.ravel()[chosen])
    keep = np.empty(len(order), np.bool_)
    tree_kernels.within_quota(paths[order, 0] >> np.uint64(64 - root_bits), root_bits, _QUOTA, keep)
    return chosen[order[keep]]


def _near_roots(
    tree: Tree, depths: _Depths, levels: TreeLevels, paths: NDArray[np.uint64], accept: float
) -> NDArray[np.uint64]:
    """One path for each root whose best path is near acceptance, best first."""
    sd = math.sqrt(levels.noise * float(levels.people.sum()))
    sums = levels.sums(tree.buckets(paths[: 8 * _MAX_ROOTS]))
    near = np.flatnonzero(sums >= accept - _NEAR * sd)
    near = near[np.argsort(-sums[near], kind="stable")]
    roots = paths[near, 0] >> np.uint64(64 - depths.bits[0])
    _, first = np.unique(roots, return_index=True)
    return paths[near[np.sort(first)[:_MAX_ROOTS]]]


def _list_roots(tree: Tree, depths: _Depths, levels: TreeLevels, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The best paths under the root of each given path, best first: shape (roots, listed, words)."""
    groups = len(paths)
    if groups == 0:
        return np.empty((0, 0, tree.item_words), np.uint64)
    mask = np.zeros(tree.item_words, np.uint64)
    mask[0] = np.uint64(((1 << depths.bits[0]) - 1) << (64 - depths.bits[0]))
    front = (paths & mask)[:, np.newaxis]
    scores = np.zeros((groups, 1), np.float32)
    for number in range(1, len(depths.bits)):
        flat = np.ascontiguousarray(front.reshape(-1, tree.item_words))
        children = _grow(tree, depths, number, levels.estimates, flat, scores.ravel())
        per_group = children.reshape(groups, -1)
        width = min(_LIST_WIDTH, per_group.shape[1])
        best = np.argpartition(per_group, per_group.shape[1] - width, axis=1)[:, -width:]
        flat_choice = (best + np.arange(groups)[:, np.newaxis] * per_group.shape[1]).ravel()
        grown, grown_scores = _descend(depths, number, flat, children, flat_choice)
        front, scores = grown.reshape(groups, width, -1), grown_scores.reshape(groups, width)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :_LISTED]
    return np.take_along_axis(front, order[:, :, np.newaxis], axis=1)


def _accept(
    tree: Tree, depths: _Depths, levels: TreeLevels, listed: NDArray[np.uint64], accept: float, query: Query
) -> NDArray[np.uint64]:
    """The paths that are real: pooled evidence, evidence behind every depth, a margin over their list, no outlier."""
    groups = len(listed)
    if groups == 0:
        return np.empty((0, tree.item_words), np.uint64)
    parts = depths.parts(tree, levels, listed.reshape(-1, tree.item_words)).reshape(groups, listed.shape[1], -1)
    people = float(depths.people.sum())
    variance = levels.noise * people
    totals = parts.sum(axis=2)
    best = np.argmax(totals, axis=1)
    crowd = max(1, int((totals.max(axis=1) >= accept).sum()))
    behind_z = _behind_levels(depths, query.level * min(1.0, 32 / crowd) ** 2)
    margin = min(math.exp(-3.0), 1.6 / crowd)
    kept = []
    for group in range(groups):
        own, total = parts[group, best[group]], float(totals[group, best[group]])
        if total < accept:
            continue
        behind = np.cumsum(own[::-1])[::-1][1:]  # evidence after depth 0, 1, …
        behind_sd = np.sqrt(np.cumsum(depths.variance[::-1])[::-1][1:])
        if (behind < behind_z * behind_sd).any():
            continue
        share = min(total / people, 1.0)
        expected = share * depths.people
        spread = depths.variance + depths.people * share * (1 - share)
        outlier = float(((own - expected) ** 2 / spread).sum())
        if outlier > len(own) - 1 + 5 * math.sqrt(2 * (len(own) - 1)):
            continue
        if _doubt(listed[group], parts[group], int(best[group]), total / variance) > margin:
            continue
        kept.append(listed[group, best[group]])
    return np.array(kept, np.uint64).reshape(-1, tree.item_words)


def _behind_levels(depths: _Depths, level: float) -> NDArray[np.float64]:
    """Standard errors that the evidence behind each depth must reach, for the bits that are decided there."""
    bits = depths.bits[-1]
    return np.array(
        [normal_quantile_log(math.log(level) - 1.125 * (bits - depth) * math.log(2)) for depth in depths.bits[:-1]]
    )


def _doubt(paths: NDArray[np.uint64], parts: NDArray[np.float64], best: int, slope: float) -> float:
    """Odds of all other listed paths together, each by the evidence after the depth where it leaves the best."""
    lead = (parts[best] - parts).sum(axis=1)  # depths they share say the same of both
    others = np.arange(len(paths)) != best
    return float(np.exp(-np.minimum(slope * lead[others], 700.0)).sum())


def _contains(many: NDArray[np.uint64], some: NDArray[np.uint64]) -> NDArray[np.bool_]:
    known = {path.tobytes() for path in many}
    return np.array([path.tobytes() in known for path in some], bool)


def refit(tree: Tree, levels: TreeLevels, paths: NDArray[np.uint64]) -> tuple[NDArray[np.float64], TreeLevels]:
    """Counts of the accepted values against one another, and the levels without them.

    In each row a value's reporters are estimated by what its bucket says and by its share of the row, weighted by
    their variances; what the others have there is taken away first (Gauss–Seidel).
    """
    buckets = tree.buckets(paths).astype(np.int64)
    rows = np.arange(tree.rows)
    people = float(levels.people.sum())
    left = levels.estimates.astype(np.float64)
    counts = np.maximum(levels.sums(buckets.astype(np.uint64)), 0.0)
    held = np.zeros((len(paths), tree.rows))
    for _ in range(6):
        expected = np.outer(counts / max(people, 1.0), levels.people)
        seen = left[rows, buckets] + held  # what the bucket says, with the value's own part put back
        weight = expected / (expected + levels.noise * levels.people + 1e-12)
        wanted = np.maximum(expected + (seen - expected) * weight, 0.0)
        for row in rows:
            np.subtract.at(left[row], buckets[:, row], wanted[:, row] - held[:, row])
        held = wanted
        counts = (left[rows, buckets] + held).sum(axis=1)
    return counts, TreeLevels(left.astype(np.float32), levels.people, levels.noise)
