"""Questions to a tally and their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for.

    Attributes
    ----------
    top : int
        At most this many values.
    level : float
        The chance, at most, that anything in the whole answer is wrong: half for values that nobody holds, half
        for intervals that miss. Both halves come from the law of the reports, which is exact for any number of people.
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
            raise ParameterError(f"top must be a whole number of at least 1, got top={self.top!r}")
        if not (isinstance(self.level, int | float) and math.isfinite(self.level) and 0 < self.level < 1):
            raise ParameterError(f"level must be between 0 and 1, got level={self.level!r}")


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
    """

    items: NDArray[np.uint64]
    counts: NDArray[np.float64]
    stderrs: NDArray[np.float64]
    threshold: float = -math.inf
    detection_limit: float = math.nan
    log_priors: NDArray[np.float64] | None = None
    doubts: NDArray[np.float64] | None = None
    sharing_tails: NDArray[np.float64] | None = None

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
        An interval for the number of people who hold it, between nobody and everybody; all intervals of one answer
        hold together. It need not be as wide on both sides, and of a negative count it does not hold the count.
    confidence : float
        At least this sure that somebody holds the value: 1 less the chance that noise alone lifts any of the values
        it stood among so high, less the search's own doubt where it states one.
    listed : bool
        It was a candidate, named in advance.
    """

    value: int | str
    count: float
    share: float
    stderr: float
    low: float
    high: float
    confidence: float
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tally says: the hitters, and how small a count could have been seen.

    Attributes
    ----------
    reports : int
        Valid reports behind the answer.
    detection_limit : float
        A value held by fewer people than about this many may go unseen.
    hitters : tuple of Hitter
        Largest first; empty means "nothing stands out", which is an answer too.
    candidate_limit : float or None
        The same limit for a value that was named in advance; None where none was.
    """

    reports: int
    detection_limit: float
    hitters: tuple[Hitter, ...]
    candidate_limit: float | None = None
