"""Figure 5: the lower bound, the mechanisms that attain it, and what trusting a server would gain (Theorem 3.3).

Two values and fair bits. Local mechanisms are off by a multiple of √n; the centralised exponential mechanism is off by
a number of people that does not depend on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
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
    Cell,
    Contender,
    Study,
    decades,
)
from hubbub.simulation import exponential

_TWO = np.array([[0], [1]], np.uint64)
FAILURE_EPSILONS = (0.5, 1.0, 2.0)
FAILURE_PEOPLE = 10**6
ONE_BY_ONE = 10**5  # people in the largest crowd for tree, whose reports are made one by one
REGRETS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
_FINE = tuple(k / 20 for k in range(51))


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
class Setting:
    """The constants of the figure. Bounds on errors and regrets are divided by √n; the central one is in people."""

    epsilon: float = EPSILON
    delta: float = DELTA
    beta: float = BETA
    bits: int = 1
    crowd: str = "every person holds one of two values, by a fair coin"
    rmse_bound: float = theorems.lower_bound_rmse(EPSILON, DELTA)
    guess_regret: float = normal_quantile(BETA)
    regret_bound: float = field(default_factory=lambda: theorems.lower_bound_regret(BETA, EPSILON, DELTA))
    central_bound: float = exponential.error_bound(2, EPSILON, BETA)
    curves: tuple[Curve, ...] = field(default_factory=lambda: tuple(map(_curve, FAILURE_EPSILONS)))


def best_local(people: int, runs: int, rng: np.random.Generator) -> Misses:
    """The best possible estimate and choice from (ε, δ) reports of fair bits, all rounds at once."""
    rounds = lower_bound.play(people, EPSILON, DELTA, runs, rng)
    return _misses("best local", people, rounds.posterior_means() - rounds.ones, rounds.regrets(rng))


def label_of(contender: Contender, posterior: bool = False) -> str:
    """Mechanism, calibration and how it is read."""
    how = "posterior mean" if posterior else contender.calibration
    return " ".join(filter(None, (contender.label, how)))


def of_two(contender: Contender, people: int, runs: int, posterior: bool, rng: np.random.Generator) -> Misses:
    """A mechanism of this library on fair bits, read by its counts or by the posterior mean.

    It estimates the count of value 1, and chooses the value with the larger estimate.
    """
    ones = rng.binomial(people, 0.5, runs)
    estimates = np.empty((runs, 2))
    for run, mechanism in enumerate(islice(contender.mechanisms(people, 1, rng), runs)):
        crowd = Histogram(_TWO, np.array([people - ones[run], ones[run]]))
        estimates[run] = mechanism.estimate(mechanism.sample_tally(crowd, rng), _TWO).counts
        if posterior:
            estimates[run] = posterior_means(estimates[run], people, mechanism.noise_stderr(people))
    regrets = lower_bound.regrets(people, ones, np.argmax(estimates, axis=1))
    return _misses(label_of(contender, posterior), people, estimates[:, 1] - ones, regrets)


def posterior_means(counts: NDArray[np.float64], people: int, stderr: float) -> NDArray[np.float64]:
    """The expected counts of fair bits, given unbiased estimates: these are pulled towards n/2, more if noise is large.

    Exact for randomised response, where a count holds all information of the reports. `stderr` is the noise of a count.
    """
    pull = 1 / (1 + stderr**2 / (people / 4))  # people / 4 is the variance of the sum of fair bits
    return people / 2 + pull * (counts - people / 2)


def central(people: int, runs: int, rng: np.random.Generator) -> Misses:
    """The centralised exponential mechanism, on the crowd that is worst for it; it counts with noise of scale 1/ε."""
    crowd = exponential.worst_crowd(people, 2, EPSILON, BETA)
    chosen = np.array([exponential.heavy_hitter(crowd, 2, EPSILON, rng) for _ in range(runs)], np.int64)
    errors = rng.laplace(0.0, 1 / EPSILON, runs)
    regrets = lower_bound.regrets(crowd.people, np.full(runs, crowd.counts[1]), chosen)
    return _misses("central", people, errors, regrets, local=False)


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


def failure(epsilon: float, runs: int, rng: np.random.Generator) -> Failures:
    """How often the best local choice misses the heavy hitter by more than c·√n; all c from the same rounds."""
    regrets = lower_bound.play(FAILURE_PEOPLE, epsilon, 0.0, runs, rng).regrets(rng)
    failures = tuple(int((regrets > c * math.sqrt(FAILURE_PEOPLE)).sum()) for c in REGRETS)
    return Failures(epsilon, FAILURE_PEOPLE, runs, REGRETS, failures, _curve(epsilon, REGRETS).chance)


def _curve(epsilon: float, regrets: tuple[float, ...] = _FINE) -> Curve:
    """The formula for the chance of failure."""
    return Curve(epsilon, regrets, tuple(theorems.lower_bound_failure(c, epsilon) for c in regrets))


def two_cell(contender: Contender, people: int, runs: int, posterior: bool = False) -> Cell[Misses]:
    """The point of one mechanism and crowd."""
    how = " posterior mean" if posterior else ""
    name = f"{contender.label} {contender.calibration}{how} {people} people"
    return Cell(name, partial(of_two, contender, people, runs, posterior))


def _cells(quick: bool) -> list[Cell[Misses | Failures]]:
    """All estimators, for crowds of a hundred to a billion, and the chances of failure."""
    grid = decades(2, 9, 1)[1 if quick else 0 :: 2 if quick else 1]
    cells: list[Cell[Misses | Failures]] = []
    cells += [Cell(f"best {n} people", partial(best_local, n, 10_000 if quick else 200_000)) for n in grid]
    cells += [Cell(f"central {n} people", partial(central, n, 2000 if quick else 20_000)) for n in grid]
    contenders, runs = (NAIVE, JL["paper"], JL["onebit"], BUCKET["onebit"], SUBSET), 40 if quick else 500
    cells += [two_cell(contender, people, runs) for contender in contenders for people in grid]
    # With two values `subset` is randomised response, and its tally takes no time to draw.
    cells += [two_cell(SUBSET, people, 500 if quick else 5_000, posterior=True) for people in grid]
    # The tally of tree cannot be drawn at once: its people report one by one.
    cells += [two_cell(TREE, people, runs) for people in grid if people <= ONE_BY_ONE]
    runs = 20_000 if quick else 1_000_000
    cells += [Cell(f"failure at epsilon {epsilon}", partial(failure, epsilon, runs)) for epsilon in FAILURE_EPSILONS]
    return cells


SEPARATION: Study[Setting, Misses | Failures] = Study("separation", _cells, Setting)
