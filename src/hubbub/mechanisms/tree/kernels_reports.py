"""The inner loops that make reports and add them up, in blocks. Buckets are those of `kernels`.

The coins of a report come from the hash h of its id. The top 24 bits of h choose the row. Each mask has at most 20
bits: two masks come from the rest of h, then three from each of the hashes of (id, 1), (id, 2), …

A tree with one row has masks that are independent over GF(2): m, m·x, m·x², … in GF(2^b), for m ≠ 0 from h. Then any
two different values have the same symbol with the same chance (docs/decisions.md, 8).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hubbub.jit import inlined, inner, kernel
from hubbub.mechanisms.tree.kernels import Room, find_buckets
from hubbub.mechanisms.tree.shape import MASK_BITS, ROW_BITS
from hubbub.numeric.hashing import BLOCK, absorb_block, fill_block, finish_block, start

TABLE_BITS = 10
_NEAR_SHIFT = 2  # from a quarter as many additions as a row has sums, they go to a separate array first
_HELD = 1 << 16  # the most reports of one row that are held back


class Coins(NamedTuple):
    """How the coins of a report are read.

    Attributes
    ----------
    low, high : uint32
        The key of the coins.
    ends : uint64 array
        Where the coins of each row end, of 2^24.
    first_rows : int64 array
        For each value of a coin's top 10 bits, the first row that it can choose. A search from there is short.
    masks : int
        How many masks a report has.
    bucket_bits : int
        Bits of each mask.
    polynomial : uint64
        The irreducible polynomial of a tree with one row; 0 if there are more.
    """

    low: Any
    high: Any
    ends: Any
    first_rows: Any
    masks: int
    bucket_bits: int
    polynomial: Any


@inlined
def _parity(word):  # type: ignore[no-untyped-def]
    """The parity of a word of at most 20 bits."""
    word ^= word >> np.uint64(16)
    word ^= word >> np.uint64(8)
    word ^= word >> np.uint64(4)
    return (np.uint64(0x6996) >> (word & np.uint64(15))) & np.uint64(1)


@inlined
def _mask(coins, j, i, bucket_mask):  # type: ignore[no-untyped-def]
    """Mask j of report i."""
    if j < 2:
        return (coins[0, i] >> np.uint64(MASK_BITS * j)) & bucket_mask
    return (coins[1 + (j - 2) // 3, i] >> np.uint64(MASK_BITS * ((j - 2) % 3))) & bucket_mask


@inlined
def _independent_masks(how, coins, i):  # type: ignore[no-untyped-def]
    """Replace the hash of report i by its masks, in a tree with one row. Twin: tests/reference/naive.py::tree_coins."""
    top = np.uint64(1) << np.uint64(how.bucket_bits)
    high, low = coins[0, i] >> np.uint64(32), coins[0, i] & np.uint64(0xFFFFFFFF)
    others = top - np.uint64(1)
    mask = np.uint64(1) + ((high * others + (low * others >> np.uint64(32))) >> np.uint64(32))  # hash·others/2^64
    coins[0, i] = mask
    for j in range(1, how.masks):
        mask <<= np.uint64(1)
        if mask & top:
            mask ^= how.polynomial
        if j < 2:
            coins[0, i] |= mask << np.uint64(MASK_BITS)
        elif (j - 2) % 3 == 0:
            coins[1 + (j - 2) // 3, i] = mask
        else:
            coins[1 + (j - 2) // 3, i] |= mask << np.uint64(MASK_BITS * ((j - 2) % 3))


@inner
def _draw_coins(how, ids, room, rows, drawn):  # type: ignore[no-untyped-def]
    """The row of each report of a block, and the hashes with its masks. Twin: tests/reference/naive.py::tree_coins."""
    state, words = room
    count = ids.shape[0]
    v0, v1, v2, v3 = start(how.low, how.high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(4):  # the halves of both words, the low one first
        shift = np.uint64(32 * (k & 1))
        for i in range(count):
            words[i] = np.uint32((ids[i, k >> 1] >> shift) & np.uint64(0xFFFFFFFF))
        absorb_block(state, words, count)
    finish_block(state, np.int64(4), drawn[0], count)
    if how.polynomial:
        for i in range(count):
            rows[i] = 0
            _independent_masks(how, drawn, i)
        return
    for more in range(1, 1 + how.masks // 3):
        longer = state.copy()
        words[:count] = np.uint32(more)
        absorb_block(longer, words, count)
        finish_block(longer, np.int64(5), drawn[more], count)
    for i in range(count):
        coin = drawn[0, i] >> np.uint64(64 - ROW_BITS)
        row = how.first_rows[coin >> np.uint64(ROW_BITS - TABLE_BITS)]
        while coin >= how.ends[row]:
            row += 1
        rows[i] = row


@kernel
def randomize(how, class_rows, paths, random_words, keep, out):  # type: ignore[no-untyped-def]
    """Write one symbol for each path. Twin: tests/reference/naive.py::tree_symbol.

    Parameters
    ----------
    how : Coins
    class_rows : Rows
    paths : uint64 array, shape (reports, limbs of a path)
        All of one class.
    random_words : uint64 array, shape (reports, 4)
        Two random words for the report's id, one to decide whether to keep the truth, one for the symbol otherwise.
    keep : uint64
        The truth is kept where the third word is below this.
    out : uint8 array
    """
    room = Room(np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32))
    drawn, rows, buckets = np.empty((3, BLOCK), np.uint64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    bucket_mask = (np.uint64(1) << np.uint64(how.bucket_bits)) - np.uint64(1)
    for first in range(0, paths.shape[0], BLOCK):
        mine, own = paths[first : first + BLOCK], random_words[first : first + BLOCK]
        _draw_coins(how, own, room, rows, drawn)
        find_buckets(class_rows, mine, rows, room, buckets)
        for i in range(mine.shape[0]):
            symbol = np.uint64(0)
            for j in range(how.masks):
                symbol |= _parity(_mask(drawn, j, i, bucket_mask) & buckets[i]) << np.uint64(j)
            other = own[i, 3] >> np.uint64(64 - how.masks)
            # Both symbols are computed and one is chosen without a branch, so the time does not depend on the value.
            truth = np.uint64(own[i, 2] < keep)
            out[first + i] = np.uint8(symbol * truth + other * (np.uint64(1) - truth))


@inner
def _spread(how, coins, said, first, count, flips, places):  # type: ignore[no-untyped-def]
    """For `count` reports and every c: twice the place ⊕ c_i·mask_i in the sums of a row, plus 1 if ⟨c,y⟩ is odd."""
    bucket_mask = (np.uint64(1) << np.uint64(how.bucket_bits)) - np.uint64(1)
    for i in range(count):
        places[0, i] = np.uint32(0)
    for j in range(how.masks):
        for i in range(count):
            odd = (np.uint32(said[first + i]) >> np.uint32(j)) & np.uint32(1)
            flips[i] = np.uint32(_mask(coins, j, first + i, bucket_mask)) << np.uint32(1) | odd
        for c in range(1 << j):
            for i in range(count):
                places[(1 << j) + c, i] = places[c, i] ^ flips[i]


@inner
def _add_row(how, coins, said, count, flips, places, sums):  # type: ignore[no-untyped-def]
    """Add the signs of the first `count` reports, all of one row, to the sums of that row."""
    step = flips.shape[0]
    for first in range(0, count, step):
        few = min(step, count - first)
        _spread(how, coins, said, first, few, flips, places)
        for c in range(1, 1 << how.masks):
            for i in range(few):
                sums[places[c, i] >> np.uint32(1)] += 1 - 2 * np.int64(places[c, i] & np.uint32(1))


@inner
def _empty(how, coins, said, count, flips, places, near, sums):  # type: ignore[no-untyped-def]
    """Like `_add_row`. If reports are many they are added up in `near` first, which fits better into the cache.

    `near` must be all zeros, and is again afterwards.
    """
    if count << how.masks < sums.shape[0] >> _NEAR_SHIFT:
        _add_row(how, coins, said, count, flips, places, sums)
        return
    _add_row(how, coins, said, count, flips, places, near)
    for bucket in range(sums.shape[0]):
        sums[bucket] += near[bucket]
        near[bucket] = 0


@kernel
def accumulate(how, ids, symbols, sums, counts):  # type: ignore[no-untyped-def]
    """Add (−1)^⟨c,y⟩ at ⊕ c_i·mask_i for every c ≠ 0. Twin: tests/reference/naive.py::tree_tally.

    Parameters
    ----------
    how : Coins
    ids : uint64 array, shape (reports, 2)
    symbols : uint8 array
        The symbol y of each report.
    sums : int64 array
        The sums of every row, one row after the other.
    counts : int64 array
        Reports of every row.

    All sums together are larger than a CPU cache; those of one row hardly are. So reports are collected by row, and a
    row's are added once there are many. Per report, a million at once take a third to two thirds of the time of a few
    thousand.
    """
    many, words = counts.shape[0], 1 + how.masks // 3
    room = Room(np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32))
    rows, drawn = np.empty(BLOCK, np.int64), np.empty((3, BLOCK), np.uint64)
    most = min(_HELD, 64 + 2 * ids.shape[0] // many)  # some rows have more reports than others
    coins, said = np.empty((many, words, most), np.uint64), np.empty((many, most), np.uint8)
    held = np.zeros(many, np.int64)
    step = min(BLOCK, max(8, 4096 >> how.masks))
    flips, places = np.empty(step, np.uint32), np.empty((1 << how.masks, step), np.uint32)
    buckets = 1 << how.bucket_bits
    # A report adds at most 2^8 to a place, so 32 bits are enough for all reports that are held back.
    near = np.zeros(buckets if most << how.masks >= buckets >> _NEAR_SHIFT else 0, np.int32)
    for first in range(0, ids.shape[0], BLOCK):
        mine = ids[first : first + BLOCK]
        _draw_coins(how, mine, room, rows, drawn)
        for i in range(mine.shape[0]):
            row = rows[i]
            at = held[row]
            for k in range(words):
                coins[row, k, at] = drawn[k, i]
            said[row, at] = symbols[first + i]
            held[row] = at + 1
            counts[row] += 1
            if at + 1 == most:
                own = sums[row << how.bucket_bits : (row + 1) << how.bucket_bits]
                _empty(how, coins[row], said[row], most, flips, places, near, own)
                held[row] = 0
    for row in range(many):
        if held[row] > 0:
            own = sums[row << how.bucket_bits : (row + 1) << how.bucket_bits]
            _empty(how, coins[row], said[row], held[row], flips, places, near, own)
