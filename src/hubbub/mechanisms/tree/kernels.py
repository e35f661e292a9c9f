"""The inner loops of a search: buckets, and the descent from the root to whole paths.

A row of a class looks at the first `before + chunk` bits of a path. Its bucket is the low bits of a hash of the class,
the row and the first `before` bits, XORed with the next `chunk` bits: brothers share a block of buckets, so that one
hash serves all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hubbub.jit import inlined, inner, is_compiled, kernel
from hubbub.mechanisms.tree.kernels_paths import read_bits, xor_bits
from hubbub.numeric.hashing import BLOCK, absorb, absorb_block, fill_block, finish_block_low, start
from hubbub.numeric.largest import DIGITS, keep_largest, largest

_SMALL_ROOT = 8  # a root with at most this many paths keeps all of them
_GAP = 40.0  # nats; a path that is less likely than the best of its root by more than this is pruned
_NEGLIGIBLE = 20.0  # nats; what is less likely by this much does not change a sum
_SAMPLE = 1 << 14  # children looked at to see where a beam ends


class Rows(NamedTuple):
    """The rows of a class, as kernels take them.

    Attributes
    ----------
    low, high : uint32
        The key of the buckets.
    bits : int
        Bits of a path.
    befores, chunks : int64 arrays, shape (rows,)
        Bits that each row hashes, and the bits after them that it adds.
    masks : uint32 array, shape (rows, words of a path)
        The bits of each word that a row hashes.
    steps : int
        The first rows, one for each step; those after them repeat the last step.
    bucket_bits : int
        Bits of a bucket's number.
    """

    low: Any
    high: Any
    bits: int
    befores: Any
    chunks: Any
    masks: Any
    steps: int
    bucket_bits: int


class Odds(NamedTuple):
    """What a score says, for the posterior odds of paths.

    Attributes
    ----------
    absent, true : float
        The chances that a report matches a value nobody holds, and its holder's value.
    per_match : float
        People for each match.
    people : float64 array
        Reports down to each step.
    pull, cost : float
        For a list, whose size is known: nats for each person of a score, and against each report. 0 for a beam.
    log_mass : float
        The logarithm of the prior of all values of the class.
    """

    absent: float
    true: float
    per_match: float
    people: Any
    pull: float
    cost: float
    log_mass: float


class Room(NamedTuple):
    """Buffers for hashing one block: the hash states, and a word of each message."""

    state: Any
    words: Any


@inner
def find_buckets(rows, paths, asked, room, out):  # type: ignore[no-untyped-def]
    """Write the bucket of each path of a block, path i in row asked[i]."""
    state, words = room
    count = paths.shape[0]
    v0, v1, v2, v3 = start(rows.low, rows.high)
    fill_block(state, v0, v1, v2, v3, count)
    for i in range(count):
        words[i] = np.uint32(rows.bits << 8 | asked[i])
    absorb_block(state, words, count)
    for k in range((rows.bits + 31) >> 5):
        shift = np.uint64(32 if k & 1 == 0 else 0)
        for i in range(count):
            words[i] = np.uint32((paths[i, k >> 1] >> shift) & np.uint64(0xFFFFFFFF)) & rows.masks[asked[i], k]
        absorb_block(state, words, count)
    finish_block_low(state, 1 + ((rows.bits + 31) >> 5), out, count)
    bucket_mask = (np.uint64(1) << np.uint64(rows.bucket_bits)) - np.uint64(1)
    for i in range(count):
        chunk = rows.chunks[asked[i]]
        out[i] &= bucket_mask
        if chunk > 0:
            out[i] ^= read_bits(paths, i, rows.befores[asked[i]], chunk)


@kernel
def buckets(rows, asked, paths, out):  # type: ignore[no-untyped-def]
    """Write the bucket of each path in each of the asked rows: shape (asked rows, paths).

    Twin: tests/reference/naive.py::tree_bucket.
    """
    room = Room(np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32))
    same = np.empty(BLOCK, np.int64)
    for k in range(asked.shape[0]):
        same[:] = asked[k]
        for first in range(0, paths.shape[0], BLOCK):
            find_buckets(rows, paths[first : first + BLOCK], same, room, out[k, first : first + BLOCK])


@inner
def _first_buckets(rows, row, paths, count, room, out):  # type: ignore[no-untyped-def]
    """Write the bucket of each path's first child in a row. The paths have zeros after the bits that are hashed."""
    state, words = room
    mask = (np.uint64(1) << np.uint64(rows.bucket_bits)) - np.uint64(1)
    a0, a1, a2, a3 = start(rows.low, rows.high)
    a0, a1, a2, a3 = absorb(a0, a1, a2, a3, np.uint32(rows.bits << 8 | row))
    for first in range(0, count, BLOCK):
        few = min(BLOCK, count - first)
        fill_block(state, a0, a1, a2, a3, few)
        for k in range((rows.bits + 31) >> 5):
            shift = np.uint64(32 if k & 1 == 0 else 0)
            for i in range(few):
                words[i] = np.uint32((paths[first + i, k >> 1] >> shift) & np.uint64(0xFFFFFFFF))
            absorb_block(state, words, few)
        finish_block_low(state, 1 + ((rows.bits + 31) >> 5), out[first : first + few], few)
    for i in range(count):
        out[i] &= mask


