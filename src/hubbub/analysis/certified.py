"""What an answer is worth if some of its reports are forged: intervals and rows that hold whichever ones those are.

Nobody can tell a forged report from an honest one, so a statement must hold for every choice of m reports as the forged
ones. The others are an honest crowd with an answer of its own. One report adds to a count `moves[0]` at most and
`moves[1]` at least, whatever its id, so the count of that crowd is between count − m·moves[0] and count − m·moves[1].
An interval then goes from the lower end at the first to the upper end at the second: it includes that crowd's interval.
Ends are computed with the noise of all n reports, which is more than that of fewer; so they hold for fewer than m, too.

What an answer takes from the sums besides counts is taken as it is: for `tree` with hashed rows the variance of shared
buckets, which values are fitted together, and which rows are left out (docs/threats.md has what attacks made of that).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.model.estimates import Estimates, Hitter
from hubbub.numeric.count_law import CountLaw

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer

_NEAR: Final = 1e-5  # of a number of reports; some counts are sums of floats of 32 bits
_WAYS: Final = math.log(2 * 4096)  # two reasons for a count, and more ways to share a row than any tree has

Floats = NDArray[np.float64]


class _Batch(NamedTuple):
    """Rows that were made together, and what their intervals come from."""

    values: Sequence[object]
    counts: Floats
    extra: Floats
    moves: Floats
    law: CountLaw
    width: float


@dataclass(frozen=True)
class Moved:
    """What forged reports can do to the rows of an answer; `certifies` is whether that is known."""

    certifies: bool
    batches: list[_Batch] = field(default_factory=list)

    def add(
        self,
        values: Sequence[object],
        counts: Floats,
        extra: Floats,
        moves: Floats,
        law: CountLaw,
        width: float,
    ) -> None:
        """Keep what the intervals of some rows come from."""
        if self.certifies:
            self.batches.append(_Batch(values, counts, np.broadcast_to(extra, counts.shape), moves, law, width))

    def widened(self, rows: Iterable[Hitter], forged: int) -> tuple[Hitter, ...]:
        """The rows with intervals that hold whichever reports of so many are forged. Costs what intervals cost."""
        ends: dict[object, tuple[float, float]] = {}
        for values, counts, extra, moves, law, width in self.batches:
            low = law.limits(counts - forged * moves[:, 0], extra, width)[0]
            low = np.minimum(low, law.people - forged)  # the others are no more than that
            high = law.limits(counts - forged * moves[:, 1], extra, width)[1]
            ends.update(zip(values, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        wide = []
        for row in rows:
            low_end, high_end = ends[row.value]
            wide.append(replace(row, low=min(row.low, low_end), high=max(row.high, high_end)))
        return tuple(wide)

    def placed(self, rows: Sequence[Hitter], unseen: float) -> list[Hitter]:
        """The rows, largest count first, with their `first_to`. A value without a row may have a count up to `unseen`.

        If there may be such values, all rows down to it must stand, too. Costs one operation for each pair of rows.
        """
        if not self.certifies or not rows:
            return list(rows)
        moves = {value: move for batch in self.batches for value, move in zip(batch.values, batch.moves, strict=True)}
        counts = np.array([row.count for row in rows] + [unseen])
        most, least = np.array([moves[row.value] for row in rows]).T
        falls = np.append(-least, np.max(-least))  # how far a forged report can have pushed a value down
        nearest, standing = np.full(len(counts), np.inf), math.inf
        placed = []
        for place, row in enumerate(rows):
            standing = min(standing, row.stands_to or 0) if math.isfinite(unseen) else standing
            # So many reports lift this one and lower the other by as much as they are apart.
            nearest = np.minimum(nearest, (counts[place] - counts) / (most[place] + falls))
            few = float(nearest[place + 1 :].min())
            # Equal counts have no order, so that few that make them equal are too many, but for rounding.
            few = max(min(math.ceil(few - _NEAR * (1 + few)) - 1 if math.isfinite(few) else few, standing), 0)
            placed.append(replace(row, first_to=int(few) if math.isfinite(few) else 0))
        return placed


def moves_of(estimates: Estimates, law: CountLaw, influence: tuple[float, float]) -> Floats:
    """The most and the least that one report adds to each count: shape (values, 2)."""
    if estimates.moves is not None:
        return estimates.moves
    return np.tile(law.slots * np.array(influence, np.float64), (len(estimates), 1))


def stands_to(law: CountLaw, estimates: Estimates, influence: tuple[float, float], log_chance: float) -> Floats:
    """For each count, the most forged reports without which it would still be as rare as e^log_chance.

    That is for a value that nobody holds. 0 if it is not so rare with all reports. Found by bisection, in about 20
    times the time of the tails of all counts.
    """
    moves, extra = moves_of(estimates, law, influence), law.collisions(estimates.counts, estimates.stderrs)
    counts, alone = estimates.counts - law.step, estimates.weakest
    rare = log_chance if alone is None else log_chance - _WAYS
    low, high = np.zeros(len(counts)), np.maximum(np.ceil(counts / moves[:, 0]), 0.0)
    for _ in range(law.people.bit_length() + 1):
        middle = np.ceil((low + high) / 2)
        lifted = middle * moves[:, 0]
        stands = law.log_tail(counts - lifted, extra) <= rare
        if alone is not None:
            stands &= law.log_tail(np.minimum(alone, counts) - lifted, extra) <= rare
        low, high = np.where(stands, middle, low), np.where(stands, high, np.maximum(middle - 1, low))
    return low


def suppose(moved: Moved, answer: Answer, forged: int) -> Answer:
    """The answer if so many reports are forged; see `Answer.if_forged`."""
    if isinstance(forged, bool) or not isinstance(forged, int) or forged < 0:
        raise ParameterError(f"forged must be a whole number of at least 0, got forged={forged!r}")
    if not forged:
        return answer
    if not moved.certifies:
        raise ParameterError(f"forged must be 0 for this mechanism, which certifies nothing, got forged={forged}")
    if forged >= answer.reports:
        raise ParameterError(f"forged must be below the {answer.reports:,} reports, got forged={forged}")
    rows = moved.widened(answer.hitters, forged)
    return replace(answer, hitters=rows, forged=forged, guesses=(), guessed_from=None, groups=())
