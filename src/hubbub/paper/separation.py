"""Figure 5: the lower bound, the mechanisms that attain it, and what trusting a server would gain (Theorem 3.3).

Two values and fair bits. Local mechanisms are off by a multiple of √n; the centralised exponential mechanism is off by
a number of people that does not depend on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hubbub.model.mechanism import Histogram
from hubbub.numeric.tails import normal_quantile
from hubbub.paper import lower_bound, theorems
from hubbub.paper.study import (
    BETA,
    BUCKET,
    DELTA,
    EPSILON,
    JL,
    NAIVE,
    SUBSET,
    TREE,
    Contender,
    CrowdSetting,
    Study,
    decades,
)
from hubbub.simulation import exponential

_TWO = np.array([[0], [1]], np.uint64)
FAILURE_EPSILONS = (0.5, 1.0, 2.0)
FAILURE_PEOPLE = 10**6
ONE_BY_ONE = 10**5  # people in the largest crowd for tree, whose reports are made one by one
REGRETS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Misses:
    """The errors of one way to count and to choose the larger of two values, all in people.

    `rmse` is of the count of value 1. `regret` is by how much the larger count exceeds that of the chosen value: the 1
    − β quantile over the runs, and its mean.
    """

    kind: str = field(default="error", init=False)
    label: str
    local: bool
    people: int
    runs: int
    rmse: float
    regret: float
    mean_regret: float


@dataclass(frozen=True)
class Failures:
    """How often the best local choice misses by more than c·√n: for each c, the runs that do, and the formula."""

    kind: str = field(default="failure", init=False)
    epsilon: float
    people: int
    runs: int
    c: tuple[float, ...]
    failures: tuple[int, ...]
    formula: tuple[float, ...]


@dataclass(frozen=True)
class Curve:
    """The formula for the chance of failure, on a fine grid of c."""

    epsilon: float
    c: tuple[float, ...]
    chance: tuple[float, ...]


@dataclass(frozen=True)
class Setting(CrowdSetting):
    """The constants of the figure. Bounds on errors and regrets are divided by √n; the central one is in people."""

    rmse_bound: float
    guess_regret: float
    regret_bound: float
    central_bound: float
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class BestLocal:
    """The best possible estimate and choice from (ε, δ) reports of fair bits."""

    people: int
    runs: int

    @property
    def name(self) -> str:
        """The size."""
        return f"best {self.people} people"

    def run(self, rng: np.random.Generator) -> Misses:
        """All rounds at once."""
        rounds = lower_bound.play(self.people, EPSILON, DELTA, self.runs, rng)
        return _misses("best local", self.people, rounds.posterior_means() - rounds.ones, rounds.regrets(rng))


@dataclass(frozen=True)
class OfTwo:
    """A mechanism of this library on fair bits, read by its counts or by the posterior mean."""

    contender: Contender
    people: int
    runs: int
    posterior: bool = False

    @property
    def label(self) -> str:
        """Mechanism, calibration and how it is read."""
        how = "posterior mean" if self.posterior else self.contender.calibration
        return " ".join(filter(None, (self.contender.label, how)))

    @property
    def name(self) -> str:
        """Label and size."""
        how = " posterior mean" if self.posterior else ""
        return f"{self.contender.label} {self.contender.calibration}{how} {self.people} people"

    def run(self, rng: np.random.Generator) -> Misses:
        """The estimate of the count of value 1, and the value with the larger estimate."""
        ones = rng.binomial(self.people, 0.5, self.runs)
        estimates = np.empty((self.runs, 2))
        for run, mechanism in enumerate(islice(self.contender.mechanisms(self.people, 1, rng), self.runs)):
            crowd = Histogram(_TWO, np.array([self.people - ones[run], ones[run]]))
            estimates[run] = mechanism.estimate(mechanism.sample_tally(crowd, rng), _TWO).counts
            if self.posterior:
                estimates[run] = posterior_means(estimates[run], self.people, mechanism.noise_stderr(self.people))
        regrets = lower_bound.regrets(self.people, ones, np.argmax(estimates, axis=1))
        return _misses(self.label, self.people, estimates[:, 1] - ones, regrets)


def posterior_means(counts: NDArray[np.float64], people: int, stderr: float) -> NDArray[np.float64]:
    """The expected counts of fair bits, given unbiased estimates: these are pulled towards n/2, more if noise is large.

    Exact for randomised response, where a count holds all information of the reports. `stderr` is the noise of a count.
    """
    pull = 1 / (1 + stderr**2 / (people / 4))  # people / 4 is the variance of the sum of fair bits
    return people / 2 + pull * (counts - people / 2)


@dataclass(frozen=True)
class Central:
    """The centralised exponential mechanism, on the crowd that is worst for it; it counts with noise of scale 1/ε."""

    people: int
    runs: int

    @property
    def name(self) -> str:
        """The size."""
        return f"central {self.people} people"

    def run(self, rng: np.random.Generator) -> Misses:
        """Run the centralised mechanism on its worst crowd."""
        crowd = exponential.worst_crowd(self.people, 2, EPSILON, BETA)
        chosen = np.array([exponential.heavy_hitter(crowd, 2, EPSILON, rng) for _ in range(self.runs)], np.int64)
        errors = rng.laplace(0.0, 1 / EPSILON, self.runs)
        regrets = lower_bound.regrets(crowd.people, np.full(self.runs, crowd.counts[1]), chosen)
        return _misses("central", self.people, errors, regrets, local=False)


def _misses(
    label: str, people: int, errors: NDArray[np.float64], regrets: NDArray[np.int64], local: bool = True
) -> Misses:
    """The row for the errors and regrets of many runs."""
    return Misses(
        label,
        local,
        people,
        runs=len(errors),
        rmse=lower_bound.root_mean_square(errors),
        regret=float(np.quantile(regrets.astype(float), 1 - BETA)),
        mean_regret=float(np.mean(regrets.astype(float))),
    )


@dataclass(frozen=True)
class Failure:
    """How often the best local choice misses the heavy hitter by more than c·√n."""

    epsilon: float
    runs: int

    @property
    def name(self) -> str:
        """The ε."""
        return f"failure at epsilon {self.epsilon}"

    def run(self, rng: np.random.Generator) -> Failures:
        """All c from the same rounds."""
        regrets = lower_bound.play(FAILURE_PEOPLE, self.epsilon, 0.0, self.runs, rng).regrets(rng)
        cuts = [c * math.sqrt(FAILURE_PEOPLE) for c in REGRETS]
        return Failures(
            self.epsilon,
            FAILURE_PEOPLE,
            self.runs,
            c=REGRETS,
            failures=tuple(int((regrets > cut).sum()) for cut in cuts),
            formula=tuple(theorems.lower_bound_failure(c, self.epsilon) for c in REGRETS),
        )


def _cells(quick: bool) -> list[BestLocal | OfTwo | Central | Failure]:
    """All estimators, for crowds of a hundred to a billion, and the chances of failure."""
    grid = decades(2, 9, 1)[1 if quick else 0 :: 2 if quick else 1]
    cells: list[BestLocal | OfTwo | Central | Failure] = []
    cells += [BestLocal(people, 10_000 if quick else 200_000) for people in grid]
    cells += [Central(people, 2000 if quick else 20_000) for people in grid]
    contenders, runs = (NAIVE, JL["paper"], JL["onebit"], BUCKET["onebit"], SUBSET), 40 if quick else 500
    cells += [OfTwo(contender, people, runs) for contender in contenders for people in grid]
    # With two values `subset` is randomised response, and its tally takes no time to draw.
    cells += [OfTwo(SUBSET, people, 500 if quick else 5_000, posterior=True) for people in grid]
    # The tally of tree cannot be drawn at once: its people report one by one.
    cells += [OfTwo(TREE, people, runs) for people in grid if people <= ONE_BY_ONE]
    cells += [Failure(epsilon, 20_000 if quick else 1_000_000) for epsilon in FAILURE_EPSILONS]
    return cells


def _setting() -> Setting:
    """The constants of the figure."""
    fine = tuple(k / 20 for k in range(51))
    return Setting(
        EPSILON,
        DELTA,
        BETA,
        bits=1,
        crowd="every person holds one of two values, by a fair coin",
        rmse_bound=theorems.lower_bound_rmse(EPSILON, DELTA),
        guess_regret=normal_quantile(BETA),
        regret_bound=theorems.lower_bound_regret(BETA, EPSILON, DELTA),
        central_bound=exponential.error_bound(2, EPSILON, BETA),
        curves=tuple(
            Curve(epsilon, fine, tuple(theorems.lower_bound_failure(c, epsilon) for c in fine))
            for epsilon in FAILURE_EPSILONS
        ),
    )


SEPARATION: Study[Setting, Misses | Failures] = Study("separation", _cells, _setting)
