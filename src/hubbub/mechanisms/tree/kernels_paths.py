"""The inner loops between items and paths: the bijection of numbers, and the bits of texts.

With N = L·2^c + R (c = ⌈bits/2⌉):  L' = L ⊕ F₁(R),  R' = R ⊕ F₂(L'),  path = R' ‖ L'. The prefix R' depends on
every bit of N. F_i(x) is the low bits of the hashes of (256·i + j, limbs of x) for j = 0, 1, …
"""

from __future__ import annotations

import numpy as np

from hubbub.jit import inlined, inner, kernel
from hubbub.numeric.hashing import BLOCK, absorb, absorb_block, fill_block, finish_block, start


@inlined
def _low_mask(count):  # type: ignore[no-untyped-def]
    """A word with the `count` lowest bits set."""
    if count >= 64:
        return np.uint64(0xFFFFFFFFFFFFFFFF)
    return (np.uint64(1) << np.uint64(count)) - np.uint64(1)


@inlined
def _read_bits(numbers, i, start_bit, count):  # type: ignore[no-untyped-def]
    """Bits start … start + count − 1 of little-endian number i, count ≤ 64."""
    index = start_bit >> 6
    shift = start_bit & 63
    if index >= numbers.shape[1]:
        return np.uint64(0)
    value = numbers[i, index] >> np.uint64(shift)
    if shift and index + 1 < numbers.shape[1]:
        value |= numbers[i, index + 1] << np.uint64(64 - shift)
    return value & _low_mask(count)


@inlined
def _xor_bits(numbers, i, start_bit, count, value):  # type: ignore[no-untyped-def]
    """XOR the low `count` bits of a value into little-endian number i at a position."""
    value &= _low_mask(count)
    index = start_bit >> 6
    shift = start_bit & 63
    numbers[i, index] ^= value << np.uint64(shift)
    if shift + count > 64:
        numbers[i, index + 1] ^= value >> np.uint64(64 - shift)


@inner
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
                limb = _read_bits(numbers, i, from_bit + 64 * k, size)
                halves[0, i] = np.uint32(limb & np.uint64(0xFFFFFFFF))
                halves[1, i] = np.uint32(limb >> np.uint64(32))
            absorb_block(state, halves[0], count)
            absorb_block(state, halves[1], count)
        finish_block(state, 1 + 2 * parts, hashes, count)
        size = min(64, to_count - 64 * j)
        for i in range(count):
            _xor_bits(numbers, i, to_bit + 64 * j, size, hashes[i])


@kernel
def numbers_to_paths(low, high, items, bits, paths):  # type: ignore[no-untyped-def]
    """Write the path of each item of `bits` bits, under a key (low, high). Twin: tests/reference/naive.py::to_path."""
    width = items.shape[1]
    right = (bits + 1) // 2
    left = bits - right
    pad = 64 * width - bits
    room = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32), np.empty(BLOCK, np.uint64)
    for first in range(0, items.shape[0], BLOCK):
        numbers = items[first : first + BLOCK].copy()
        if left:
            _feistel(low, high, np.int64(1), numbers, np.int64(0), right, right, left, *room)
            _feistel(low, high, np.int64(2), numbers, right, left, np.int64(0), right, *room)
        for i in range(numbers.shape[0]):  # R' first, then L', from the top down
            for k in range((right + 63) >> 6):
                count = min(64, right - 64 * k)
                _place_bits(paths, first + i, pad + left + 64 * k, count, _read_bits(numbers, i, 64 * k, count))
            for k in range((left + 63) >> 6):
                count = min(64, left - 64 * k)
                _place_bits(paths, first + i, pad + 64 * k, count, _read_bits(numbers, i, right + 64 * k, count))


@inlined
def _place_bits(paths, i, position, count, value):  # type: ignore[no-untyped-def]
    """XOR bits into path i at a position counted from its last bit: limb 0 is the most significant."""
    last = paths.shape[1] - 1
    index = position >> 6
    shift = position & 63
    paths[i, last - index] ^= value << np.uint64(shift)
    if shift + count > 64:
        paths[i, last - index - 1] ^= value >> np.uint64(64 - shift)


@kernel
def paths_to_numbers(low, high, paths, bits, items):  # type: ignore[no-untyped-def]
    """Write the item of each path into items of zeros. Twin: tests/reference/naive.py::from_path."""
    width = paths.shape[1]
    right = (bits + 1) // 2
    left = bits - right
    pad = 64 * width - bits
    turned = np.empty((1, width), np.uint64)
    room = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32), np.empty(BLOCK, np.uint64)
    for first in range(0, paths.shape[0], BLOCK):
        numbers = items[first : first + BLOCK]
        for i in range(numbers.shape[0]):
            for k in range(width):
                turned[0, k] = paths[first + i, width - 1 - k]
            for k in range((right + 63) >> 6):
                count = min(64, right - 64 * k)
                _xor_bits(numbers, i, 64 * k, count, _read_bits(turned, np.int64(0), pad + left + 64 * k, count))
            for k in range((left + 63) >> 6):
                count = min(64, left - 64 * k)
                _xor_bits(numbers, i, right + 64 * k, count, _read_bits(turned, np.int64(0), pad + 64 * k, count))
        if left:
            _feistel(low, high, np.int64(2), numbers, right, left, np.int64(0), right, *room)
            _feistel(low, high, np.int64(1), numbers, np.int64(0), right, right, left, *room)


@kernel
def texts_to_paths(items, hashes, width, places, runs, out):  # type: ignore[no-untyped-def]
    """Write the path of each item into paths of zeros. Twin: tests/reference/naive.py::text_path.

    Parameters
    ----------
    items : uint64 array, shape (n, limbs of an item)
        Codes, at the top of `width` bits.
    hashes : uint64 array
        The hash of each item; its top bits are the fingerprint.
    width : int
    places : int64 array
        Where the bits of the fingerprint go.
    runs : int64 array
        Where the bits of the code go, as in `fingerprint.code_runs`.
    out : uint64 array, shape (n, limbs of a path)
    """
    for i in range(items.shape[0]):
        for k in range(runs.shape[0]):
            first, code, count = runs[k]
            value = _read_bits(items, i, width - code - count, count)
            _place_bits(out, i, 64 * out.shape[1] - first - count, count, value)
        for k in range(places.shape[0]):
            bit = (hashes[i] >> np.uint64(63 - k)) & np.uint64(1)
            _place_bits(out, i, 64 * out.shape[1] - places[k] - 1, np.int64(1), bit)


@kernel
def paths_to_texts(paths, width, runs, out):  # type: ignore[no-untyped-def]
    """Write the code in each path into items of zeros; arguments as in `texts_to_paths`."""
    for i in range(paths.shape[0]):
        for k in range(runs.shape[0]):
            first, code, count = runs[k]
            index = first >> 6
            offset = first & 63
            value = paths[i, index] << np.uint64(offset)
            if offset + count > 64:
                value |= paths[i, index + 1] >> np.uint64(64 - offset)
            _xor_bits(out, i, width - code - count, count, value >> np.uint64(64 - count))
