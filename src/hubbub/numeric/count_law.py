"""The law of an estimated count, given how many people hold the value: tails far out, and their inversion.

An estimate is a sum of independent parts, one for each report: those of the people who hold the value have one law,
all others another. So its cumulant generating function is K_v(t) = v·own(t) + (n − v)·other(t), and what collides in
hashed rows adds a Gaussian part, extra·t²/2. Tails come from K_v by the saddlepoint formula of Barndorff-Nielsen,
Q(r*), with the correction for lattices. It costs the same for ten people and for a billion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.numeric.bisection import bisect, bisect_each
from hubbub.numeric.tails import binomial_threshold, normal_quantile_log, normal_tail_log

Floats: TypeAlias = NDArray[np.float64]

Triple: TypeAlias = tuple[Floats, Floats, Floats]

Cumulants: TypeAlias = Callable[[Floats], Triple]
"""The cumulant generating function of one report at each t, and its first two derivatives."""

UNDERSTATED = 1.1
"""A tail is at most this many times what is computed, for ten people and more (tests/numeric/test_count_law.py)."""

_HALVINGS = 46  # of an interval for t
_REACH = 90.0  # lattice steps times t: e^90 is beyond any crowd
_GAUSSIAN_REACH = 1e5  # standard errors
_FLAT = 0.02  # |w| below which the correction of r* is left out: nobody asks for tails near one half
_PART = 1e-3  # of a person
_RESOLUTION = 1e-11  # of a standard error, times the root of the people: what the halvings leave of t, and more
_NODES = 1024  # counts for which limits are computed; those of other counts lie between


@dataclass(frozen=True)
class CountLaw:
    """The law of an estimate.

    Attributes
    ----------
    people : int
        n, everybody who reported.
    own, other : Cumulants
        Of the part of a report whose sender holds the value, with mean 1, and of any other, with mean 0.
    step : float
        The estimates are whole multiples of it apart; 0 if they are not on a lattice.
    reach : float
        The cumulants are finite for |t| below this.
    tail_chance : float
        Where a report of somebody else adds one step with some chance and nothing otherwise: that chance. The
        threshold of an absent value is then exactly binomial. 0 elsewhere.
    slots : int
        Values that one person may have. She reports one of her slots, and each of her values is in one slot.
    """

    people: int
    own: Cumulants
    other: Cumulants
    step: float
    reach: float
    tail_chance: float = 0.0
    slots: int = 1

    def with_slots(self, slots: int) -> CountLaw:
        """The law of `slots` times the estimate, where whoever has the value reports it with a chance of 1/slots.

        Exact, as this law is: the report of somebody who has the value is that of a holder with this chance, and else
        that of anybody.
        """
        if slots == 1:
            return self

        def other(t: Floats) -> Triple:
            value, slope, bend = self.other(slots * t)
            return value, slots * slope, slots**2 * bend

        def own(t: Floats) -> Triple:
            held, rest = self.own(slots * t), self.other(slots * t)
            ahead = held[0] - math.log(slots)
            behind = rest[0] + math.log1p(-1 / slots)
            value = np.logaddexp(ahead, behind)
            weight = np.exp(ahead - value)
            slope = weight * held[1] + (1 - weight) * rest[1]
            bend = weight * held[2] + (1 - weight) * rest[2] + weight * (1 - weight) * (held[1] - rest[1]) ** 2
            return value, slots * slope, slots**2 * bend

        return CountLaw(
            self.people, own, other, slots * self.step, self.reach / slots, self.tail_chance, slots * self.slots
        )

    def variance(self, held: Floats) -> Floats:
        """Of the estimate of a value that `held` people hold, without collisions."""
        zero = np.zeros(1)
        return np.asarray(held * self.own(zero)[2][0] + (self.people - held) * self.other(zero)[2][0])

    def collisions(self, counts: Floats, stderrs: Floats) -> Floats:
        """The variance that standard errors hold beyond that of the reports: collisions."""
        return np.maximum(stderrs**2 - self.variance(np.clip(counts, 0.0, self.people)), 0.0)

    # Tails.

    def log_above(self, edge: Floats | float, held: Floats | float, extra: Floats | float = 0.0) -> Floats:
        """The logarithm of P[estimate > edge] of a value that `held` people hold; edges are off the lattice."""
        return normal_tail_log(self._deviation(edge, held, extra))

    def log_below(self, edge: Floats | float, held: Floats | float, extra: Floats | float = 0.0) -> Floats:
        """The logarithm of P[estimate < edge] of a value that `held` people hold."""
        return normal_tail_log(-self._deviation(edge, held, extra))

    def log_tail(self, counts: Floats, extra: Floats) -> Floats:
        """The logarithm of P[estimate >= count] of a value that nobody holds."""
        return _interpolated(lambda some, more: self.log_above(some - self.step / 2, 0.0, more), counts, extra)

    def threshold(self, log_chance: float, extra: float = 0.0) -> float:
        """The least edge that a value nobody holds passes with at most this chance, half a step above the lattice."""
        exact = -math.inf
        if self.tail_chance > 0:
            matches = binomial_threshold(self.people, self.tail_chance, log_chance)
            exact = self.step * (matches - 0.5 - self.people * self.tail_chance)
            if extra <= 0:
                return exact
        width, held, more = normal_quantile_log(log_chance), np.zeros(1), np.array([extra])

        def is_far(t: float) -> bool:
            at = np.array([t])
            value, slope, bend = self._total(at, held, more)
            return not float(self._signed_root(at, slope, value, bend)[0]) < width

        _, high = bisect(is_far, 0.0, float(self._most(held, more)[0]), _HALVINGS)
        return max(exact, float(self._total(np.array([high]), held, more)[1][0]))

    # Limits.

    def lower(self, counts: Floats, extra: Floats, width: float) -> Floats:
        """The fewest holders with whom an estimate reaches the count with a chance of Q(width)."""
        return _interpolated(lambda some, more: self._limit(some - self.step / 2, more, width, 1.0), counts, extra)

    def upper(self, counts: Floats, extra: Floats, width: float) -> Floats:
        """The most holders with whom an estimate stays at the count or below with a chance of Q(width)."""
        return _interpolated(lambda some, more: self._limit(some + self.step / 2, more, width, -1.0), counts, extra)

    def seen_from(self, edge: float, extra: float, width: float) -> float:
        """How many must hold a value for its estimate to pass the edge but with a chance of Q(width).

        More than everybody, if even that is not enough.
        """
        if float(self.log_below(edge, self.people, extra)) > float(normal_tail_log(width)):
            return max(self.people + 1.0, edge + width * math.sqrt(float(self.variance(np.zeros(1))[0]) + extra))
        return float(self._limit(np.array([edge]), np.array([extra]), width, -1.0)[0])

    # The saddlepoint.

    def _deviation(self, edge: Floats | float, held: Floats | float, extra: Floats | float) -> Floats:
        """r* with P[estimate > edge] = Q(r*)."""
        y, v, more = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (edge, held, extra)))
        most = self._most(v, more)
        halvings = _HALVINGS + max(0, self.people.bit_length() - 40)  # the more people, the smaller is t
        t = bisect_each(lambda at: ~(self._total(at, v, more)[1] < y), -most, most, halvings)
        value, slope, bend = self._total(t, v, more)
        impossible = np.abs(slope - y) > 1e-6 * (1.0 + np.abs(y))  # no t leads there: beyond what can happen
        return np.where(impossible, np.sign(t) * np.inf, self._signed_root(t, y, value, bend))

    def _limit(self, edge: Floats, extra: Floats, width: float, side: float) -> Floats:
        """The v in 0…n with P_v[beyond the edge] = Q(width), above it for side 1 and below it for side −1.

        At a given t the saddlepoint equation K_v'(t) = edge is linear in v. So there is one unknown, t.
        """

        def is_far(size: Floats) -> NDArray[np.bool_]:
            t = side * size
            held, own, other = self._held(t, edge, extra)
            value, _, bend = _mixed(np.clip(held, 0.0, self.people), self.people, own, other)
            near = side * self._signed_root(t, edge, value + extra * t * t / 2, bend + extra) < width
            # Holders are fewer the further t is to the right.
            return ~np.where(held > self.people, side > 0, np.where(held < 0, side < 0, near))

        zeros = np.zeros_like(edge)
        held = self._held(side * bisect_each(is_far, zeros, self._most(zeros, extra), _HALVINGS), edge, extra)[0]
        # Nobody and everybody exactly, where only rounding keeps from them. Where a standard error is that of millions,
        # rounding is worth people: then the interval is the wider one.
        spread = np.sqrt(self.variance(zeros) + extra)
        part = np.maximum(_PART, _RESOLUTION * math.sqrt(self.people) * spread)
        low, high = (part, _PART) if side > 0 else (_PART, part)
        first, second = (0.0, float(self.people)) if side > 0 else (float(self.people), 0.0)
        few, many = held < low, held > self.people - high
        is_first, is_second = (few, many) if side > 0 else (many, few)
        return np.where(is_first | (part >= self.people), first, np.where(is_second, second, held))

    def _held(self, t: Floats, edge: Floats, extra: Floats) -> tuple[Floats, Triple, Triple]:
        """The v with K_v'(t) = edge, and the cumulants at t."""
        own, other = self.own(t), self.other(t)
        apart = np.maximum(own[1] - other[1], 1e-100)
        return (edge - self.people * other[1] - extra * t) / apart, own, other

    def _total(self, t: Floats, held: Floats, extra: Floats) -> Triple:
        value, slope, bend = _mixed(held, self.people, self.own(t), self.other(t))
        return value + extra * t * t / 2, slope + extra * t, bend + extra

    def _signed_root(self, t: Floats, edge: Floats, value: Floats, bend: Floats) -> Floats:
        """r* = w + ln(u/w)/w."""
        w = np.sign(t) * np.sqrt(np.maximum(2 * (t * edge - value), 0.0))
        half = np.clip(self.step * t / 2, -_REACH, _REACH)
        u = (2 * np.sinh(half) / self.step if self.step > 0 else t) * np.sqrt(bend)
        steep = np.abs(w) > _FLAT
        safe = np.where(steep, w, 1.0)
        ratio = np.where(steep, np.maximum(u / safe, 1e-300), 1.0)
        return np.asarray(w + np.log(ratio) / safe)

    def _most(self, held: Floats, extra: Floats) -> Floats:
        """How large t may get."""
        if math.isfinite(self.reach):
            return np.full(held.shape, self.reach)
        return _GAUSSIAN_REACH / np.sqrt(np.maximum(self.variance(held) + extra, 1e-300))


