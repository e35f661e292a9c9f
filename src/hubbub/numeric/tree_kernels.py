"""The inner loops of the tree mechanism: coins, buckets, reports, sums, and one step of a beam.

A row of the tree is (depth, chunk): it looks at the first `depth` bits of a path. Its bucket is the top bits of a
hash of the first depth − chunk bits and the row's number, XORed with the last `chunk` bits: brothers share a block of
buckets, so that one hash serves all of them, and paths with equal chunks (a text that has ended goes on as zeros)
still spread over all buckets. Where the chunk is as wide as a bucket there is no hash.

Coins of a report, from the hash h of its id: the row by the top 24 bits, and masks of at most 20 bits each: two from
the rest of h, then three from each of the hashes of (id, 1), (id, 2), …
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hubbub.numeric.hashing import absorb, finish, start

ROW_BITS = 24
MASK_BITS = 20
MAX_MASKS = 8


@njit(inline="always")
def _low32(word):  # type: ignore[no-untyped-def]
    return np.uint32(word & np.uint64(0xFFFFFFFF))


@njit(inline="always")
def _high32(word):  # type: ignore[no-untyped-def]
    return np.uint32(word >> np.uint64(32))


@njit(inline="always")
def _parity(word):  # type: ignore[no-untyped-def]
    word ^= word >> np.uint64(32)
    word ^= word >> np.uint64(16)
    word ^= word >> np.uint64(8)
    word ^= word >> np.uint64(4)
    return (np.uint64(0x6996) >> (word & np.uint64(15))) & np.uint64(1)


@njit(inline="always")
def _draw_coins(low, high, first, second, ends, masks, mask_count, bucket_mask):  # type: ignore[no-untyped-def]
    """The row of a report; its masks are written into `masks`."""
    v0, v1, v2, v3 = start(low, high)
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _low32(first))
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _high32(first))
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _low32(second))
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _high32(second))
    hashed = finish(v0, v1, v2, v3, 4)
    masks[0] = hashed & bucket_mask
    if mask_count > 1:
        masks[1] = (hashed >> np.uint64(MASK_BITS)) & bucket_mask
    for j in range(2, mask_count):
        if (j - 2) % 3 == 0:
            w0, w1, w2, w3 = absorb(v0, v1, v2, v3, np.uint32(1 + (j - 2) // 3))
            more = finish(w0, w1, w2, w3, 5)
        masks[j] = (more >> np.uint64(MASK_BITS * ((j - 2) % 3))) & bucket_mask
    coin = hashed >> np.uint64(64 - ROW_BITS)
    row = 0
    while coin >= ends[row]:
        row += 1
    return row


@njit(inline="always")
def _chunk_bits(path, from_bit, count):  # type: ignore[no-untyped-def]
    """Bits from_bit … from_bit + count − 1 of a path, counted from its first bit, count ≤ 20."""
    index = from_bit >> 6
    offset = from_bit & 63
    value = path[index] << np.uint64(offset)
    if offset + count > 64:
        value |= path[index + 1] >> np.uint64(64 - offset)
    return value >> np.uint64(64 - count)


@njit(inline="always")
def _parent_bucket(low, high, path, parent_mask, row, chunk, bucket_bits):  # type: ignore[no-untyped-def]
    """The bucket of the brother whose chunk is 0."""
    if chunk == bucket_bits:
        return np.uint64(0)
    v0, v1, v2, v3 = start(low, high)
    words = path.shape[0]
    for k in range(words):
        word = path[k] & parent_mask[k]
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _low32(word))
        v0, v1, v2, v3 = absorb(v0, v1, v2, v3, _high32(word))
    v0, v1, v2, v3 = absorb(v0, v1, v2, v3, np.uint32(row))
    hashed = finish(v0, v1, v2, v3, 2 * words + 1)
    return hashed >> np.uint64(64 - bucket_bits)


@njit(inline="always")
def _bucket(low, high, path, parent_mask, row, depth, chunk, bucket_bits):  # type: ignore[no-untyped-def]
    base = _parent_bucket(low, high, path, parent_mask, row, chunk, bucket_bits)
    if chunk == 0:
        return base
    return base ^ _chunk_bits(path, depth - chunk, chunk)


@njit(cache=True, nogil=True)
def buckets(low, high, paths, parent_mask, row, depth, chunk, bucket_bits, out):  # type: ignore[no-untyped-def]
    """The bucket of each path in one row. Twin: tests/reference/naive.py::tree_bucket."""
    for i in range(paths.shape[0]):
        out[i] = _bucket(low, high, paths[i], parent_mask, row, depth, chunk, bucket_bits)


@njit(cache=True, nogil=True)
def randomize(  # type: ignore[no-untyped-def]
    coin_low, coin_high, low, high, paths, words, ends, parent_masks, depths, chunks, bucket_bits, mask_count, keep, out
):
    """One symbol per path. Twin: tests/reference/naive.py::tree_symbol."""
    masks = np.empty(MAX_MASKS, np.uint64)
    bucket_mask = (np.uint64(1) << np.uint64(bucket_bits)) - np.uint64(1)
    for i in range(paths.shape[0]):
        row = _draw_coins(coin_low, coin_high, words[i, 0], words[i, 1], ends, masks, mask_count, bucket_mask)
        bucket = _bucket(low, high, paths[i], parent_masks[row], row, depths[row], chunks[row], bucket_bits)
        symbol = np.uint64(0)
        for j in range(mask_count):
            symbol |= _parity(masks[j] & bucket) << np.uint64(j)
        other = words[i, 3] >> np.uint64(64 - mask_count)
        # Both are computed for everyone, and chosen without a branch: the time does not depend on the value.
        truth = np.uint64(words[i, 2] < keep)
        out[i] = np.uint8(symbol * truth + other * (np.uint64(1) - truth))


@njit(cache=True, nogil=True)
def accumulate(coin_low, coin_high, ids, symbols, ends, bucket_bits, mask_count, sums, counts):  # type: ignore[no-untyped-def]
    """Add (−1)^⟨c,y⟩ at ⊕ c_i·mask_i for every c ≠ 0, in Gray order. Twin: tests/reference/naive.py::tree_tally.

    Places are computed for a block of reports before any is touched: the sums are larger than a cache, and the
    processor overlaps the misses only if no hash stands between them.
    """
    block = 512
    updates = (1 << mask_count) - 1
    masks = np.empty(MAX_MASKS, np.uint64)
    places = np.empty(block * updates, np.int64)
    signs = np.empty(block * updates, np.int64)
    bucket_mask = (np.uint64(1) << np.uint64(bucket_bits)) - np.uint64(1)
    for first in range(0, ids.shape[0], block):
        filled = 0
        for i in range(first, min(first + block, ids.shape[0])):
            row = _draw_coins(coin_low, coin_high, ids[i, 0], ids[i, 1], ends, masks, mask_count, bucket_mask)
            counts[row] += 1
            position = np.uint64(row) << np.uint64(bucket_bits)
            odd = np.int64(0)
            for c in range(1, 1 << mask_count):
                bit = 0
                while not (c >> bit) & 1:
                    bit += 1
                position ^= masks[bit]
                odd ^= (symbols[i] >> bit) & 1
                places[filled] = np.int64(position)
                signs[filled] = 1 - 2 * odd
                filled += 1
        for k in range(filled):
            sums[places[k]] += signs[k]


@njit(cache=True, nogil=True)
def expand(low, high, paths, scores, parent_masks, rows, chunk, bucket_bits, levels, children):  # type: ignore[no-untyped-def]
    """Scores of all children of each path: its own plus what each row of the next depth says of the child."""
    many = 1 << chunk
    for i in range(paths.shape[0]):
        for c in range(many):
            children[i, c] = scores[i]
        for k in range(rows.shape[0]):
            row = rows[k]
            base = np.int64(_parent_bucket(low, high, paths[i], parent_masks[row], row, chunk, bucket_bits))
            for c in range(many):
                children[i, c] += levels[row, base ^ c]


@njit(cache=True, nogil=True)
def with_chunk(paths, chosen, chunks, depth, chunk, out):  # type: ignore[no-untyped-def]
    """The chosen paths, each grown by a chunk that ends at `depth`."""
    for i in range(chosen.shape[0]):
        for k in range(paths.shape[1]):
            out[i, k] = paths[chosen[i], k]
        end = depth - 1  # the last bit of the chunk
        index = end >> 6
        shift = 63 - (end & 63)
        out[i, index] |= np.uint64(chunks[i]) << np.uint64(shift)
        if shift + chunk > 64:
            out[i, index - 1] |= np.uint64(chunks[i]) >> np.uint64(64 - shift)


@njit(cache=True, nogil=True)
def drop_weak_brothers(scores, children, weight, gap):  # type: ignore[no-untyped-def]
    """Give up children whose evidence at this depth is `gap` nats below their best brother's.

    The evidence of an estimate x for a value that is there is about x²/2 in units of its noise (`weight` = 1/var).
    """
    for i in range(children.shape[0]):
        best = children[i].max() - scores[i]
        if best <= 0:
            continue
        limit = best * best * weight / 2 - gap
        if limit <= 0:
            continue
        for c in range(children.shape[1]):
            own = children[i, c] - scores[i]
            if own <= 0 or own * own * weight / 2 < limit:
                children[i, c] = -np.inf


@njit(cache=True, nogil=True)
def within_quota(roots, root_bits, quota, keep):  # type: ignore[no-untyped-def]
    """Keep the first `quota` of each root."""
    seen = np.zeros(1 << root_bits, np.int32)
    for i in range(roots.shape[0]):
        root = np.int64(roots[i])
        keep[i] = seen[root] < quota
        seen[root] += 1
