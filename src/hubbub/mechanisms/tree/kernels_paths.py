"""The inner loops between items and paths: which class an item is in, and the bijection of the numbers of a class.

With N = L ‖ R, where L has ⌊c/2⌋ of the c bits:  L' = L ⊕ F₁(R),  R' = R ⊕ F₂(L'),  path = R' ‖ L'. The prefix R'
depends on every bit of N. F_s(x) is the low bits of the hashes of (c·2^16 + s·2^8 + j, words of x) for j = 0, 1, …

Numbers and paths are bits, the first bit first, packed from the top of limb 0 downwards and padded with zeros.
"""

from __future__ import annotations

import numpy as np

from hubbub.jit import inlined, inner, kernel
from hubbub.numeric.hashing import BLOCK, absorb, absorb_block, fill_block, finish_block, finish_block_low, start


@inlined
def read_bits(limbs, i, first, count):  # type: ignore[no-untyped-def]
    """Bits first … first + count − 1 of row i, counted from its first bit, as a number; 1 ≤ count ≤ 64."""
    index = first >> 6
    offset = first & 63
    value = limbs[i, index] << np.uint64(offset)
    if offset + count > 64:
        value |= limbs[i, index + 1] >> np.uint64(64 - offset)
    return value >> np.uint64(64 - count)


@inlined
def xor_bits(limbs, i, first, count, value):  # type: ignore[no-untyped-def]
    """XOR the low `count` bits of a value into row i, from bit `first` on; 1 ≤ count ≤ 64."""
    index = first >> 6
    offset = first & 63
    value <<= np.uint64(64 - count)
    limbs[i, index] ^= value >> np.uint64(offset)
    if offset + count > 64:
        limbs[i, index + 1] ^= value << np.uint64(64 - offset)


@kernel
def lengths(items, width, out):  # type: ignore[no-untyped-def]
    """Bits of each little-endian item of `width` bits without its trailing zeros. Twin: naive.py::tree_class."""
    for i in range(items.shape[0]):
        zeros = 0
        for k in range(items.shape[1]):
            word = items[i, k]
            if word != np.uint64(0):
                while word & np.uint64(1) == np.uint64(0):
                    word >>= np.uint64(1)
                    zeros += 1
                break
            zeros += 64
        out[i] = max(width - zeros, 0)


@inner
def _round(low, high, label, step, numbers, source, size, target, wanted, room):  # type: ignore[no-untyped-def]
    """XOR F_step(`size` bits of each number from `source` on) into the `wanted` bits from `target` on, for a block."""
    state, words, hashes = room
    count = numbers.shape[0]
    for j in range((wanted + 63) >> 6):
        v0, v1, v2, v3 = start(low, high)
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(label << 16 | step << 8 | j))
        fill_block(state, v0, v1, v2, v3, count)
        for k in range((size + 31) >> 5):
            bits = min(32, size - 32 * k)
            for i in range(count):
                words[i] = np.uint32(read_bits(numbers, i, source + 32 * k, bits) << np.uint64(32 - bits))
            absorb_block(state, words, count)
        some = min(64, wanted - 64 * j)
        if some <= 32:
            finish_block_low(state, 1 + ((size + 31) >> 5), hashes, count)
        else:
            finish_block(state, 1 + ((size + 31) >> 5), hashes, count)
        for i in range(count):
            xor_bits(numbers, i, target + wanted - 64 * j - some, some, hashes[i])


@inner
def _scramble(low, high, bits, numbers, backwards, room):  # type: ignore[no-untyped-def]
    """Both rounds on a block of numbers L ‖ R, or both undone."""
    left = bits >> 1
    right = bits - left
    for number in range(2 if left else 0):
        if (number == 0) != backwards:
            _round(low, high, bits, np.int64(1), numbers, left, right, np.int64(0), left, room)
        else:
            _round(low, high, bits, np.int64(2), numbers, np.int64(0), left, left, right, room)


@inner
def _swap(numbers, first, count, bits, head, out):  # type: ignore[no-untyped-def]
    """Write a block of numbers with their first `head` bits at the end into rows of zeros, from row `first` on."""
    for i in range(count):
        for k in range((head + 63) >> 6):
            some = min(64, head - 64 * k)
            xor_bits(out, first + i, bits - head + 64 * k, some, read_bits(numbers, i, 64 * k, some))
        for k in range((bits - head + 63) >> 6):
            some = min(64, bits - head - 64 * k)
            xor_bits(out, first + i, 64 * k, some, read_bits(numbers, i, head + 64 * k, some))


@inner
def _new_room():  # type: ignore[no-untyped-def]
    return np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint64)


@kernel
def to_paths(low, high, items, width, bits, paths):  # type: ignore[no-untyped-def]
    """Write the path of each item into paths of zeros. Twin: tests/reference/naive.py::tree_path.

    Parameters
    ----------
    low, high : uint32
        The key of the bijection.
    items : uint64 array, shape (n, limbs of an item)
        Little-endian numbers of `width` bits, of which all but the first `bits` are zeros.
    width, bits : int
        Bits of an item, and of the class.
    paths : uint64 array, shape (n, limbs of a path)
    """
    room = _new_room()
    limbs, top = paths.shape[1], items.shape[1]
    numbers = np.empty((BLOCK, limbs), np.uint64)
    spare = np.uint64(64 * top - width)  # unused bits at the top of an item
    for first in range(0, items.shape[0], BLOCK):
        count = min(BLOCK, items.shape[0] - first)
        for i in range(count):
            for k in range(limbs):
                value = items[first + i, top - 1 - k] << spare
                if spare != np.uint64(0) and k + 1 < top:
                    value |= items[first + i, top - 2 - k] >> (np.uint64(64) - spare)
                numbers[i, k] = value
        _scramble(low, high, bits, numbers[:count], False, room)
        _swap(numbers, first, count, bits, bits >> 1, paths)


@kernel
def to_items(low, high, paths, width, bits, items):  # type: ignore[no-untyped-def]
    """Write the item of each path into items of zeros: undoes `to_paths`. Twin: tests/reference/naive.py::tree_item."""
    room = _new_room()
    limbs, top = paths.shape[1], items.shape[1]
    numbers = np.empty((BLOCK, limbs), np.uint64)
    spare = np.uint64(64 * top - width)
    for first in range(0, paths.shape[0], BLOCK):
        count = min(BLOCK, paths.shape[0] - first)
        numbers[:count] = np.uint64(0)
        for i in range(count):
            _swap(paths[first + i : first + i + 1], i, np.int64(1), bits, bits - (bits >> 1), numbers)
        _scramble(low, high, bits, numbers[:count], True, room)
        for i in range(count):
            for k in range(limbs):
                items[first + i, top - 1 - k] |= numbers[i, k] >> spare
                if spare != np.uint64(0) and k + 1 < top:
                    items[first + i, top - 2 - k] |= numbers[i, k] << (np.uint64(64) - spare)