def response_law(people: int, symbols: int, keep: float) -> CountLaw:
    """Randomised response: who keeps the truth matches his value, and everybody else with chance 1/symbols."""
    return match_law(people, keep + (1 - keep) / symbols, 1.0 / symbols, keep * (1 - 1.0 / symbols))


def match_law(people: int, held: float, absent: float, gap: float) -> CountLaw:
    """A report matches a value with one chance if its sender holds it, and with a smaller one if not.

    The estimate is (matches − people·absent)/gap, where the gap is held − absent. It is given, since rounding may leave
    nothing of the difference where ε is tiny.
    """
    step = 1.0 / gap

    def cumulants(chance: float, mean: float) -> Cumulants:
        def at(t: Floats) -> Triple:
            # Written with differences from t = 0, or rounding would move the mean where a step is many people.
            grown = np.expm1(step * t)
            total = 1 + chance * grown
            spread = chance * (1 - chance) / total
            value = np.log1p(chance * grown) - absent * step * t
            return value, mean + step * spread * grown, step**2 * spread * np.exp(step * t) / total

        return at

    own, other = cumulants(min(held, 1 - 2.0**-53), 1.0), cumulants(absent, 0.0)
    return CountLaw(people, own, other, step, _REACH / step, absent)


def mean_variance(size: int, held: float, absent: float, gap: float) -> float:
    """The variance of a count that each report adds, as a mean over all values of a list; the same for every crowd.

    A report matches the value of its sender with chance `held` and each of the others with chance `absent`; the gap is
    held − absent.
    """
    total = held * (1 - held) + (size - 1) * absent * (1 - absent)
    return total / (size * gap**2)


