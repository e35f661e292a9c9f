"""The reports of the tree mechanism, made and added up in blocks. Buckets are those of `tree_kernels`.

Coins of a report, from the hash h of its id: the row by the top 24 bits, and masks of at most 20 bits each: two from
the rest of h, then three from each of the hashes of (id, 1), (id, 2), …
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hubbub.numeric.hashing import BLOCK, absorb_block, fill_block, finish_block, start
from hubbub.numeric.tree_kernels import MASK_BITS, ROW_BITS, chunk_bits

_TABLE_BITS = 10
_SORTED_FROM, _SORTED_AT_ONCE = 4, 1 << 16  # masks and reports


@njit(inline="always")
def _halve(word, halves, i):  # type: ignore[no-untyped-def]
    halves[0, i] = np.uint32(word & np.uint64(0xFFFFFFFF))
    halves[1, i] = np.uint32(word >> np.uint64(32))


@njit(inline="always")
def _parity(word):  # type: ignore[no-untyped-def]
    word ^= word >> np.uint64(16)
    word ^= word >> np.uint64(8)
    word ^= word >> np.uint64(4)
    return (np.uint64(0x6996) >> (word & np.uint64(15))) & np.uint64(1)


@njit(inline="always")
def _mask(coins, j, i, bucket_mask):  # type: ignore[no-untyped-def]
    """Mask j of report i."""
    if j < 2:
        return (coins[0, i] >> np.uint64(MASK_BITS * j)) & bucket_mask
    return (coins[1 + (j - 2) // 3, i] >> np.uint64(MASK_BITS * ((j - 2) % 3))) & bucket_mask


@njit(cache=True, nogil=True)
def _first_rows(ends):  # type: ignore[no-untyped-def]
    """For the top bits of a coin the first row that it can mean: from there the search is short."""
    rows = np.empty(1 << _TABLE_BITS, np.int64)
    row = 0
    for top in range(1 << _TABLE_BITS):
        while np.uint64(top << (ROW_BITS - _TABLE_BITS)) >= ends[row]:
            row += 1
        rows[top] = row
    return rows


@njit(cache=True, nogil=True)
def _draw_coins(low, high, ids, ends, first_rows, mask_count, state, halves, rows, coins, first):  # type: ignore[no-untyped-def]
    """The row of each report of a block, and the hashes with its masks. Twin: tests/reference/naive.py::tree_coins.

    They go to the places from `first` on. (A slice of all the coins would be slow: it has gaps.)
    """
    count = ids.shape[0]
    v0, v1, v2, v3 = start(low, high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(2):
        for i in range(count):
            _halve(ids[i, k], halves, i)
        absorb_block(state, halves[0], count)
        absorb_block(state, halves[1], count)
    finish_block(state, 4, coins[0][first:], count)
    for more in range(1, 1 + mask_count // 3):
        longer = state.copy()
        halves[0, :count] = np.uint32(more)
        absorb_block(longer, halves[0], count)
        finish_block(longer, 5, coins[more][first:], count)
    for i in range(count):
        coin = coins[0, first + i] >> np.uint64(64 - ROW_BITS)
        row = first_rows[coin >> np.uint64(ROW_BITS - _TABLE_BITS)]
        while coin >= ends[row]:
            row += 1
        rows[first + i] = row


@njit(cache=True, nogil=True)
def _find_buckets(low, high, paths, parent_masks, depths, chunks, bucket_bits, rows, state, halves, hashes):  # type: ignore[no-untyped-def]
    """The bucket of each path of a block in the row of its own, into `hashes`."""
    count, words = paths.shape
    v0, v1, v2, v3 = start(low, high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(words):
        for i in range(count):
            _halve(paths[i, k] & parent_masks[rows[i], k], halves, i)
        absorb_block(state, halves[0], count)
        absorb_block(state, halves[1], count)
    for i in range(count):
        halves[0, i] = np.uint32(rows[i])
    absorb_block(state, halves[0], count)
    finish_block(state, 2 * words + 1, hashes, count)
    for i in range(count):
        chunk = chunks[rows[i]]
        base = hashes[i] >> np.uint64(64 - bucket_bits) if chunk < bucket_bits else np.uint64(0)
        if chunk > 0:
            base ^= chunk_bits(paths[i], depths[rows[i]] - chunk, chunk)
        hashes[i] = base


@njit(cache=True, nogil=True)
def randomize(  # type: ignore[no-untyped-def]
    coin_low, coin_high, low, high, paths, words, ends, parent_masks, depths, chunks, bucket_bits, mask_count, keep, out
):
    """One symbol per path. Twin: tests/reference/naive.py::tree_symbol."""
    state, halves = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32)
    coins, rows, buckets = np.empty((3, BLOCK), np.uint64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    first_rows = _first_rows(ends)
    bucket_mask = (np.uint64(1) << np.uint64(bucket_bits)) - np.uint64(1)
    for first in range(0, paths.shape[0], BLOCK):
        mine, drawn = paths[first : first + BLOCK], words[first : first + BLOCK]
        _draw_coins(coin_low, coin_high, drawn, ends, first_rows, mask_count, state, halves, rows, coins, 0)
        _find_buckets(low, high, mine, parent_masks, depths, chunks, bucket_bits, rows, state, halves, buckets)
        for i in range(mine.shape[0]):
            symbol = np.uint64(0)
            for j in range(mask_count):
                symbol |= _parity(_mask(coins, j, i, bucket_mask) & buckets[i]) << np.uint64(j)
            other = drawn[i, 3] >> np.uint64(64 - mask_count)
            # Both are computed for everyone, and chosen without a branch: the time does not depend on the value.
            truth = np.uint64(drawn[i, 2] < keep)
            out[first + i] = np.uint8(symbol * truth + other * (np.uint64(1) - truth))


@njit(cache=True, nogil=True)
def _sort_by_row(rows, coins, said, count, many, out_rows, out_coins, out_said):  # type: ignore[no-untyped-def]
    starts = np.zeros(many + 1, np.int64)
    for i in range(count):
        starts[rows[i] + 1] += 1
    for row in range(many):
        starts[row + 1] += starts[row]
    for i in range(count):
        place = starts[rows[i]]
        starts[rows[i]] += 1
        out_rows[place], out_said[place] = rows[i], said[i]
        for k in range(coins.shape[0]):
            out_coins[k, place] = coins[k, i]


@njit(cache=True, nogil=True)
def _spread(rows, coins, said, first, count, bucket_bits, mask_count, flips, places):  # type: ignore[no-untyped-def]
    """For some reports and every c the place ⊕ c_i·mask_i in all sums, doubled, plus 1 where ⟨c,y⟩ is odd."""
    bucket_mask = (np.uint64(1) << np.uint64(bucket_bits)) - np.uint64(1)
    for i in range(count):
        places[0, i] = np.uint64(rows[first + i]) << np.uint64(bucket_bits + 1)
    for j in range(mask_count):
        for i in range(count):
            odd = (np.uint64(said[first + i]) >> np.uint64(j)) & np.uint64(1)
            flips[i] = _mask(coins, j, first + i, bucket_mask) << np.uint64(1) | odd
        for c in range(1 << j):
            for i in range(count):
                places[(1 << j) + c, i] = places[c, i] ^ flips[i]


@njit(cache=True, nogil=True)
def accumulate(coin_low, coin_high, ids, symbols, ends, bucket_bits, mask_count, sums, counts):  # type: ignore[no-untyped-def]
    """Add (−1)^⟨c,y⟩ at ⊕ c_i·mask_i for every c ≠ 0. Twin: tests/reference/naive.py::tree_tally.

    Places are computed for a few reports before any is touched: the sums are larger than a cache, and the processor
    overlaps the misses only if no hash stands between them. One row fits better: with many masks it pays to take the
    reports row by row.
    """
    many_masks = mask_count >= _SORTED_FROM
    room = max(1, min(_SORTED_AT_ONCE if many_masks else BLOCK, ids.shape[0]))
    state, halves = np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32)
    rows, coins, said = np.empty(room, np.int64), np.empty((3, room), np.uint64), np.empty(room, np.uint8)
    if many_masks:
        sorted_rows, sorted_coins, sorted_said = np.empty_like(rows), np.empty_like(coins), np.empty_like(said)
    else:
        sorted_rows, sorted_coins, sorted_said = rows, coins, said
    step = min(BLOCK, max(8, 2048 >> mask_count))
    flips, places = np.empty(step, np.uint64), np.empty((1 << mask_count, step), np.uint64)
    first_rows = _first_rows(ends)
    for done in range(0, ids.shape[0], room):
        count = min(room, ids.shape[0] - done)
        for first in range(0, count, BLOCK):
            mine = ids[done + first : done + min(first + BLOCK, count)]
            _draw_coins(coin_low, coin_high, mine, ends, first_rows, mask_count, state, halves, rows, coins, first)
        for i in range(count):
            said[i] = symbols[done + i]
            counts[rows[i]] += 1
        if many_masks:
            _sort_by_row(rows, coins, said, count, ends.shape[0], sorted_rows, sorted_coins, sorted_said)
        for first in range(0, count, step):
            few = min(step, count - first)
            _spread(sorted_rows, sorted_coins, sorted_said, first, few, bucket_bits, mask_count, flips, places)
            for c in range(1, 1 << mask_count):
                for i in range(few):
                    sums[places[c, i] >> np.uint64(1)] += 1 - 2 * np.int64(places[c, i] & np.uint64(1))