@inlined
def _score_children(estimates, caps, firsts, i, step, chunk, own, out, at):  # type: ignore[no-untyped-def]
    """Write the scores of all children of path i, from place `at` on: its own, and what each row of the step says."""
    for k in range(firsts.shape[0]):
        said, cap, base = estimates[step + k], caps[step + k], np.int64(firsts[k, i])
        if k == 0:
            for c in range(1 << chunk):
                out[at + c] = own + min(said[base ^ c], cap)
        else:
            for c in range(1 << chunk):
                out[at + c] += min(said[base ^ c], cap)


@inlined
def _least_likely(odds, step, best):  # type: ignore[no-untyped-def]
    """The score below which a path is far less likely than the best one of its root, which has the score `best`.

    It may also be as far behind as the last step can make up for: forged reports of one row can put a neighbour ahead.
    """
    share = min(max(best / max(odds.people[step], 1e-9), 0.0), 1.0)
    held = odds.absent + share * (odds.true - odds.absent)
    pull = np.log(held / odds.absent * (1 - odds.absent) / (1 - held)) / odds.per_match
    last = odds.people[-1] - odds.people[max(odds.people.shape[0] - 2, 0)]
    return np.float32(best - _GAP / pull - share * last) if pull > 0 else np.float32(-np.inf)


@inner
def _thin_roots(rows, odds, step, paths, chunk, quota, places, scores, filled, room):  # type: ignore[no-untyped-def]
    """Of the children at some places, root by root, drop the unlikely ones and all but the best `quota`.

    The children of one root are adjacent. Returns how many stay; `places` and `scores` are moved together.
    """
    chosen, counts, near = room
    shift = np.uint64(64 - rows.chunks[0])
    kept, first = np.int64(0), np.int64(0)
    while first < filled:
        root, end, best = paths[places[first] >> chunk, 0] >> shift, first + 1, scores[first]
        while end < filled and paths[places[end] >> chunk, 0] >> shift == root:
            best = max(best, scores[end])
            end += 1
        least = _least_likely(odds, step, best) if end - first > _SMALL_ROOT else best
        begin = kept
        for j in range(first, end):
            if scores[j] >= least or end - first <= _SMALL_ROOT:
                places[kept], scores[kept] = places[j], scores[j]
                kept += 1
        if kept - begin > quota:
            few = keep_largest(scores[begin:kept].copy(), kept - begin, quota, chosen, counts, near)
            for j in range(few):
                places[begin + j], scores[begin + j] = places[begin + chosen[j]], scores[begin + chosen[j]]
            kept = begin + few
        first = end
    return kept


