"""The law of an estimated count, given how many people hold the value: tail probabilities and their inversion.

An estimate is a sum of independent parts, one for each report: those of the people who hold the value have one law,
all others another. So its cumulant generating function is K_v(t) = v·own(t) + (n − v)·other(t). Collisions in hashed
rows add a Gaussian part, extra·t²/2. Tails come from K_v by the saddlepoint formula of Barndorff-Nielsen, Q(r*), with
the correction for lattices. The cost does not depend on the number of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from hubbub.numeric.bisection import bisect
from hubbub.numeric.tails import binomial_threshold, normal_quantile_log

Floats: TypeAlias = NDArray[np.float64]

Triple: TypeAlias = tuple[Floats, Floats, Floats]

Cumulants: TypeAlias = Callable[[Floats], Triple]
"""The cumulant generating function of one report at each t, and its first two derivatives."""

UNDERSTATED = 1.1
"""A true tail is at most this many times the computed one, for ten people or more (tests/numeric/test_count_law.py)."""

_HALVINGS = 46  # of an interval for t
_REACH = 90.0  # the largest t, times the lattice step: e^90 is beyond any crowd
_GAUSSIAN_REACH = 1e5  # standard errors
_FLAT = 0.02  # for smaller |w| the correction of r* is left out; it matters only for tails near one half
_PART = 1e-3  # people; a limit closer than this to 0 or to everybody is rounded to it
_RESOLUTION = 1e-11  # standard errors, times √people: an upper bound on the error that the halvings leave
_NODES = 1024  # counts for which limits are computed; limits of other counts are interpolated


@dataclass(frozen=True)
class CountLaw:
    """The law of an estimate.

    Attributes
    ----------
    people : int
        n, everybody who reported.
    own, other : Cumulants
        The cumulants of a report's part: `own` if its sender holds the value (mean 1), `other` if not (mean 0).
    step : float
        Estimates differ by whole multiples of it; 0 if they are not on a lattice.
    reach : float
        The cumulants are finite for |t| below this.
    tail_chance : float
        If a report of a person who does not hold the value adds either one step or nothing: the chance of a step. The
        threshold of an absent value is then exactly binomial. Otherwise 0.
    slots : int
        The most values that one person may have. Each of her values is in a slot, and she reports one slot.
    """

    people: int
    own: Cumulants
    other: Cumulants
    step: float
    reach: float
    tail_chance: float = 0.0
    slots: int = 1

    def with_slots(self, slots: int) -> CountLaw:
        """The law of `slots` times the estimate, if everybody who has the value reports it with a chance of 1/slots.

        It is as exact as this law: with that chance the report of somebody who has the value is a holder's report, and
        otherwise it is like any other.
        """
        if slots == 1:
            return self

        own = partial(_mixed, self, 1 / slots, slots)
        other = partial(_mixed, self, 0.0, slots)
        return CountLaw(
            self.people, own, other, slots * self.step, self.reach / slots, self.tail_chance, slots * self.slots
        )

    def variance(self, held: Floats) -> Floats:
        """The variance of the estimate of a value that `held` people hold, without collisions."""
        zero = np.zeros(1)
        return np.asarray(held * self.own(zero)[2][0] + (self.people - held) * self.other(zero)[2][0])

    def collisions(self, counts: Floats, stderrs: Floats) -> Floats:
        """The variance due to collisions: the squared standard errors less the variance of the reports, at least 0."""
        return np.maximum(stderrs**2 - self.variance(np.clip(counts, 0.0, self.people)), 0.0)

    # Tails.

    def log_chances(
        self, edge: Floats | float, held: Floats | float, extra: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """The logarithms of P[estimate > edge] and P[estimate < edge] for a value that `held` people hold.

        No edge may be a lattice point.
        """
        y, v, more = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in (edge, held, extra)))
        high = self._most(v, more)
        low = -high
        for _ in range(_HALVINGS + max(0, self.people.bit_length() - 40)):  # t is smaller for more people
            t = (low + high) / 2
            is_far = ~(v * self.own(t)[1] + (self.people - v) * self.other(t)[1] + more * t < y)
            low, high = np.where(is_far, low, t), np.where(is_far, t, high)
        t = np.asarray((low + high) / 2)
        own, other = self.own(t), self.other(t)
        slope = v * own[1] + (self.people - v) * other[1] + more * t
        impossible = np.abs(slope - y) > 1e-6 * (1.0 + np.abs(y))  # no t solves it: the edge cannot be reached
        root = np.where(impossible, np.sign(t) * np.inf, self._signed_root(t, y, v, more, own, other))
        # P[estimate > edge] = Q(root)
        return np.asarray(log_ndtr(-root)), np.asarray(log_ndtr(root))

    def log_tail(self, counts: Floats, extra: Floats, sharing: Floats | None = None) -> Floats:
        """The logarithm of P[estimate >= count] for a value that nobody holds.

        `sharing` is a chance of the same for another reason, such as shared buckets, which is added.
        """
        half = self.step / 2
        tails = _interpolated(lambda some, more: self.log_chances(some - half, 0.0, more)[0], counts, extra)
        return tails if sharing is None else np.logaddexp(tails, np.log(np.maximum(sharing, 1e-300)))

    def threshold(self, log_chance: float, extra: float = 0.0) -> float:
        """The least edge that an absent value passes with a chance of e^log_chance at most, between lattice points."""
        exact = -math.inf
        if self.tail_chance > 0:
            matches = binomial_threshold(self.people, self.tail_chance, log_chance)
            exact = self.step * (matches - 0.5 - self.people * self.tail_chance)
            if extra <= 0:
                return exact
        width, held, more = normal_quantile_log(log_chance), np.zeros(1), np.array([extra])

        def is_far(t: float) -> bool:
            at = np.array([t])
            own, other = self.own(at), self.other(at)
            slope = held * own[1] + (self.people - held) * other[1] + more * at
            return not float(self._signed_root(at, slope, held, more, own, other)[0]) < width

        _, high = bisect(is_far, 0.0, float(self._most(held, more)[0]), _HALVINGS)
        at = np.array([high])
        return max(exact, float((held * self.own(at)[1] + (self.people - held) * self.other(at)[1] + more * at)[0]))

    # Limits.

    def limits(self, counts: Floats, extra: Floats, width: float) -> tuple[Floats, Floats]:
        """The fewest holders for which an estimate reaches the count with a chance of Q(width), and the most.

        With the most, an estimate stays at or below the count with that chance.
        """
        half = self.step / 2
        low = _interpolated(lambda some, more: self._limit(some - half, more, width, 1.0), counts, extra)
        high = _interpolated(lambda some, more: self._limit(some + half, more, width, -1.0), counts, extra)
        return low, high

    def seen_from(self, edge: float, extra: float, width: float) -> float:
        """How many must hold a value for its estimate to pass the edge with a chance of 1 − Q(width).

        More than `people` if even everybody is not enough.
        """
        if float(self.log_chances(edge, self.people, extra)[1]) > float(log_ndtr(-width)):
            return max(self.people + 1.0, edge + width * math.sqrt(float(self.variance(np.zeros(1))[0]) + extra))
        return float(self._limit(np.array([edge]), np.array([extra]), width, -1.0)[0])

    # The saddlepoint.

    def _limit(self, edge: Floats, extra: Floats, width: float, side: float) -> Floats:
        """The v in 0…n with P_v[beyond the edge] = Q(width), above it for side 1 and below it for side −1.

        At a given t the saddlepoint equation K_v'(t) = edge is linear in v. So there is one unknown, t.
        """
        zeros = held = low = np.zeros_like(edge)
        high = self._most(zeros, extra)
        for _ in range(_HALVINGS + 1):  # the last one only for `held`
            size = (low + high) / 2
            t = side * size
            own, other = self.own(t), self.other(t)
            held = (edge - self.people * other[1] - extra * t) / np.maximum(own[1] - other[1], 1e-100)
            near = side * self._signed_root(t, edge, np.clip(held, 0.0, self.people), extra, own, other) < width
            # The solution `held` falls as t grows.
            is_far = ~np.where(held > self.people, side > 0, np.where(held < 0, side < 0, near))
            low, high = np.where(is_far, low, size), np.where(is_far, size, high)
        # Round limits very close to 0 or to everybody to exactly that. With standard errors of millions of people the
        # rounding error can be whole people; then the limit is rounded so that the interval gets wider.
        spread = np.sqrt(self.variance(zeros) + extra)
        part = np.maximum(_PART, _RESOLUTION * math.sqrt(self.people) * spread)
        below, above = (part, _PART) if side > 0 else (_PART, part)
        first, second = (0.0, float(self.people)) if side > 0 else (float(self.people), 0.0)
        few, many = held < below, held > self.people - above
        is_first, is_second = (few, many) if side > 0 else (many, few)
        return np.where(is_first | (part >= self.people), first, np.where(is_second, second, held))

    def _signed_root(self, t: Floats, edge: Floats, held: Floats, extra: Floats, own: Triple, other: Triple) -> Floats:
        """r* = w + ln(u/w)/w at t, given the cumulants there of both kinds of reports."""
        rest = self.people - held
        value = held * own[0] + rest * other[0] + extra * t * t / 2  # K_v(t) and its second derivative, v = `held`
        bend = held * own[2] + rest * other[2] + extra
        w = np.sign(t) * np.sqrt(np.maximum(2 * (t * edge - value), 0.0))
        half = np.clip(self.step * t / 2, -_REACH, _REACH)
        u = (2 * np.sinh(half) / self.step if self.step > 0 else t) * np.sqrt(bend)
        steep = np.abs(w) > _FLAT
        safe = np.where(steep, w, 1.0)
        ratio = np.where(steep, np.maximum(u / safe, 1e-300), 1.0)
        return np.asarray(w + np.log(ratio) / safe)

    def _most(self, held: Floats, extra: Floats) -> Floats:
        """The largest |t| that is searched."""
        if math.isfinite(self.reach):
            return np.full(held.shape, self.reach)
        return _GAUSSIAN_REACH / np.sqrt(np.maximum(self.variance(held) + extra, 1e-300))


def gap_law(first: CountLaw, second: CountLaw, share: Floats) -> CountLaw:
    """The law of the difference of two estimated shares, of two crowds in which everybody holds a value with a chance.

    It is the law of first/n₁ − second/n₂; the chance is the same in both crowds. Ask for it with `held` = n₁: in the
    terms of `CountLaw`, the people of the first crowd are those who hold the value. `share` may be an array, of the
    shape of the edges that are asked about.
    """
    share = np.clip(share, 1e-12, 1 - 1e-12)
    own, other = partial(_mixed, first, share, 1 / first.people), partial(_mixed, second, share, -1 / second.people)
    reach = min(first.reach * first.people, second.reach * second.people)
    return CountLaw(first.people + second.people, own, other, 0.0, reach)


def _mixed(law: CountLaw, share: Floats | float, scale: float, t: Floats) -> Triple:
    """The cumulants of `scale` times the part of a report whose sender holds the value with a chance of `share`."""
    held, rest = law.own(scale * t), law.other(scale * t)
    with np.errstate(divide="ignore"):
        ahead, behind = held[0] + np.log(share), rest[0] + np.log1p(-share)
    value = np.logaddexp(ahead, behind)
    weight = np.exp(ahead - value)
    slope = weight * held[1] + (1 - weight) * rest[1]
    bend = weight * held[2] + (1 - weight) * rest[2] + weight * (1 - weight) * (held[1] - rest[1]) ** 2
    return value, scale * slope, scale**2 * bend


def response_law(people: int, symbols: int, keep: float) -> CountLaw:
    """Randomised response: with chance `keep` a report matches its sender's value, otherwise with chance 1/symbols."""
    return match_law(people, keep + (1 - keep) / symbols, 1.0 / symbols, keep * (1 - 1.0 / symbols))


