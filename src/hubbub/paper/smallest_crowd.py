"""Figure 2: the smallest crowd in which a value held by a share of the people is found.

Everybody else holds a value of her own, as in the Bucket theorem's crowd; for JL-HH, whose universe is too small for
that, the others hold a thousand values equally.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from hubbub.model.mechanism import Histogram
from hubbub.numeric.bisection import first_whole
from hubbub.paper.study import (
    BUCKET,
    BUCKET_HARD,
    DELTA,
    EPSILON,
    GLPS_LEAN,
    GLPS_STAGED,
    JL,
    TREE,
    Cell,
    Contender,
    Study,
    finds_first,
)
from hubbub.simulation import population

JL_TAIL = 1000
WANTED = 0.9
JL_BITS, BITS = 16, 32
_STEPS = 4  # steps of the grid of crowds per doubling
_LAST = 4 * 25  # 3.4·10^9 people: with more, 2^32 values would not be enough for distinct values


@dataclass(frozen=True)
class Crowd:
    """The smallest crowd that was enough (None if none was), and all tried ones as (people, successes, runs)."""

    mechanism: str
    label: str
    calibration: str
    bits: int
    share: float
    runs: int
    people: int | None
    tried: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Setting:
    """The constants of the figure; `wanted` is the share of runs that must succeed."""

    epsilon: float = EPSILON
    delta: float = DELTA
    wanted: float = WANTED
    crowd: str = f"one value held by the share, all others different; JL-HH: the rest over {JL_TAIL} values"


def smallest_crowd(contender: Contender, bits: int, share: float, runs: int, rng: np.random.Generator) -> Crowd:
    """The least crowd, on a grid of steps of 2^(1/4), in which nine of ten runs find the value.

    Starts with a small crowd and quadruples it until the value is found; then bisects. More people never harm.
    """
    tried: dict[int, tuple[int, int]] = {}

    def found(step: int) -> bool:
        """Whether enough of the runs succeed; stops early when too many have failed."""
        people, successes = crowd_size(step), 0
        may_fail = runs - int(np.ceil(WANTED * runs))
        for done, mechanism in enumerate(contender.mechanisms(people, bits, rng), 1):
            crowd = population.heavy(people, share, JL_TAIL if bits == JL_BITS else None, bits, rng)
            if not mechanism.samples_any_crowd:
                crowd = listed(crowd, bits, rng)
            successes += finds_first(mechanism, crowd, rng)
            if done == runs or done - successes > may_fail:
                break
        tried[people] = successes, done
        return successes >= WANTED * runs

    low, high = 0, 2 * _STEPS
    while high < _LAST and not found(high):
        low, high = high, min(high + 2 * _STEPS, _LAST)
    high = first_whole(found, low, high)
    people = crowd_size(high) if high < _LAST else None
    all_tried = tuple((people, *result) for people, result in sorted(tried.items()))
    return Crowd(contender.mechanism, contender.label, contender.calibration, bits, share, runs, people, all_tried)


def listed(crowd: Histogram, bits: int, rng: np.random.Generator) -> Histogram:
    """The same crowd, with a random value for each singleton; only for values of up to 63 bits."""
    alone = np.setdiff1d(rng.integers(0, 1 << bits, 2 * crowd.singletons + 10), crowd.items[:, 0].astype(np.int64))
    others = rng.permutation(alone)[: crowd.singletons].astype(np.uint64)[:, np.newaxis]
    counts = np.concatenate([crowd.counts, np.ones(len(others), np.int64)])
    return Histogram(np.concatenate([crowd.items, others]), counts)


def crowd_size(step: int) -> int:
    """People of a step of the grid."""
    return round(100 * 2 ** (step / _STEPS))


def _cells(quick: bool) -> list[Cell[Crowd]]:
    """Every mechanism, calibration and share."""
    shares, runs = ((0.5, 0.2), 3) if quick else ((0.5, 0.3, 0.2, 0.1, 0.05), 30)
    pairs = [(contender, JL_BITS) for contender in JL.values()]
    pairs += [(c, BITS) for group in (BUCKET, BUCKET_HARD, GLPS_LEAN, GLPS_STAGED) for c in group.values()]
    pairs.append((TREE, BITS))
    return [
        Cell(
            f"{contender.label} {' '.join(contender.options.values())} {bits} bits share {share}",
            partial(smallest_crowd, contender, bits, share, runs),
        )
        for contender, bits in pairs
        for share in shares
    ]


SMALLEST_CROWD: Study[Setting, Crowd] = Study("smallest-crowd", _cells, Setting)
