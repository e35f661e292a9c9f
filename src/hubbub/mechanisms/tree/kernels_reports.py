"""The inner loops over reports: made, and added up, in blocks. Buckets are those of `kernels`.

Coins of a report, from the hash h of its id: the row by the top 24 bits, and masks of at most 20 bits each: two from
the rest of h, then three from each of the hashes of (id, 1), (id, 2), …
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.jit import inlined, inner, kernel
from hubbub.mechanisms.tree.kernels import chunk_bits
from hubbub.mechanisms.tree.plan import MASK_BITS, ROW_BITS
from hubbub.numeric.hashing import BLOCK, absorb_block, fill_block, finish_block, start

_TABLE_BITS = 10
_SORTED_FROM, _SORTED_AT_ONCE = 4, 1 << 16  # masks and reports


class Coins(NamedTuple):
    """How the coins of a report are read.

    Attributes
    ----------
    low, high : uint32
        The key of the coins.
    ends : uint64 array
        Where the coins of each row end, of 2^24.
    first_rows : int64 array
        For the top 10 bits of a coin the first row that it can mean: from there a search is short.
    masks : int
        How many masks a report has.
    bucket_bits : int
        Bits of each mask.
    """

    low: Any
    high: Any
    ends: Any
    first_rows: Any
    masks: int
    bucket_bits: int


def first_rows(ends: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The table `Coins.first_rows`."""
    tops = np.arange(1 << _TABLE_BITS, dtype=np.uint64) << np.uint64(ROW_BITS - _TABLE_BITS)
    return np.searchsorted(ends, tops, side="right").astype(np.int64)


class _Room(NamedTuple):
    """Memory for the hashes of one block: states, and the halves of the words to be hashed."""

    state: Any
    halves: Any


@inlined
def _halve(word, halves, i):  # type: ignore[no-untyped-def]
    """Write the two halves of word i."""
    halves[0, i] = np.uint32(word & np.uint64(0xFFFFFFFF))
    halves[1, i] = np.uint32(word >> np.uint64(32))


@inlined
def _parity(word):  # type: ignore[no-untyped-def]
    """The parity of the low 20 bits of a word, which has no others."""
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


