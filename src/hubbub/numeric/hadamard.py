"""The Walsh–Hadamard transform, and its random counterpart for one-bit reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.jit import kernel


def transform(values: NDArray[np.int64]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Σ_r values[r]·(−1)^⟨r,x⟩ for every x, in O(N log N) for a length N that is a power of two.

    Exact in integers, unless a sum could exceed 2^62; then in floating point.
    """
    rounded = values.astype(np.float64)
    if float(np.abs(rounded).sum()) < 2.0**62:
        exact = values.astype(np.int64)
        _transform_in_place(exact)
        return exact
    _transform_in_place(rounded)
    return rounded


def transform_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The transform of each row, for many short rows."""
    rows, size = values.shape
    half = 1
    while half < size:
        pairs = values.reshape(rows, -1, 2, half)
        values = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return values.reshape(rows, size)


def sample_characters(
    counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each person draws a uniform row r; returns, for every row, how many have (−1)^⟨r,x⟩ = +1 and how many −1.

    `counts[x]` people hold x. The result has the exact law, and takes O(N log N) binomial draws for any number of
    people. It is a random butterfly: in each step, the people of a block draw the next bit of their row by fair coins.
    For those with a 0, that bit of their item no longer matters, so the two halves are added. For those with a 1 it
    decides a sign, so the second half is added with the signs exchanged.
    """
    people = np.asarray(counts, np.int64)[np.newaxis]
    plus, minus = sample_signed_characters(people, np.zeros_like(people), rng)
    return plus[0], minus[0]


def sample_signed_characters(
    plus: NDArray[np.int64], minus: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Like `sample_characters`, for many crowds at once (one per row), whose people start with a sign of their own."""
    crowds, size = plus.shape
    half = size // 2
    while half:
        plus, minus = plus.reshape(crowds, -1, 2, half), minus.reshape(crowds, -1, 2, half)
        plus_zero, minus_zero = rng.binomial(plus, 0.5), rng.binomial(minus, 0.5)
        plus_one, minus_one = plus - plus_zero, minus - minus_zero
        plus = np.stack([plus_zero.sum(axis=2), plus_one[:, :, 0] + minus_one[:, :, 1]], axis=2)
        minus = np.stack([minus_zero.sum(axis=2), minus_one[:, :, 0] + plus_one[:, :, 1]], axis=2)
        half //= 2
    return plus.reshape(crowds, size), minus.reshape(crowds, size)


@kernel
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
