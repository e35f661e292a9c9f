"""The inner loops of a search: buckets, and all children of some paths; `kernels_beam` keeps the best children.

A row of the tree is (depth, chunk): it looks at the first `depth` bits of a path. Its bucket is the top bits of a
hash of the first depth − chunk bits and the row's number, XORed with the last `chunk` bits: brothers share a block of
buckets, so that one hash serves all of them, and paths with equal chunks (a text that has ended goes on as zeros)
still spread over all buckets. Where the chunk is as wide as a bucket there is no hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hubbub.jit import inlined, inner, kernel
from hubbub.numeric.hashing import BLOCK, absorb_block, fill_block, finish_block, start

EVIDENCE_FROM, EVIDENCE_TO, EVIDENCE_STEPS = 10, 50, 32
"""The table of evidence: from −10 to 50 standard errors, in steps of 1/32."""

_DIGIT_BITS = 11  # three digits hold the 32 bits of a rank
_NEGLIGIBLE = 40.0  # nats; what is less likely by this much does not change a sum


class Rows(NamedTuple):
    """The rows of a tree, as kernels take them.

    Attributes
    ----------
    low, high : uint32
        The key of the buckets.
    parent_masks : uint64 array, shape (rows, limbs of a path)
        The bits of a path that each row hashes.
    depths, chunks : int64 arrays
        Bits of a path that each row looks at, and how many of the last of them are not hashed.
    bucket_bits : int
        Bits of a bucket's number.
    """

    low: Any
    high: Any
    parent_masks: Any
    depths: Any
    chunks: Any
    bucket_bits: int


class Step(NamedTuple):
    """What one step of a search needs to know; the rows of the next depth are those it asks.

    Attributes
    ----------
    asked : int64 array
        Rows of the next depth.
    depth, chunk : int
        Bits of a path down to the next depth, and those of them that are new.
    evidence : float32 array
        For text: bits of evidence of a score, from −EVIDENCE_FROM to EVIDENCE_TO standard errors in steps of
        1/EVIDENCE_STEPS. Empty where paths are ranked by their scores.
    per_error : float32
        Steps of that table for each person of a score.
    after, more : int32 and float32 arrays, shape (states, 2^chunk)
        Where a chunk leads from each state of a text code (negative: nowhere), and the code bits in it.
    done : int
        The state of a text that has ended; its path is complete, and has one child only. −1 for numbers.
    absent, true : float
        The chances that a report matches a value nobody holds, and its holder's value.
    per_person, per_match : float
        1 / people down to the next depth, and matches for each person of a score.
    """

    asked: Any
    depth: int
    chunk: int
    evidence: Any
    per_error: Any
    after: Any
    more: Any
    done: int
    absent: float
    true: float
    per_person: float
    per_match: float


class Room(NamedTuple):
    """Buffers for hashing one block: the hash states, and the 32-bit halves of the words to be hashed."""

    state: Any
    halves: Any


@inlined
def halve(word, halves, i):  # type: ignore[no-untyped-def]
    """Write the two halves of word i."""
    halves[0, i] = np.uint32(word & np.uint64(0xFFFFFFFF))
    halves[1, i] = np.uint32(word >> np.uint64(32))


@inlined
def chunk_bits(paths, i, from_bit, count):  # type: ignore[no-untyped-def]
    """Bits from_bit … from_bit + count − 1 of path i, counted from its first bit, count ≤ 20."""
    index = from_bit >> 6
    offset = from_bit & 63
    value = paths[i, index] << np.uint64(offset)
    if offset + count > 64:
        value |= paths[i, index + 1] >> np.uint64(64 - offset)
    return value >> np.uint64(64 - count)


@inner
def find_buckets(tree, paths, rows, room, out):  # type: ignore[no-untyped-def]
    """Write the bucket of each path of a block, path i in row rows[i] of the `Rows`."""
    state, halves = room
    count, limbs = paths.shape
    v0, v1, v2, v3 = start(tree.low, tree.high)
    fill_block(state, v0, v1, v2, v3, count)
    for k in range(limbs):
        for i in range(count):
            halve(paths[i, k] & tree.parent_masks[rows[i], k], halves, i)
        absorb_block(state, halves[0], count)
        absorb_block(state, halves[1], count)
    for i in range(count):
        halves[0, i] = np.uint32(rows[i])
    absorb_block(state, halves[0], count)
    finish_block(state, 2 * limbs + 1, out, count)
    for i in range(count):
        chunk = tree.chunks[rows[i]]
        base = out[i] >> np.uint64(64 - tree.bucket_bits) if chunk < tree.bucket_bits else np.uint64(0)
        if chunk > 0:
            base ^= chunk_bits(paths, i, tree.depths[rows[i]] - chunk, chunk)
        out[i] = base


@kernel
def buckets(tree, asked, paths, out):  # type: ignore[no-untyped-def]
    """Write the bucket of each path in each of the asked rows: shape (asked rows, paths).

    Twin: tests/reference/naive.py::tree_bucket.
    """
    room = Room(np.empty(4 * BLOCK, np.uint32), np.empty((2, BLOCK), np.uint32))
    rows = np.empty(BLOCK, np.int64)
    for k in range(asked.shape[0]):
        rows[:] = asked[k]
        for first in range(0, paths.shape[0], BLOCK):
            find_buckets(tree, paths[first : first + BLOCK], rows, room, out[k, first : first + BLOCK])


# In the following, `places` are the buckets of the parents in the rows of the next depth, shape (parents, rows). The
# chunk there is 0, so they are those of the first child; if a text has ended, they are those of its only child.


@inlined
def own_score(places, i, step, row_counts, caps):  # type: ignore[no-untyped-def]
    """What the rows of the next depth say of the only child of path i, each at most its cap."""
    own = np.float32(0)
    for k in range(step.asked.shape[0]):
        own += min(row_counts[step.asked[k], places[i, k]], caps[k])
    return own


@inlined
def own_scores(places, i, step, row_counts, caps, own):  # type: ignore[no-untyped-def]
    """Write what the rows of the next depth say of each child of path i, each at most its cap. Returns the largest."""
    many = 1 << step.chunk
    for k in range(step.asked.shape[0]):
        base = places[i, k]
        counts = row_counts[step.asked[k]]
        if k == 0:
            for c in range(many):
                own[c] = min(counts[base ^ c], caps[k])
        else:
            for c in range(many):
                own[c] += min(counts[base ^ c], caps[k])
    best = own[0]
    for c in range(1, many):
        best = max(best, own[c])
    return best


@inlined
def evidence_bits(score, per_error, evidence):  # type: ignore[no-untyped-def]
    """Bits of evidence of a score, by the table; beyond its ends in a straight line."""
    place = score * per_error + np.float32(EVIDENCE_FROM * EVIDENCE_STEPS)
    index = min(max(np.int64(place), 0), evidence.shape[0] - 2)
    return evidence[index] + (place - np.float32(index)) * (evidence[index + 1] - evidence[index])


@inlined
def rank_of(score, used, step):  # type: ignore[no-untyped-def]
    """The score itself, or for a text code the evidence of it in bits less the code bits used."""
    if step.evidence.shape[0] == 0:
        return score
    return evidence_bits(score, step.per_error, step.evidence) - used


@kernel
def expand(step, row_counts, caps, front, places, out_scores, out_ranks):  # type: ignore[no-untyped-def]
    """Score (that of the parent plus what each row of the next depth says) and rank of all children of each path.

    Parameters
    ----------
    step : Step
    row_counts : float32 array, shape (rows, buckets)
        What every row says of every bucket.
    caps : float32 array, shape (lists, asked rows)
        The most that a row may say. The paths are lists of equal length, with one line of caps for each.
    front : Front
        The parents.
    places : int64 array, shape (parents, asked rows)
        Their buckets.
    out_scores, out_ranks : float32 arrays, shape (parents, 2^chunk)
        Both are −∞ for children that the code does not have. See `rank_of`.

    Twin: tests/reference/naive.py::tree_children.
    """
    paths, scores, nodes, used = front
    many = 1 << step.chunk
    for i in range(paths.shape[0]):
        own_caps = caps[i * caps.shape[0] // paths.shape[0]]
        if scores[i] == -np.inf or nodes[i] == step.done:
            for c in range(many):
                out_scores[i, c] = -np.inf
                out_ranks[i, c] = -np.inf
            if scores[i] > -np.inf:
                only = np.int64(chunk_bits(paths, i, step.depth - step.chunk, step.chunk))
                out_scores[i, only] = scores[i] + own_score(places, i, step, row_counts, own_caps)
                out_ranks[i, only] = rank_of(out_scores[i, only], used[i], step)
            continue
        own_scores(places, i, step, row_counts, own_caps, out_scores[i])
        for c in range(many):
            if step.done >= 0 and step.after[nodes[i], c] < 0:
                out_scores[i, c] = -np.inf
                out_ranks[i, c] = -np.inf
                continue
            out_scores[i, c] += scores[i]
            spent = used[i] + step.more[nodes[i], c] if step.done >= 0 else np.float32(0)
            out_ranks[i, c] = rank_of(out_scores[i, c], spent, step)


@inlined
def _digit(counts, wanted):  # type: ignore[no-untyped-def]
    """The digit of the `wanted`-th largest number, given how many have each digit; and which of those it is."""
    digit = np.int64(counts.shape[0] - 1)
    while counts[digit] < wanted:
        wanted -= counts[digit]
        digit -= 1
    return digit, wanted


@kernel
def part(scores, ranks, raw, pulls, bits, per_error, evidence, best, weights):  # type: ignore[no-untyped-def]
    """In each list, find the paths of the highest ranks, and sum up the weights of all others.

    The least rank that is kept is found digit by digit, with a histogram for each of three digits; only the first one
    counts every path. Of paths with that very rank, the first ones are kept.

    Parameters
    ----------
    scores, ranks : float32 arrays, shape (lists, paths)
    raw : uint32 array, shape (lists, paths)
        The bits of `ranks`.
    pulls : float64 array
        Nats for each person of a score, for each list.
    bits : float
        Bits of prior that all paths have; those of a text code are added: they are the evidence less the rank.
    per_error, evidence
        As in `Step`.
    best : int64 array, shape (lists, kept paths)
        Becomes the places of the best paths, in order.
    weights : float64 array
        Becomes ln Σ exp(pull·score)·2^−bits over the other paths of each list; −∞ where there are none.

    Twin: tests/reference/naive.py::parted.
    """
    ln2 = np.log(2.0)
    many, kept = ranks.shape[1], best.shape[1]
    keys = np.empty(many, np.int64)
    near = np.empty(many, np.int64)  # keys that begin like the least one that is kept
    counts = np.empty(1 << _DIGIT_BITS, np.int64)
    others = np.empty(many - kept)
    for i in range(ranks.shape[0]):
        counts[:] = 0
        for j in range(many):  # whole numbers in the order of the ranks
            key = np.int64(raw[i, j])
            key = key + (1 << 31) if key < 1 << 31 else (1 << 32) - 1 - key
            keys[j] = key
            counts[key >> 2 * _DIGIT_BITS] += 1
        least, equal = _digit(counts, kept)
        few = 0
        for j in range(many):
            near[few] = keys[j]
            few += keys[j] >> 2 * _DIGIT_BITS == least
        for digit in range(1, -1, -1):
            counts[:] = 0
            for j in range(few):
                if near[j] >> ((digit + 1) * _DIGIT_BITS) == least:
                    counts[(near[j] >> (digit * _DIGIT_BITS)) & (len(counts) - 1)] += 1
            last, equal = _digit(counts, equal)
            least = (least << _DIGIT_BITS) | last
        filled, left, most = 0, 0, -np.inf
        for j in range(many):
            if keys[j] > least or (keys[j] == least and equal > 0):
                equal -= keys[j] == least
                best[i, filled] = j
                filled += 1
            elif scores[i, j] > -np.inf:
                weight = pulls[i] * scores[i, j] - ln2 * bits
                if weight < most - _NEGLIGIBLE - 1 and evidence.shape[0] > 0:
                    continue  # the bits of the code can only make it less; 1 is more than any rounding
                if evidence.shape[0] > 0:
                    weight -= ln2 * (evidence_bits(scores[i, j], per_error, evidence) - ranks[i, j])
                others[left] = weight
                most = max(most, weight)
                left += 1
        total = 0.0
        for j in range(left):
            if others[j] > most - _NEGLIGIBLE:
                total += np.exp(others[j] - most)
        weights[i] = most + np.log(total) if left > 0 else -np.inf
