"""Tail probabilities and quantiles, also for tiny chances: a universe of 2^512 values needs a level of 10^-156."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, log_ndtr, ndtr, ndtri, ndtri_exp, stdtrit

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import first_whole


def normal_quantile(chance: float) -> float:
    """The z that a standard normal variable exceeds with this chance: Q⁻¹."""
    if not 0 < chance < 1:
        raise ParameterError(f"a chance must be between 0 and 1, got {chance}")
    return float(-ndtri(chance))


def normal_quantile_log(log_chance: float) -> float:
    """Q⁻¹ of e^log_chance, for chances too small for a float."""
    return float(-ndtri_exp(log_chance))


def binomial_bounds(hits: int, tries: int, chance: float) -> tuple[float, float]:
    """The Clopper–Pearson bounds on the chance of a hit; each is wrong with this chance at most.

    >>> low, high = binomial_bounds(0, 10, 0.025)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    low = float(betaincinv(hits, tries - hits + 1, chance)) if hits else 0.0
    high = float(betaincinv(hits + 1, tries - hits, 1 - chance)) if hits < tries else 1.0
    return low, high


def student_quantile(chance: float, degrees: int) -> float:
    """What a variable with Student's law of so many degrees of freedom exceeds with this chance."""
    return float(stdtrit(degrees, 1 - chance))


def normal_tail(z: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The chance that a standard normal variable exceeds z: Q."""
    return np.asarray(ndtr(-np.asarray(z, np.float64)))


def normal_tail_log(z: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The logarithm of Q(z), also where Q(z) is too small for a float."""
    return np.asarray(log_ndtr(-np.asarray(z, np.float64)))


def normal_error(stderr: float, beta: float) -> float:
    """√(2·ln(2/β)) standard errors: the size that a Gaussian error exceeds with a chance of at most β."""
    return math.sqrt(2 * math.log(2 / beta)) * stderr


def binomial_threshold(trials: int, chance: float, log_level: float) -> int:
    """The least k with ln P[Bin(trials, chance) ≥ k] ≤ log_level; trials + 1 if there is none."""

    def is_rare(successes: int) -> bool:
        tail, share = float(betainc(successes, trials - successes + 1, chance)), successes / trials
        if tail > 1e-290:
            log_tail = math.log(tail)
        else:  # too small for a float: Chernoff's bound, the Kullback–Leibler divergence of two coins, is sharp enough
            rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
            log_tail = -trials * (share * math.log(share / chance) + rest)
        return log_tail <= log_level

    return first_whole(is_rare, 0, trials + 1)


def binomial_tail(successes: int, trials: int, chance: float) -> float:
    """P[Bin(trials, chance) >= successes], exactly: as a beta integral, since `bdtrc` ends at 2^31 trials."""
    if not 0 < successes <= trials:
        return float(successes <= 0)
    return float(betainc(successes, trials - successes + 1, chance))
