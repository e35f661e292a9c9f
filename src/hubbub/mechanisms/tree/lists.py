"""Lists: the best paths under each promising root, and the weight of what did not fit in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree import kernels
from hubbub.mechanisms.tree.accept import odds
from hubbub.mechanisms.tree.paths import Front
from hubbub.mechanisms.tree.plan import TEXT_BROAD
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.walk import Walk

_LISTED = 64
_LOOKED_AT = 512  # paths of texts at least, before the list keeps its best: those that end may be nobody's, or gain
_HOPELESS = -10.0  # bits; a list whose best path ranks so low will not be accepted


def list_roots(
    walk: Walk, row_counts: RowCounts, paths: NDArray[np.uint64], sizes: NDArray[np.float64], every: bool = False
) -> tuple[Front, NDArray[np.float64]]:
    """The best paths under the root of each given path, best first, as many for each root; and what was let go.

    That is the weight of all paths that left the list on the way, each counted where it left: in nats, the
    logarithm of the sum of prior times likelihood, for a value of the size that is given. A text
    that has ended has the fingerprint of its path, which speaks for it. Lists of texts with nothing in them that could
    be accepted are left out, unless `every` one is asked for.
    """
    lists, codec = len(paths), walk.tree.codec
    roots = paths & codec.prefix_masks[walk.depths[0]]
    let_go = np.full(lists, -np.inf)
    pulls, costs, caps = odds(walk.tree, row_counts, sizes / max(walk.people.sum(), 1.0))
    said = row_counts.estimates[0, walk.tree.buckets(roots, [0])[:, 0]]
    front = codec.begin(roots, np.minimum(said, caps[:, 0]).astype(np.float32), walk.depths[0])
    if lists == 0:
        return front, let_go
    ranks: NDArray[np.float32] = np.zeros((lists, 1), np.float32)
    for number in range(1, len(walk.depths)):
        scores, ranks = walk.expand(number, row_counts, caps, front)
        # Bits of evidence that a text gains when it ends: the fingerprint bits in its path so far.
        gained = np.float32(codec.unranked_bits[walk.depths[number]])
        ended = front.nodes == codec.done
        ranks[ended] += gained
        scores, ranks = scores.reshape(lists, -1), ranks.reshape(lists, -1)
        width = min(walk.list_widths[number], ranks.shape[1])
        looked_at = min(max(width, _LOOKED_AT) if walk.tree.coded else width, ranks.shape[1])
        best, lost = _part(walk, number, pulls, costs, scores, ranks, looked_at)
        let_go = np.logaddexp(let_go, lost)
        ranks = np.take_along_axis(ranks, best, axis=1)
        chosen = (best + np.arange(lists)[:, np.newaxis] * scores.shape[1]).ravel()
        front = walk.descend(number, front, scores.ravel()[chosen], chosen)
        before, ended = ended[chosen >> walk.chunks[number]], front.nodes == codec.done
        ranks[(ended & ~before).reshape(ranks.shape)] += gained
        ranks[np.isneginf(front.scores).reshape(ranks.shape)] = -np.inf
        if width < looked_at:
            best, lost = _part(walk, number, pulls, costs, front.scores.reshape(ranks.shape), ranks, width)
            let_go = np.logaddexp(let_go, lost)
            ranks = np.take_along_axis(ranks, best, axis=1)
            front = front.take((best + np.arange(lists)[:, np.newaxis] * looked_at).ravel())
        if walk.tree.coded and not every and walk.depths[number] > walk.depths[0] + TEXT_BROAD:
            plain = ranks - gained * (front.nodes == codec.done).reshape(ranks.shape)
            alive = np.flatnonzero(plain.max(axis=1) >= _HOPELESS)
            if len(alive) < lists:
                kept = (np.arange(lists * width).reshape(lists, width))[alive].ravel()
                front, ranks, lists = front.take(kept), ranks[alive], len(alive)
                let_go, pulls, costs, caps = let_go[alive], pulls[alive], costs[alive], caps[alive]
                if lists == 0:
                    return front, let_go
    last, listed = len(walk.depths) - 1, min(_LISTED, ranks.shape[1])
    best, lost = _part(walk, last, pulls, costs, front.scores.reshape(ranks.shape), ranks, listed)
    order = np.argsort(-np.take_along_axis(ranks, best, axis=1), axis=1, kind="stable")
    chosen = np.take_along_axis(best, order, axis=1) + np.arange(lists)[:, np.newaxis] * ranks.shape[1]
    return front.take(chosen.ravel()), np.logaddexp(let_go, lost)


def _part(
    walk: Walk,
    number: int,
    pulls: NDArray[np.float64],
    costs: NDArray[np.float64],
    scores: NDArray[np.float32],
    ranks: NDArray[np.float32],
    kept: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of the best paths in each list, and the logarithm of the sum of prior times likelihood of the rest."""
    bits = float(walk.tree.codec.unranked_bits[walk.depths[number]])
    best, weights = np.empty((len(ranks), kept), np.int64), np.empty(len(ranks))
    ranks = np.ascontiguousarray(ranks)
    scores = np.ascontiguousarray(scores)
    kernels.part(
        scores, ranks, ranks.view(np.uint32), pulls, bits, walk.per_error[number], walk.tables[number], best, weights
    )
    return best, weights - costs * walk.so_far[number]
