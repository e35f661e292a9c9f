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
        for intervals that miss.
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
    """

    items: NDArray[np.uint64]
    counts: NDArray[np.float64]
    stderrs: NDArray[np.float64]
    threshold: float = -math.inf
    detection_limit: float = math.nan
    log_priors: NDArray[np.float64] | None = None

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
        Estimated number of people who hold it.
    share : float
        The count divided by the number of reports.
    stderr : float
        One standard error of the count.
    low, high : float
        An interval for the count; all intervals of one answer hold together.
    confidence : float
        At least this sure that somebody holds the value.
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
    intake : Intake or None
        After `find`: how many values were missing, cut or not in the domain; None where nobody can know.
    """

    reports: int
    detection_limit: float
    hitters: tuple[Hitter, ...]
    candidate_limit: float | None = None
    intake: Intake | None = None


@dataclass(frozen=True, slots=True)
class Intake:
    """What became of the values that a rehearsal was given: known because they are at hand, and only then.

    Attributes
    ----------
    missing : int
        Rows without a value; they are nobody, and no report was made for them.
    cut : int
        People whose text is longer than the domain: their report is that of its beginning.
    other : int
        People whose value is not in the domain: their report is that of "(other)".
    """

    missing: int = 0
    cut: int = 0
    other: int = 0
