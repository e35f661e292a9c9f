"""The paper's theorems as numbers, with their constants corrected; docs/glossary.md has the symbols.

A theorem about one mechanism is in that mechanism's module, as its `error_bound` and the functions that it calls. The
rest is here. Every bound is for replacement neighbours and holds with chance 1 − beta, unless its docstring says
otherwise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hubbub.mechanisms import bucket
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_tail


def jl_paper_rows(people: int, size: int, beta: float) -> float:
    """Rows of Algorithm 1 as printed, m = ln(N+1)·ln(2/β)·n⁴: far too many, so hubbub uses fewer (E4)."""
    return math.log(size + 1) * math.log(2 / beta) * float(people) ** 4


def laplace_scale(epsilon: float, delta: float, times: float = 1) -> float:
    """The paper's scale √(8·T·ln(1/δ))/ε (Theorem 2.5)."""
    return math.sqrt(8 * times * math.log(1 / delta)) / epsilon


def bucket_needed_people(share: float, rows_per_trial: float, scale: float, corrected: bool = True) -> float:
    """The n of Theorem 4.8: the least crowd in which this share is enough, if all others hold values of their own.

    Both sides of the condition n·share ≥ needed(n) grow, the right one like √n, so they cross once.
    """

    def is_enough(people: float) -> bool:
        alone = math.sqrt(people * (1 - share))
        return share * people >= bucket.needed_count(people, alone, rows_per_trial, scale, corrected)

    return bisect(is_enough, 1.0, 1e30)[1]


def bucket_operations(people: int, bits: int, trials: int) -> int:
    """Steps of the Bucket mechanism: k₁·log N bits for each person, and k₁·log² N to solve a trial (Theorem 4.4, E20).

    In total (n·log² N + log³ N)·log(1/β), up to a constant.
    """
    rows = bits + 4  # ⌈log₂ 12N⌉
    return trials * (people * rows * bits + rows * bits**2)


def glps_paper_error(people: int, size: int, epsilon: float, delta: float, beta: float) -> tuple[float, float]:
    """α of Theorem 4.2 without its constants, and the chance with which it may fail.

    n^(5/6)·ln^(1/3)(1/β)·ln^(1/6) N·ln^(1/6)(1/δ)/ε^(1/3), which is n/√s for the sparsity s of its proof. A run stays
    within it with a chance of 3/4 − β, so it may fail with a chance of 1/4 + β (E21).
    """
    logs = math.log(1 / beta) ** (1 / 3) * (math.log(size) * math.log(1 / delta)) ** (1 / 6)
    return people ** (5 / 6) * logs / epsilon ** (1 / 3), 0.25 + beta


def moment_constant(k: int) -> float:
    """C_k of Lemma 4.5 with the sign of its exponent corrected (E11): 2√(πk)·e^(−k/2 + 1/(6k))."""
    return 2 * math.sqrt(math.pi * k) * math.exp(-k / 2 + 1 / (6 * k))


def rank_deficiency_chance(rows: int, columns: int) -> float:
    """The chance that a uniform rows × columns matrix over GF(2) has rank below `columns` (E17)."""
    full = Fraction(1)
    for j in range(columns):
        full *= 1 - Fraction(2**j, 2**rows)
    return float(1 - full)


def lower_bound_rmse(epsilon: float, delta: float = 0.0) -> float:
    """Theorem 3.3, directly: no local estimator of a count has RMSE below this times √n (N = 2, uniform bits).

    It is √((1−δ)·e^ε)/(1+e^ε): the root of the variance that each bit still has after its report is seen.
    """
    return math.sqrt((1 - delta) * math.exp(epsilon)) / (1 + math.exp(epsilon))


def randomized_response_rmse(epsilon: float) -> float:
    """The RMSE of the unbiased estimate from randomised response, over √n; the posterior mean attains the bound."""
    return math.exp(epsilon / 2) / math.expm1(epsilon)


def lower_bound_regret(beta: float, epsilon: float, delta: float = 0.0) -> float:
    """The c for which any local mechanism errs by more than c·√n with chance β: `lower_bound_failure`, inverted."""
    return bisect(lambda regret: lower_bound_failure(regret, epsilon, delta) <= beta, 0.0, 50.0, 60)[0]


def lower_bound_failure(regret: float, epsilon: float, delta: float = 0.0) -> float:
    """The chance with which *any* local mechanism errs by more than regret·√n on uniform bits (Gaussian limit).

    ∫ φ(z)·min(Φ((−c/2 + z√w)/√v), Φ((−c/2 − z√w)/√v)) dz with v = (1−δ)e^ε/(1+e^ε)² and w = 1/4 − v. It replaces
    the reduction by dummies and binary search, which would multiply the privacy loss (E27).
    """
    variance = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon)) ** 2
    spread = math.sqrt(max(0.25 - variance, 0.0))
    z = np.linspace(0.0, 12.0, 24_001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    worse = normal_tail((regret / 2 + z * spread) / math.sqrt(variance))
    return float(2 * np.trapezoid(density * worse, z))
