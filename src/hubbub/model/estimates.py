"""A search of a tally and its results: estimates of items, which then become hitters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown
from hubbub.model.numbers import own_number

MIN_LEVEL: Final = 1e-100
"""The smallest level that can be asked for: a search divides it further, and the parts must still be floats above 0."""


@dataclass(frozen=True, slots=True)
class Query:
    """One search, as a decoder takes it; `Question` is what an analyst asks.

    Attributes
    ----------
    top : int
        At most this many values.
    level : float
        The chance, at most, that anything in the whole answer is wrong: half for values that nobody holds, half
        for intervals that miss. From 10⁻¹⁰⁰ to below 1. Both halves come from the law of the reports, which is exact
        for any number of people.
        Three things are not exact. Collisions in hashed rows are assumed to be Gaussian, with the variance that the
        sums show. Counts that are fitted together (`bucket`, `glps`, and `tree` above 20 bits) are assumed to have the
        law of single counts. That the search of `tree` mistakes no neighbour for a real value is measured, not proved.
    best_guess : bool
        Return the largest estimates, up to `top`, even if they do not stand out from the noise. This is what the
        paper's algorithms do (they always return an argmax); `level` then promises nothing. The hard decoder of
        `bucket`, a vote, names one value at most.
    """

    top: int = 20
    level: float = 0.05
    best_guess: bool = False

    def __post_init__(self) -> None:
        for name in ("top", "level"):
            if not isinstance(given := getattr(self, name), int | float):
                object.__setattr__(self, name, own_number(given))
        if isinstance(self.top, bool) or not isinstance(self.top, int) or self.top < 1:
            raise ParameterError(f"top must be a whole number of at least 1, got top={shown(self.top)}")
        if not (isinstance(self.level, int | float) and math.isfinite(self.level) and 0 < self.level < 1):
            raise ParameterError(f"level must be between 0 and 1, got level={shown(self.level)}")
        if self.level < MIN_LEVEL:
            raise ParameterError(f"level must be at least {MIN_LEVEL:g}, got level={shown(self.level)}")

    def split(self, parts: float) -> Query:
        """The same query with level/parts, which may be below `MIN_LEVEL`."""
        part = replace(self)
        object.__setattr__(part, "level", self.level / parts)
        return part


@dataclass(frozen=True, slots=True)
class Estimates:
    """Counts of items, before they are turned back into values.

    Attributes
    ----------
    items : NDArray[np.uint64]
        Shape (k, item_limbs).
    counts : NDArray[np.float64]
        Unbiased: a negative estimate stays negative.
    stderrs : NDArray[np.float64]
        The standard error of each count, from noise and sketch collisions together.
    threshold : float
        The count above which `discover` accepts an item; -inf if nothing was selected by count.
    detection_limit : float
        The count that `discover` finds with a chance of about 95 %; nan for `estimate`.
    log_priors : NDArray[np.float64], optional
        The logarithm of each item's share of the level, if shares differ (a text code gives short codes more). Without
        it all values of the universe have the same share.
    doubts : NDArray[np.float64], optional
        For each item, the chance that the search is mistaken about it, for example because a neighbour is the real
        value. It does not include the chance that noise alone made the count.
    sharing_tails : NDArray[np.float64], optional
        The chance that a value nobody holds gets this count by sharing buckets with others.
    long_limit : float, optional
        The same as `detection_limit` for a long value, if long values are harder to find.
    uneven : NDArray[np.bool_], optional
        Items on which parts of the reports disagree: another value shares their sums, or reports are forged.
    rivals : NDArray[np.uint64], optional
        For each item a neighbour that it may be instead, since the few reports that tell the two apart disagree; or
        the item itself.
    fakes : NDArray[np.float64], optional
        For each item, how few forged reports could have put it there, hidden it, or put another in its place. Without
        it, this follows from the mechanism's `influence`.
    moves : NDArray[np.float64], optional
        Shape (k, 2): the most and the least that one report, whatever its id, adds to each count. Without it, this is
        the mechanism's `influence`.
    stands : NDArray[np.float64], optional
        For each item, the largest number of forged reports without which the search would still accept it.
    weakest : NDArray[np.float64], optional
        For each item, its count without the row that adds most to it, if it must stand out without any one row.
    """

    items: NDArray[np.uint64]
    counts: NDArray[np.float64]
    stderrs: NDArray[np.float64]
    threshold: float = -math.inf
    detection_limit: float = math.nan
    log_priors: NDArray[np.float64] | None = None
    doubts: NDArray[np.float64] | None = None
    sharing_tails: NDArray[np.float64] | None = None
    long_limit: float | None = None
    uneven: NDArray[np.bool_] | None = None
    rivals: NDArray[np.uint64] | None = None
    fakes: NDArray[np.float64] | None = None
    moves: NDArray[np.float64] | None = None
    stands: NDArray[np.float64] | None = None
    weakest: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.items)


class Totals(NamedTuple):
    """How many people hold any value of each group, and the variance (people²) of that beyond the law of its sum."""

    counts: NDArray[np.float64]
    extras: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hitter:
    """One value that stands out.

    Attributes
    ----------
    value : int or str
        The value, or "(other)".
    count : float
        Estimated number of people who hold it. Unbiased for a value chosen in advance. Near the detection limit a
        value is found because noise lifted it, so counts found there are too high on average; the interval takes
        that into account (docs/mechanisms.md, "Level and intervals").
    share : float
        The count divided by the number of reports.
    stderr : float
        The standard error of the count, in people.
    low, high : float
        An interval for the number of people who hold it, from 0 to all reports. All intervals of one answer hold
        together. Its two sides may differ in width. If the count is negative, the interval starts at 0, above it.
    confidence : float
        A lower bound on the chance that somebody holds the value: 1 less the chance that noise alone lifts any of the
        values searched this high, less the search's own doubt if it states one.
    listed : bool
        It was a candidate, named in advance.
    late : bool
        It was named after looking: after the first report came. It stands out only if the search finds it as well, as
        if nobody had named it.
    uneven : bool
        Parts of the reports disagree about the value: another value shares its sums, or reports are forged. Parts far
        above the rest were left out of the count.
    stands_out : bool
        Somebody holds it, at the level of the answer. Rows without this mark are in an answer only if all values of a
        list, or all candidates, were asked for.
    ahead_of : int or None
        In the answer to a whole list, how many other values are held by fewer people, at the level of the answer; None
        elsewhere.
    fake_reports : int
        Fewer forged reports than this make no difference. For a value of a list: they cannot have given it its count,
        if nobody held it and there were no noise. For a value that was searched for: they could neither have put it
        there, nor hide it, nor put another value in its place. 0 for a count that is not above 0.
    rival : str or None
        Another value, as text, that this one may be instead: the few reports that tell the two apart disagree, as they
        do if some are forged. Then the confidence is that somebody holds one of the two.
    stands_to : int or None
        Whichever reports of so many are forged, the value would stand out in the answer to the others as well. None if
        nothing is certified for the mechanism (docs/threats.md).
    first_to : int or None
        Whichever reports of so many are forged, the answer to the others has the same values down to this row, in
        whatever order: for the first row, the same first place. 0 if one could change that; None as above.
    """

    value: int | str
    count: float
    share: float
    stderr: float
    low: float
    high: float
    confidence: float
    listed: bool = False
    late: bool = False
    uneven: bool = False
    stands_out: bool = True
    ahead_of: int | None = None
    fake_reports: int = 0
    rival: str | None = None
    stands_to: int | None = None
    first_to: int | None = None


@dataclass(frozen=True, slots=True)
class Guess:
    """A value that does not stand out, and that many people may hold all the same.

    Attributes
    ----------
    value : int or str
        The value.
    count : float
        Estimated number of people who hold it. Noise lifted most guesses, so it is too high on average.
    low, high : float
        An interval for the number of people who hold it, for this value alone and as if it had been chosen in advance.
    chance : float
        The chance that at least `guessed_from` people hold it, by the prior that docs/reading-answers.md states.
    listed : bool
        It was named in advance.
    """

    value: int | str
    count: float
    low: float
    high: float
    chance: float
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Values that are counted together, such as the hosts of one company.

    Attributes
    ----------
    name : str
        What they are called together.
    members : int
        How many values they are.
    count : float
        Estimated number of people who hold any of them: the sum of the members' counts. Unbiased.
    share : float
        The count divided by the number of reports.
    stderr : float
        The standard error of the count, in people, from the joint law of the members' counts.
    low, high : float
        An interval for the number of people who hold any of them, from that law. It holds together with all others of
        the answer. What the members' own rows prove is used as well, so that the count may be below the interval.
    """

    name: str
    members: int
    count: float
    share: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Intake:
    """How many values were missing, cut or outside the domain. Only a rehearsal has it, since it sees the values.

    Attributes
    ----------
    missing : int
        Rows without a value; they were skipped, and no report was made for them.
    cut : int
        People whose text is too long for the domain: they reported its beginning.
    other : int
        People whose value is not in the domain: they reported "(other)", or a name of a closed list.
    over : int
        People with more values than slots, of whose values a random choice got a slot. Counts and intervals are of
        values in slots: up to this many more people may have a value.
    better_domain : str or None
        A domain that would hold more of the values, if `other` is more than 5 %, or hold them in fewer bits; as the
        command line spells it.
    better_share : float or None
        The share of a sample of the values that this domain holds without change.
    value_limit, better_limit : float or None
        How many people must hold a usual one of the values for it to be found with the survey's domain, and with the
        better one; None if that is not known, or if not even all people are enough.
    too_long : float or None
        The share of a sample of the values that are longer than any domain can hold, if it is more than 5 %.
    """

    missing: int = 0
    cut: int = 0
    other: int = 0
    over: int = 0
    better_domain: str | None = None
    better_share: float | None = None
    value_limit: float | None = None
    better_limit: float | None = None
    too_long: float | None = None
