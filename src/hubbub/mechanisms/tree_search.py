"""The search down the tree: a beam from the root, a list inside each promising root, acceptance, subtraction, again.

A path is scored by the sum of its estimates over all depths so far, so that everybody who spoke of its prefixes
counts; paths of a text code are ranked by that evidence less the bits their code has used. What is accepted is
subtracted, and the search repeats on what is left, where collisions with large values no longer hide or fake small
ones.
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
_LN2 = math.log(2)


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


class _Depths:
    """Rows gathered by depth (the deepest may have several), with the noise of each depth."""

    def __init__(self, tree: Tree, levels: TreeLevels) -> None:
        self.bits = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.bits]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([levels.people[rows].sum() for rows in self.rows])
        self.variance = levels.noise * np.maximum(self.people, 1e-9)
        self.so_far = np.cumsum(self.variance)
        # In a text tree some chunks are wider: a narrower beam looks at as many children there.
        narrow = [max(chunk - 4, 0) if tree.code is not None else 0 for chunk in (*self.chunks[1:], 0)]
        self.beam = [tree.beam >> less for less in narrow]
        self.list = [_LIST_WIDTH >> less for less in narrow]
        # Among short codes many roots are near acceptance by chance, and each list costs.
        self.roots = _MAX_ROOTS if tree.code is None else _MAX_ROOTS // 4

    def parts(self, tree: Tree, levels: TreeLevels, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What each depth says of the paths, shape (n, depths)."""
        by_row = levels.parts(tree.buckets(paths))
        return np.stack([by_row[:, rows].sum(axis=1) for rows in self.rows], axis=1)


@dataclass
class _Front:
    """Paths of one depth: score, state of the text code's automaton, and code bits used (0 without a code)."""

    paths: NDArray[np.uint64]
    scores: NDArray[np.float32]
    nodes: NDArray[np.int32]
    used: NDArray[np.float32]

    def take(self, chosen: NDArray[np.int64]) -> _Front:
        """Some of them."""
        return _Front(self.paths[chosen], self.scores[chosen], self.nodes[chosen], self.used[chosen])


