"""Figure 5: the lower bound, who attains it, and what trust would buy (Theorem 3.3).

Two values and fair bits. Local mechanisms are off by a multiple of √n; the centralised exponential mechanism is off by
a number of people that does not depend on n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hubbub.analysis import theorems
from hubbub.model.mechanism import Histogram
from hubbub.numeric.tails import normal_quantile
from hubbub.simulation import exponential, lower_bound
from hubbub.simulation.lower_bound import root_mean_square
from hubbub.simulation.paper.study import (
    BETA,
    BUCKET,
    DELTA,
    EPSILON,
    JL,
    NAIVE,
    Contender,
    Row,
    Study,
    decades,
)

_TWO = np.array([[0], [1]], np.uint64)
FAILURE_EPSILONS = (0.5, 1.0, 2.0)
FAILURE_PEOPLE = 10**6
REGRETS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class BestLocal:
    """The best that anybody can do with (ε, δ) reports of fair bits."""

    people: int
    runs: int

    @property
    def name(self) -> str:
        """The size."""
        return f"best {self.people} people"

    def run(self, rng: np.random.Generator) -> Row:
        """All rounds at once."""
        rounds = lower_bound.play(self.people, EPSILON, DELTA, self.runs, rng)
        return _row(
            "best local", True, self.people, rounds.posterior_means() - rounds.ones, rounds.regrets(rng).astype(float)
        )


@dataclass(frozen=True)
class OfTwo:
    """A mechanism of this library on fair bits."""

    contender: Contender
    people: int
    runs: int

    @property
    def name(self) -> str:
        """Mechanism, calibration and size."""
        return f"{self.contender.label} {self.contender.calibration} {self.people} people"

    def run(self, rng: np.random.Generator) -> Row:
        """The estimate of the count of value 1, and the value with the larger estimate."""
        ones = rng.binomial(self.people, 0.5, self.runs)
        estimates = np.empty((self.runs, 2))
        for run, survey in enumerate(islice(self.contender.surveys(self.people, 1, rng), self.runs)):
            crowd = Histogram(_TWO, np.array([self.people - ones[run], ones[run]]))
            estimates[run] = survey.mechanism.estimate(survey.ask(crowd, rng), _TWO).counts
        regrets = lower_bound.regrets(self.people, ones, np.argmax(estimates, axis=1))
        label = " ".join(filter(None, (self.contender.label, self.contender.calibration)))
        return _row(label, True, self.people, estimates[:, 1] - ones, regrets.astype(float))


@dataclass(frozen=True)
class Central:
    """The centralised exponential mechanism, on the crowd that is worst for it; it counts with noise of scale 1/ε."""

    people: int
    runs: int

    @property
    def name(self) -> str:
        """The size."""
        return f"central {self.people} people"

    def run(self, rng: np.random.Generator) -> Row:
        """It sees every bit."""
        crowd = exponential.worst_crowd(self.people, 2, EPSILON, BETA)
        chosen = np.array([exponential.heavy_hitter(crowd, 2, EPSILON, rng) for _ in range(self.runs)], np.int64)
        errors = rng.laplace(0.0, 1 / EPSILON, self.runs)
        regrets = lower_bound.regrets(crowd.people, np.full(self.runs, crowd.counts[1]), chosen)
        return _row("central", False, self.people, errors, regrets.astype(float))


def _row(label: str, local: bool, people: int, errors: Any, regrets: Any) -> Row:
    return {
        "kind": "error",
        "label": label,
        "local": local,
        "people": people,
        "runs": len(errors),
        "rmse": root_mean_square(errors),
        "regret": float(np.quantile(regrets, 1 - BETA)),
        "mean_regret": float(np.mean(regrets)),
    }


@dataclass(frozen=True)
class Failure:
    """How often the best local choice misses the heavy hitter by more than c·√n."""

    epsilon: float
    runs: int

    @property
    def name(self) -> str:
        """The ε."""
        return f"failure at epsilon {self.epsilon}"

    def run(self, rng: np.random.Generator) -> Row:
        """All c from the same rounds."""
        regrets = lower_bound.play(FAILURE_PEOPLE, self.epsilon, 0.0, self.runs, rng).regrets(rng)
        cuts = [c * math.sqrt(FAILURE_PEOPLE) for c in REGRETS]
        return {
            "kind": "failure",
            "epsilon": self.epsilon,
            "people": FAILURE_PEOPLE,
            "runs": self.runs,
            "c": list(REGRETS),
            "failures": [int((regrets > cut).sum()) for cut in cuts],
            "formula": [theorems.lower_bound_failure(c, self.epsilon) for c in REGRETS],
        }


def _cells(quick: bool) -> list[BestLocal | OfTwo | Central | Failure]:
    grid = decades(2, 9, 1)[1 if quick else 0 :: 2 if quick else 1]
    cells: list[BestLocal | OfTwo | Central | Failure] = []
    cells += [BestLocal(people, 10_000 if quick else 200_000) for people in grid]
    cells += [Central(people, 2000 if quick else 20_000) for people in grid]
    contenders = (NAIVE, JL["paper"], JL["onebit"], BUCKET["onebit"])
    cells += [OfTwo(contender, people, 40 if quick else 500) for contender in contenders for people in grid]
    cells += [Failure(epsilon, 20_000 if quick else 1_000_000) for epsilon in FAILURE_EPSILONS]
    return cells


def _setting(quick: bool) -> Mapping[str, Any]:
    del quick
    fine = [k / 20 for k in range(51)]
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "beta": BETA,
        "bits": 1,
        "crowd": "every person holds one of two values, by a fair coin",
        "rmse_bound": theorems.lower_bound_rmse(EPSILON, DELTA),
        "guess_regret": normal_quantile(BETA),
        "regret_bound": theorems.lower_bound_regret(BETA, EPSILON, DELTA),
        "central_bound": theorems.exponential_error(2, EPSILON, BETA),
        "curves": [
            {"epsilon": e, "c": fine, "chance": [theorems.lower_bound_failure(c, e) for c in fine]}
            for e in FAILURE_EPSILONS
        ],
    }


SEPARATION = Study("separation", _cells, _setting)
