"""The lower bound as an experiment (Theorem 3.3): two values, fair bits, and the best possible estimate of them.

Every person holds a fair bit. Any (ε, δ) randomiser of one bit is a post-processing of "with chance δ tell the bit,
else tell the truth with chance e^ε/(1+e^ε)" (E25; Kairouz, Oh, Viswanath, "The composition theorem for differential
privacy", 2015), so no local mechanism learns more than from these reports. Given the reports the bits are still
independent, so any estimate of their sum is uncertain by a multiple of √n.

    paper    here                 meaning
    n₁       ones                 people who hold value 1
    n̂₁       posterior_means()    the estimate with the least mean square error
    α        regrets()            by how much the larger count exceeds the count of the chosen value
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Estimate = NDArray[np.float64]


@dataclass(frozen=True)
class Rounds:
    """Independent rounds of the experiment, of so many people each: each array has one entry per round.

    `truth` is the chance that a randomised report is true. `ones` hold 1. The bits of some were revealed, with chance
    δ; the others `said` one or zero.
    """

    people: int
    truth: float
    ones: Counts
    revealed_ones: Counts
    revealed_zeros: Counts
    said_ones: Counts
    said_zeros: Counts

    def posterior_means(self) -> Estimate:
        """The expected number of ones given the reports: no estimate has a smaller mean square error."""
        means = self.revealed_ones + self.truth * self.said_ones + (1 - self.truth) * self.said_zeros
        return np.asarray(means, np.float64)

    def unbiased_estimates(self) -> Estimate:
        """The usual estimate from randomised response: right on average for every crowd, not only for fair bits."""
        others = self.said_ones + self.said_zeros
        others_ones = (self.said_ones - (1 - self.truth) * others) / (2 * self.truth - 1)
        return np.asarray(self.revealed_ones + others_ones, np.float64)

    def regrets(self, rng: np.random.Generator) -> Counts:
        """By how many people the best choice misses the heavy hitter; it is the likelier value, or a coin if equal."""
        lead = 2 * self.posterior_means() - self.people
        # The tolerance is far below the smallest step of the mean, and far above its rounding error.
        even = np.abs(lead) < 1e-9 * self.people
        chosen = np.where(even, rng.integers(0, 2, len(lead)), lead > 0)
        return regrets(self.people, self.ones, chosen.astype(np.int64))


def play(people: int, epsilon: float, delta: float, runs: int, rng: np.random.Generator) -> Rounds:
    """Independent rounds: fair bits, with reports by the most informative (ε, δ) randomiser. Exact for any crowd."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    ones = rng.binomial(people, 0.5, runs)
    zeros = people - ones
    revealed_ones, revealed_zeros = rng.binomial(ones, delta), rng.binomial(zeros, delta)
    true_ones = rng.binomial(ones - revealed_ones, truth)
    true_zeros = rng.binomial(zeros - revealed_zeros, truth)
    said_ones = true_ones + (zeros - revealed_zeros - true_zeros)
    said_zeros = true_zeros + (ones - revealed_ones - true_ones)
    return Rounds(people, truth, ones, revealed_ones, revealed_zeros, said_ones, said_zeros)


def regrets(people: int, ones: Counts, chosen: Counts) -> Counts:
    """α of Definition 2.1 for two values: the larger count minus that of the chosen value."""
    held = np.where(chosen == 1, ones, people - ones)
    return np.asarray(np.maximum(ones, people - ones) - held, np.int64)


def root_mean_square(errors: NDArray[np.float64]) -> float:
    """√ of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))