def search(tree: Tree, levels: TreeLevels, query: Query) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Paths of the values that stand out, and their counts."""
    depths = _Depths(tree, levels)
    accepted = np.empty((0, tree.path_words), np.uint64)
    counts = np.empty(0)
    left = levels
    people = int(levels.people.sum())
    for number in range(_PASSES):
        promising = _beam(tree, depths, left, capped=number > 0)
        if query.best_guess:
            best = _list_roots(tree, depths, left, promising.paths[:1])
            valid = np.flatnonzero(tree.is_value(best.paths)) if len(best.paths) else np.empty(0, np.int64)
            guess = best.paths[valid[:1]]
            return guess, refit(tree, levels, guess)[0]
        near = _near_roots(tree, depths, left, promising, query)
        fresh = _accept(tree, depths, left, near, query)
        fresh = fresh[~_contains(accepted, fresh)]
        if not len(fresh):
            break
        accepted = np.concatenate([accepted, fresh])
        counts, left = refit(tree, levels, accepted)
        # A value that stood on another's collisions falls when they are taken away.
        keep = counts >= tree.acceptance_counts(accepted, people, query)
        if not keep.all():
            accepted = accepted[keep]
            counts, left = refit(tree, levels, accepted)
    return accepted, counts


def _grow(tree: Tree, depths: _Depths, number: int, levels: NDArray[np.float32], front: _Front) -> NDArray[np.float32]:
    """Scores of all children at the given depth, with hopeless brothers and impossible codes dropped."""
    key = tree.bucket_key
    chunk = depths.chunks[number]
    children = np.empty((len(front.paths), 1 << chunk), np.float32)
    tree_kernels.expand(
        np.uint32(key.low),
        np.uint32(key.high),
        front.paths,
        front.scores,
        tree.arrays["parent_masks"],
        depths.rows[number],
        chunk,
        tree.plan.bucket_bits,
        levels,
        children,
    )
    tree_kernels.drop_weak_brothers(front.scores, children, 1.0 / depths.variance[number], _BROTHER_GAP)
    if tree.code is not None:
        children[tree.code.jumps(chunk)[0][front.nodes] < 0] = -np.inf
    return children


def _ranks(
    tree: Tree, depths: _Depths, number: int, front: _Front, children: NDArray[np.float32]
) -> NDArray[np.float32]:
    """By what children are compared: the score, or the evidence in nats less the code bits used."""
    if tree.code is None:
        return children.ravel()
    used = front.used[:, np.newaxis] + tree.code.jumps(depths.chunks[number])[1][front.nodes]
    evidence = children * np.abs(children) / np.float32(2 * depths.so_far[number])
    return np.asarray((evidence - np.float32(_LN2) * used).ravel(), np.float32)


def _descend(
    tree: Tree, depths: _Depths, number: int, front: _Front, children: NDArray[np.float32], chosen: NDArray[np.int64]
) -> _Front:
    """The chosen children."""
    chunk = depths.chunks[number]
    parents, last = chosen >> chunk, chosen & ((1 << chunk) - 1)
    grown = np.empty((len(chosen), front.paths.shape[1]), np.uint64)
    tree_kernels.with_chunk(front.paths, parents, last, depths.bits[number], chunk, grown)
    nodes, used = front.nodes[parents], front.used[parents]
    if tree.code is not None:
        after, more = tree.code.jumps(chunk)
        nodes, used = after[nodes, last], used + more[nodes, last]
    return _Front(grown, children.ravel()[chosen], nodes, used)


def _roots(tree: Tree, depths: _Depths, levels: NDArray[np.float32]) -> _Front:
    """Every root with its score."""
    paths = np.zeros((1 << depths.bits[0], tree.path_words), np.uint64)
    paths[:, 0] = np.arange(len(paths), dtype=np.uint64) << np.uint64(64 - depths.bits[0])
    key = tree.bucket_key
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
    return _with_state(tree, depths, paths, levels[0, buckets.astype(np.int64)])


def _with_state(tree: Tree, depths: _Depths, roots: NDArray[np.uint64], scores: NDArray[np.float32]) -> _Front:
    """Roots with the state their code bits lead to; impossible ones are left out."""
    if tree.code is None:
        none = np.zeros(len(roots), np.int32)
        return _Front(roots, scores, none, none.astype(np.float32))
    bits = depths.bits[0] - tree.fingerprint
    first = (roots[:, 0] >> np.uint64(64 - depths.bits[0])).astype(np.int64) & ((1 << bits) - 1)
    after, used = tree.code.jumps(bits)
    front = _Front(roots, scores, after[0, first], used[0, first].astype(np.float32))
    return front.take(np.flatnonzero(front.nodes >= 0))


def _beam(tree: Tree, depths: _Depths, levels: TreeLevels, capped: bool) -> _Front:
    """The best paths of full depth, best first.

    From the second pass on no row may give more than ln(buckets/32) nats: more than that is a collision more often
    than a value, once the giants are gone.
    """
    estimates = levels.estimates
    if capped:
        most = math.sqrt(2 * math.log((1 << tree.plan.bucket_bits) / 32))
        caps = most * np.sqrt(levels.noise * levels.people)
        estimates = np.minimum(estimates, caps[:, np.newaxis].astype(np.float32))
    front = _roots(tree, depths, estimates)
    ranks = _root_ranks(tree, depths, front)
    front = front.take(_largest(ranks, depths.beam[0]))
    for number in range(1, len(depths.bits)):
        children = _grow(tree, depths, number, estimates, front)
        ranks = _ranks(tree, depths, number, front, children)
        chosen = _largest(ranks, 2 * tree.beam)  # many, since the quota may leave few of the best
        chosen = _within_quota(front.paths[chosen >> depths.chunks[number]], depths.bits[0], chosen, ranks)
        ranks = ranks[chosen[: depths.beam[number]]]
        front = _descend(tree, depths, number, front, children, chosen[: depths.beam[number]])
    return front


def _root_ranks(tree: Tree, depths: _Depths, front: _Front) -> NDArray[np.float32]:
    if tree.code is None:
        return front.scores
    evidence = front.scores * np.abs(front.scores) / np.float32(2 * depths.so_far[0])
    return np.asarray(evidence - np.float32(_LN2) * front.used, np.float32)


def _largest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Indices of the largest scores, in no particular order, without those given up."""
    alive = np.flatnonzero(scores > -np.inf)  # first, since many equal values make a partition slow
    if len(alive) <= count:
        return alive
    return alive[np.argpartition(scores[alive], len(alive) - count)[len(alive) - count :]]


