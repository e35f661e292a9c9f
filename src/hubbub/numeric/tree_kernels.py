"""The inner loops of the tree mechanism's decoder: buckets, and one step of a beam. Reports are in `tree_reports`.

A row of the tree is (depth, chunk): it looks at the first `depth` bits of a path. Its bucket is the top bits of a
hash of the first depth − chunk bits and the row's number, XORed with the last `chunk` bits: brothers share a block of
buckets, so that one hash serves all of them, and paths with equal chunks (a text that has ended goes on as zeros)
still spread over all buckets. Where the chunk is as wide as a bucket there is no hash.
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


@njit(inline="always")
def _own_scores(path, step, levels, caps, own):  # type: ignore[no-untyped-def]
    """What the rows of the next depth say of each child, each at most its cap.

    Returns the largest and the least that is not hopeless.
    """
    low, high, parent_masks, rows, chunk, bucket_bits, weight, gap, _, _, _ = step
    many = 1 << chunk
    for k in range(rows.shape[0]):
        row = rows[k]
        base = np.int64(_parent_bucket(low, high, path, parent_masks[row], row, chunk, bucket_bits))
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
    # The evidence of an estimate x for a value that is there is about x²/2 in units of its noise.
    limit = best * best * weight - np.float32(2) * gap
    if best > 0 and limit > 0:
        return best, np.sqrt(limit / weight)
    return best, np.float32(-np.inf)


@njit(inline="always")
def _rank(score, used, scale):  # type: ignore[no-untyped-def]
    if scale > 0:
        return score * abs(score) * scale - used
    return score


@njit(cache=True, nogil=True)
def expand(step, levels, caps, paths, scores, nodes, used, out_scores, out_ranks):  # type: ignore[no-untyped-def]
    """Score (that of the parent plus what each row of the next depth says) and rank of all children of each path.

    What a row says counts up to a cap; paths are lists of equal length, with one line of caps for each list. A step
    is (low and high half of the bucket key, parent masks, rows, chunk, bucket bits, 1/noise variance, gap, scale,
    where each chunk leads from each state of a text code, the code bits it uses). Both are −∞ for children
    that the code does not have or whose evidence at this depth is `gap` nats below their best brother's. A rank is
    the score, or for a text code (scale > 0) the evidence in bits less the code bits used.
    Twin: tests/reference/naive.py::tree_children.
    """
    scale, after, more = step[8], step[9], step[10]
    many = 1 << step[4]
    for i in range(paths.shape[0]):
        if scores[i] == -np.inf:
            out_scores[i] = -np.inf
            out_ranks[i] = -np.inf
            continue
        _, least = _own_scores(paths[i], step, levels, caps[i * caps.shape[0] // paths.shape[0]], out_scores[i])
        for c in range(many):
            if out_scores[i, c] < least or (scale > 0 and after[nodes[i], c] < 0):
                out_scores[i, c] = -np.inf
                out_ranks[i, c] = -np.inf
                continue
            out_scores[i, c] += scores[i]
            spent = used[i] + more[nodes[i], c] if scale > 0 else np.float32(0)
            out_ranks[i, c] = _rank(out_scores[i, c], spent, scale)


@njit(cache=True, nogil=True)
def grow(step, levels, caps, paths, scores, nodes, used, root_shift, quota, cut, places, out_scores, out_ranks):  # type: ignore[no-untyped-def]
    """The children that `expand` ranks at or above the cut: place (parent · 2^chunk + chunk), score and rank.

    Only the `quota` best under one root (the first bits of a path), whose paths stand side by side. Returns how many
    there are and how many more the quota turned away. The outputs must have room for all children.
    """
    scale, after, more = step[8], step[9], step[10]
    many = 1 << step[4]
    own = np.empty(many, np.float32)
    filled, first, turned_away = 0, 0, 0
    for i in range(paths.shape[0]):
        if i > 0 and paths[i, 0] >> root_shift != paths[i - 1, 0] >> root_shift:
            if filled - first > quota:
                turned_away += filled - first - quota
                filled = _keep_best(places, out_scores, out_ranks, first, filled, quota)
            first = filled
        best, least = _own_scores(paths[i], step, levels, caps, own)
        if _rank(scores[i] + best, used[i], scale) < cut:
            continue
        for c in range(many):
            if own[c] < least or (scale > 0 and after[nodes[i], c] < 0):
                continue
            score = scores[i] + own[c]
            rank = _rank(score, used[i] + more[nodes[i], c] if scale > 0 else np.float32(0), scale)
            if rank >= cut:
                places[filled] = i * many + c
                out_scores[filled] = score
                out_ranks[filled] = rank
                filled += 1
    if filled - first > quota:
        turned_away += filled - first - quota
        filled = _keep_best(places, out_scores, out_ranks, first, filled, quota)
    return filled, turned_away


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
def log_weights(scores, ranks, some, pulls, bits, scale, out):  # type: ignore[no-untyped-def]
    """For each list, ln Σ exp(pull·score)·2^−bits over some of its paths.

    For a text code (scale > 0) the bits are those given and the code bits, which are the evidence less the rank.
    """
    ln2 = np.log(2.0)
    for i in range(scores.shape[0]):
        pull = pulls[i]
        weights = np.empty(some.shape[1])
        most = -np.inf
        for j in range(some.shape[1]):
            score = scores[i, some[i, j]]
            used = bits
            if scale > 0 and score > -np.inf:
                used += score * abs(score) * scale - ranks[i, some[i, j]]
            weights[j] = pull * score - ln2 * used
            most = max(most, weights[j])
        total = 0.0
        for j in range(some.shape[1]):
            if weights[j] > most - 40:
                total += np.exp(weights[j] - most)
        out[i] = most + np.log(total) if most > -np.inf else -np.inf