def laplace_law(people: int, rate: float, draws: int = 1, scale: float = 1.0) -> CountLaw:
    """Everybody adds the sum of `draws` discrete Laplace variables, times `scale`; holders add 1 as well."""
    ratio = math.exp(-rate)

    def other(t: Floats) -> Triple:
        up, down = ratio * np.exp(scale * t), ratio * np.exp(-scale * t)
        value = 2 * math.log1p(-ratio) - np.log1p(-up) - np.log1p(-down)
        slope = up / (1 - up) - down / (1 - down)
        bend = up / (1 - up) ** 2 + down / (1 - down) ** 2
        return draws * value, draws * scale * slope, draws * scale**2 * bend

    def own(t: Floats) -> Triple:
        value, slope, bend = other(t)
        return value + t, slope + 1, bend

    return CountLaw(people, own, other, scale, rate / scale * (1 - 1e-9))


def gaussian_law(people: int) -> CountLaw:
    """No law of the reports: all of the standard errors is `extra`."""

    def own(t: Floats) -> Triple:
        return t, np.ones_like(t), np.zeros_like(t)

    def other(t: Floats) -> Triple:
        return np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)

    return CountLaw(people, own, other, 0.0, math.inf)


def _mixed(held: Floats, people: int, own: Triple, other: Triple) -> Triple:
    """Cumulants of the sum over everybody."""
    rest = people - held
    return held * own[0] + rest * other[0], held * own[1] + rest * other[1], held * own[2] + rest * other[2]


