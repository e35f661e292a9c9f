"""The one public hash family: HalfSipHash-2-4 with 64 bits of output, on 32-bit words.

Everything public and random in a survey comes from it, keyed by the survey's seed: coins from report ids, rows of
projections, shifts. It is specified to the bit in docs/wire-format.md. It was chosen because it is a keyed
function (values that collide under every seed cannot be prepared in advance), because it needs nothing but 32-bit
additions, rotations and XORs (exact and fast in a browser), and because its authors published test vectors.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.jit import inlined, inner, kernel


class Purpose(IntEnum):
    """The purpose of a key. Keys of different purposes are unrelated. Numbers are never reused."""

    REPORT_ROW = 1
    PROJECTION_SIGNS = 2
    PROJECTION_ROWS = 3
    BUCKET_MATRIX = 4
    BUCKET_SHIFT = 5
    TREE_BIJECTION = 6
    TREE_COINS = 7
    TREE_BUCKET = 8
    # 9 was a purpose of an earlier format
    SPARSE_MATRIX = 10
    SPARSE_CODE = 11
    SPARSE_ESTIMATE = 12
    SUBSET_PLACES = 13


class HashKey(NamedTuple):
    """The 64-bit key of one member of the family, as two 32-bit words."""

    low: int
    high: int


def derive_key(seed: bytes, purpose: int) -> HashKey:
    """The key for a purpose: the hash of the purpose and the last 24 bytes of the seed, keyed by its first 8 bytes."""
    if len(seed) != 32:
        raise ParameterError(f"a public seed must have 32 bytes, got {len(seed)}")
    words = np.frombuffer(seed, "<u4")
    message = np.concatenate([np.array([purpose], np.uint32), words[2:]]).astype(np.uint32)
    hashed = int(hash_words(HashKey(int(words[0]), int(words[1])), message[np.newaxis])[0])
    return HashKey(hashed & 0xFFFFFFFF, hashed >> 32)


def hash_words(key: HashKey, messages: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The 64-bit hash of each row of 32-bit words, shape (n, k) with k < 64. Costs about 7 ns per row of 4 words."""
    hashes = np.empty(len(messages), np.uint64)
    _hash_rows(np.uint32(key.low), np.uint32(key.high), np.ascontiguousarray(messages, np.uint32), hashes)
    return hashes


