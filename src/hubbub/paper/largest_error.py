"""Figures 1 and 4: the largest error of any count, against the people and against the universe.

Each mechanism estimates the count of every value of the universe; the error is the largest of all. GLPS-HH works as in
the paper: recovered values have an estimate, and all other values have 0. The error is shown with the lower bound of
Theorem 3.3 and the upper bound of the mechanism's own theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import numpy as np

from hubbub.mechanisms.subset import MAX_VALUES
from hubbub.paper import theorems
from hubbub.paper.study import (
    BETA,
    BUCKET,
    CALIBRATIONS,
    DELTA,
    EPSILON,
    GLPS,
    JL,
    NAIVE,
    SUBSET,
    TREE,
    Cell,
    Contender,
    Study,
    decades,
)
from hubbub.simulation import exponential, population

ZIPF = 1.1
VALUES = 1000  # the number of values that are held
BITS = 14
PEOPLE = 10**6
_MOST_VALUES_SCORED_ONE_BY_ONE = 2**16


@dataclass(frozen=True)
class Errors:
    """The largest errors of the runs, the largest bound on them, and how many runs stayed within their bound."""

    mechanism: str
    label: str
    calibration: str
    people: int
    bits: int
    errors: tuple[float, ...]
    bound: float
    within_bound: int


@dataclass(frozen=True)
class Regret:
    """By how many people the centralised mechanism misses the heavy hitter: mean, 1 − β quantile, and bound."""

    mechanism: str = field(default="exponential", init=False)
    local: bool = field(default=False, init=False)
    people: int
    bits: int
    runs: int
    mean_regret: float
    regret: float
    bound: float


@dataclass(frozen=True)
class Setting:
    """The constants of the figure. The lower bound is divided by √n; panels are pairs of label and calibration."""

    epsilon: float = EPSILON
    delta: float = DELTA
    beta: float = BETA
    bits: int = BITS
    crowd: str = f"Zipf {ZIPF} over {VALUES} values"
    lower_bound: float = theorems.lower_bound_rmse(EPSILON, DELTA)
    panels: tuple[tuple[str, str], ...] = tuple(
        (group[c].label, c) for group in (JL, BUCKET, GLPS) for c in CALIBRATIONS
    )


@dataclass(frozen=True)
class UniverseSetting(Setting):
    """The same for the figure against the universe, with the number of people in every universe."""

    people: int = PEOPLE


def largest_error(contender: Contender, people: int, bits: int, runs: int, rng: np.random.Generator) -> Errors:
    """How far off the worst count of the whole universe is; a new crowd and a new survey in each run."""
    errors, bounds = [], []
    for mechanism in islice(contender.mechanisms(people, bits, rng), runs):
        crowd = population.zipf(people, ZIPF, min(VALUES, 2**bits - 1), bits, rng)
        counts = mechanism.sample(crowd, rng).counts_of_all()
        errors.append(float(np.abs(counts - crowd.dense_counts(mechanism.size)).max()))
        bounds.append(mechanism.largest_error_bound(crowd, BETA))
    within = sum(error <= bound for error, bound in zip(errors, bounds, strict=True))
    named = contender.mechanism, contender.label, contender.calibration
    return Errors(*named, people, bits, tuple(errors), max(bounds), within)


def error_cell(contender: Contender, people: int, bits: int, runs: int) -> Cell[Errors]:
    """The point of one mechanism, crowd and universe."""
    name = f"{contender.label} {contender.calibration} {people} people {bits} bits"
    return Cell(name, partial(largest_error, contender, people, bits, runs))


def _people_cells(quick: bool) -> list[Cell[Errors]]:
    """Every mechanism and calibration, for crowds of a thousand to a billion."""
    grid, runs = (decades(3, 9, 1)[::2], 2) if quick else (decades(3, 9, 2), 10)
    contenders = [NAIVE, *JL.values(), *BUCKET.values(), *GLPS.values(), TREE]
    return [error_cell(contender, people, BITS, runs) for contender in contenders for people in grid]


ERROR_AGAINST_PEOPLE: Study[Setting, Errors] = Study("error-against-people", _people_cells, Setting)


def central_regret(people: int, bits: int, runs: int, rng: np.random.Generator) -> Regret:
    """By how much the centralised exponential mechanism misses the heavy hitter, on the crowd that is worst for it."""
    crowd = exponential.worst_crowd(people, 2**bits, EPSILON, BETA)
    chosen = [exponential.heavy_hitter(crowd, 2**bits, EPSILON, rng) for _ in range(runs)]
    regrets = int(crowd.counts.max()) - np.array([0 if best is None else int(crowd.counts[best]) for best in chosen])
    quantile, bound = float(np.quantile(regrets, 1 - BETA)), exponential.error_bound(2**bits, EPSILON, BETA)
    return Regret(people, bits, runs, float(np.mean(regrets)), quantile, bound)


def _universe_cells(quick: bool) -> list[Cell[Errors | Regret]]:
    """Every mechanism, and the centralised one, for universes of up to 2^20 values."""
    grid, runs = ((4, 9, 14), 2) if quick else ((2, 4, 6, 8, 10, 12, 14, 16, 18, 20), 10)
    small = [b for b in grid if 2**b <= _MOST_VALUES_SCORED_ONE_BY_ONE]
    cells: list[Cell[Errors | Regret]] = []
    for contender in (JL["paper"], JL["onebit"]):
        cells += [error_cell(contender, PEOPLE, bits, runs) for bits in grid]
    for contender in (NAIVE, BUCKET["paper"], BUCKET["onebit"], GLPS["paper"], GLPS["onebit"], TREE):
        cells += [error_cell(contender, PEOPLE, bits, runs) for bits in small]
    cells += [error_cell(SUBSET, PEOPLE, bits, runs) for bits in grid if 2**bits <= MAX_VALUES]
    runs = 200 if quick else 1000
    cells += [
        Cell(f"central {PEOPLE} people {bits} bits", partial(central_regret, PEOPLE, bits, runs)) for bits in small
    ]
    return cells


ERROR_AGAINST_UNIVERSE: Study[UniverseSetting, Errors | Regret] = Study(
    "error-against-universe", _universe_cells, UniverseSetting
)
