"""Shuffled reports: how private sums are to an observer who cannot tell whose report is whose.

An attacker wants to know which of two values one person holds, and knows the values of all others. Let P₀ and P₁ be the
laws of her report for the two values. Whatever value another person holds, the law of his report is at least ω, the
least chance that any value gives to each report: the *blanket* of Balle, Bell, Gascón and Nissim (CRYPTO 2019). So with
a chance of γ = Σω his report comes from ω/γ whatever he holds, and hides hers; of the other reports the attacker may
know that they are not hers. If n people report, δ at ε is then at most

    (1/n)·E[(Y₁ + … + Yₙ)⁺],     Yᵢ = (P₀ − e^ε·P₁)/ω at a report drawn from ω, and 0 with the remaining chance 1 − γ.

It is the mean, over the blanket's reports with hers among them, of the excess of their likelihood under P₀ over e^ε
times that under P₁; the chance that m − 1 of n − 1 others are in the blanket, divided by m, is that of m of n, divided
by γ·n.

Reports with the same ratios P₀/ω and P₁/ω are of one *kind*, and a mechanism has few kinds (`Kind`). Of a mechanism of
which nothing is known but ε₀, no law is more than E = e^ε₀ times another, so ω may be taken as the larger of P₀ and P₁,
divided by E. The worst case then has two kinds, E to 1 and 1 to E, each with a chance of 1/(E + 1) (`pure_kinds`); this
is the bound of Feldman, McMillan and Talwar, "Stronger privacy amplification by shuffling for Rényi and approximate
differential privacy" (SODA 2023).

The law of the sum is computed on a grid of a few thousand numbers, by doubling the number of people. What falls between
two numbers of the grid is split between them so that its mean stays; that makes the mean of any convex function larger,
never smaller. What falls below the grid is moved up to it. So results are never below the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import bisect

MOST_PEOPLE: Final = 10**9
"""A larger crowd is treated as one of this size. The bound still holds, as if all further reports were known."""

_GRID = 8192
_RARE = 46.0  # sums further out have a chance of at most e^−46; their share of δ is added as a whole
_ROUNDING = 1e-12  # relative to the reach of a sum: more than all rounding of the transforms adds up to
_LARGEST = 16.0  # the largest ε of a report: beyond it, hardly any crowd hides anybody
_NEAR = 1e-4  # relative precision of an ε


class Kind(NamedTuple):
    """Reports of one kind: how many times likelier they are than in the blanket, for each of two values.

    `first` and `second` are P₀/ω and P₁/ω, both 0 for reports outside the blanket. `chance` is ω; the chances of all
    kinds add up to 1.
    """

    first: float
    second: float
    chance: float


def pure_kinds(local: float) -> list[Kind]:
    """The kinds of the worst mechanism that is `local`-private."""
    if not 0 < local <= _LARGEST:
        raise ParameterError(f"local must be above 0 and at most {_LARGEST:g}, got local={local}")
    grown, chance = math.exp(local), 1 / (math.exp(local) + 1)
    return [Kind(grown, 1.0, chance), Kind(1.0, grown, chance), Kind(0.0, 0.0, 1 - 2 * chance)]


def match_kinds(keep: float, match: float, both: float) -> list[Kind]:
    """The kinds of a mechanism whose report matches the sender's value with a chance of `keep`, or else is uniform.

    A uniform report matches a value with a chance of `match`, and two different values at once with one of `both`.
    """
    lie = 1 - keep
    grown = 1 + keep / (lie * match)  # a report that matches is so many times likelier
    one, neither = match - both, 1 - 2 * match + both
    return [
        Kind(grown, 1.0, lie * one),
        Kind(1.0, grown, lie * one),
        Kind(grown, grown, lie * both),
        Kind(1.0, 1.0, lie * neither),
        Kind(0.0, 0.0, keep),
    ]


def shuffled_delta(epsilon: float, kinds: Sequence[Kind], people: int) -> float:
    """An upper bound on the δ at `epsilon` of the shuffled reports of this many honest people.

    Above the bound of the theorem by less than what 0.1 % of ε makes of it, and about 10⁻¹². Costs about a millisecond
    for each doubling of the people.
    """
    if people < 1:
        raise ParameterError(f"people must be at least 1, got people={people}")
    if not epsilon >= 0:
        raise ParameterError(f"epsilon must be at least 0, got epsilon={epsilon}")
    people = min(people, MOST_PEOPLE)
    factor = math.exp(min(epsilon, 3 * _LARGEST))
    values = np.array([kind.first - factor * kind.second for kind in kinds])
    if values.max() <= 0:
        return 0.0
    excess = _mean_excess(values, np.array([kind.chance for kind in kinds]), people)
    return min(1.0, excess / people * (1 + _ROUNDING))


def shuffled_epsilon(delta: float, kinds: Sequence[Kind], people: int) -> float:
    """An upper bound on the ε at `delta` of the shuffled reports of this many honest people.

    At most the ε of one report, which holds without any shuffling. Costs about twenty times `shuffled_delta`.

    Examples
    --------
    100,000 reports with ε₀ = 4 and δ = 10⁻⁶; "Hiding among the clones" (FOCS 2021) has 0.1698 for them.

    >>> round(shuffled_epsilon(1e-6, pure_kinds(4.0), 100_000), 4)
    0.1182
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, got delta={delta}")
    if shuffled_delta(0.0, kinds, people) <= delta:  # ε = 0 is enough
        return 0.0
    local = max(math.log(kind.first / kind.second) for kind in kinds if kind.second > 0)
    low = local
    while shuffled_delta(low, kinds, people) <= delta:  # a search from the right order of magnitude
        low /= 8
    if low == local:
        return local

    def near(low: float, high: float) -> bool:
        return high - low <= _NEAR * high

    return bisect(
        lambda epsilon: shuffled_delta(epsilon, kinds, people) <= delta, low, min(8 * low, local), close=near
    )[1]


