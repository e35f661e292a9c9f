"""A search of a tally, and its answer: first as estimates of items, then as hitters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown

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
        Shape (k, item_words).
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
        The chance that each value, if nobody held it, came so high by sharing buckets with others.
    long_limit : float, optional
        The same as `detection_limit` for a long value, where long ones are harder to find.
    uneven : NDArray[np.bool_], optional
        Items of which parts of the reports say different things: another value shares their sums, or reports are
        forged.
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
        Surely somebody holds it. Rows without this mark are in an answer only if all values of a list were asked for.
    ahead_of : int or None
        In the answer to a whole list, how many of the other values are surely held by fewer people; None elsewhere.
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tally says: the hitters, and how small a count could have been seen.

    Attributes
    ----------
    reports : int
        Valid reports behind the answer.
    detection_limit : float
        A value held by fewer people than about this many may go unseen: with so many it is found with a chance of
        about 95 %. For texts, one of a usual length. Infinite if there are too few people to find anything.
    hitters : tuple of Hitter
        Largest first; empty means "nothing stands out", which is an answer too.
    candidate_limit : float or None
        The same limit for a value that was named in advance; None where none was.
    long_limit : float or None
        The same limit for a long text; None where all values are alike.
    limit_of : function of a value, optional
        What `limit_for` asks.
    intake : Intake or None
        After `find`: how many values were missing, cut or not in the domain. None for an answer from a tally alone,
        which cannot tell.
    """

    reports: int
    detection_limit: float
    hitters: tuple[Hitter, ...]
    candidate_limit: float | None = None
    long_limit: float | None = None
    limit_of: Callable[[object], float] | None = field(default=None, repr=False, compare=False)
    intake: Intake | None = None
    whole_list: bool = False

    def limit_for(self, value: object) -> float:
        """How many people must hold this value for the search to find it with a chance of about 95 %.

        Infinite if there are too few people to find it at all.
        """
        return self.detection_limit if self.limit_of is None else self.limit_of(value)


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
        People whose value is not in the domain: their report is that of "(other)".
    """

    missing: int = 0
    cut: int = 0
    other: int = 0