@inner
def _guess_cut(rows, odds, step, paths, scores, count, chunk, said, wanted, children, room):  # type: ignore[no-untyped-def]
    """About the score of the `wanted`-th best child, from the children of some paths; unlikely ones do not count."""
    estimates, caps, firsts = said
    counts, near = room
    stride = max((count << chunk) // _SAMPLE, 1)
    some, first = np.int64(0), np.int64(0)
    shift = np.uint64(64 - rows.chunks[0])
    while first < count:
        root, best, begin = paths[first, 0] >> shift, np.float32(-np.inf), some
        while first < count and paths[first, 0] >> shift == root:
            _score_children(estimates, caps, firsts, first, step, chunk, scores[first], children, some)
            for c in range(1 << chunk):
                best = max(best, children[some + c])
            some += 1 << chunk
            first += stride
        if some - begin > _SMALL_ROOT << chunk:
            least, end = _least_likely(odds, step, best), some
            some = begin
            for j in range(begin, end):
                if children[j] >= least:
                    children[some] = children[j]
                    some += 1
    share = wanted // stride
    if share >= some:
        return np.float32(-np.inf)
    return largest(children, some, max(share, 1), counts, near)


@inner
def _log_weight(odds, step, depth, scores, count, places, filled):  # type: ignore[no-untyped-def]
    """The logarithm of prior times likelihood of all children of a list that are not at the first `filled` places."""
    cut, equal = np.float32(np.inf), np.int64(0)
    for j in range(filled):
        cut = min(cut, scores[places[j]])
    for j in range(filled):
        equal -= scores[places[j]] == cut
    total = 0.0
    for j in range(count):
        if scores[j] == cut:
            equal += 1
        elif scores[j] < cut:
            nats = odds.pull * (scores[j] - cut)
            if nats > -_NEGLIGIBLE:
                total += np.exp(nats)
    if total + equal <= 0.0:
        return -np.inf
    weight = odds.pull * cut + np.log(total + equal) - odds.cost * odds.people[step]
    return weight - depth * np.log(2.0) + odds.log_mass


@kernel
def descend(rows, estimates, caps, odds, widths, quota, begin, paths, scores):  # type: ignore[no-untyped-def]
    """Go down to whole paths, and keep the best at every step. Twin: `spec.descend`.

    Parameters
    ----------
    rows : Rows
    estimates : float32 array, shape (rows, buckets)
        What every row says of every bucket, in people.
    caps : float32 array, shape (rows,)
        The most that a row may say.
    odds : Odds
    widths : int64 array, shape (steps,)
        How many paths are kept at each step.
    quota : int
        How many of them may have the same root.
    begin : int
        The first step.
    paths, scores : uint64 array of shape (n, limbs) and float32 array
        The paths to begin with, sorted, with zeros below; for step 0 the empty path.

    Returns
    -------
    Paths and scores of full depth, and the log-weight of what was let go on the way (for lists; −∞ for beams).
    """
    limbs = paths.shape[1]
    count, most = np.int64(paths.shape[0]), np.int64(0)
    wide = count
    for step in range(begin, rows.steps):
        most = max(most, wide << rows.chunks[step])
        wide = min(widths[step], wide << rows.chunks[step])
    children, places = np.empty(most, np.float32), np.empty(most, np.int64)
    own, chosen, near = np.empty(most, np.float32), np.empty(most, np.int64), np.empty(most, np.int64)
    counts = np.empty(DIGITS, np.int64)
    room = Room(np.empty(4 * BLOCK, np.uint32), np.empty(BLOCK, np.uint32))
    let_go = -np.inf
    for step in range(begin, rows.steps):
        before, chunk, wanted = rows.befores[step], rows.chunks[step], widths[step]
        last = rows.befores.shape[0] if step == rows.steps - 1 else step + 1
        firsts = np.empty((last - step, count), np.uint64)
        for row in range(step, last):
            _first_buckets(rows, row, paths, count, room, firsts[row - step])
        total, filled, reach = count << chunk, np.int64(0), wanted
        if odds.pull > 0.0 or before == 0:
            for i in range(count):
                _score_children(estimates, caps, firsts, i, step, chunk, scores[i], children, i << chunk)
            filled = keep_largest(children, total, wanted, places, counts, near)
            for j in range(filled):
                own[j] = children[places[j]]
        else:
            for _ in range(3):  # a root with many paths leaves room for others once it is thinned
                said = estimates, caps, firsts
                cut, aim = np.float32(-np.inf), reach + reach // 8
                if total > aim:
                    cut = _guess_cut(rows, odds, step, paths, scores, count, chunk, said, aim, children, (counts, near))
                filled = np.int64(0)
                for i in range(count):
                    _score_children(estimates, caps, firsts, i, step, chunk, scores[i], children, 0)
                    for c in range(1 << chunk):
                        places[filled], own[filled] = i << chunk | c, children[c]
                        filled += children[c] >= cut
                reached = filled
                filled = _thin_roots(rows, odds, step, paths, chunk, quota, places, own, filled, (chosen, counts, near))
                if filled >= wanted - wanted // 8 or reached == total or cut == -np.inf:
                    break
                reach = 4 * reach
        if odds.pull > 0.0 and filled < total:
            lost = _log_weight(odds, step, before + chunk, children, total, places, filled)
            let_go = np.logaddexp(let_go, lost)
        if filled > wanted:
            filled = keep_largest(own[:filled].copy(), filled, wanted, chosen, counts, near)
            for j in range(filled):
                places[j], own[j] = places[chosen[j]], own[chosen[j]]
        grown = np.empty((filled, limbs), np.uint64)
        for j in range(filled):
            for k in range(limbs):
                grown[j, k] = paths[places[j] >> chunk, k]
            if chunk > 0:
                xor_bits(grown, j, before, chunk, np.uint64(places[j] & ((1 << chunk) - 1)))
        paths, scores, count = grown, own[:filled].copy(), filled
    return paths, scores, let_go


def are_compiled() -> bool:
    """True if compiled kernels are cached on disk; if not, the first search takes a dozen seconds longer."""
    return is_compiled(descend)