def _interpolated(function: Callable[[Floats, Floats], Floats], counts: Floats, extra: Floats) -> Floats:
    """The function of each (count, extra); where there are many and `extra` follows the count, of some only."""
    counts, extra = (np.asarray(each, np.float64) for each in np.broadcast_arrays(counts, extra))
    if len(counts) <= 4 * _NODES:
        return function(counts, extra)
    order = np.argsort(counts, kind="stable")
    ends = np.linspace(counts[order[0]], counts[order[-1]], _NODES)
    ranks = np.union1d(np.linspace(0, len(order) - 1, _NODES).round(), np.searchsorted(counts[order], ends))
    # Of neighbours the one with the least extra: what shares buckets has more than others with its count.
    near = order[(ranks[1:-1, np.newaxis].astype(np.int64) + np.arange(-2, 3)).clip(0, len(order) - 1)]
    places = near[np.arange(len(near)), np.argmin(extra[near], axis=1)]
    places = np.concatenate([order[:1], places, order[-1:]])
    places = places[np.unique(counts[places], return_index=True)[1]]
    knots = counts[places]
    nodes = function(knots, extra[places])
    found = np.interp(counts, knots, nodes)
    alone = np.abs(np.interp(counts, knots, extra[places]) - extra) > 1e-3 * np.maximum(extra, 1e-9)
    # Where limits leave nobody or reach everybody they bend: there, too, each is computed.
    flat = nodes[1:] == nodes[:-1]
    bends = np.flatnonzero(flat[1:] != flat[:-1])
    segments = np.searchsorted(knots, counts, side="right") - 1
    alone |= np.isin(segments, np.concatenate([bends, bends + 1]))
    rest = np.flatnonzero(alone)
    for start in range(0, len(rest), 1 << 16):
        part = rest[start : start + (1 << 16)]
        found[part] = function(counts[part], extra[part])
    return found
