"""The gates between a value and the answer. Each states once what it demands.

A search asks whether a value passes. `limits` asks what a value of some length must show in which rows to pass: its
`Window`s. Both read the same numbers.

1. `InBeam`: down to each step it is among the best paths of its class.
2. `InList`: and among the best of its root, against those that leave its path on the way.
3. `StandsOut`: all rows together say more than an absent value would, by its prior and its share of the level.
4. `NoSingleRow`: they still do when any one row is left out, which a collision may have lifted.
5. `Neighbours`: the rows below each step tell it from the other values that go on from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.tree.law import MatchLaw
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.shape import BitClass, Shape, beam_width, list_width, step_widths
from hubbub.numeric.tails import normal_tail_log

_LN2 = math.log(2)
_CROWDED = 32  # buckets of a row that may say as much as its cap, or more
_GRID_STEP, _GRID_TO = 0.01, 30.0  # standard errors


@dataclass(frozen=True)
class LevelBudget:
    """How the level of an answer is shared out.

    >>> LevelBudget(0.05).noise
    0.0125
    """

    level: float

    @property
    def noise(self) -> float:
        """For values that nobody holds, over all of them together."""
        return self.level / 4

    @property
    def neighbours(self) -> float:
        """For neighbours of a real value that are taken for it."""
        return self.level / 4


class Window(NamedTuple):
    """Rows, and the least count, in people, that they must show together."""

    rows: slice
    least: float
    without: bool = False
    """True if all rows but these must show it."""


class Place(NamedTuple):
    """Where a value is: the class, its code bits, the prior of its class; and how many people report on each row."""

    shape: Shape
    law: MatchLaw
    kind: BitClass
    bits: int
    log_mass: float
    people: NDArray[np.float64]

    def window(self, first: int, end: int, log_chance: float) -> Window:
        """What rows first … end − 1 must show to be as rare as e^log_chance for an absent value."""
        reports = round(float(self.people[first:end].sum()))
        return Window(slice(first, end), self.law.threshold_of(reports, min(log_chance, -_LN2)))

    def last_row(self, step: int) -> int:
        """Where the rows of a step end."""
        return self.kind.rows(step, self.shape.rows).stop


@dataclass(frozen=True)
class InBeam:
    """Among the best paths of the class at every step."""

    typical: int | None
    root: int

    def widths(self, kind: BitClass) -> NDArray[np.int64]:
        """Paths kept at each step."""
        return step_widths(kind, beam_width(kind.bits, self.typical, self.root))

    def needs(self, place: Place) -> Iterator[Window]:
        """Down to each step that prunes, as rare as the last path of a beam."""
        ends = [place.last_row(step) for step in range(len(place.kind.steps))]
        so_far = np.cumsum(place.shape.shares)[np.array(ends) - 1]
        widths = tuple(self.widths(place.kind).tolist())
        for end, rarity in zip(ends, beam_rarities(place.kind.steps, tuple(so_far.tolist()), widths), strict=True):
            if rarity < 0:  # where all paths have room, nothing is asked: in small crowds a root may have no report
                yield place.window(0, end, rarity)


@lru_cache(maxsize=256)
def beam_rarities(steps: tuple[int, ...], so_far: tuple[float, ...], widths: tuple[int, ...]) -> list[float]:
    """How rare the score of the last path is at each step, in a beam of so many paths that nobody holds.

    That is the logarithm of the chance that the score of an absent value is as high. `so_far` is the share of people
    down to each step. The beam is followed down: of its paths' children, whose scores are theirs and the noise of one
    more row, the best stay. That is less than the best of all paths of that depth, since most of these were pruned
    above. Scores are in standard errors of all reports. Takes some ms.
    """
    grid = np.arange(-_GRID_TO, _GRID_TO, _GRID_STEP)
    density, paths, before, found = np.zeros(len(grid)), 1.0, 0.0, []
    density[len(grid) // 2] = 1.0
    for step, share, width in zip(steps, so_far, widths, strict=True):
        noise = math.sqrt(max(share - before, 1e-12))
        around = np.arange(-math.ceil(6 * noise / _GRID_STEP), math.ceil(6 * noise / _GRID_STEP) + 1) * _GRID_STEP
        kernel = np.exp(-0.5 * (around / noise) ** 2)
        density = np.convolve(density, kernel / kernel.sum(), "same")
        paths *= 2.0**step
        kept = min(1.0, width / paths)
        above = np.cumsum(density[::-1])[::-1]
        first = max(int(np.searchsorted(-above, -kept * above[0], side="right")) - 1, 0)  # where the best `kept` begin
        density[:first] = 0.0
        found.append(float(normal_tail_log(grid[first] / math.sqrt(share))) if kept < 1 else 0.0)
        density, paths, before = density / density.sum(), paths * kept, share
    return found


@dataclass(frozen=True)
class InList:
    """Among the best paths of its root at every step."""

    def widths(self, kind: BitClass) -> NDArray[np.int64]:
        """Paths kept at each step."""
        return step_widths(kind, list_width(kind.bits))

    def needs(self, place: Place) -> Iterator[Window]:
        """Between any two steps, rarer than the share of paths that have room, of those that part at the first."""
        widths, depths = self.widths(place.kind), place.kind.depths
        for step, depth in enumerate(depths):
            for above in range(step):
                if 1 << (depth - depths[above]) > widths[step]:
                    chance = math.log(widths[step]) - _LN2 * (depth - depths[above])
                    yield place.window(place.last_row(above), place.last_row(step), chance)


@dataclass(frozen=True)
class StandsOut:
    """The count of all rows is rarer, for an absent value, than the value's share of the level."""

    budget: LevelBudget

    def log_chance(self, log_prior: float) -> float:
        """The logarithm of the chance that an absent value with this prior may have."""
        return log_prior + math.log(self.budget.noise)

    def least(self, law: MatchLaw, people: int, log_priors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The least count, in people, with which each value passes."""
        found = {prior: law.threshold_of(people, self.log_chance(prior)) for prior in set(log_priors.tolist())}
        return np.array([found[prior] for prior in log_priors.tolist()], np.float64)

    def needs(self, place: Place) -> Iterator[Window]:
        """The least count, from all rows."""
        yield place.window(0, place.shape.rows, self.log_chance(-_LN2 * place.bits))


@dataclass(frozen=True)
class NoSingleRow:
    """The count stays rare when any one row is left out, at a level that is milder by the chance of a collision.

    `values` is the number of values that may be large.
    """

    budget: LevelBudget
    values: int

    def log_chance(self, shape: Shape, log_prior: float) -> float:
        """The logarithm of the chance that an absent value may have without a row."""
        log_chance = StandsOut(self.budget).log_chance(log_prior)
        return min(log_chance - math.log(collision_chance(shape, self.values) * shape.rows), -_LN2)

    def passes(
        self, shape: Shape, law: MatchLaw, people: NDArray[np.float64], parts: NDArray[np.float64], log_prior: float
    ) -> bool:
        """Whether a value passes, given what each row says of it."""
        total = float(parts.sum())
        return all(
            total - parts[rows.start] >= least for rows, least, _ in self._windows(shape, law, people, log_prior)
        )

    def needs(self, place: Place) -> Iterator[Window]:
        """What is left without each row."""
        return self._windows(place.shape, place.law, place.people, -_LN2 * place.bits)

    def _windows(self, shape: Shape, law: MatchLaw, people: NDArray[np.float64], log_prior: float) -> Iterator[Window]:
        log_chance, everybody = self.log_chance(shape, log_prior), float(people.sum())
        for row in range(first_hashed(shape), shape.rows):
            least = law.threshold_of(int(everybody - people[row]), log_chance)
            yield Window(slice(row, row + 1), least, without=True)


@dataclass(frozen=True)
class Neighbours:
    """The posterior odds of all other values of its root, listed or let go, are small."""

    budget: LevelBudget

    def needs(self, place: Place) -> Iterator[Window]:
        """Below each step, rarer than the values that go on from there are likely."""
        for step, depth in enumerate(place.kind.depths[:-1]):
            left = max(place.kind.bits - depth, 0)
            chance = math.log(self.budget.neighbours) - _LN2 * left - place.log_mass
            yield place.window(place.last_row(step), place.shape.rows, chance)


def first_hashed(shape: Shape) -> int:
    """The first row in which two values can share a bucket by chance: the roots of one class are all apart."""
    return int(len(shape.classes) == 1)


def collision_chance(shape: Shape, values: int) -> float:
    """The chance that a bucket holds another large value, assuming twice as many large values as given; at most 1/2."""
    return min(max(2 * values, 16) / (1 << shape.bucket_bits), 0.5)


def most_of_a_row(
    shape: Shape, law: MatchLaw, shares: NDArray[np.float64], people: NDArray[np.float64], values: int
) -> NDArray[np.float64]:
    """The largest estimate, in people, that counts in each row for values of these shares: shape (values, rows).

    With a small chance a bucket also holds another value of similar size, which would explain a high estimate equally
    well. So the evidence from one row is clipped at the logarithm of that chance, or at what the value itself explains
    if that is more. Of a large value, a clip far below would make a neighbour look its equal that says half as much.
    """
    most = -math.log(collision_chance(shape, values))
    pulls, costs = law.odds(shares)
    caps = (most + np.outer(costs, people)) / np.maximum(pulls, 1e-30)[:, np.newaxis]
    caps = np.maximum(caps, np.outer(shares, people))
    caps[:, : first_hashed(shape)] = np.inf
    return np.asarray(caps)


def crowded_caps(row_counts: RowCounts) -> NDArray[np.float64]:
    """The most that each row may say in a beam, in people; all that it says if it has fewer than 2^8 buckets.

    No row may say more than k of its buckets do, if that is more than ln(buckets/k) nats for k ≥ 32. A path that comes
    to one of these buckets does so by chance more often than because somebody holds its value.
    """
    rows, buckets = row_counts.estimates.shape
    crowds = [_CROWDED << double for double in range((buckets // (8 * _CROWDED)).bit_length())]
    most = [math.sqrt(2 * math.log(buckets / crowd)) for crowd in crowds]  # standard errors with so many nats
    caps = np.full(rows, np.inf)
    for row, spread in enumerate(np.sqrt(row_counts.noise * row_counts.people) if crowds else ()):
        said = row_counts.estimates[row]
        full = [k for k, crowd in enumerate(crowds) if np.count_nonzero(said >= most[k] * spread) >= crowd]
        caps[row] = spread * most[max(full, default=0)]
    return caps
