"""The path of a text: the bits of its code, and between them bits of a fingerprint of the whole text.

Two texts that begin alike share the first bits of their codes, and would share a bucket at every depth until they
part. A fingerprint, which is a hash of the whole item, sets them apart from the first bit on. Its first eight bits
lead the path; the others stand at bits 24, 32, 40, …, because texts that part late have long codes, and a search has
to guess each of these bits, which costs less the later it comes.

    path:  f0 … f7  c0 … c15  f8  c16 … c22  f9  c23 … c29  f10 …   (then code bits alone, when no f is left)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

LEADING = 8
"""Bits of the fingerprint that lead a path."""

_SECOND, _EVERY = 24, 8


@lru_cache(maxsize=64)
def fingerprint_places(fingerprint: int) -> tuple[int, ...]:
    """The positions in a path of a fingerprint's bits, counted from the root.

    >>> fingerprint_places(10)
    (0, 1, 2, 3, 4, 5, 6, 7, 24, 32)
    """
    leading = min(fingerprint, LEADING)
    return (*range(leading), *range(_SECOND, _SECOND + _EVERY * (fingerprint - leading), _EVERY))


def fingerprint_before(fingerprint: int, depth: int) -> int:
    """How many of the first `depth` bits of a path are bits of the fingerprint."""
    return sum(place < depth for place in fingerprint_places(fingerprint))


def path_bits(fingerprint: int, width: int) -> int:
    """Bits of a path with a code of `width` bits. Fingerprint bits that would come after the code are left out."""
    bits, places = 0, set(fingerprint_places(fingerprint))
    while width > 0:
        width -= bits not in places
        bits += 1
    return bits


@lru_cache(maxsize=64)
def code_runs(width: int, fingerprint: int) -> NDArray[np.int64]:
    """Runs of consecutive code bits: (first bit in the path, first bit in the code, number of bits, at most 64)."""
    runs: list[list[int]] = []
    places, place = set(fingerprint_places(fingerprint)), 0
    for code in range(width):
        while place in places:
            place += 1
        if runs and runs[-1][0] + runs[-1][2] == place and runs[-1][2] < 64:
            runs[-1][2] += 1
        else:
            runs.append([place, code, 1])
        place += 1
    return np.array(runs, np.int64)
