"""Figures 1 and 4: the largest error of any count, against the people and against the universe.

Each mechanism estimates the count of every value of the universe; the error is the largest of all. GLPS-HH works as in
the paper: recovered values have an estimate, and all other values have 0. The error is shown with the lower bound of
Theorem 3.3 and the upper bound of the mechanism's own theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    Contender,
    CrowdSetting,
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
class Setting(CrowdSetting):
    """The constants of the figure. The lower bound is divided by √n; panels are pairs of label and calibration."""

    lower_bound: float
    panels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class UniverseSetting(Setting):
    """The same for the figure against the universe, with the number of people in every universe."""

    people: int


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

    def run(self, rng: np.random.Generator) -> Errors:
        """A new crowd and a new survey in each run."""
        errors, bounds = [], []
        for mechanism in islice(self.contender.mechanisms(self.people, self.bits, rng), self.runs):
            held = min(VALUES, 2**self.bits - 1)
            crowd = population.zipf(self.people, ZIPF, held, self.bits, rng)
            counts = mechanism.sample(crowd, rng).counts_of_all()
            errors.append(float(np.abs(counts - crowd.dense_counts(mechanism.size)).max()))
            bounds.append(mechanism.largest_error_bound(crowd, BETA))
        return Errors(
            self.contender.mechanism,
            self.contender.label,
            self.contender.calibration,
            self.people,
            self.bits,
            errors=tuple(errors),
            bound=max(bounds),
            within_bound=sum(error <= bound for error, bound in zip(errors, bounds, strict=True)),
        )


def _people_cells(quick: bool) -> list[LargestError]:
    """Every mechanism and calibration, for crowds of a thousand to a billion."""
    grid, runs = (decades(3, 9, 1)[::2], 2) if quick else (decades(3, 9, 2), 10)
    contenders = [NAIVE, *JL.values(), *BUCKET.values(), *GLPS.values(), TREE]
    return [LargestError(contender, people, BITS, runs) for contender in contenders for people in grid]


def _people_setting() -> Setting:
    """The constants of the figure."""
    return Setting(
        EPSILON,
        DELTA,
        BETA,
        BITS,
        crowd=f"Zipf {ZIPF} over {VALUES} values",
        lower_bound=theorems.lower_bound_rmse(EPSILON, DELTA),
        panels=tuple((contender[c].label, c) for contender in (JL, BUCKET, GLPS) for c in CALIBRATIONS),
    )


ERROR_AGAINST_PEOPLE: Study[Setting, Errors] = Study("error-against-people", _people_cells, _people_setting)


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

    def run(self, rng: np.random.Generator) -> Regret:
        """Run the centralised mechanism on its worst crowd."""
        crowd = exponential.worst_crowd(self.people, 2**self.bits, EPSILON, BETA)
        chosen = [exponential.heavy_hitter(crowd, 2**self.bits, EPSILON, rng) for _ in range(self.runs)]
        held = np.array([0 if best is None else int(crowd.counts[best]) for best in chosen])
        regrets = int(crowd.counts.max()) - held
        return Regret(
            self.people,
            self.bits,
            self.runs,
            mean_regret=float(np.mean(regrets)),
            regret=float(np.quantile(regrets, 1 - BETA)),
            bound=exponential.error_bound(2**self.bits, EPSILON, BETA),
        )


def _universe_cells(quick: bool) -> list[LargestError | CentralRegret]:
    """Every mechanism, and the centralised one, for universes of up to 2^20 values."""
    grid, runs = ((4, 9, 14), 2) if quick else ((2, 4, 6, 8, 10, 12, 14, 16, 18, 20), 10)
    small = [b for b in grid if 2**b <= _MOST_VALUES_SCORED_ONE_BY_ONE]
    cells: list[LargestError | CentralRegret] = []
    for contender in (JL["paper"], JL["onebit"]):
        cells += [LargestError(contender, PEOPLE, bits, runs) for bits in grid]
    for contender in (NAIVE, BUCKET["paper"], BUCKET["onebit"], GLPS["paper"], GLPS["onebit"], TREE):
        cells += [LargestError(contender, PEOPLE, bits, runs) for bits in small]
    cells += [LargestError(SUBSET, PEOPLE, bits, runs) for bits in grid if 2**bits <= MAX_VALUES]
    return cells + [CentralRegret(PEOPLE, bits, 200 if quick else 1000) for bits in small]


def _universe_setting() -> UniverseSetting:
    """The constants of the figure against people, plus the number of people."""
    return UniverseSetting(**vars(_people_setting()), people=PEOPLE)


ERROR_AGAINST_UNIVERSE: Study[UniverseSetting, Errors | Regret] = Study(
    "error-against-universe", _universe_cells, _universe_setting
)
