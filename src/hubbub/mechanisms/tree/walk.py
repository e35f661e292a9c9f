"""One step down a tree: children of paths, their scores and ranks. Beams and lists are made of such steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.levels import Depths, Front, TreeLevels
from hubbub.mechanisms.tree.plan import list_widths
from hubbub.numeric import tree_kernels
from hubbub.numeric.text_paths import LEADING


class Walk:
    """Steps of one tree; the levels are given with each, since what is accepted is taken away."""

    def __init__(self, tree: TreeGeometry, levels: TreeLevels) -> None:
        self.tree = tree
        self.depths = Depths(tree, levels)
        self.list_widths = list_widths(self.depths.chunks)
        self._tables: dict[int, NDArray[np.float32]] = {}

    def with_state(self, roots: NDArray[np.uint64], scores: NDArray[np.float32]) -> Front:
        """Roots with the state their code bits lead to; impossible ones are left out."""
        tree = self.tree
        if tree.code is None:
            none = np.zeros(len(roots), np.int32)
            return Front(roots, scores, none, none.astype(np.float32))
        depth = self.depths.bits[0]
        bits = depth - min(tree.fingerprint, LEADING)  # what comes before them is fingerprint
        first = self.root_of(roots).astype(np.int64) & ((1 << bits) - 1)
        after, used = tree.code.jumps(tree.is_code(depth, bits))
        nodes, roots, scores = after[0, first], roots.copy(), scores.copy()
        ended = np.flatnonzero(nodes == tree.code.done)
        roots[ended], real = tree.completed(roots[ended], depth)
        scores[ended[~real]] = -np.inf
        front = Front(roots, scores, nodes, used[0, first].astype(np.float32))
        return front.take(np.flatnonzero((nodes >= 0) & (scores > -np.inf)))

    def root_of(self, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The number of each path's root."""
        return np.asarray(paths[:, 0] >> np.uint64(64 - self.depths.bits[0]))

    def step(self, number: int) -> tree_kernels.Step:
        """What the kernels must know of the step to a depth."""
        tree, depth, chunk = self.tree, self.depths.bits[number], self.depths.chunks[number]
        after, more = np.zeros((1, 1), np.int32), np.zeros((1, 1), np.float32)
        if tree.code is not None:
            after, more = tree.code.jumps(tree.is_code(depth, chunk))
        return tree_kernels.Step(
            np.uint32(tree.bucket_key.low),
            np.uint32(tree.bucket_key.high),
            tree.arrays["parent_masks"],
            self.depths.rows[number],
            depth,
            chunk,
            tree.plan.bucket_bits,
            *self.evidence(number),
            after,
            more,
            -1 if tree.code is None else tree.code.done,
            tree.absent,
            tree.true,
            1.0 / max(float(self.depths.people[: number + 1].sum()), 1e-9),
            1.0 / (tree.gain * tree.symbols),
        )

    def evidence(self, number: int) -> tuple[NDArray[np.float32], np.float32]:
        """The table that ranks texts down to a depth; an empty one for numbers, which are ranked by their scores."""
        per_error = np.float32(tree_kernels.EVIDENCE_STEPS / math.sqrt(self.depths.so_far[number]))
        if self.tree.code is None:
            return np.empty(0, np.float32), per_error
        if number not in self._tables:
            self._tables[number] = self.tree.evidence(float(self.depths.people[: number + 1].sum()))
        return self._tables[number], per_error

    def expand(
        self, number: int, levels: TreeLevels, caps: NDArray[np.float64], front: Front
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores and ranks of all children, shape (paths, 2^chunk)."""
        scores = np.empty((len(front.paths), 1 << self.depths.chunks[number]), np.float32)
        ranks = np.empty_like(scores)
        caps = np.atleast_2d(caps)[:, self.depths.rows[number]].astype(np.float32)
        tree_kernels.expand(self.step(number), levels.estimates, caps, *front, scores, ranks)
        return scores, ranks

    def descend(self, number: int, front: Front, scores: NDArray[np.float32], chosen: NDArray[np.int64]) -> Front:
        """The chosen children, with their scores."""
        chunk = self.depths.chunks[number]
        parents, last = chosen >> chunk, chosen & ((1 << chunk) - 1)
        grown = np.empty((len(chosen), front.paths.shape[1]), np.uint64)
        tree_kernels.with_chunk(front.paths, parents, last, self.depths.bits[number], chunk, grown)
        nodes, used = front.nodes[parents], front.used[parents]
        if self.tree.code is not None:
            depth, done = self.depths.bits[number], self.tree.code.done
            after, more = self.tree.code.jumps(self.tree.is_code(depth, chunk))
            open_ = np.flatnonzero(nodes != done)
            used[open_] += more[nodes[open_], last[open_]]
            nodes[open_] = after[nodes[open_], last[open_]]
            ended = open_[(nodes[open_] == done) & (scores[open_] > -np.inf)]
            grown[ended], real = self.tree.completed(grown[ended], depth)
            scores[ended[~real]] = -np.inf
        return Front(grown, scores, nodes, used)

    def needed_scores(self, number: int, cut: float) -> NDArray[np.float32]:
        """A score that a path needs for a rank of `cut`, for each number of code bits it may have used."""
        table, per_error = self.evidence(number)
        if not len(table) or cut == -math.inf:
            return np.array([cut], np.float32)
        errors = np.arange(len(table)) / tree_kernels.EVIDENCE_STEPS - tree_kernels.EVIDENCE_FROM
        wanted = np.interp(cut + np.arange(self.tree.bits + 1), table, errors, left=-np.inf)
        # A little less, so that rounding turns nobody away.
        return np.asarray((wanted - 0.01) * tree_kernels.EVIDENCE_STEPS / per_error, np.float32)
