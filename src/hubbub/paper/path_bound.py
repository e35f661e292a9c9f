"""Theorem D of docs/theory-of-tree.md: the count that the clean tree mechanism is proved to find, in any crowd.

The bound is an expectation over the matches of the value itself, row by row. It is evaluated on exact draws of these;
what is stated has an upper confidence limit, so that the draws make it wrong with a chance of 10⁻⁶ at most. The tails
of absent prefixes are upper bounds throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import normal_quantile_log, normal_tail_log
from hubbub.paper import theory_of_tree as theory

Floats = NDArray[np.float64]

_LN2 = math.log(2)
_SPREAD = 1.5  # standard errors: the default root is the least for which values with so many holders are heavy
_LEAST_SHARE = 1e-3  # of a row that the rule asks nothing of
_LOOKS = 10
_UNSURE = 1e-7  # the chance that one look at many draws takes a threshold for enough that is too small
_FEW = 1500  # draws that say where to look
_WORST = 50.0  # nats; the exponential of more is not needed


def divergence(shares: Floats, chance: float) -> Floats:
    """KL(share ‖ chance) of two coins, in nats; 0 for shares below the chance."""
    inside = np.clip(shares, chance, 1 - 1e-15)
    return np.asarray(inside * np.log(inside / chance) + (1 - inside) * np.log((1 - inside) / (1 - chance)))


def log_tail(matches: Floats, reports: Floats, chance: float) -> Floats:
    """An upper bound on ln P[Bin(reports, chance) ≥ matches], by Zubkov and Serov."""
    before = matches - 1
    size = np.sqrt(2 * reports * divergence(before / reports, chance))
    return np.where(before > reports * chance, normal_tail_log(size), 0.0)


def hazard(matches: Floats, reports: Floats, chance: float) -> Floats:
    """An upper bound on η = P[Bin(m − 1, π) = k − 1] / P[Bin(m − 1, π) ≥ k]; infinite where none is known.

    The numerator by Stirling's formula, the denominator by Zubkov and Serov.
    """
    trials, before = reports - 1, matches - 1
    known = (matches > trials * chance + 1) & (before >= 1) & (before <= trials - 2)
    k, m = np.where(known, before, 1.0), np.where(known, trials, 3.0)
    point = -m * divergence(k / m, chance) + 0.5 * np.log(m / (2 * math.pi * k * (m - k)))
    tail = normal_tail_log(np.sqrt(2 * m * divergence((k + 1) / m, chance)))
    return np.where(known, np.exp(np.minimum(point - tail, 700.0)), np.inf)


def largest_mean(mean: float, draws: int, unsure: float = _UNSURE) -> float:
    """An upper confidence limit of the mean of a variable between 0 and 1: Chernoff's bound, inverted."""
    nats = math.log(1 / unsure) / draws

    def is_far(true: float) -> bool:
        rest = (1 - mean) * math.log((1 - mean) / (1 - true)) if mean < 1 else 0.0
        return (mean * math.log(mean / true) if mean > 0 else 0.0) + rest >= nats

    return 1.0 if mean >= 1 else bisect(is_far, mean, 1.0, 60)[1]


@dataclass(frozen=True)
class Window:
    """Rows first + 1 to last, numbered from 1, with the logarithm of how many prefixes compete for how many places."""

    first: int
    last: int
    log_rivals: float