def match_law(people: int, held: float, absent: float, gap: float) -> CountLaw:
    """A report matches a value with chance `held` if its sender holds it, and with chance `absent` if not.

    The estimate is (matches − people·absent)/gap, where the gap is held − absent. The gap is an argument of its own,
    since the difference may round to 0 for a tiny ε.
    """
    step = 1.0 / gap
    own = partial(_match_cumulants, min(held, 1 - 2.0**-53), 1.0, absent, step)
    return CountLaw(people, own, partial(_match_cumulants, absent, 0.0, absent, step), step, _REACH / step, absent)


def _match_cumulants(chance: float, mean: float, absent: float, step: float, t: Floats) -> Triple:
    """The cumulants of a report that matches with this chance, and then adds a step. Its mean is given."""
    # Written as differences from t = 0; otherwise rounding would move the mean if a step is many people.
    grown = np.expm1(step * t)
    total = 1 + chance * grown
    spread = chance * (1 - chance) / total
    value = np.log1p(chance * grown) - absent * step * t
    return value, mean + step * spread * grown, step**2 * spread * np.exp(step * t) / total


def mean_variance(size: int, held: float, absent: float, gap: float) -> float:
    """The variance (people²) that each report adds to a count: the mean over all values of a list.

    It is the same for every crowd. A report matches its sender's value with chance `held` and any other value with
    chance `absent`; the gap is held − absent.
    """
    total = held * (1 - held) + (size - 1) * absent * (1 - absent)
    return total / (size * gap**2)


