"""The Walsh–Hadamard transform, and its random twin for one-bit reports."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


def transform(values: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Σ_r values[r]·(−1)^⟨r,x⟩ for every x, in O(N log N) for a length N that is a power of two.

    Exact, unless a sum could pass 2^62; then in floating point.
    """
    rounded = values.astype(np.float64)
    if float(np.abs(rounded).sum()) < 2.0**62:
        exact = values.astype(np.int64)
        _transform_in_place(exact)
        return exact
    _transform_in_place(rounded)
    return rounded


def sample_characters(
    counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each person draws a uniform row r; returns, for every row, how many have (−1)^⟨r,x⟩ = +1 and how many −1.

    `counts[x]` people hold x. Drawn exactly, in O(N log N) binomials however many people there are, by a random
    butterfly: the people of a block decide the next bit of their row by fair coins. For those with a 0 that bit of
    their item no longer matters, so the two halves are added; for those with a 1 it decides a sign, so the second
    half is added with the signs exchanged.
    """
    plus: NDArray[np.int64] = np.asarray(counts, np.int64).reshape(1, -1)
    minus: NDArray[np.int64] = np.zeros_like(plus)
    while plus.shape[1] > 1:
        blocks, half = plus.shape[0], plus.shape[1] // 2
        plus, minus = plus.reshape(blocks, 2, half), minus.reshape(blocks, 2, half)
        plus_zero, minus_zero = rng.binomial(plus, 0.5), rng.binomial(minus, 0.5)
        plus_one, minus_one = plus - plus_zero, minus - minus_zero
        plus = np.stack([plus_zero[:, 0] + plus_zero[:, 1], plus_one[:, 0] + minus_one[:, 1]], axis=1).reshape(
            2 * blocks, half
        )
        minus = np.stack([minus_zero[:, 0] + minus_zero[:, 1], minus_one[:, 0] + plus_one[:, 1]], axis=1).reshape(
            2 * blocks, half
        )
    return plus[:, 0], minus[:, 0]


@njit(cache=True, nogil=True)
def _transform_in_place(values):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::walsh_hadamard."""
    n = values.shape[0]
    half = 1
    while half < n:
        for start in range(0, n, 2 * half):
            for i in range(start, start + half):
                a = values[i]
                b = values[i + half]
                values[i] = a + b
                values[i + half] = a - b
        half *= 2
