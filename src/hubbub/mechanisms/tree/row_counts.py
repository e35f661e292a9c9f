"""Estimates from a tally of the tree: every bucket of every row, and rows grouped by depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.geometry import TreeGeometry


@dataclass(frozen=True)
class RowCounts:
    """Estimates in people, shape (rows, buckets); the reporters of each row; the noise variance that a report adds."""

    estimates: NDArray[np.float32]
    people: NDArray[np.float64]
    noise: float

    def parts(self, buckets: NDArray[np.integer]) -> NDArray[np.float64]:
        """The estimate of each given bucket in its row, in people. `buckets` and the result have shape (n, rows)."""
        rows = np.arange(len(self.people))
        return np.asarray(self.estimates[rows, buckets.astype(np.int64, copy=False)], np.float64)

    def sums(self, buckets: NDArray[np.integer]) -> NDArray[np.float64]:
        """The sum of `parts` over rows, shape (n,)."""
        return np.asarray(self.parts(buckets).sum(axis=1))


class Depths:
    """Rows grouped by depth (the deepest may have several), with the noise variance of each depth."""

    def __init__(self, tree: TreeGeometry, row_counts: RowCounts) -> None:
        self.bits = sorted(set(tree.plan.depths))
        self.rows = [np.flatnonzero(np.array(tree.plan.depths) == depth) for depth in self.bits]
        self.chunks = [tree.plan.chunks[int(rows[0])] for rows in self.rows]
        self.people = np.array([row_counts.people[rows].sum() for rows in self.rows])
        self.variance = row_counts.noise * np.maximum(self.people, 1e-9)
        self.so_far = np.cumsum(self.variance)