@dataclass(frozen=True)
class PathBound:
    """The clean mechanism in one shape, and the chance that it loses a value.

    Attributes
    ----------
    people, epsilon, bits, beta
        n, ε, b, and the chance of failure: a fifth for roots, a fifth for false values, half for the value itself, and
        a tenth for the comparison of counts.
    root_bits, step, listed : int
        d₁ (0: the least for which values with 1.5·sd holders are heavy), bits from row to row, and L. B is 2·L·H̄.
    """

    people: int
    epsilon: float
    bits: int
    beta: float = 0.05
    root_bits: int = 0
    step: int = 4
    listed: int = 1 << 12

    def __post_init__(self) -> None:
        if not self.root_bits:
            heavy = self.people / (_SPREAD * self.channel.stderr(self.people))
            if heavy < 2:
                raise ParameterError(f"people must be more for a bound to exist, got people={self.people}")
            object.__setattr__(self, "root_bits", math.ceil(math.log2(heavy**2 / (0.4 * self.beta))))
        if not 1 <= self.root_bits <= self.bits - 2:
            raise ParameterError(
                f"values must have two bits more than roots, which have {self.root_bits}, got {self.bits} bits"
            )
        if self.heavy < 2:  # else a value would have to be held by more than half of the crowd
            raise ParameterError(f"roots must have more bits for this beta, got root_bits={self.root_bits}")

    @cached_property
    def channel(self) -> theory.Channel:
        """The randomiser."""
        return theory.Channel.best(self.epsilon)

    @cached_property
    def heavy(self) -> float:
        """H̄, the most heavy values: so many that two of them share a root with a chance of β/5 at most."""
        return math.sqrt(2.0 ** (self.root_bits + 1) * self.beta / 5)

    @property
    def places(self) -> float:
        """B₀: the places of the beam that the lists of heavy values leave to others."""
        return self.listed * self.heavy

    @cached_property
    def depths(self) -> list[int]:
        """The depth of each row."""
        return [*range(self.root_bits, self.bits, self.step), self.bits]

    def log_level(self, row: int) -> float:
        """The logarithm of the level of the test of the rows after this one; row 0 is for the pooled test."""
        half = math.log(self.beta / 10)
        if row == 0:
            return half - self.bits * _LN2
        siblings = (len(self.depths) - 1) * self.heavy
        return half - math.log(siblings) - (self.bits - self.depths[row - 1]) * _LN2

    @cached_property
    def windows(self) -> list[Window]:
        """What can push a value out of the beam (first = 0) or out of the list of its root."""
        found = []
        for last, depth in enumerate(self.depths[:-1], 1):
            if 2.0**depth > self.places:
                found.append(Window(0, last, depth * _LN2 - math.log(self.places)))
            few = 0.0  # the prefixes of short windows are counted as if all of them were ahead
            for first in range(last - 1, 0, -1):
                rivals = 2.0 ** (depth - self.depths[first - 1])
                if few + rivals <= self.listed / 2:
                    few += rivals
                else:
                    found.append(Window(first, last, math.log(rivals / (self.listed - few))))
        return found

    @cached_property
    def shares(self) -> list[float]:
        """The share of people of each row: the least with which every window is safe, by the normal law.

        √(W_t − W_j)·z ≥ Q⁻¹(what a rival may reach) + m for all windows, for the least z that people suffice for. m is
        Q⁻¹(β/number of windows); a rival may reach places·β/rows, and in the last row the level of its test.
        """
        rows = len(self.depths)
        asked = {(window.first, window.last): math.log(self.beta / rows) - window.log_rivals for window in self.windows}
        asked |= {(row, rows): self.log_level(row) for row in range(rows)}
        margin = normal_quantile_log(math.log(self.beta / len(asked)))
        needed = {key: (normal_quantile_log(min(log, -_LN2)) + margin) ** 2 for key, log in asked.items()}

        def cumulative(z: float) -> list[float]:
            least = [0.0]
            for last in range(1, rows + 1):
                ways = [least[first] + needed[first, last] / z**2 for first in range(last) if (first, last) in needed]
                least.append(max([least[-1], *ways]))
            return least

        least = cumulative(bisect(lambda z: cumulative(z)[-1] <= 1, 0.5, 400.0, 60)[1])
        steps = [below - above if below > above else _LEAST_SHARE for above, below in pairwise(least)]
        return [share / sum(steps) for share in steps]

    def lost(self, holders: int, rng: np.random.Generator, draws: int) -> Floats:
        """Of each draw of the value's own matches, the bound on the chance that it is not accepted; at most 1."""
        own, other = (rng.multinomial(some, self.shares, draws) for some in (holders, self.people - holders))
        matches = rng.binomial(own, self.channel.held) + rng.binomial(other, self.channel.absent)
        sums, reports, others = (_cumulative(each) for each in (matches, own + other, other))
        bound = np.where(self.passes(matches, own + other), 0.0, 1.0)
        for window in self.windows:
            wanted = math.log(self.beta / 100) - window.log_rivals
            log = self._log_chance(window.first, window.last, sums, reports, others, wanted) + window.log_rivals
            bound += np.exp(np.minimum(log, _WORST))
        return np.minimum(bound, 1.0)

    def passes(self, matches: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some paths pass the pooled test and every suffix test, given matches and reports by row."""
        sums, sizes, rows = _cumulative(matches), _cumulative(reports), len(self.depths)
        passed = np.ones(len(matches), np.bool_)
        for row in range(rows):
            level = self.log_level(row)
            passed &= self._log_chance(row, rows, sums, sizes, sizes, level) <= level
        return passed

    def _log_chance(
        self, first: int, last: int, sums: Floats, reports: Floats, others: Floats, wanted: float
    ) -> Floats:
        """ln(F·tail): how likely a prefix without heavy values has as many matches in the rows after `first`.

        `others` are the people who may share, by row, cumulative. More matches than are needed for the `wanted`
        logarithm do not count: the chance of fewer is an upper bound too, and F grows with the matches.
        """
        absent = self.channel.absent
        matches, size = sums[:, last] - sums[:, first], np.maximum(reports[:, last] - reports[:, first], 2.0)
        far = 1.25 * normal_quantile_log(min(wanted, -_LN2)) + 2
        matches = np.minimum(matches, np.ceil(size * absent + far * np.sqrt(size * absent * (1 - absent))))
        eta = hazard(matches, size, absent)
        tilt = (self.channel.held - absent) / (1 / eta + absent)  # ρ = (1 + p·η)/(1 + η/q) − 1
        pull = tilt * self.people / self.heavy / np.maximum(others[:, -1], 1.0)  # ρ·h, for each person of the window
        exponent = np.zeros(len(size))
        for row in range(first, last):
            above, below = (pull * (others[:, end] - others[:, first]) for end in (row, row + 1))
            exponent -= np.exp(np.minimum(below - self.depths[row] * _LN2, _WORST)) * np.expm1(above - below)
        exponent *= others[:, -1] * self.heavy / self.people * (1 + 2 * self.heavy * 2.0**-self.bits)
        return np.minimum(log_tail(matches, size, absent) + exponent, 0.0)

    def threshold(self, draws: int = 20_000, seed: int = 1) -> int:
        """T: a value with so many holders or more is lost with a chance of at most β/2, besides roots and false values.

        At least h, since only heavy values are proved to be found. Raises ParameterError if there is no bound for half
        the crowd. Costs about twenty times 1,500 draws, and a few times `draws`, which must be more than these.
        """
        if draws <= _FEW:  # so that the draws that say where to look are not looked at again
            raise ParameterError(f"draws must be above {_FEW:,}, got draws={draws}")
        most = self.beta / 2

        def is_found(holders: float, number: int = _FEW) -> bool:
            chances = self.lost(round(holders), np.random.default_rng((seed, number)), number)
            return largest_mean(float(chances.mean()), draws) <= most

        step = self.channel.stderr(self.people)
        if not is_found(self.people / 2):
            raise ParameterError(f"people must be more for a bound to exist, got people={self.people}")
        close = 0.01 * step
        _, near = bisect(is_found, step, self.people / 2, close=lambda low, high: high - low <= close)
        near = max(near - 0.15 * step, math.ceil(self.people / self.heavy))  # few draws may have looked too high
        for look in range(_LOOKS):
            if is_found(near, draws):
                return round(near)
            near += 0.03 * (1 + look) * step
        raise ParameterError(f"draws must be more to say where the threshold is, got draws={draws}")

    def comparison(self) -> float:
        """D, see `theory_of_tree.comparison_error`; the light factor that it needs is checked."""
        tilt = theory.comparison_tilt(self.channel, self.people, self.heavy, self.beta)
        least = self.people / self.heavy
        light = theory.light_exponent(tilt, self.people, least, self.depths, self.shares, self.bits, self.heavy)
        if light > 1:
            raise ParameterError(f"roots must have more bits for this crowd, got root_bits={self.root_bits}")
        return theory.comparison_error(self.channel, self.people, self.heavy, self.beta)


def _cumulative(parts: NDArray[np.int64]) -> Floats:
    """Sums of the first rows of each draw, from none to all."""
    return np.concatenate([np.zeros((len(parts), 1)), np.cumsum(parts, axis=1)], axis=1).astype(np.float64)
