"""Items as paths from the root of a binary tree, by a public bijection that leaves no structure in the prefixes.

A path is the bits of an item in a keyed order: first bit first, packed from the top of word 0 downwards and padded
with zeros. Values that share a prefix (sequential ids!) would share buckets at every depth; after two Feistel rounds
of the public hash their prefixes are as different as those of random values, and the way back is as short.

With N = L·2^c + R (c = ⌈bits/2⌉):  L' = L ⊕ F₁(R),  R' = R ⊕ F₂(L'),  path = R' ‖ L'. The prefix R' depends on
every bit of N. F_i(x) is the low bits of the hashes of (256·i + j, words of x) for j = 0, 1, …
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hubbub.numeric.hashing import BLOCK, HashKey, absorb, absorb_block, fill_block, finish_block, start


def to_paths(key: HashKey, items: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """The path of each item: the bijection, then first bit first."""
    paths = np.zeros_like(items)
    _to_paths(np.uint32(key.low), np.uint32(key.high), np.ascontiguousarray(items, np.uint64), bits, paths)
    return paths


def from_paths(key: HashKey, paths: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """The item of each path: undoes `to_paths`."""
    items = np.zeros_like(paths)
    _from_paths(np.uint32(key.low), np.uint32(key.high), np.ascontiguousarray(paths, np.uint64), bits, items)
    return items


@njit(inline="always")
def _low_mask(count):  # type: ignore[no-untyped-def]
    """A word with the `count` lowest bits set."""
    if count >= 64:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return (np.uint64(1) << np.uint64(count)) - np.uint64(1)


@njit(inline="always")
def read_bits(words, start_bit, count):  # type: ignore[no-untyped-def]
    """Bits start … start + count − 1 of a little-endian number, count ≤ 64."""
    index = start_bit >> 6
    shift = start_bit & 63
    if index >= words.shape[0]:
        return np.uint64(0)
    value = words[index] >> np.uint64(shift)
    if shift and index + 1 < words.shape[0]:
        value |= words[index + 1] << np.uint64(64 - shift)
    return value & _low_mask(count)


@njit(inline="always")
def xor_bits(words, start_bit, count, value):  # type: ignore[no-untyped-def]
    """XOR the low `count` bits of a value into a little-endian number at a position."""
    value &= _low_mask(count)
    index = start_bit >> 6
    shift = start_bit & 63
    words[index] ^= value << np.uint64(shift)
    if shift + count > 64:
        words[index + 1] ^= value >> np.uint64(64 - shift)


@njit(cache=True, nogil=True)
def _feistel(low, high, step, numbers, from_bit, from_count, to_bit, to_count, state, halves, hashes):  # type: ignore[no-untyped-def]
    """XOR F_step(one part of each number) into another part of it, for a block of numbers."""
    parts = (from_count + 63) >> 6
    count = numbers.shape[0]
    for j in range((to_count + 63) >> 6):
        v0, v1, v2, v3 = start(low, high)
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(256 * step + j))
        fill_block(state, v0, v1, v2, v3, count)
        for k in range(parts):
            size = min(64, from_count - 64 * k)
            for i in range(count):
                word = read_bits(numbers[i], from_bit + 64 * k, size)
                halves[0, i] = np.uint32(word & np.uint64(0xFFFFFFFF))
                halves[1, i] = np.uint32(word >> np.uint64(32))
            absorb_block(state, halves[0], count)
            absorb_block(state, halves[1], count)
        finish_block(state, 1 + 2 * parts, hashes, count)
        size = min(64, to_count - 64 * j)
        for i in range(count):
            xor_bits(numbers[i], to_bit + 64 * j, size, hashes[i])


@njit(cache=True, nogil=True)
def _to_paths(low, high, items, bits, paths):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::to_path."""
    width = items.shape[1]
    right = (bits + 1) // 2
    left = bits - right
    pad = 64 * width - bits
    room = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32), np.empty(BLOCK, np.uint64)
    for first in range(0, items.shape[0], BLOCK):
        numbers = items[first : first + BLOCK].copy()
        if left:
            _feistel(low, high, 1, numbers, 0, right, right, left, *room)
            _feistel(low, high, 2, numbers, right, left, 0, right, *room)
        for i in range(numbers.shape[0]):  # R' first, then L', from the top down
            path = paths[first + i]
            for k in range((right + 63) >> 6):
                count = min(64, right - 64 * k)
                place_bits(path, pad + left + 64 * k, count, read_bits(numbers[i], 64 * k, count))
            for k in range((left + 63) >> 6):
                count = min(64, left - 64 * k)
                place_bits(path, pad + 64 * k, count, read_bits(numbers[i], right + 64 * k, count))


@njit(inline="always")
def place_bits(path, position, count, value):  # type: ignore[no-untyped-def]
    """XOR bits into a path at a position counted from its last bit: word 0 is the most significant."""
    last = path.shape[0] - 1
    index = position >> 6
    shift = position & 63
    path[last - index] ^= value << np.uint64(shift)
    if shift + count > 64:
        path[last - index - 1] ^= value >> np.uint64(64 - shift)


@njit(cache=True, nogil=True)
def _from_paths(low, high, paths, bits, items):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::from_path."""
    width = paths.shape[1]
    right = (bits + 1) // 2
    left = bits - right
    pad = 64 * width - bits
    turned = np.empty(width, np.uint64)
    room = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32), np.empty(BLOCK, np.uint64)
    for first in range(0, paths.shape[0], BLOCK):
        numbers = items[first : first + BLOCK]
        for i in range(numbers.shape[0]):
            for k in range(width):
                turned[k] = paths[first + i, width - 1 - k]
            for k in range((right + 63) >> 6):
                count = min(64, right - 64 * k)
                xor_bits(numbers[i], 64 * k, count, read_bits(turned, pad + left + 64 * k, count))
            for k in range((left + 63) >> 6):
                count = min(64, left - 64 * k)
                xor_bits(numbers[i], right + 64 * k, count, read_bits(turned, pad + 64 * k, count))
        if left:
            _feistel(low, high, 2, numbers, right, left, 0, right, *room)
            _feistel(low, high, 1, numbers, 0, right, right, left, *room)
