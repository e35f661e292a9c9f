"""Exact composition of pure mechanisms (Kairouz, Oh, Viswanath: The Composition Theorem for Differential Privacy).

The paper's Theorem 2.5 is a special case of the bound of Dwork, Rothblum and Vadhan. It is loose, and false for
delta near 1; what runs here is the exact curve, which no composition of the same pure mechanisms can exceed.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from hubbub.errors import ParameterError

_SLACK = 1e-9  # far above the rounding of the sums below, so that the result is an upper bound


def composed_delta(epsilon: float, each: float, times: int) -> float:
    """The least delta for which `times` uses of an `each`-private mechanism are (epsilon, delta)-private.

    Any ε₀-private mechanism is a post-processing of randomised response, for which the sum is explicit. Rounded
    up. Increasing in `each`, so that a bisection is rigorous.
    """
    if each <= 0 or times * each <= epsilon:
        return 0.0
    # j answers of `times` are true: the loss is (2j - times)·each; only those above epsilon count.
    first = math.floor((epsilon / each + times) / 2) + 1
    j = np.arange(max(first, 0), times + 1, dtype=np.float64)
    loss = (2 * j - times) * each
    j, loss = j[loss > epsilon], loss[loss > epsilon]
    if len(j) == 0:
        return 0.0
    log_binomial = gammaln(times + 1) - gammaln(j + 1) - gammaln(times - j + 1)
    log_chance = log_binomial + j * each - times * np.logaddexp(0.0, each)
    terms = np.exp(log_chance) * -np.expm1(epsilon - loss)
    return min(1.0, math.fsum(terms) * (1 + _SLACK))


@lru_cache(maxsize=256)
def largest_each(epsilon: float, times: int, delta: float) -> float:
    """The largest ε₀ such that `times` uses of an ε₀-private mechanism are (epsilon, delta)-private.

    At least epsilon / times, which is basic composition (better than Theorem 2.5 below 8·ln(1/δ) uses).
    """
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be from 0 to 1, got delta={delta}")
    low, high = epsilon / times, epsilon
    if composed_delta(epsilon, high, times) <= delta:
        return high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if composed_delta(epsilon, middle, times) <= delta:
            low = middle
        else:
            high = middle
    return low


def theorem_each(epsilon: float, times: int, delta: float) -> float:
    """Theorem 2.5 of the paper: ε / √(8·T·ln(1/δ)), to be confirmed by `composed_delta` before use."""
    return epsilon / math.sqrt(8 * times * math.log(1 / delta))