def laplace_law(people: int, rate: float, draws: int = 1, scale: float = 1.0) -> CountLaw:
    """Everybody adds `scale` times the sum of `draws` discrete Laplace variables; holders also add 1."""
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
    """A law whose reports have no variance: all of a standard error is `extra`, and thus Gaussian."""

    def own(t: Floats) -> Triple:
        return t, np.ones_like(t), np.zeros_like(t)

    def other(t: Floats) -> Triple:
        return np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)

    return CountLaw(people, own, other, 0.0, math.inf)


def _interpolated(function: Callable[[Floats, Floats], Floats], counts: Floats, extra: Floats) -> Floats:
    """The function of each (count, extra). For many counts it is computed at some and interpolated between them.

    It is computed separately where `extra` differs from that of the neighbouring counts.
    """
    counts, extra = (np.asarray(each, np.float64) for each in np.broadcast_arrays(counts, extra))
    if len(counts) <= 4 * _NODES:
        return function(counts, extra)
    order = np.argsort(counts, kind="stable")
    ends = np.linspace(counts[order[0]], counts[order[-1]], _NODES)
    ranks = np.union1d(np.linspace(0, len(order) - 1, _NODES).round(), np.searchsorted(counts[order], ends))
    # Among neighbours take the one with the least extra: values that share buckets have more than is usual.
    near = order[(ranks[1:-1, np.newaxis].astype(np.int64) + np.arange(-2, 3)).clip(0, len(order) - 1)]
    places = near[np.arange(len(near)), np.argmin(extra[near], axis=1)]
    places = np.concatenate([order[:1], places, order[-1:]])
    places = places[np.unique(counts[places], return_index=True)[1]]
    knots = counts[places]
    nodes = function(knots, extra[places])
    found = np.interp(counts, knots, nodes)
    alone = np.abs(np.interp(counts, knots, extra[places]) - extra) > 1e-3 * np.maximum(extra, 1e-9)
    # Limits bend where they leave 0 or reach everybody: there, too, each is computed separately.
    flat = nodes[1:] == nodes[:-1]
    bends = np.flatnonzero(flat[1:] != flat[:-1])
    segments = np.searchsorted(knots, counts, side="right") - 1
    alone |= np.isin(segments, np.concatenate([bends, bends + 1]))
    rest = np.flatnonzero(alone)
    for start in range(0, len(rest), 1 << 16):
        part = rest[start : start + (1 << 16)]
        found[part] = function(counts[part], extra[part])
    return found
