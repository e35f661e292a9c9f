"""The whole search in a screen of numpy. Read this first; `search` does the same fast, and guards against collisions.

Values are numbers, scrambled into paths of bits. People are split into rows. In row r everybody reports, privately, on
the first bits of her path, more of them in each row; `said(row, path)` is the estimate of how many of that row's people
have a path that begins so. A value's count is the sum over all rows. Nobody can score all 2^64 paths, so they are
grown step by step from the root, and only the best are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.shape import BitClass

Said = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]
"""What a row says of whole paths of its depth, as numbers: people, in excess of what an absent value gets."""


def descend(
    kind: BitClass, rows: int, said: Said, width: int, start: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best paths of a class, and their scores: from the empty path down, the best `width` at every step.

    With `start`, a root, only paths below it are searched: that is a list. Without, it is a beam.
    """
    paths, scores, first = np.zeros(1, np.int64), np.zeros(1), 0
    if start is not None:
        paths, scores, first = start, said(0, start), 1
    for step in range(first, len(kind.steps)):
        chunk = kind.steps[step]
        paths = np.add.outer(paths << chunk, np.arange(1 << chunk)).ravel()  # every path goes on in 2^chunk ways
        scores = np.repeat(scores, 1 << chunk)
        for row in kind.rows(step, rows):  # the last step has several rows
            scores = scores + said(row, paths)
        best = np.sort(np.argsort(-scores, kind="stable")[:width])
        paths, scores = paths[best], scores[best]
    return paths, scores


def find(
    kind: BitClass, people: NDArray[np.float64], said: Said, law: MatchLaw, level: float, beam: int, listed: int
) -> dict[int, float]:
    """The paths of values that many hold, with their counts; one for each root."""
    everybody = int(people.sum())
    # An absent value's matches are binomial: with a chance of level/4 at most, any of the 2^bits of them passes.
    least = law.threshold_of(everybody, math.log(level / 4) - math.log(2) * kind.bits)
    paths, scores = descend(kind, len(people), said, beam)
    found = {}
    for root in np.unique(paths[scores >= least] >> (kind.bits - kind.steps[0])).tolist():
        # The value may have neighbours that share most of its path: are they much less likely than the best one?
        paths, scores = descend(kind, len(people), said, listed, np.array([root]))
        best = int(np.argmax(scores))
        pull = law.odds(scores[[best]] / everybody)[0][0]  # nats for each person of a score
        rivals = np.exp(pull * (np.delete(scores, best) - scores[best])).sum()
        if scores[best] >= least and rivals <= level / 4:
            found[int(paths[best])] = float(scores[best])
    return found
