"""What others offer, on the same crowds: the prefix extending method (PEM) written plainly, and pure-ldp's own.

PEM is drawn from its law: under local hashing with fresh random hashes, the reports that support the different
candidates are independent binomial numbers, so nobody has to be simulated one by one. pure-ldp needs old versions of
its dependencies: `pure_ldp` builds a virtual environment for it and runs a script there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from hubbub.simulation import pure_ldp_script

try:
    from benchmarks.own_environment import ask
except ModuleNotFoundError:  # run as a script, whose own folder is on the path
    from own_environment import ask  # type: ignore[import-not-found,no-redef]

LEVEL = 0.05
MOST_CANDIDATES = 20  # bits of the most candidates that tuned PEM scores on one level
PURE_LDP = ("pure-ldp==1.2.0", "numpy<2", "xxhash<4", "scikit-learn", "statsmodels")

Values = NDArray[np.uint64]


class Pem(NamedTuple):
    """Prefix lengths from short to full, the share of the people who report each, and how many prefixes are kept."""

    name: str
    lengths: tuple[int, ...]
    shares: tuple[float, ...]
    keep: int


class Listed(NamedTuple):
    """What PEM ends with: values and counts, and which of them are beyond the noise of all last candidates."""

    values: Values
    counts: NDArray[np.float64]
    accepted: NDArray[np.bool_]


def usual_pem(step: int, keep: int, bits: int = 64) -> Pem:
    """Equal groups, the first for ⌈log₂ keep⌉ + step bits and each of the others for step bits more."""
    start = math.ceil(math.log2(keep))
    lengths = (*range(start + step, bits, step), bits)
    return Pem(f"PEM, steps of {step} bits", lengths, (1 / len(lengths),) * len(lengths), keep)


def tuned_pem(values: int, bits: int = 64) -> Pem:
    """The step and the shares that find the smallest counts, by the Gaussian law, with 2^20 candidates a level."""
    plans = []
    for step in range(4, MOST_CANDIDATES):
        keep = 1 << (MOST_CANDIDATES - step)
        if keep <= values:
            break
        lengths = (*range(MOST_CANDIDATES, bits, step), bits)
        reach = norm.isf(LEVEL / len(lengths))
        needs = [norm.isf((keep - values) / 2**MOST_CANDIDATES) + reach] * (len(lengths) - 1)
        needs.append(norm.isf(LEVEL / 2**MOST_CANDIDATES) + reach)
        total = sum(need**2 for need in needs)
        plan = Pem("PEM, tuned", lengths, tuple(need**2 / total for need in needs), keep)
        plans.append((total, plan))
    return min(plans)[1]


def hashing(epsilon: float) -> tuple[int, float]:
    """The hash range with the least variance, and the chance that a report supports what its author holds."""

    def variance(size: int) -> float:
        true = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
        return (1 - 1 / size) / size / (true - 1 / size) ** 2

    size = min(range(2, 1000), key=variance)
    return size, math.exp(epsilon) / (math.exp(epsilon) + size - 1)


def run_pem(values: Values, epsilon: float, plan: Pem, rng: np.random.Generator) -> Listed:
    """Find heavy hitters among people who hold these 64-bit values; everybody is in one group at random."""
    size, true = hashing(epsilon)
    groups = np.searchsorted(np.cumsum(plan.shares)[:-1], rng.random(len(values)), side="right")
    front, length = np.zeros(1, np.uint64), 0
    for number, longer in enumerate(plan.lengths):
        people = values[groups == number] >> np.uint64(64 - longer)
        step = np.uint64(longer - length)
        ends = np.arange(1 << (longer - length), dtype=np.uint64)
        candidates = ((front << step)[:, np.newaxis] | ends).ravel()
        held = _count(people, candidates)
        support = rng.binomial(held, true) + rng.binomial(len(people) - held, 1 / size)
        keep = min(plan.keep, len(candidates))
        best = np.argpartition(support, len(support) - keep)[len(support) - keep :]
        front, length = candidates[best], longer
    counts = (support[best] - len(people) / size) / (true - 1 / size) * len(values) / len(people)
    return Listed(front, counts, support[best] > binom.isf(LEVEL / len(candidates), len(people), 1 / size))


def _count(people: Values, candidates: Values) -> NDArray[np.int64]:
    """How many people hold each candidate."""
    known, counts = np.unique(people, return_counts=True)
    places = np.minimum(np.searchsorted(known, candidates), len(known) - 1)
    return np.where(known[places] == candidates, counts[places], 0).astype(np.int64)


# pure-ldp, in an environment of its own.


def pure_ldp(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | str:
    """The answers of pure-ldp's PEM to some jobs of `hubbub.simulation.pure_ldp_script`, or why there are none."""
    return ask(pure_ldp_script.__file__, PURE_LDP, jobs)
