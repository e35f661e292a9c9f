"""What a tally of the tree says: estimates of every bucket, by row and by depth, and the same without known values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hubbub.mechanisms.tree import Tree


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


class Depths:
    """Rows gathered by depth (the deepest may have several), with the noise of each depth."""

    def __init__(self, tree: Tree, levels: TreeLevels) -> None:
        self.bits = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.bits]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([levels.people[rows].sum() for rows in self.rows])
        self.variance = levels.noise * np.maximum(self.people, 1e-9)
        self.so_far = np.cumsum(self.variance)


class Front(NamedTuple):
    """Paths of one depth: score, state of the text code's automaton, and code bits used (0 without a code)."""

    paths: NDArray[np.uint64]
    scores: NDArray[np.float32]
    nodes: NDArray[np.int32]
    used: NDArray[np.float32]

    def take(self, chosen: NDArray[np.int64]) -> Front:
        """Some of them."""
        return Front(self.paths[chosen], self.scores[chosen], self.nodes[chosen], self.used[chosen])


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