class _Grid(NamedTuple):
    """The numbers first·step, (first + 1)·step, …, of which 0 may be one: most kinds of a report add nothing."""

    first: int
    step: float

    @property
    def numbers(self) -> NDArray[np.float64]:
        """All numbers of the grid."""
        return self.step * np.arange(self.first, self.first + _GRID, dtype=np.float64)


def _mean_excess(values: NDArray[np.float64], chances: NDArray[np.float64], people: int) -> float:
    """An upper bound on E[(Y₁ + … + Yₙ)⁺] for independent Y with these values and chances."""
    if people == 1:
        return float(np.maximum(values, 0.0) @ chances)
    number, grid = 1, _grid(1, values, chances)
    law = _spread(values, chances, grid)
    for bit in f"{people:b}"[1:]:
        law = np.maximum(np.fft.irfft(np.fft.rfft(law, 2 * _GRID) ** 2, 2 * _GRID)[:-1], 0.0)
        sums = grid.step * np.arange(2 * grid.first, 2 * grid.first + 2 * _GRID - 1, dtype=np.float64)
        number *= 2
        if bit == "1":
            sums, law = np.add.outer(values, sums).ravel(), np.outer(chances, law).ravel()
            number += 1
        grid = _grid(number, values, chances)
        law = _spread(sums, law, grid)
    left_out = people * float(values.max()) * math.exp(-_RARE) * people.bit_length()
    return float(np.maximum(grid.numbers, 0.0) @ law) + left_out + _ROUNDING * float(grid.numbers[-1])


def _grid(number: int, values: NDArray[np.float64], chances: NDArray[np.float64]) -> _Grid:
    """From the least to the most that the sum of so many values hardly leaves, by Bernstein's inequality."""
    mean = float(values @ chances)
    variance = float(chances @ (values - mean) ** 2)

    def reach(step: float) -> float:
        part = _RARE * step / 3
        return min(number * step, part + math.sqrt(part * part + 2 * _RARE * number * variance))

    low, high = number * mean - reach(mean - float(values.min())), number * mean + reach(float(values.max()) - mean)
    step = (high - low) / (_GRID - 3)
    return _Grid(math.floor(low / step), step)


def _spread(places: NDArray[np.float64], weights: NDArray[np.float64], grid: _Grid) -> NDArray[np.float64]:
    """Weights of the numbers of a grid, with the same mean as those of the places; outside it, at its ends."""
    at = np.clip(places / grid.step - grid.first, 0.0, _GRID - 1.0)
    below = np.minimum(at.astype(np.int64), _GRID - 2)
    part = at - below
    law = np.bincount(below, weights * (1 - part), _GRID) + np.bincount(below + 1, weights * part, _GRID)
    return np.asarray(law, np.float64)
