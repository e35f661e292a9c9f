"""A search of a tally, and what it finds: first as estimates of items, then as hitters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

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
        Three things are not exact. Collisions in hashed rows are taken for Gaussian, with the variance that the sums
        show. Counts that are fitted together (`bucket`, `glps`, and `tree` above 20 bits) are taken to have the law of
        single ones. And that the search of `tree` takes no neighbour for a real value is measured, not proved.
    best_guess : bool
        Answer with the largest estimates even where they do not stand out from the noise. This is what the
        paper's algorithms do (they always return an argmax); it voids the promise of `level`.
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

    def split(self, parts: int) -> Query:
        """The same question with a part of the level, which may be below the smallest that can be asked for."""
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
        One standard error of each, noise and sketch collisions together.
    threshold : float
        The count above which `discover` takes an item for real; -inf where nothing was selected.
    detection_limit : float
        The count that `discover` finds with a chance of about 95 %; nan for `estimate`.
    log_priors : NDArray[np.float64], optional
        The logarithm of each item's share of the level, where values are not all alike (a text code gives short
        codes more); without it every value of the universe has the same.
    doubts : NDArray[np.float64], optional
        The chance that the search gives to each item being a mistake of its own, such as a neighbour of the real
        value; it is beside the chance that noise alone made the count.
    sharing_tails : NDArray[np.float64], optional
        The chance that a value nobody holds gets such a count by sharing buckets with others.
    long_limit : float, optional
        The same as `detection_limit` for a long value, where long ones are harder to find.
    uneven : NDArray[np.bool_], optional
        Items of which parts of the reports say different things: another value shares their sums, or reports are
        forged.
    influences : NDArray[np.float64], optional
        The most that one report, honest or not, adds to each of these counts, in people; without it, the same for all:
        the mechanism's `influence`.
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
    influences: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.items)


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
        One standard error of the count.
    low, high : float
        An interval for the number of people who hold it, from 0 to all reports; all intervals of one answer hold
        together. Its two sides may differ in width, and around a negative count it starts at 0, above the count.
    confidence : float
        At least this sure that somebody holds the value: 1 less the chance that noise alone lifts any of the values
        it stood among so high, less the search's own doubt where it states one.
    listed : bool
        It was a candidate, named in advance.
    uneven : bool
        Parts of the reports disagree about the value: another value shares its sums, or reports are forged. What is
        far above the rest was left out of the count.
    stands_out : bool
        Surely somebody holds it. Rows without this mark are in an answer only if all values of a list, or all
        candidates, were asked for.
    ahead_of : int or None
        In the answer to a whole list, how many of the other values are surely held by fewer people; None elsewhere.
    fake_reports : int
        So few crafted reports could have put the value where it is, if nobody held it and noise did nothing: the
        count, divided by the most that one report adds to it, rounded up. 0 for a count that is not above 0.
    """

    value: int | str
    count: float
    share: float
    stderr: float
    low: float
    high: float
    confidence: float
    listed: bool = False
    uneven: bool = False
    stands_out: bool = True
    ahead_of: int | None = None
    fake_reports: int = 0


@dataclass(frozen=True, slots=True)
class Intake:
    """What became of the values that a rehearsal was given. Only a rehearsal knows: it has the values at hand.

    Attributes
    ----------
    missing : int
        Rows without a value; they were skipped, and no report was made for them.
    cut : int
        People whose text is longer than the domain: their report is that of its beginning.
    other : int
        People whose value is not in the domain: their report is that of "(other)", or of a name of a closed list.
    over : int
        Where people have several values: those with more of them than slots. Some of theirs, at random, have a slot.
    better_domain : str or None
        If those are more than 5 %: a domain that would hold more of the values, as the command line spells it.
    better_share : float or None
        The share of a sample of the values that it holds as they are.
    """

    missing: int = 0
    cut: int = 0
    other: int = 0
    over: int = 0
    better_domain: str | None = None
    better_share: float | None = None
