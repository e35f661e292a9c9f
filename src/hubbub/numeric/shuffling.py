"""Shuffled reports: how private sums are to an observer who cannot tell whose report is whose.

The bound is that of Feldman, McMillan and Talwar, "Hiding among the clones" (FOCS 2021), Theorem 3.2 of the full
version, arXiv 2012.12803. An attacker wants to know which of two values one person holds. With a chance of e^−ε₀, each
of the other n − 1 reports of an ε₀-private randomiser is a *clone*: it looks like a report of the first value or of the
second, by a fair coin. With C ~ Bin(n − 1, e^−ε₀) clones, A ~ Bin(C, 1/2) of which look like the first value, an
observer learns no more than from the pair of numbers

    P: (A + 1, C − A) with chance e^ε₀/(e^ε₀ + 1), else (A, C − A + 1)     Q: the same with the two chances exchanged.

So δ(ε) is at most the mean over C of the divergence δ_C(ε) of the two, which has a closed form (`_clone_delta`). The
later paper of the same authors (SODA 2023) sharpens the bound for larger ε₀; the one here needs only the ε₀ of the
randomiser.

Everything is rounded upwards: results are never below the bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import bisect

MOST_PEOPLE: Final = 10**9
"""A larger crowd is treated as one of this size. The bound still holds, as if all further reports were known."""

_ROUNDING = 2.0**-53
_SLACK = 1e-9  # more than the relative error of a binomial chance or tail (tests/numeric/test_shuffling.py)
_WINDOW = 12  # standard deviations of the number of clones; terms further out are bounded, not summed
_BLOCKS = 1024
_LARGEST = 700.0  # the largest ε whose exponential is a float; a smaller ε only makes δ larger
_SERIES = 12  # terms of the series; the first one left out is below 0.2^26


def shuffled_delta(epsilon: float, local: float, people: int) -> float:
    """An upper bound on the δ at `epsilon` of shuffled reports of this many honest people, each `local`-private.

    Never below the bound of the theorem, and above it by less than 1 %. Cost: O(√people) once, and then some
    milliseconds.
    """
    _check(local, people)
    if epsilon < 0:
        raise ParameterError(f"epsilon must be at least 0, got epsilon={epsilon}")
    if epsilon >= local:
        return 0.0
    clones = _clones(local, min(people, MOST_PEOPLE))
    return min(1.0, float(clones.chances @ _clone_delta(epsilon, local, clones.numbers)) + clones.too_few)


def shuffled_epsilon(delta: float, local: float, people: int) -> float:
    """An upper bound on the ε at `delta` of shuffled reports of this many honest people, each `local`-private.

    At most `local`, which holds without any shuffling. Costs about thirty times `shuffled_delta`.

    Examples
    --------
    The published example of the authors: 100,000 reports with ε₀ = 4 and δ = 10⁻⁶ are between 0.1675 and 0.1728.

    >>> round(shuffled_epsilon(1e-6, 4.0, 100_000), 4)
    0.1698
    """
    _check(local, people)
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, got delta={delta}")
    if shuffled_delta(0.0, local, people) <= delta:  # ε = 0 is enough
        return 0.0
    return bisect(lambda epsilon: shuffled_delta(epsilon, local, people) <= delta, 0.0, local, close=_near)[1]


def _near(low: float, high: float) -> bool:
    return high - low <= 1e-9 * high


class _Clones(NamedTuple):
    """The law of the number of clones: numbers, an upper bound on the chance of each, and on that of fewer clones.

    Each further clone adds noise that does not depend on the value, so δ falls with every clone. Therefore a number
    here stands for itself and for all numbers up to the next.
    """

    numbers: NDArray[np.float64]
    chances: NDArray[np.float64]
    too_few: float


@lru_cache(maxsize=8)  # a search for ε asks about forty times
def _clones(local: float, people: int) -> _Clones:
    others = people - 1
    clone = math.exp(-local) * (1 - 8 * _ROUNDING)  # fewer clones hide less
    most = min(others, math.floor((others + 1) * clone))
    reach = math.ceil(_WINDOW * math.sqrt(others * clone * (1 - clone))) + 60
    low, high = max(0, most - reach), min(others, most + reach)
    # The chance of each number relative to that of the likeliest, each computed from its neighbour.
    up, down = np.arange(most, high, dtype=np.float64), np.arange(most, low, -1, dtype=np.float64)
    odds = clone / (1 - clone)
    rising = np.cumprod((others - up) / (up + 1) * odds)
    falling = np.cumprod(down / (others - down + 1) / odds)
    chances = np.concatenate([falling[::-1], np.ones(1), rising])
    starts = np.unique(np.linspace(0, len(chances) - 1, _BLOCKS).astype(np.int64))
    each = np.add.reduceat(chances, starts)
    # Outside the window chances shrink at least as fast as at its edges.
    if high < others:
        each[-1] += _geometric(float(chances[-1]), (others - high) / (high + 1) * odds)
    few = _geometric(float(chances[0]), low / (others - low + 1) / odds) if low > 0 else 0.0
    scale = (1 + (16 * (high - low) + 256) * _ROUNDING) / float(chances.sum())
    return _Clones(low + starts.astype(np.float64), each * scale, few * scale)


def _check(local: float, people: int) -> None:
    if not (math.isfinite(local) and local > 0):
        raise ParameterError(f"local must be a number above 0, got local={local}")
    if people < 1:
        raise ParameterError(f"people must be at least 1, got people={people}")


def _clone_delta(epsilon: float, local: float, clones: NDArray[np.float64]) -> NDArray[np.float64]:
    """An upper bound on the divergence of P and Q at ε for each number of clones.

    P(k)/Q(k) rises with the first number k, so the worst event is {k ≥ k*}, where k* is the first k at which the ratio
    is above e^ε. With b = P[Bin(c, 1/2) = k* − 1] and t = P[Bin(c, 1/2) ≥ k*] its excess is
    b·(e^ε₀ − e^ε)/(e^ε₀ + 1) − t·(e^ε − 1).
    """
    share = (1 - math.exp(-epsilon - local)) / (-math.expm1(-local) * (1 + math.exp(-epsilon)))
    # k* − 1. It is at most the number of clones: if all look alike the ratio is e^ε₀ > e^ε, which rounding may hide.
    at = np.minimum(np.floor(share * (clones + 1)), clones)
    gained = _half_chance(at, clones) * (-math.expm1(epsilon - local) / (1 + math.exp(-local)))
    beyond = np.where(at < clones, betainc(at + 1, np.maximum(clones - at, 1.0), 0.5), 0.0)
    found = gained * (1 + _SLACK) - beyond * math.expm1(min(epsilon, _LARGEST)) * (1 - _SLACK)
    return np.maximum(found, 0.0)


def _half_chance(k: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """P[Bin(n, 1/2) = k], without the loss of digits of a difference of log-factorials.

    By Stirling's formula with its remainders, and a series for the divergence (after Loader, "Fast and accurate
    computation of binomial probabilities", 2000).
    """
    edge = (k <= 0) | (k >= n)
    inner, size = np.where(edge, 1.0, k), np.where(edge, 2.0, n)
    tilt = 2 * inner / size - 1
    square = tilt * tilt
    powers = np.zeros_like(square)
    for j in range(_SERIES, 0, -1):
        powers = (powers + 1 / (j * (2 * j - 1))) * square
    direct = (1 + tilt) * np.log1p(tilt) + (1 - tilt) * np.log1p(-tilt)
    divergence = size / 2 * np.where(square < 0.04, powers, direct)
    rest = _stirling_rest(size) - _stirling_rest(inner) - _stirling_rest(size - inner)
    found = np.exp(rest - divergence) * np.sqrt(size / (2 * math.pi * inner * (size - inner)))
    return np.where(edge, np.exp(-n * math.log(2)), found)


def _stirling_rest(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of n! minus that of Stirling's formula."""
    few = np.minimum(n, 16.0)
    exact = gammaln(few + 1) - ((few + 0.5) * np.log(few) - few + 0.5 * math.log(2 * math.pi))
    inverse = 1 / (n * n)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / n
    return np.where(n <= 16, exact, series)


def _geometric(last: float, ratio: float) -> float:
    """An upper bound on the sum of all terms after `last`, if each is at most `ratio` times the one before."""
    return last * ratio / (1 - ratio) if ratio < 1 else math.inf
