"""Text codes as paths: the bits of the code, and between them bits of a fingerprint of the whole text.

Two texts that begin alike share the first bits of their codes, and would share a bucket at every depth until they
part. A fingerprint, which is a hash of the whole item, sets them apart from the first bit on. Its first eight bits
lead the path; the others stand at bits 24, 32, 40, …, because texts that part late have long codes, and a search has
to guess each of these bits, which costs less the later it comes.

    path:  f0 … f7  c0 … c15  f8  c16 … c22  f9  c23 … c29  f10 …   (then code bits alone, when no f is left)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hubbub.numeric.bit_paths import place_bits, read_bits, xor_bits
from hubbub.numeric.hashing import HashKey, hash_uint64

LEADING = 8
_SECOND, _EVERY = 24, 8


@lru_cache(maxsize=64)
def fingerprint_places(fingerprint: int) -> tuple[int, ...]:
    """Where the bits of a fingerprint stand in a path.

    >>> fingerprint_places(10)
    (0, 1, 2, 3, 4, 5, 6, 7, 24, 32)
    """
    leading = min(fingerprint, LEADING)
    return (*range(leading), *range(_SECOND, _SECOND + _EVERY * (fingerprint - leading), _EVERY))


def fingerprint_before(fingerprint: int, depth: int) -> int:
    """How many of the first `depth` bits of a path are bits of the fingerprint."""
    return sum(place < depth for place in fingerprint_places(fingerprint))


def path_bits(fingerprint: int, width: int) -> int:
    """Bits of a path with a code of `width` bits: bits of the fingerprint that would stand behind it are left out."""
    bits, places = 0, set(fingerprint_places(fingerprint))
    while width > 0:
        width -= bits not in places
        bits += 1
    return bits


def text_paths(key: HashKey, items: NDArray[np.uint64], width: int, fingerprint: int) -> NDArray[np.uint64]:
    """The path of each item, padded with zeros to whole words. Twin: tests/reference/naive.py::text_path."""
    items = np.ascontiguousarray(items)
    bits = path_bits(fingerprint, width)
    paths = np.zeros((len(items), -(-bits // 64)), np.uint64)
    places = np.array([place for place in fingerprint_places(fingerprint) if place < bits], np.int64)
    _to_paths(items, hash_uint64(key, items), width, places, _runs(width, fingerprint), paths)
    return paths


def text_items(paths: NDArray[np.uint64], width: int, fingerprint: int) -> NDArray[np.uint64]:
    """The items whose codes stand in the paths, whatever their fingerprints say."""
    items = np.zeros((len(paths), -(-width // 64)), np.uint64)
    _to_items(np.ascontiguousarray(paths), width, _runs(width, fingerprint), items)
    return items


@lru_cache(maxsize=64)
def _runs(width: int, fingerprint: int) -> NDArray[np.int64]:
    """Runs of code bits, of at most 64: (first bit in the path, first bit of the code, how many)."""
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


@njit(cache=True, nogil=True)
def _to_paths(items, hashes, width, places, runs, out):  # type: ignore[no-untyped-def]
    for i in range(items.shape[0]):
        for k in range(runs.shape[0]):
            first, code, count = runs[k]
            value = read_bits(items[i], width - code - count, count)
            place_bits(out[i], 64 * out.shape[1] - first - count, count, value)
        for k in range(places.shape[0]):
            place_bits(out[i], 64 * out.shape[1] - places[k] - 1, 1, (hashes[i] >> np.uint64(63 - k)) & np.uint64(1))


@njit(cache=True, nogil=True)
def _to_items(paths, width, runs, out):  # type: ignore[no-untyped-def]
    for i in range(paths.shape[0]):
        for k in range(runs.shape[0]):
            first, code, count = runs[k]
            index = first >> 6
            offset = first & 63
            value = paths[i, index] << np.uint64(offset)
            if offset + count > 64:
                value |= paths[i, index + 1] >> np.uint64(64 - offset)
            xor_bits(out[i], width - code - count, count, value >> np.uint64(64 - count))
