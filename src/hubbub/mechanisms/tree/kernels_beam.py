"""The inner loops of a beam: the best children of its paths, root by root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hubbub.jit import inlined, inner, is_compiled, kernel
from hubbub.mechanisms.tree.kernels import chunk_bits, evidence_bits, own_score, own_scores, rank_of

SMALL_ROOT = 8
"""A root with at most this many paths in the beam keeps all of them."""

ROOT_GAP = 40.0
"""Nats. A path that is less likely than the best path of its root by more than this is dropped."""


class Children(NamedTuple):
    """Buffers for the children that are kept: int64 places (parent · 2^chunk + chunk), float32 scores and ranks."""

    places: Any
    scores: Any
    ranks: Any


@kernel
def grow(step, row_counts, caps, front, buckets, root_shift, quota, cut, needed, out):  # type: ignore[no-untyped-def]
    """Keep the children that `expand` ranks at or above the cut. Returns how many, and how many the quota turned away.

    Parameters
    ----------
    step, row_counts, front, buckets
        As in `expand`, where the last one is `places`. Paths with the same root must be adjacent.
    caps : float32 array
        The largest estimate that counts in each of the asked rows.
    root_shift : uint64
        The first limb of a path, shifted right by this, is the number of its root.
    quota : int
        The most children kept under one root; the best ones are.
    cut : float32
        The least rank.
    needed : float32 array
        For each number of code bits used, a score below which no child can reach the cut. This check alone rejects
        most children.
    out : Children
        Where the kept children are written, in order. Must have room for all children.

    Twin: tests/reference/naive.py::best_under_each_root.
    """
    paths, scores, nodes, used = front
    places, out_scores, out_ranks = out
    many = 1 << step.chunk
    own = np.empty(many, np.float32)
    last = needed.shape[0] - 1
    filled, first, turned_away = np.int64(0), np.int64(0), np.int64(0)
    for i in range(paths.shape[0]):
        if i > 0 and paths[i, 0] >> root_shift != paths[i - 1, 0] >> root_shift:
            filled, more = _close_root(step, out, first, filled, quota)
            turned_away += more
            first = filled
        if nodes[i] == step.done:
            only = np.int64(chunk_bits(paths, i, step.depth - step.chunk, step.chunk))
            score = scores[i] + own_score(buckets, i, step, row_counts, caps)
            rank = rank_of(score, used[i], step)
            if rank >= cut:
                places[filled] = i * many + only
                out_scores[filled] = score
                out_ranks[filled] = rank
                filled += 1
            continue
        best = own_scores(buckets, i, step, row_counts, caps, own)
        least = needed[min(np.int64(used[i]), last)] - scores[i]
        if best < least:
            continue
        for c in range(many):
            if own[c] < least or (step.done >= 0 and step.after[nodes[i], c] < 0):
                continue
            score = scores[i] + own[c]
            rank = rank_of(score, used[i] + step.more[nodes[i], c] if step.done >= 0 else np.float32(0), step)
            if rank >= cut:
                places[filled] = i * many + c
                out_scores[filled] = score
                out_ranks[filled] = rank
                filled += 1
    filled, more = _close_root(step, out, first, filled, quota)
    return filled, turned_away + more


@inlined
def _nats(pull, score, rank, step):  # type: ignore[no-untyped-def]
    """Evidence for a path in nats: `pull` per person of its score, less ln 2 per code bit used."""
    if step.evidence.shape[0] == 0:
        return pull * score
    used = evidence_bits(score, step.per_error, step.evidence) - rank
    return pull * score - np.log(2.0) * used


@inner
def _close_root(step, kept_children, first, end, quota):  # type: ignore[no-untyped-def]
    """Of one root's children (from `first` to `end`) drop those far less likely than the best, and apply the quota.

    Returns where the kept children end, and how many the quota turned away. Likelihoods assume a value as large as the
    best path's score: each person of a score then adds `pull` nats, and each code bit takes ln 2.
    """
    places, scores, ranks = kept_children
    if end - first <= SMALL_ROOT:
        return end, np.int64(0)
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
            if _nats(pull, scores[j], ranks[j], step) >= best - ROOT_GAP:
                places[kept], scores[kept], ranks[kept] = places[j], scores[j], ranks[j]
                kept += 1
        end = kept
    if end - first > quota:
        return _keep_best(kept_children, first, end, quota), end - first - quota
    return end, np.int64(0)


@inner
def _largest(values, count):  # type: ignore[no-untyped-def]
    """The count-th largest value, by quickselect, which reorders the values. A sort would take longer to compile."""
    low, high, place = 0, values.shape[0] - 1, values.shape[0] - count
    while low < high:
        middle = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@inner
def _keep_best(kept_children, first, end, count):  # type: ignore[no-untyped-def]
    """Move the `count` best-ranked children from `first` to `end` to the front, in order. Returns where they end."""
    places, scores, ranks = kept_children
    least = _largest(ranks[first:end].copy(), count)
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


@kernel
def share(roots, chunk, wanted, filled, kept_children):  # type: ignore[no-untyped-def]
    """Of the first `filled` children keep about `wanted`: the best of each root, with the same quota for all roots.

    The best wanted/2 children overall are exempt from the quota: where reports are few, many paths without evidence
    have the same rank, and must not crowd out the others. `roots` has the root of each parent; the children of one
    root must be adjacent. Returns where the kept children end.
    Twin: tests/mechanisms/test_tree_kernels.py::test_crowded_roots_share_a_beam.
    """
    places, scores, ranks = kept_children
    high = _largest(ranks[:filled].copy(), min(max(wanted // 2, 1), filled))
    firsts = np.empty(filled + 1, np.int64)
    stay = np.zeros(filled, np.int64)  # for each root, how many children are exempt from the quota
    many = 0
    for j in range(filled):
        if j == 0 or roots[places[j] >> chunk] != roots[places[j - 1] >> chunk]:
            firsts[many] = j
            many += 1
        stay[many - 1] += ranks[j] > high
    firsts[many] = filled
    low, most = np.int64(1), filled  # the largest quota that keeps no more than wanted
    while low < most:
        middle = (low + most + 1) // 2
        total = 0
        for k in range(many):
            total += max(min(firsts[k + 1] - firsts[k], middle), stay[k])
        if total <= wanted:
            low = middle
        else:
            most = middle - 1
    kept = 0
    for k in range(many):
        first, end = firsts[k], firsts[k + 1]
        if end - first > max(low, stay[k]):
            end = _keep_best(kept_children, first, end, max(low, stay[k]))
        for j in range(first, end):
            places[kept], scores[kept], ranks[kept] = places[j], scores[j], ranks[j]
            kept += 1
    return kept


def are_compiled() -> bool:
    """True if compiled kernels are cached on disk; if not, the first search takes a dozen seconds longer."""
    return is_compiled(grow)