def _within_quota(
    paths: NDArray[np.uint64], root_bits: int, chosen: NDArray[np.int64], ranks: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Best first, at most a quota under each root."""
    order = np.argsort(-ranks[chosen])
    keep = np.empty(len(order), np.bool_)
    tree_kernels.within_quota(paths[order, 0] >> np.uint64(64 - root_bits), root_bits, _QUOTA, keep)
    return chosen[order[keep]]


def _near_roots(tree: Tree, depths: _Depths, levels: TreeLevels, front: _Front, query: Query) -> NDArray[np.uint64]:
    """One path for each root whose best path is near acceptance, best first."""
    sd = math.sqrt(levels.noise * float(levels.people.sum()))
    some = front.take(np.arange(min(len(front.paths), 8 * _MAX_ROOTS)))
    if tree.code is not None:
        some = some.take(np.flatnonzero(some.nodes == tree.code.done))
    lead = levels.sums(tree.buckets(some.paths)) - tree.acceptance_counts(some.paths, int(levels.people.sum()), query)
    near = np.flatnonzero(lead >= -_NEAR * sd)
    near = near[np.argsort(-lead[near], kind="stable")]
    roots = some.paths[near, 0] >> np.uint64(64 - depths.bits[0])
    _, first = np.unique(roots, return_index=True)
    return some.paths[near[np.sort(first)[: depths.roots]]]


def _list_roots(tree: Tree, depths: _Depths, levels: TreeLevels, paths: NDArray[np.uint64]) -> _Front:
    """The best paths under the root of each given path, best first, as many for each root."""
    groups = len(paths)
    mask = np.zeros(tree.path_words, np.uint64)
    mask[0] = np.uint64(((1 << depths.bits[0]) - 1) << (64 - depths.bits[0]))
    front = _with_state(tree, depths, paths & mask, np.zeros(groups, np.float32))
    if groups == 0:
        return front
    ranks: NDArray[np.float32] = np.zeros((groups, 1), np.float32)
    for number in range(1, len(depths.bits)):
        children = _grow(tree, depths, number, levels.estimates, front)
        ranks = _ranks(tree, depths, number, front, children).reshape(groups, -1)
        width = min(depths.list[number], ranks.shape[1])
        dead = np.flatnonzero(ranks == -np.inf)  # many equal values make a partition slow: tell them apart
        ranks.ravel()[dead] = np.float32(-1e30) * (1 + dead.astype(np.float32) / ranks.size)
        best = np.argpartition(ranks, ranks.shape[1] - width, axis=1)[:, -width:]
        ranks = np.take_along_axis(ranks, best, axis=1)
        chosen = (best + np.arange(groups)[:, np.newaxis] * children.size // groups).ravel()
        front = _descend(tree, depths, number, front, children, chosen)
    order = np.argsort(-ranks, axis=1, kind="stable")[:, :_LISTED]
    return front.take((order + np.arange(groups)[:, np.newaxis] * ranks.shape[1]).ravel())


def _accept(
    tree: Tree, depths: _Depths, levels: TreeLevels, near: NDArray[np.uint64], query: Query
) -> NDArray[np.uint64]:
    """The paths that are real: pooled evidence, evidence behind every depth, a margin over their list, no outlier."""
    groups = len(near)
    if groups == 0:
        return near
    listed = _list_roots(tree, depths, levels, near)
    each = len(listed.paths) // groups
    people = float(depths.people.sum())
    variance = levels.noise * people
    parts = depths.parts(tree, levels, listed.paths)
    totals = parts.sum(axis=1)
    needed = tree.acceptance_counts(listed.paths, int(people), query)
    lead = np.where(tree.is_value(listed.paths) & np.isfinite(listed.scores), totals - needed, -np.inf)
    lead = lead.reshape(groups, each)
    best = np.argmax(lead, axis=1) + np.arange(groups) * each
    crowd = max(1, int((lead.max(axis=1) >= 0).sum()))
    level = query.level * min(1.0, 32 / crowd) ** 2
    margin = min(math.exp(-3.0), 1.6 / crowd)
    behind_sd = np.sqrt(np.cumsum(depths.variance[::-1])[::-1][1:])
    kept = []
    for group, index in enumerate(best):
        own, total = parts[index], float(totals[index])
        if lead[group].max() < 0:
            continue
        behind = np.cumsum(own[::-1])[::-1][1:]  # evidence after depth 0, 1, …
        if (behind < _behind_z(tree, depths, float(listed.used[index]), level) * behind_sd).any():
            continue
        share = min(total / people, 1.0)
        # Noise of others' and of its own reports, and who of its holders happens to speak of which depth.
        own_noise = levels.noise * (1 - share) + tree.own_noise * share + share * (1 - share)
        spread = np.maximum(depths.people * own_noise, depths.variance)
        if _uneven((own - share * depths.people) / np.sqrt(spread)):
            continue
        members = slice(group * each, (group + 1) * each)
        others = np.flatnonzero(np.isfinite(lead[group]) & (np.arange(each) != index - members.start))
        # Depths they share say the same of both, so the difference is that of the depths after they part.
        ahead = (own - parts[members][others]).sum(axis=1)
        if float(np.exp(-np.clip(ahead * total / variance, -700.0, 700.0)).sum()) > margin:
            continue
        kept.append(listed.paths[index])
    return np.array(kept, np.uint64).reshape(-1, tree.path_words)


def _uneven(deviations: NDArray[np.float64]) -> bool:
    """Whether the depths disagree more than chance allows: a path that rides on another's collision."""
    degrees = max(len(deviations) - 1, 1)
    return float((deviations**2).sum()) > degrees + 5 * math.sqrt(2 * degrees)


def _behind_z(tree: Tree, depths: _Depths, used: float, level: float) -> NDArray[np.float64]:
    """Standard errors that the evidence behind each depth must reach, for the bits that are decided there."""
    length = used + tree.fingerprint if tree.code is not None else depths.bits[-1]
    needed = []
    for depth in depths.bits[:-1]:
        rest = length - depth
        needed.append(normal_quantile_log(math.log(level) - 1.125 * rest * _LN2) if rest > 0 else -math.inf)
    return np.array(needed)


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
