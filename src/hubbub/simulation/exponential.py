"""The centralised exponential mechanism: a baseline that is *not* local.

It sees everybody's value. It is here to show what trusting a server would gain: an error of (2/ε)·ln(N/β), which does
not grow with the number of people, while no local mechanism gets below a constant times √n (Theorem 3.3).
"""

from __future__ import annotations

import math

import numpy as np

from hubbub.model.mechanism import Histogram


def heavy_hitter(histogram: Histogram, size: int, epsilon: float, rng: np.random.Generator) -> int | None:
    """The index in the histogram of a value drawn with chance ∝ e^(ε·count/2), or None for a value nobody holds.

    By the Gumbel-max trick: the largest of count + (2/ε)·Gumbel. The values nobody holds need one draw together,
    since the largest of M Gumbel variables is a Gumbel variable moved by ln M. Singletons count as held by nobody
    else: one person cannot move the answer by more than a draw of noise.
    """
    scale = 2.0 / epsilon
    scores = histogram.counts + rng.gumbel(0.0, scale, len(histogram.counts))
    unheld = size - len(histogram.counts) - histogram.singletons
    rest = [
        held + scale * (math.log(many) + rng.gumbel())
        for many, held in ((unheld, 0), (histogram.singletons, 1))
        if many
    ]
    best = int(np.argmax(scores))
    return best if scores[best] >= max(rest, default=-math.inf) else None


def error_bound(size: int, epsilon: float, beta: float) -> float:
    """(2/ε)·ln(N/β): the chosen value has at most this many fewer people than the heavy hitter, with chance 1 − β."""
    return 2 / epsilon * math.log(size / beta)


def worst_crowd(people: int, size: int, epsilon: float, beta: float) -> Histogram:
    """A crowd of about this many people on whom the mechanism errs most: one value leads, all others are even.

    A lead of g people is overlooked with chance (N−1)/(N−1 + e^(εg/2)). The lead is the largest whole number for which
    that is above β: nearly (2/ε)·ln(N/β), so the theorem is nearly sharp, and n does not appear in it.
    """
    lead = math.ceil(2 / epsilon * math.log((size - 1) * (1 - beta) / beta)) - 1
    counts = np.full(size, max(0, people - lead) // size, np.int64)
    counts[0] += lead
    return Histogram(np.arange(size, dtype=np.uint64)[:, np.newaxis], counts)
