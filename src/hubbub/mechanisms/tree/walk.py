"""One step down a tree: children of paths, their scores and ranks. Beams and lists consist of these steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.plan import list_widths
from hubbub.mechanisms.tree.row_counts import Depths, RowCounts


class Walk:
    """Steps of one tree. Each step is given its row counts, since accepted values are subtracted between passes."""

    def __init__(self, tree: TreeGeometry, row_counts: RowCounts) -> None:
        self.tree = tree
        self.depths = Depths(tree, row_counts)
        self.list_widths = list_widths(self.depths.chunks)
        self._tables: dict[int, NDArray[np.float32]] = {}

    def root_of(self, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The number of each path's root."""
        return np.asarray(paths[:, 0] >> np.uint64(64 - self.depths.bits[0]))

    def step(self, number: int) -> kernels.Step:
        """The tables and constants that the kernels need for the step to a depth."""
        tree, depth, chunk = self.tree, self.depths.bits[number], self.depths.chunks[number]
        evidence, per_error = self.evidence(number)
        after, more = tree.codec.jumps(depth, chunk)
        return kernels.Step(
            tree=tree.kernel_rows,
            asked=self.depths.rows[number],
            depth=depth,
            chunk=chunk,
            evidence=evidence,
            per_error=per_error,
            after=after,
            more=more,
            done=tree.codec.done,
            absent=tree.absent,
            true=tree.true,
            per_person=1.0 / max(float(self.depths.people[: number + 1].sum()), 1e-9),
            per_match=1.0 / tree.per_match,
        )

    def evidence(self, number: int) -> tuple[NDArray[np.float32], np.float32]:
        """The table that ranks texts at a depth, and its steps per person; empty for numbers, ranked by score."""
        per_error = np.float32(kernels.EVIDENCE_STEPS / math.sqrt(self.depths.so_far[number]))
        if not self.tree.coded:
            return np.empty(0, np.float32), per_error
        if number not in self._tables:
            self._tables[number] = self.tree.evidence(float(self.depths.people[: number + 1].sum()))
        return self._tables[number], per_error

    def ended_bits(self, number: int) -> np.float32:
        """Bits of evidence that a text gains when it ends: the fingerprint bits in its path so far."""
        return np.float32(self.tree.codec.unranked_bits(self.depths.bits[number]))

    def expand(
        self, number: int, row_counts: RowCounts, caps: NDArray[np.float64], front: Front
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores and ranks of all children, shape (paths, 2^chunk)."""
        scores = np.empty((len(front.paths), 1 << self.depths.chunks[number]), np.float32)
        ranks = np.empty_like(scores)
        caps = np.atleast_2d(caps)[:, self.depths.rows[number]].astype(np.float32)
        kernels.expand(self.step(number), row_counts.estimates, caps, front, scores, ranks)
        return scores, ranks

    def descend(self, number: int, front: Front, scores: NDArray[np.float32], chosen: NDArray[np.int64]) -> Front:
        """The chosen children, with their scores."""
        depth, chunk = self.depths.bits[number], self.depths.chunks[number]
        parents, last = chosen >> chunk, chosen & ((1 << chunk) - 1)
        some = front.take(parents)._replace(scores=scores)
        return self.tree.codec.advance(some, last, _grown(some.paths, last, depth, chunk), depth, chunk)

    def needed_scores(self, number: int, cut: float) -> NDArray[np.float32]:
        """For each number of code bits used, the score (in people) that a path needs for a rank of `cut`."""
        table, per_error = self.evidence(number)
        if not len(table) or cut == -math.inf:
            return np.array([cut], np.float32)
        errors = np.arange(len(table)) / kernels.EVIDENCE_STEPS - kernels.EVIDENCE_FROM
        wanted = np.interp(cut + np.arange(self.tree.bits + 1), table, errors, left=-np.inf)
        # A little less, so that rounding rejects no path.
        return np.asarray((wanted - 0.01) * kernels.EVIDENCE_STEPS / per_error, np.float32)


def _grown(paths: NDArray[np.uint64], chunks: NDArray[np.int64], depth: int, chunk: int) -> NDArray[np.uint64]:
    """Append to each path, in place, a chunk of bits that ends at `depth`. Returns the same array."""
    index, shift, bits = (depth - 1) >> 6, 63 - ((depth - 1) & 63), chunks.astype(np.uint64)
    paths[:, index] |= bits << np.uint64(shift)
    if shift + chunk > 64:  # the rest is in the limb before
        paths[:, index - 1] |= bits >> np.uint64(64 - shift)
    return paths