def hash_uint64(key: HashKey, messages: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hash of each row of 64-bit words, each taken as its low then its high half."""
    rows = np.ascontiguousarray(messages, "<u8")
    return hash_words(key, rows.view("<u4"))


def check_bound(bound: int) -> None:
    """Require a bound that every client can multiply by exactly, or shift by."""
    if not 1 <= bound <= 2**21 and not (bound <= 2**24 and bound.bit_count() == 1):
        raise ParameterError(f"a bound must be from 1 to 2^21, or a power of two up to 2^24, got {bound}")


def uniform_below(hashes: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """⌊hash · bound / 2^64⌋, from two products below 2^53 so that a browser gets the same number.

    If the bound is a power of two, the result is the top bits of the hash, and the bound may be up to 2^24.
    """
    check_bound(bound)
    low, high = hashes & np.uint64(0xFFFFFFFF), hashes >> np.uint64(32)
    factor = np.uint64(bound)
    return ((high * factor + (low * factor >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)


# numba widens sums and XORs to 64 bits. The casts keep them in 32; otherwise the loops would not be vectorised.


@inlined
def _rotate(x, b):  # type: ignore[no-untyped-def]
    return np.uint32((x << np.uint32(b)) | (x >> np.uint32(32 - b)))


@inlined
def _round(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    v0 = np.uint32(v0 + v1)
    v1 = np.uint32(_rotate(v1, 5) ^ v0)
    v0 = _rotate(v0, 16)
    v2 = np.uint32(v2 + v3)
    v3 = np.uint32(_rotate(v3, 8) ^ v2)
    v0 = np.uint32(v0 + v3)
    v3 = np.uint32(_rotate(v3, 7) ^ v0)
    v2 = np.uint32(v2 + v1)
    v1 = np.uint32(_rotate(v1, 13) ^ v2)
    v2 = _rotate(v2, 16)
    return v0, v1, v2, v3


@inlined
def _four_rounds(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return _round(v0, v1, v2, v3)


@inlined
def start(low, high):  # type: ignore[no-untyped-def]
    """The four state words before the first message word."""
    return (
        low,
        np.uint32(high ^ np.uint32(0xEE)),
        np.uint32(np.uint32(0x6C796765) ^ low),
        np.uint32(np.uint32(0x74656462) ^ high),
    )


@inlined
def absorb(v0, v1, v2, v3, word):  # type: ignore[no-untyped-def]
    """The state after one more message word."""
    v3 = np.uint32(v3 ^ word)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return np.uint32(v0 ^ word), v1, v2, v3


@inlined
def _last_rounds(v0, v1, v2, v3, length):  # type: ignore[no-untyped-def]
    """The state from which the low half of the hash comes."""
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(np.uint32(4 * length) << np.uint32(24)))
    return _four_rounds(v0, v1, np.uint32(v2 ^ np.uint32(0xEE)), v3)


@inlined
def finish(v0, v1, v2, v3, length):  # type: ignore[no-untyped-def]
    """The 64-bit hash of a message of `length` words."""
    v0, v1, v2, v3 = _last_rounds(v0, v1, v2, v3, length)
    low = np.uint32(v1 ^ v3)
    v0, v1, v2, v3 = _four_rounds(v0, np.uint32(v1 ^ np.uint32(0xDD)), v2, v3)
    return np.uint64(low) | (np.uint64(np.uint32(v1 ^ v3)) << np.uint64(32))


# The same for a block of messages at a time, word by word, so that the loops are vectorised. A state is a vector of
# 4·BLOCK words, all first words first: from the constant distances the compiler knows that nothing overlaps.

BLOCK = 512


@inner
def fill_block(state, v0, v1, v2, v3, count):  # type: ignore[no-untyped-def]
    """Give all `count` messages (at most BLOCK) the same state."""
    for i in range(count):
        state[i] = v0
        state[BLOCK + i] = v1
        state[2 * BLOCK + i] = v2
        state[3 * BLOCK + i] = v3


@inner
def absorb_block(state, words, count):  # type: ignore[no-untyped-def]
    """Absorb one more word of every message into the state."""
    for i in range(count):
        v0, v1, v2, v3 = absorb(state[i], state[BLOCK + i], state[2 * BLOCK + i], state[3 * BLOCK + i], words[i])
        state[i] = v0
        state[BLOCK + i] = v1
        state[2 * BLOCK + i] = v2
        state[3 * BLOCK + i] = v3


@inner
def finish_block(state, length, hashes, count):  # type: ignore[no-untyped-def]
    """Write the hashes of all messages, which have `length` words each. The state does not change."""
    for i in range(count):
        hashes[i] = finish(state[i], state[BLOCK + i], state[2 * BLOCK + i], state[3 * BLOCK + i], length)


@inner
def finish_block_low(state, length, hashes, count):  # type: ignore[no-untyped-def]
    """Write the low 32 bits of the hashes of all messages, which costs four rounds less."""
    for i in range(count):
        _, v1, _, v3 = _last_rounds(state[i], state[BLOCK + i], state[2 * BLOCK + i], state[3 * BLOCK + i], length)
        hashes[i] = np.uint64(np.uint32(v1 ^ v3))


@kernel
def _hash_rows(low, high, messages, hashes):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::half_sip_hash."""
    length = messages.shape[1]
    state, words = np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    v0, v1, v2, v3 = start(low, high)
    for first in range(0, messages.shape[0], BLOCK):
        count = min(BLOCK, messages.shape[0] - first)
        fill_block(state, v0, v1, v2, v3, count)
        for j in range(length):
            for i in range(count):
                words[i] = messages[first + i, j]
            absorb_block(state, words, count)
        finish_block(state, length, hashes[first:], count)
