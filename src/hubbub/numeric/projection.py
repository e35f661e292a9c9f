"""A dense matrix of fair signs that is never stored: entry (row, item) is a bit of a public hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.jit import kernel
from hubbub.numeric.hashing import HashKey, absorb, finish, hash_words, start


def sign_bits_at(key: HashKey, items: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The sign bit of each (row, item) pair: bit row mod 64 of the hash of (item, row div 64); 1 means −1."""
    hashes = hash_words(key, _messages(items, (rows >> 6).astype(np.uint32)))
    return (hashes >> (rows & 63).astype(np.uint64) & np.uint64(1)).astype(np.uint8)


def signs(key: HashKey, items: NDArray[np.uint64], rows: int) -> NDArray[np.int8]:
    """The columns of the items as ±1, shape (n, rows). Meant for a few items: whole columns are held in memory."""
    limbs = -(-rows // 64)
    blocks = np.tile(np.arange(limbs, dtype=np.uint32), len(items))
    hashes = hash_words(key, _messages(np.repeat(items, limbs), blocks)).astype("<u8")
    bits = np.unpackbits(hashes.view(np.uint8), bitorder="little").reshape(len(items), 64 * limbs)[:, :rows]
    return (1 - 2 * bits.astype(np.int8)).astype(np.int8)


def scores(key: HashKey, items: NDArray[np.uint64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Σ_row sign(row, item)·cells[row] for each item, in O(items · rows) with no column in memory."""
    result = np.empty(len(items), np.int64)
    _scores(np.uint32(key.low), np.uint32(key.high), np.ascontiguousarray(items, np.uint64), cells, result)
    return result


def _messages(items: NDArray[np.uint64], blocks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    low = (items & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return np.stack([low, (items >> np.uint64(32)).astype(np.uint32), blocks], axis=1)


@kernel
def _scores(low, high, items, cells, result):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::dense_scores."""
    rows = cells.shape[0]
    total = np.int64(0)
    for row in range(rows):
        total += cells[row]
    for i in range(items.shape[0]):
        v0, v1, v2, v3 = start(low, high)
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(items[i] & np.uint64(0xFFFFFFFF)))
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(items[i] >> np.uint64(32)))
        negative = np.int64(0)  # the sum of the cells whose sign is −1
        for block in range((rows + 63) // 64):
            w0, w1, w2, w3 = absorb(v0, v1, v2, v3, np.uint32(block))
            bits = finish(w0, w1, w2, w3, 3)
            for row in range(64 * block, min(64 * block + 64, rows)):
                negative += cells[row] * np.int64(bits & np.uint64(1))
                bits >>= np.uint64(1)
        result[i] = total - 2 * negative
