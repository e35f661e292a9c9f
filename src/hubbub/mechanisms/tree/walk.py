"""One step down a tree: children of paths, their scores and ranks. Beams and lists consist of these steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.plan import list_widths
from hubbub.mechanisms.tree.row_counts import RowCounts


class Walk:
    """Steps of one tree. Each step is given its row counts, since accepted values are subtracted between passes.

    Attributes
    ----------
    depths, chunks : list of int
        The bits of a path at each depth, and those that the step to it adds.
    rows : list of int64 arrays
        The rows of each depth; the deepest may have several.
    people, variance : float arrays
        The reporters of each depth, and the variance of their noise.
    so_far : list of float
        The reporters down to each depth.
    tables : list of float32 arrays
        For each depth the table that ranks texts; empty for numbers, which are ranked by score.
    per_error : list of float32
        For each depth the steps of that table per person.
    list_widths : list of int
        Paths kept at each depth in the list of a promising root.
    root_shift : uint64
        The first limb of a path, shifted right by this, is the number of its root.
    steps : dict of kernels.Step
        The tables and constants that the kernels need for the step to each depth below the root.
    """

    def __init__(self, tree: TreeGeometry, row_counts: RowCounts) -> None:
        self.tree = tree
        self.depths = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.depths]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([row_counts.people[rows].sum() for rows in self.rows])
        self.variance = row_counts.noise * np.maximum(self.people, 1e-9)
        self.so_far = [float(self.people[: number + 1].sum()) for number in range(len(self.depths))]
        none = np.empty(0, np.float32)
        self.tables = [tree.evidence(people) if tree.coded else none for people in self.so_far]
        self.per_error = [np.float32(kernels.EVIDENCE_STEPS / math.sqrt(total)) for total in np.cumsum(self.variance)]
        self.list_widths = list_widths(self.chunks)
        self.root_shift = np.uint64(64 - self.depths[0])
        self.steps = {}
        for number in range(1, len(self.depths)):
            after, more = tree.codec.jumps(self.depths[number], self.chunks[number])
            self.steps[number] = kernels.Step(
                asked=self.rows[number],
                depth=self.depths[number],
                chunk=self.chunks[number],
                evidence=self.tables[number],
                per_error=self.per_error[number],
                after=after,
                more=more,
                done=tree.codec.done,
                absent=tree.absent,
                true=tree.true,
                per_person=1.0 / max(self.so_far[number], 1e-9),
                per_match=1.0 / tree.per_match,
            )

    def expand(
        self, number: int, row_counts: RowCounts, caps: NDArray[np.float64], front: Front
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Scores and ranks of all children, shape (paths, 2^chunk)."""
        scores = np.empty((len(front.paths), 1 << self.chunks[number]), np.float32)
        ranks = np.empty_like(scores)
        caps = np.atleast_2d(caps)[:, self.rows[number]].astype(np.float32)
        places = self.tree.buckets(front.paths, self.rows[number])
        kernels.expand(self.steps[number], row_counts.estimates, caps, front, places, scores, ranks)
        return scores, ranks

    def descend(self, number: int, front: Front, scores: NDArray[np.float32], chosen: NDArray[np.int64]) -> Front:
        """The chosen children, with their scores; impossible ones get a score of −∞.

        Children of texts follow the code, and a text that ends here gets its whole path. None of numbers is impossible.
        """
        depth, chunk, codec = self.depths[number], self.chunks[number], self.tree.codec
        parents, last = chosen >> chunk, chosen & ((1 << chunk) - 1)
        some = front.take(parents)._replace(scores=scores)
        # Append the chunk, which ends at `depth`, to each path.
        index, shift, bits = (depth - 1) >> 6, 63 - ((depth - 1) & 63), last.astype(np.uint64)
        some.paths[:, index] |= bits << np.uint64(shift)
        if shift + chunk > 64:  # the rest is in the limb before
            some.paths[:, index - 1] |= bits >> np.uint64(64 - shift)
        if self.tree.coded:
            going = np.flatnonzero(some.nodes != codec.done)
            states = some.nodes[going], last[going]
            some.used[going] += self.steps[number].more[states]
            some.nodes[going] = self.steps[number].after[states]
            ended = going[(some.nodes[going] == codec.done) & (scores[going] > -np.inf)]
            some.paths[ended], real = codec.completed(some.paths[ended], depth)
            scores[ended[~real]] = -np.inf
        return some

    def needed_scores(self, number: int, cut: float) -> NDArray[np.float32]:
        """For each number of code bits used, the score (in people) that a path needs for a rank of `cut`."""
        table = self.tables[number]
        if not len(table) or cut == -math.inf:
            return np.array([cut], np.float32)
        errors = np.arange(len(table)) / kernels.EVIDENCE_STEPS - kernels.EVIDENCE_FROM
        wanted = np.interp(cut + np.arange(self.tree.bits + 1), table, errors, left=-np.inf)
        # A little less, so that rounding rejects no path.
        return np.asarray((wanted - 0.01) * kernels.EVIDENCE_STEPS / self.per_error[number], np.float32)
