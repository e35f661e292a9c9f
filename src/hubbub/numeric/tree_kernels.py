"""The inner loops of the tree mechanism's decoder: buckets, and one step of a beam. Reports are in `tree_reports`.

A row of the tree is (depth, chunk): it looks at the first `depth` bits of a path. Its bucket is the top bits of a
hash of the first depth − chunk bits and the row's number, XORed with the last `chunk` bits: brothers share a block of
buckets, so that one hash serves all of them, and paths with equal chunks (a text that has ended goes on as zeros)
still spread over all buckets. Where the chunk is as wide as a bucket there is no hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from hubbub.numeric.hashing import absorb, finish, start

ROW_BITS = 24
MASK_BITS = 20
MAX_MASKS = 8
_SMALL_ROOT, _ROOT_GAP = 8, 40.0  # paths, nats
EVIDENCE_FROM, EVIDENCE_TO, EVIDENCE_STEPS = 10, 50, 32  # the table of evidence, in standard errors


@njit(inline="always")
def _low32(word):  # type: ignore[no-untyped-def]
    return np.uint32(word & np.uint64(0xFFFFFFFF))


@njit(inline="always")
def _high32(word):  # type: ignore[no-untyped-def]
    return np.uint32(word >> np.uint64(32))


@njit(inline="always")
def chunk_bits(path, from_bit, count):  # type: ignore[no-untyped-def]
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
    return base ^ chunk_bits(path, depth - chunk, chunk)


@njit(cache=True, nogil=True)
def buckets(low, high, paths, parent_mask, row, depth, chunk, bucket_bits, out):  # type: ignore[no-untyped-def]
    """The bucket of each path in one row. Twin: tests/reference/naive.py::tree_bucket."""
    for i in range(paths.shape[0]):
        out[i] = _bucket(low, high, paths[i], parent_mask, row, depth, chunk, bucket_bits)


class Step(NamedTuple):
    """What one step of a search needs to know of the tree; the rows of the next depth are those it asks.

    Attributes
    ----------
    low, high : uint32
        The key of the buckets.
    parent_masks : uint64 array, shape (all rows, words of a path)
        The bits of a path that each row hashes.
    rows : int64 array
        Rows of the next depth.
    depth, chunk, bucket_bits : int
        Bits of a path down to the next depth, those of them that are new, and bits of a bucket's number.
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

    low: Any
    high: Any
    parent_masks: Any
    rows: Any
    depth: int
    chunk: int
    bucket_bits: int
    evidence: Any
    per_error: Any
    after: Any
    more: Any
    done: int
    absent: float
    true: float
    per_person: float
    per_match: float


@njit(inline="always")
def _own_score(path, step, levels, caps, chunk):  # type: ignore[no-untyped-def]
    """What the rows of the next depth say of one child, each at most its cap."""
    own = np.float32(0)
    for k in range(step.rows.shape[0]):
        row = step.rows[k]
        base = _parent_bucket(step.low, step.high, path, step.parent_masks[row], row, step.chunk, step.bucket_bits)
        own += min(levels[row, np.int64(base) ^ chunk], caps[k])
    return own


@njit(inline="always")
def _own_scores(path, step, levels, caps, own):  # type: ignore[no-untyped-def]
    """What the rows of the next depth say of each child, each at most its cap. Returns the largest."""
    many = 1 << step.chunk
    for k in range(step.rows.shape[0]):
        row = step.rows[k]
        base = np.int64(
            _parent_bucket(step.low, step.high, path, step.parent_masks[row], row, step.chunk, step.bucket_bits)
        )
        level = levels[row]
        if k == 0:
            for c in range(many):
                own[c] = min(level[base ^ c], caps[k])
        else:
            for c in range(many):
                own[c] += min(level[base ^ c], caps[k])
    best = own[0]
    for c in range(1, many):
        best = max(best, own[c])
    return best


@njit(inline="always")
def evidence_bits(score, per_error, evidence):  # type: ignore[no-untyped-def]
    """Bits of evidence of a score, by the table; beyond its ends in a straight line."""
    place = score * per_error + np.float32(EVIDENCE_FROM * EVIDENCE_STEPS)
    index = min(max(np.int64(place), 0), evidence.shape[0] - 2)
    return evidence[index] + (place - np.float32(index)) * (evidence[index + 1] - evidence[index])


