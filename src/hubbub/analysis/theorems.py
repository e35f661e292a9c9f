"""The paper's theorems as numbers, with their constants corrected; docs/glossary.md has the symbols.

Every bound is for replacement neighbours and holds with chance 1 − beta, unless its docstring says otherwise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hubbub.mechanisms.glps_plan import paper_sparsity
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_tail


def naive_error(people: int, size: int, epsilon: float, beta: float) -> float:
    """Naive baseline: no count is off by more than (4/ε)·√(n·ln(2N/β)), for noise of scale 2/ε."""
    return 4 / epsilon * math.sqrt(people * math.log(2 * size / beta))


def jl_laplace_error(
    people: int, size: int, norm: float, rows: int, scale: float, beta: float, hadamard: bool
) -> float:
    """Theorem 3.2 with the constants and the rows that run: distortion plus noise, over all values at once.

    ‖v‖₂·√(2 ln(2N/β)/m) + 2b·√(n·ln(2N/β)), where b is the scale for entries ±1/√m (the noise term in its Gaussian
    form). Hadamard rows have a Bernstein instead of a sub-Gaussian tail and add 2n·ln(2N/β)/(3m); all of them
    together (m ≥ N) do not distort at all.
    """
    log = math.log(2 * size / beta)
    noise = 2 * scale * math.sqrt(people * log)
    if hadamard and rows >= size:
        return noise
    distortion = norm * math.sqrt(2 * log / rows)
    return noise + distortion + (2 * people * log / (3 * rows) if hadamard else 0.0)


def jl_one_bit_error(people: int, size: int, norm: float, rows: int, gain: float, beta: float, dense: bool) -> float:
    """One-bit JL-HH: C_ε·√(2n·ln(2N/β)) by Hoeffding's bound, plus the distortion of a dense projection."""
    log = math.log(2 * size / beta)
    return gain * math.sqrt(2 * people * log) + (norm * math.sqrt(2 * log / rows) if dense else 0.0)


def jl_paper_rows(people: int, size: int, beta: float) -> float:
    """Rows of Algorithm 1 as printed, m = ln(N+1)·ln(2/β)·n⁴: why practical rows are chosen otherwise (E4)."""
    return math.log(size + 1) * math.log(2 / beta) * float(people) ** 4


def laplace_scale(epsilon: float, delta: float, times: float = 1) -> float:
    """The paper's scale √(8·T·ln(1/δ))/ε (Theorem 2.5)."""
    return math.sqrt(8 * times * math.log(1 / delta)) / epsilon


def bucket_needed_count(
    people: float, others_norm: float, rows_per_trial: float, scale: float, corrected: bool = True, beta: float = 0.25
) -> float:
    """The count with which a heavy hitter wins each trial with chance 3/4 (Lemma 4.6, Theorem 4.8).

    As printed, 8·√(2c·k₁) + b·√(6n)·ln(24 k₁). Corrected (E10–E14): Chebyshev's √(12 k₁ c) and twice the noise in
    its √ln form, √(12 k₁ c) + 2b·√(6n·ln(24 k₁)), valid where 6·ln(24 k₁) ≤ n.
    """
    rows = rows_per_trial
    log = math.log(6 * rows / beta)
    if corrected:
        return math.sqrt(3 * rows / beta) * others_norm + 2 * scale * math.sqrt(6 * people * log)
    return 8 * math.sqrt(2 * rows) * others_norm + scale * math.sqrt(6 * people) * log


def bucket_needed_people(share: float, rows_per_trial: float, scale: float, corrected: bool = True) -> float:
    """The n of Theorem 4.8: the least crowd in which a share of people is count enough, if all others are alone.

    Both sides of the condition n·share ≥ needed(n) grow, the right one like √n, so they cross once.
    """

    def is_enough(people: float) -> bool:
        alone = math.sqrt(people * (1 - share))
        return share * people >= bucket_needed_count(people, alone, rows_per_trial, scale, corrected)

    return bisect(is_enough, 1.0, 1e30)[1]


def bucket_operations(people: int, bits: int, trials: int) -> int:
    """Steps of the Bucket mechanism: k₁·log N bits for each person, and k₁·log² N to solve a trial (Theorem 4.4, E20).

    In all (n·log² N + log³ N)·log(1/β), up to a constant.
    """
    rows = bits + 4  # ⌈log₂ 12N⌉
    return trials * (people * rows * bits + rows * bits**2)


def bucket_estimate_error(people: int, others_norm: float, rows: int, noise_stderr: float, beta: float) -> float:
    """The pooled count of one fixed value: Gaussian in noise and collisions over all rows."""
    del people
    return normal_error(math.hypot(noise_stderr, others_norm / math.sqrt(rows)), beta)


def normal_error(stderr: float, beta: float) -> float:
    """A Gaussian error is within √(2·ln(2/β)) standard errors with chance 1 − β."""
    return math.sqrt(2 * math.log(2 / beta)) * stderr


def exponential_error(size: int, epsilon: float, beta: float) -> float:
    """The centralised exponential mechanism: (2/ε)·ln(N/β), whatever the number of people."""
    return 2 / epsilon * math.log(size / beta)


def glps_sparsity(people: int, size: int, epsilon: float, delta: float, beta: float) -> float:
    """The sparsity s that Theorem 4.2 balances its errors with."""
    return paper_sparsity(people, size, epsilon, delta, beta)


def glps_paper_error(people: int, size: int, epsilon: float, delta: float, beta: float) -> tuple[float, float]:
    """α of Theorem 4.2 without its constants, and the chance with which it may fail.

    n^(5/6)·ln^(1/3)(1/β)·ln^(1/6) N·ln^(1/6)(1/δ)/ε^(1/3), which is n/√s for the sparsity s of its proof. A run keeps
    within it with a chance of 3/4 − β, so it may fail with 1/4 + β (E21).
    """
    logs = math.log(1 / beta) ** (1 / 3) * (math.log(size) * math.log(1 / delta)) ** (1 / 6)
    return people ** (5 / 6) * logs / epsilon ** (1 / 3), 0.25 + beta


def glps_recovery_error(rest_norm: float, noise_norm: float, size: int, sparsity: int) -> float:
    """The guarantee of sparse recovery behind Theorem 4.2: C₁·‖v − v_s‖₂ + C₂·‖z‖₂/√log₂(N/s), for every count at once.

    With C₁ = 1.3 and C₂ = 0.5, which are not the paper's: hubbub's operator is measured to keep within them
    (tests/numeric/test_sparse_recovery.py), nobody has proved it.
    """
    return 1.3 * rest_norm + 0.5 * noise_norm / math.sqrt(math.log2(size / sparsity))


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

    √((1−δ)·e^ε)/(1+e^ε): what is left of the variance of each bit after seeing its report.
    """
    return math.sqrt((1 - delta) * math.exp(epsilon)) / (1 + math.exp(epsilon))


def randomized_response_rmse(epsilon: float) -> float:
    """The unbiased estimate from randomised response, over √n; its posterior mean attains the lower bound."""
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