@inner
def _draw_coins(how, ids, room, rows, drawn, first):  # type: ignore[no-untyped-def]
    """The row of each report of a block, and the hashes with its masks. Twin: tests/reference/naive.py::tree_coins.

    `how` are the `Coins`. Rows and hashes go to the places from `first` on. (A slice of all the hashes would be slow:
    it has gaps.)
    """
    state, halves = room
    count = ids.shape[0]
    v0, v1, v2, v3 = start(how.low, how.high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(2):
        for i in range(count):
            _halve(ids[i, k], halves, i)
        absorb_block(state, halves[0], count)
        absorb_block(state, halves[1], count)
    finish_block(state, np.int64(4), drawn[0][first:], count)
    for more in range(1, 1 + how.masks // 3):
        longer = state.copy()
        halves[0, :count] = np.uint32(more)
        absorb_block(longer, halves[0], count)
        finish_block(longer, np.int64(5), drawn[more][first:], count)
    for i in range(count):
        coin = drawn[0, first + i] >> np.uint64(64 - ROW_BITS)
        row = how.first_rows[coin >> np.uint64(ROW_BITS - _TABLE_BITS)]
        while coin >= how.ends[row]:
            row += 1
        rows[first + i] = row


@inner
def _find_buckets(tree, paths, rows, room, hashes):  # type: ignore[no-untyped-def]
    """Write the bucket of each path of a block, in the row of its own of the tree's `Rows`, into `hashes`."""
    state, halves = room
    count, words = paths.shape
    v0, v1, v2, v3 = start(tree.low, tree.high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(words):
        for i in range(count):
            _halve(paths[i, k] & tree.parent_masks[rows[i], k], halves, i)
        absorb_block(state, halves[0], count)
        absorb_block(state, halves[1], count)
    for i in range(count):
        halves[0, i] = np.uint32(rows[i])
    absorb_block(state, halves[0], count)
    finish_block(state, 2 * words + 1, hashes, count)
    for i in range(count):
        chunk = tree.chunks[rows[i]]
        base = hashes[i] >> np.uint64(64 - tree.bucket_bits) if chunk < tree.bucket_bits else np.uint64(0)
        if chunk > 0:
            base ^= chunk_bits(paths, i, tree.depths[rows[i]] - chunk, chunk)
        hashes[i] = base


@kernel
def randomize(how, tree, paths, words, keep, out):  # type: ignore[no-untyped-def]
    """Write one symbol for each path. Twin: tests/reference/naive.py::tree_symbol.

    Parameters
    ----------
    how : Coins
    tree : Rows
    paths : uint64 array, shape (reports, words of a path)
    words : uint64 array, shape (reports, 4)
        The id of the report (two words), whether to keep the truth, and the symbol otherwise.
    keep : uint64
        The truth is kept where the third word is below this.
    out : uint8 array
    """
    room = _Room(np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32))
    drawn, rows, buckets = np.empty((3, BLOCK), np.uint64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    bucket_mask = (np.uint64(1) << np.uint64(how.bucket_bits)) - np.uint64(1)
    for first in range(0, paths.shape[0], BLOCK):
        mine, own = paths[first : first + BLOCK], words[first : first + BLOCK]
        _draw_coins(how, own, room, rows, drawn, np.int64(0))
        _find_buckets(tree, mine, rows, room, buckets)
        for i in range(mine.shape[0]):
            symbol = np.uint64(0)
            for j in range(how.masks):
                symbol |= _parity(_mask(drawn, j, i, bucket_mask) & buckets[i]) << np.uint64(j)
            other = own[i, 3] >> np.uint64(64 - how.masks)
            # Both are computed for everyone, and chosen without a branch: the time does not depend on the value.
            truth = np.uint64(own[i, 2] < keep)
            out[first + i] = np.uint8(symbol * truth + other * (np.uint64(1) - truth))


@inner
def _sort_by_row(rows, coins, said, count, many, out_rows, out_coins, out_said):  # type: ignore[no-untyped-def]
    """Write the first `count` reports in the order of their rows, of which there are `many`."""
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


@inner
def _spread(how, rows, coins, said, first, count, flips, places):  # type: ignore[no-untyped-def]
    """For some reports and every c the place ⊕ c_i·mask_i in all sums, doubled, plus 1 where ⟨c,y⟩ is odd."""
    bucket_mask = (np.uint64(1) << np.uint64(how.bucket_bits)) - np.uint64(1)
    for i in range(count):
        places[0, i] = np.uint64(rows[first + i]) << np.uint64(how.bucket_bits + 1)
    for j in range(how.masks):
        for i in range(count):
            odd = (np.uint64(said[first + i]) >> np.uint64(j)) & np.uint64(1)
            flips[i] = _mask(coins, j, first + i, bucket_mask) << np.uint64(1) | odd
        for c in range(1 << j):
            for i in range(count):
                places[(1 << j) + c, i] = places[c, i] ^ flips[i]


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

    Places are computed for a few reports before any is touched: the sums are larger than a cache, and the processor
    overlaps the misses only if no hash stands between them. One row fits better: with many masks it pays to take the
    reports row by row.
    """
    many_masks = how.masks >= _SORTED_FROM
    at_once = max(1, min(_SORTED_AT_ONCE if many_masks else BLOCK, ids.shape[0]))
    room = _Room(np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32))
    rows, coins, said = np.empty(at_once, np.int64), np.empty((3, at_once), np.uint64), np.empty(at_once, np.uint8)
    if many_masks:
        sorted_rows, sorted_coins, sorted_said = np.empty_like(rows), np.empty_like(coins), np.empty_like(said)
    else:
        sorted_rows, sorted_coins, sorted_said = rows, coins, said
    step = min(BLOCK, max(8, 2048 >> how.masks))
    flips, places = np.empty(step, np.uint64), np.empty((1 << how.masks, step), np.uint64)
    for done in range(0, ids.shape[0], at_once):
        count = min(at_once, ids.shape[0] - done)
        for first in range(0, count, BLOCK):
            mine = ids[done + first : done + min(first + BLOCK, count)]
            _draw_coins(how, mine, room, rows, coins, first)
        for i in range(count):
            said[i] = symbols[done + i]
            counts[rows[i]] += 1
        if many_masks:
            _sort_by_row(rows, coins, said, count, counts.shape[0], sorted_rows, sorted_coins, sorted_said)
        for first in range(0, count, step):
            few = min(step, count - first)
            _spread(how, sorted_rows, sorted_coins, sorted_said, first, few, flips, places)
            for c in range(1, 1 << how.masks):
                for i in range(few):
                    sums[places[c, i] >> np.uint64(1)] += 1 - 2 * np.int64(places[c, i] & np.uint64(1))
