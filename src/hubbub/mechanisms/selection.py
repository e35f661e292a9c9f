"""Which estimates stand out from the noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.model.estimates import Query
from hubbub.numeric.tails import normal_quantile_log

FOUND_95 = 1.6448536269514722
"""Q⁻¹(0.05): a count this many standard errors above a threshold passes it with a chance of 95 %."""


def threshold_z(size: int, query: Query) -> float:
    """Standard errors that any of `size` absent values exceeds with a chance of level/2 at most."""
    return normal_quantile_log(math.log(query.level / 2) - math.log(size))


def found_z(size: int, query: Query) -> float:
    """Standard errors that a count must have to pass `threshold_z` with a chance of 95 %."""
    return threshold_z(size, query) + FOUND_95


def select(counts: NDArray[np.float64], threshold: float, query: Query) -> tuple[NDArray[np.int64], float]:
    """Indices of the largest counts above the threshold, largest first (ties by index), and the threshold used."""
    threshold = -math.inf if query.best_guess else threshold
    candidates = np.flatnonzero(counts > threshold)
    if len(candidates) > query.top:
        largest = np.argpartition(-counts[candidates], query.top - 1)[: query.top]
        cut = counts[candidates[largest]].min()
        candidates = candidates[counts[candidates] >= cut]
    order = np.argsort(-counts[candidates], kind="stable")[: query.top]
    return candidates[order], threshold
