"""Classes and code lengths of a text code, from counts of how often each symbol follows each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.table import END, MAX_WORD
from hubbub.errors import ParameterError

Counts = NDArray[np.float64]

ROUNDS: Final = 12
"""Rounds in which each row of counts moves to the class that codes it best."""

_SMOOTHING = 8.0  # weight of the average row, in strings, that is mixed into each class


def cluster(counts: Counts, classes: int, advance: Callable[[int], None]) -> tuple[list[int], list[list[int]]]:
    """The class after each symbol and the code lengths of each class; the start, row END, is in class 0."""
    size = len(counts)
    used = counts.sum(axis=1)
    average = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * size)
    sums = _join_rows(counts[used > 0], classes)
    bits = -np.log2(_smooth(sums, average))
    after = np.zeros(size, np.int64)
    for round_ in range(ROUNDS):
        cost = counts @ bits.T
        after = cost.argmin(axis=1)
        after[used == 0] = after[END]
        sums = np.zeros((len(bits), size))
        np.add.at(sums, after, counts)
        rows = _smooth(sums, average)
        # First the ideal lengths, then the real ones, which matter in the end.
        bits = -np.log2(rows) if round_ < ROUNDS // 2 else np.array([code_lengths(row) for row in rows], float)
        advance(1)
    order = [int(after[END]), *(index for index in range(len(bits)) if index != after[END])]
    kept = [index for index in order if np.any(after == index)]
    return [kept.index(int(index)) for index in after], [code_lengths(_smooth(sums, average)[index]) for index in kept]


def _join_rows(rows: Counts, wanted: int) -> Counts:
    """At most `wanted` sums of rows: repeatedly join the two rows that lose the fewest bits by sharing a code."""
    rows = rows.copy()
    own = _entropy(rows)
    loss = np.full((len(rows), len(rows)), np.inf)
    for index in range(len(rows)):
        loss[index] = _entropy(rows + rows[index]) - own - own[index]
    np.fill_diagonal(loss, np.inf)
    for _ in range(len(rows) - wanted):
        one, two = divmod(int(loss.argmin()), len(rows))
        rows[one] += rows[two]
        rows[two] = 0
        own[one] = _entropy(rows[one : one + 1])[0]
        gone = ~rows.any(axis=1)
        loss[one] = loss[:, one] = np.where(gone, np.inf, _entropy(rows + rows[one]) - own - own[one])
        loss[one, one] = np.inf
        loss[two] = loss[:, two] = np.inf
    return rows[rows.any(axis=1)]


def _entropy(rows: Counts) -> Counts:
    """The bits that an ideal code needs for everything counted in each row."""
    totals = rows.sum(axis=1, keepdims=True)
    bits = rows * np.log2(np.where(rows > 0, totals, 1) / np.where(rows > 0, rows, 1))
    return np.asarray(bits.sum(axis=1))


def _smooth(sums: Counts, average: Counts) -> Counts:
    mixed = sums + _SMOOTHING * average
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def code_lengths(shares: Iterable[float], longest: int = MAX_WORD) -> list[int]:
    """The lengths of the best prefix code with words of at most `longest` bits, by package-merge; ties by index.

    >>> code_lengths([0.5, 0.25, 0.125, 0.125]), code_lengths([1, 1, 1, 1, 100], 3)
    ([1, 2, 3, 3], [3, 3, 3, 3, 1])
    """
    # Integer weights, so that ties are the same on every machine.
    coins = sorted((max(1, round(share * 2**40)), index) for index, share in enumerate(shares))
    if len(coins) > 1 << longest:
        raise ParameterError(f"a code must have at most 2^{longest} words, got {len(coins)}")
    leaves: list[tuple[int, tuple[int, ...]]] = [(weight, (index,)) for weight, index in coins]
    packages: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(longest):
        merged = sorted(leaves + packages, key=lambda package: package[0])
        packages = [(one[0] + two[0], one[1] + two[1]) for one, two in zip(merged[::2], merged[1::2], strict=False)]
    lengths = [0] * len(coins)
    for _, indices in packages[: len(coins) - 1]:
        for index in indices:
            lengths[index] += 1
    return lengths
