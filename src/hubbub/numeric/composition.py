"""Exact composition of pure mechanisms (Kairouz, Oh, Viswanath: The Composition Theorem for Differential Privacy).

The paper's Theorem 2.5 is a special case of the bound of Dwork, Rothblum and Vadhan. It is loose, and false for
delta above 0.996 or so. This module uses the exact curve, which no composition of the same pure mechanisms can exceed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import bisect

_ROUNDING = 2.0**-53  # the relative error of one operation on floats
_LEAST = 1e-300  # smaller chances are not distinguished
_WINDOW = 12  # standard deviations; terms further out are bounded, not summed


def composed_delta(epsilon: float, each: float, times: int) -> float:
    """The least delta for which `times` uses of an `each`-private mechanism are (epsilon, delta)-private.

    Any ε₀-private mechanism is a post-processing of randomised response, for which the sum is explicit. The result is
    never below the true value, and exceeds it by at most 10⁻⁹ of it plus 10⁻¹². Cost: O(√times).

    The chance of j true responses is computed from that of its neighbour, starting at the likeliest j, and all are
    divided by their sum. Every step rounds five times, so the error grows with the number of steps; the error of the
    longest chain is added to the result.
    """
    if each <= 0 or Fraction(each) * times <= Fraction(epsilon):
        return 0.0
    # If j of `times` responses are true, the loss is (2j - times)·each. Only losses above epsilon count: j ≥ first.
    first = min(times, math.floor((epsilon / each + times) / 2))
    lie = math.exp(-each)  # the odds
    mean = times / (1 + lie)
    if first > mean and 2 * (first - mean) ** 2 > 720 * times:  # Hoeffding: less than e^-720 in all
        return times * _LEAST
    most = min(times, math.floor((times + 1) / (1 + lie)))
    reach = math.ceil(_WINDOW * math.sqrt(times * lie) / (1 + lie)) + 60
    low, high = max(0, most - reach), min(times, max(most, first) + reach)
    up, down = np.arange(most, high, dtype=np.float64), np.arange(most, low, -1, dtype=np.float64)
    rising = np.cumprod((times - up) / ((up + 1) * lie)) if len(up) else up
    falling = np.cumprod(down * lie / (times - down + 1))
    chances = np.concatenate([falling[::-1], np.ones(1), rising])
    loss = (2 * np.arange(low, high + 1, dtype=np.float64) - times) * each * (1 + 4 * _ROUNDING)
    above = float(np.sum(chances * -np.expm1(np.minimum(epsilon - loss, 0.0))))
    # Outside the window chances shrink at least as fast as at its edges.
    if high < times:
        above += _geometric(float(chances[-1]), (times - high) / ((high + 1) * lie))
    if max(first, 0) < low:
        above += _geometric(float(chances[0]), low * lie / (times - low + 1))
    slack = (16 * (high - low) + 256) * _ROUNDING
    return min(1.0, above / float(np.sum(chances)) * (1 + slack) + times * _LEAST)


def _geometric(last: float, ratio: float) -> float:
    """An upper bound on the sum of all terms after `last`, if each is at most `ratio` times the one before."""
    return last * ratio / (1 - ratio) if ratio < 1 else math.inf


@lru_cache(maxsize=256)
def largest_each(epsilon: float, times: int, delta: float) -> float:
    """The largest ε₀ such that `times` uses of an ε₀-private mechanism are (epsilon, delta)-private.

    At least epsilon / times, which is basic composition (better than Theorem 2.5 below 8·ln(1/δ) uses).
    """
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be from 0 to 1, got delta={delta}")
    low, high = epsilon / times, epsilon
    if Fraction(low) * times > Fraction(epsilon):  # rounded up
        low = math.nextafter(low, 0.0)
    if composed_delta(epsilon, high, times) <= delta:
        return high
    return bisect(lambda each: composed_delta(epsilon, each, times) > delta, low, high)[0]


def theorem_each(epsilon: float, times: int, delta: float) -> float:
    """Theorem 2.5 of the paper: ε / √(8·T·ln(1/δ)). Check it with `composed_delta` before use."""
    return epsilon / math.sqrt(8 * times * math.log(1 / delta))


def composed_epsilon(each: float, times: int, delta: float) -> float:
    """The least ε for which `times` uses of an `each`-private mechanism are (ε, delta)-private; rounded up.

    At most each·times, which holds with δ = 0.
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, got delta={delta}")
    most = math.nextafter(each * times, math.inf)
    return bisect(
        lambda epsilon: composed_delta(epsilon, each, times) <= delta,
        0.0,
        most,
        close=lambda low, high: high - low <= 1e-9 * high,
    )[1]
