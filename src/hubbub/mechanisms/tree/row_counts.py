"""Estimates from a tally of the tree: every bucket of every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