@njit(inline="always")
def _rank(score, used, step):  # type: ignore[no-untyped-def]
    if step.evidence.shape[0] == 0:
        return score
    return evidence_bits(score, step.per_error, step.evidence) - used


@njit(cache=True, nogil=True)
def expand(step, levels, caps, paths, scores, nodes, used, out_scores, out_ranks):  # type: ignore[no-untyped-def]
    """Score (that of the parent plus what each row of the next depth says) and rank of all children of each path.

    What a row says counts up to a cap; paths are lists of equal length, with one line of caps for each list. Both are
    −∞ for children that the code does not have. A rank is the score, or for a text code the evidence in bits less the
    code bits used. Twin: tests/reference/naive.py::tree_children.
    """
    many = 1 << step.chunk
    for i in range(paths.shape[0]):
        own_caps = caps[i * caps.shape[0] // paths.shape[0]]
        if scores[i] == -np.inf or nodes[i] == step.done:
            for c in range(many):
                out_scores[i, c] = -np.inf
                out_ranks[i, c] = -np.inf
            if scores[i] > -np.inf:
                only = np.int64(chunk_bits(paths[i], step.depth - step.chunk, step.chunk))
                out_scores[i, only] = scores[i] + _own_score(paths[i], step, levels, own_caps, only)
                out_ranks[i, only] = _rank(out_scores[i, only], used[i], step)
            continue
        _own_scores(paths[i], step, levels, own_caps, out_scores[i])
        for c in range(many):
            if step.done >= 0 and step.after[nodes[i], c] < 0:
                out_scores[i, c] = -np.inf
                out_ranks[i, c] = -np.inf
                continue
            out_scores[i, c] += scores[i]
            spent = used[i] + step.more[nodes[i], c] if step.done >= 0 else np.float32(0)
            out_ranks[i, c] = _rank(out_scores[i, c], spent, step)


@njit(cache=True, nogil=True)
def grow(  # type: ignore[no-untyped-def]
    step, levels, caps, paths, scores, nodes, used, root_shift, quota, cut, needed, places, out_scores, out_ranks
):
    """The children that `expand` ranks at or above the cut: place (parent · 2^chunk + chunk), score and rank.

    Only the `quota` best under one root (the first bits of a path), whose paths stand side by side. Returns how many
    there are and how many more the quota turned away. The outputs must have room for all children. `needed` has, for
    each number of code bits used, a score that no child with a lower one can reach the cut with: most children are
    turned away by that alone.
    """
    many = 1 << step.chunk
    own = np.empty(many, np.float32)
    last = needed.shape[0] - 1
    filled, first, turned_away = 0, 0, 0
    for i in range(paths.shape[0]):
        if i > 0 and paths[i, 0] >> root_shift != paths[i - 1, 0] >> root_shift:
            filled, more = _close_root(step, places, out_scores, out_ranks, first, filled, quota)
            turned_away += more
            first = filled
        if nodes[i] == step.done:
            only = np.int64(chunk_bits(paths[i], step.depth - step.chunk, step.chunk))
            score = scores[i] + _own_score(paths[i], step, levels, caps, only)
            rank = _rank(score, used[i], step)
            if rank >= cut:
                places[filled] = i * many + only
                out_scores[filled] = score
                out_ranks[filled] = rank
                filled += 1
            continue
        best = _own_scores(paths[i], step, levels, caps, own)
        least = needed[min(np.int64(used[i]), last)] - scores[i]
        if best < least:
            continue
        for c in range(many):
            if own[c] < least or (step.done >= 0 and step.after[nodes[i], c] < 0):
                continue
            score = scores[i] + own[c]
            rank = _rank(score, used[i] + step.more[nodes[i], c] if step.done >= 0 else np.float32(0), step)
            if rank >= cut:
                places[filled] = i * many + c
                out_scores[filled] = score
                out_ranks[filled] = rank
                filled += 1
    filled, more = _close_root(step, places, out_scores, out_ranks, first, filled, quota)
    return filled, turned_away + more


@njit(inline="always")
def _nats(pull, score, rank, step):  # type: ignore[no-untyped-def]
    if step.evidence.shape[0] == 0:
        return pull * score
    used = evidence_bits(score, step.per_error, step.evidence) - rank
    return pull * score - np.log(2.0) * used


@njit(cache=True, nogil=True)
def _close_root(step, places, scores, ranks, first, end, quota):  # type: ignore[no-untyped-def]
    """Of a root's paths keep those that are not hopeless beside its best one, and of these the best, up to a quota.

    Returns where they end, and how many the quota turned away. If a value as large as the best path's score is there,
    each person of a score speaks for its path with `pull` nats, and each code bit against it with ln 2.
    """
    if end - first <= _SMALL_ROOT:
        return end, 0
    largest = first
    for j in range(first + 1, end):
        if ranks[j] > ranks[largest]:
            largest = j
    held = step.absent + min(max(scores[largest] * step.per_person, 0.0), 1.0) * (step.true - step.absent)
    pull = np.log(held / step.absent * (1 - step.absent) / (1 - held)) * step.per_match
    if pull > 0:
        best = _nats(pull, scores[largest], ranks[largest], step)
        kept = first
        for j in range(first, end):
            if _nats(pull, scores[j], ranks[j], step) >= best - _ROOT_GAP:
                places[kept], scores[kept], ranks[kept] = places[j], scores[j], ranks[j]
                kept += 1
        end = kept
    if end - first > quota:
        return _keep_best(places, scores, ranks, first, end, quota), end - first - quota
    return end, 0


@njit(cache=True, nogil=True)
def _keep_best(places, scores, ranks, first, end, count):  # type: ignore[no-untyped-def]
    """Move the best ranks of a stretch to its front, in order; where they stop."""
    least = np.sort(ranks[first:end])[end - first - count]
    ties = count
    for j in range(first, end):
        ties -= ranks[j] > least
    kept = first
    for j in range(first, end):
        if ranks[j] == least:
            ties -= 1
        if ranks[j] > least or (ranks[j] == least and ties >= 0):
            places[kept], scores[kept], ranks[kept] = places[j], scores[j], ranks[j]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def share(roots, chunk, wanted, filled, places, scores, ranks):  # type: ignore[no-untyped-def]
    """Of the first `filled` children keep about as many as wanted, the best of each root, with one quota for all roots.

    `roots` has the root of each parent; the children of one root stand side by side. Returns where they end.
    """
    firsts = np.empty(filled + 1, np.int64)
    many = 0
    for j in range(filled):
        if j == 0 or roots[places[j] >> chunk] != roots[places[j - 1] >> chunk]:
            firsts[many] = j
            many += 1
    firsts[many] = filled
    low, high = 1, filled  # the largest quota that keeps no more than wanted
    while low < high:
        middle = (low + high + 1) // 2
        total = 0
        for k in range(many):
            total += min(firsts[k + 1] - firsts[k], middle)
        if total <= wanted:
            low = middle
        else:
            high = middle - 1
    kept = 0
    for k in range(many):
        first, end = firsts[k], firsts[k + 1]
        if end - first > low:
            end = _keep_best(places, scores, ranks, first, end, low)
        for j in range(first, end):
            places[kept], scores[kept], ranks[kept] = places[j], scores[j], ranks[j]
            kept += 1
    return kept


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
def log_weights(scores, ranks, some, pulls, bits, per_error, evidence, out):  # type: ignore[no-untyped-def]
    """For each list, ln Σ exp(pull·score)·2^−bits over some of its paths.

    For a text code (evidence is not empty) code bits come to the bits: they are the evidence less the rank.
    Twin: tests/reference/naive.py::log_weight.
    """
    ln2 = np.log(2.0)
    for i in range(scores.shape[0]):
        pull = pulls[i]
        weights = np.empty(some.shape[1])
        most = -np.inf
        for j in range(some.shape[1]):
            score = scores[i, some[i, j]]
            code = 0.0
            if evidence.shape[0] > 0 and score > -np.inf:
                code = evidence_bits(score, per_error, evidence) - ranks[i, some[i, j]]
            weights[j] = pull * score - ln2 * (bits + code)
            most = max(most, weights[j])
        total = 0.0
        for j in range(some.shape[1]):
            if weights[j] > most - 40:
                total += np.exp(weights[j] - most)
        out[i] = most + np.log(total) if most > -np.inf else -np.inf
