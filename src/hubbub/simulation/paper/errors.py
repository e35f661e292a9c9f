"""Figures 1 and 4: the largest error of any count, against the people and against the universe.

Each mechanism estimates the count of every value of the universe; the error is the largest of all. GLPS-HH does it as
in the paper: what it recovers has an estimate, and all other values have 0. Beside the error stand the lower bound of
Theorem 3.3 and the upper bound of the mechanism's own theorem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hubbub.analysis import theorems
from hubbub.mechanisms.glps_hh import GLPSHeavyHitters
from hubbub.mechanisms.jl_hh import JLHeavyHitters
from hubbub.mechanisms.naive_laplace import NaiveLaplace
from hubbub.model.mechanism import Histogram, Mechanism
from hubbub.model.tally import Tally
from hubbub.simulation import exponential, population
from hubbub.simulation.experiment import theorem_bound
from hubbub.simulation.paper.study import (
    BETA,
    BUCKET,
    CALIBRATIONS,
    DELTA,
    EPSILON,
    GLPS,
    JL,
    NAIVE,
    TREE,
    Contender,
    Row,
    Study,
    decades,
    norm,
)

ZIPF = 1.1
VALUES = 1000  # that are held
BITS = 14
PEOPLE = 10**6
_MOST_VALUES_SCORED_ONE_BY_ONE = 2**16
_CHUNK = 1 << 12


@dataclass(frozen=True)
class LargestError:
    """How far off the worst count of the whole universe is, in a few runs."""

    contender: Contender
    people: int
    bits: int
    runs: int

    @property
    def name(self) -> str:
        """Mechanism, calibration and sizes."""
        return f"{self.contender.label} {self.contender.calibration} {self.people} people {self.bits} bits"

    def run(self, rng: np.random.Generator) -> Row:
        """A new crowd and a new survey in each run."""
        errors, bounds = [], []
        for survey in islice(self.contender.surveys(self.people, self.bits, rng), self.runs):
            held = min(VALUES, 2**self.bits - 1)
            crowd = population.zipf(self.people, ZIPF, held, self.bits, rng)
            errors.append(_largest_error(survey.mechanism, survey.ask(crowd, rng), crowd, self.bits))
            bounds.append(_bound_of_all(survey.mechanism, crowd, 2**self.bits))
        return {
            "mechanism": self.contender.mechanism,
            "label": self.contender.label,
            "calibration": self.contender.calibration,
            "people": self.people,
            "bits": self.bits,
            "errors": errors,
            "bound": max(bounds),
            "within_bound": sum(error <= bound for error, bound in zip(errors, bounds, strict=True)),
        }


def _largest_error(mechanism: Mechanism, tally: Tally, crowd: Histogram, bits: int) -> float:
    true = np.zeros(2**bits)
    true[crowd.items[:, 0].astype(np.int64)] = crowd.counts
    if isinstance(mechanism, GLPSHeavyHitters):
        items, values = mechanism.recover(tally)
        true[items[:, 0].astype(np.int64)] -= values
        return float(np.abs(true).max())
    whole = isinstance(mechanism, JLHeavyHitters)  # one transform gives all scores: parts would each pay for it
    chunk = 2**bits if whole else _CHUNK
    worst = 0.0
    for start in range(0, 2**bits, chunk):
        items = np.arange(start, min(start + chunk, 2**bits), dtype=np.uint64)[:, np.newaxis]
        errors = mechanism.estimate(tally, items).counts - true[start : start + chunk]
        worst = max(worst, float(np.abs(errors).max()))
    return worst


def _bound_of_all(mechanism: Mechanism, crowd: Histogram, size: int) -> float:
    """The theorems on the baseline and on JL-HH are about all values at once; the others, by a union over them."""
    if isinstance(mechanism, NaiveLaplace | JLHeavyHitters):
        return theorem_bound(mechanism, crowd.people, norm(crowd), BETA)
    if isinstance(mechanism, GLPSHeavyHitters):
        sparsity = mechanism.layout.sparsity
        rest = float(np.linalg.norm(np.sort(crowd.counts)[:-sparsity].astype(np.float64)))
        # A count is a mean over slots, so the noise of one measurement is √slots times as large.
        noise = mechanism.noise_stderr(crowd.people) * math.sqrt(mechanism.layout.slots * mechanism.layout.cells)
        return theorems.glps_recovery_error(rest, noise, size, sparsity)
    return theorem_bound(mechanism, crowd.people, norm(crowd), BETA / size)


def _people_cells(quick: bool) -> list[LargestError]:
    grid, runs = (decades(3, 9, 1)[::2], 2) if quick else (decades(3, 9, 2), 10)
    contenders = [NAIVE, *JL.values(), *BUCKET.values(), *GLPS.values()]
    cells = [LargestError(contender, people, BITS, runs) for contender in contenders for people in grid]
    # The tally of tree cannot be drawn at once: its people report one by one.
    one_by_one = 10**6 if quick else 10**7
    return cells + [LargestError(TREE, people, BITS, runs) for people in grid if people <= one_by_one]


def _people_setting(quick: bool) -> Mapping[str, Any]:
    del quick
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "beta": BETA,
        "bits": BITS,
        "crowd": f"Zipf {ZIPF} over {VALUES} values",
        "lower_bound": theorems.lower_bound_rmse(EPSILON, DELTA),
        "panels": [[contender[c].label, c] for contender in (JL, BUCKET, GLPS) for c in CALIBRATIONS],
    }


ERROR_AGAINST_PEOPLE = Study("error-against-people", _people_cells, _people_setting)


@dataclass(frozen=True)
class CentralRegret:
    """By how much the centralised exponential mechanism misses the heavy hitter, on the crowd that is worst for it."""

    people: int
    bits: int
    runs: int

    @property
    def name(self) -> str:
        """Sizes."""
        return f"central {self.people} people {self.bits} bits"

    def run(self, rng: np.random.Generator) -> Row:
        """It sees every value."""
        crowd = exponential.worst_crowd(self.people, 2**self.bits, EPSILON, BETA)
        chosen = [exponential.heavy_hitter(crowd, 2**self.bits, EPSILON, rng) for _ in range(self.runs)]
        held = np.array([0 if best is None else int(crowd.counts[best]) for best in chosen])
        regrets = int(crowd.counts.max()) - held
        return {
            "mechanism": "exponential",
            "local": False,
            "people": self.people,
            "bits": self.bits,
            "runs": self.runs,
            "mean_regret": float(np.mean(regrets)),
            "regret": float(np.quantile(regrets, 1 - BETA)),
            "bound": theorems.exponential_error(2**self.bits, EPSILON, BETA),
        }


def _universe_cells(quick: bool) -> list[LargestError | CentralRegret]:
    grid, runs = ((4, 9, 14), 2) if quick else ((2, 4, 6, 8, 10, 12, 14, 16, 18, 20), 10)
    small = [b for b in grid if 2**b <= _MOST_VALUES_SCORED_ONE_BY_ONE]
    cells: list[LargestError | CentralRegret] = []
    for contender in (JL["paper"], JL["onebit"]):
        cells += [LargestError(contender, PEOPLE, bits, runs) for bits in grid]
    for contender in (NAIVE, BUCKET["paper"], BUCKET["onebit"], GLPS["paper"], GLPS["onebit"], TREE):
        cells += [LargestError(contender, PEOPLE, bits, runs) for bits in small]
    return cells + [CentralRegret(PEOPLE, bits, 200 if quick else 1000) for bits in small]


def _universe_setting(quick: bool) -> Mapping[str, Any]:
    return {**_people_setting(quick), "people": PEOPLE}


ERROR_AGAINST_UNIVERSE = Study("error-against-universe", _universe_cells, _universe_setting)
