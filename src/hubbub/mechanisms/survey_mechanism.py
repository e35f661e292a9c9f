"""The base class of the mechanisms: the three roles, and the facts about itself that only a mechanism knows.

Whoever answers, rehearses, simulates or plots asks a mechanism for such a fact, and never what kind of mechanism it is.
Most facts have a default that holds for any mechanism; one that knows better overrides it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.mechanisms.checks import check_items
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, Randomizer, RandomWords, Reports, add_up
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.count_law import CountLaw, gaussian_law
from hubbub.numeric.randomness import RandomWordSource, SeededRandomWords
from hubbub.numeric.tails import normal_error

_WORDS_AT_ONCE = 1 << 22
_ITEMS_AT_ONCE = 1 << 12
_POOLED = "people alone on a value are pooled as fair coins on every row"


@dataclass(frozen=True, slots=True)
class Condition:
    """What a theorem asks of a crowd before it promises that the heavy hitter is found.

    Attributes
    ----------
    needed_as_printed, needed_corrected : float
        The count that the heavy hitter must have, in people: as the paper prints it, and with corrected constants.
    heavy_hitter_count : int
        The count that it has.
    holds : bool
        Whether that is enough, by the corrected constants.
    """

    needed_as_printed: float
    needed_corrected: float
    heavy_hitter_count: int
    holds: bool


@dataclass(frozen=True)
class Sample:
    """What a decoder can say of a crowd that was drawn, as the mechanism says it of a tally.

    Attributes
    ----------
    discover, estimate, counts_of_all
        As those of a mechanism, of this crowd.
    approximation : str
        In what its law is only near that of the per-person path; empty where it is exact.
    """

    discover: Callable[[Query], Estimates]
    estimate: Callable[[Items], Estimates]
    counts_of_all: Callable[[], NDArray[np.float64]]
    approximation: str


class SurveyMechanism(ABC):
    """The mechanism of one survey."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.survey_id = survey.survey_id
        self.size = survey.domain.size
        self.bits = survey.domain.bits
        self.item_limbs = survey.domain.item_limbs

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Survey]]:
        return (type(self), (self.survey,))

    # The client's role.

    @property
    @abstractmethod
    def report_dtype(self) -> np.dtype[np.void]:
        """The fixed binary layout of one report, little-endian."""

    @property
    @abstractmethod
    def random_words_per_report(self) -> int:
        """How many random words of 64 bits one report uses, whatever the item is."""

    @property
    @abstractmethod
    def guarantee(self) -> PrivacyGuarantee:
        """Computed from the integer thresholds of the survey."""

    @property
    def noise_draws(self) -> int:
        """How many times one person draws noise: the cost of a report."""
        return 1

    @property
    def lie_chance(self) -> float | None:
        """The chance that a report does not fit its sender's value; None where it is not simply true or untrue."""
        return None

    @abstractmethod
    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One report per row: a pure function of items and random words."""

    # The collector's role.

    @property
    @abstractmethod
    def cells_shape(self) -> tuple[int, ...]:
        """The shape of the tally's cells."""

    @abstractmethod
    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest client could have sent."""

    @abstractmethod
    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add valid reports to the cells."""

    # The analyst's role.

    @abstractmethod
    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of any items."""

    @abstractmethod
    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The items that stand out, largest first."""

    @property
    def most_subtracted(self) -> int:
        """How many known values `estimate_beside` can take out of the sums; 0 where it takes none."""
        return 0

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items in what is left when the values already found are taken away: here nothing is."""
        del found
        return self.estimate(tally, items)

    def limits_for(self, tally: Tally, items: Items, query: Query, usual: float) -> NDArray[np.float64]:
        """How many must hold each item for `discover` to find it with a chance of about 95 %.

        `usual` is the limit that `discover` stated. Here it is that of every value.
        """
        del tally, query
        return np.full(len(items), usual)

    def counts_of_all(self, tally: Tally) -> NDArray[np.float64]:
        """The count of every value of a universe that is small enough to list: an array of `size` numbers of people."""
        return count_all(partial(self.estimate, tally), self.size)

    def gap_variance(self, tally: Tally, first: Estimates, second: Estimates) -> NDArray[np.float64]:
        """The variance of the difference of two counts of one tally, pair by pair; here the largest that it can be."""
        del tally
        return np.asarray((first.stderrs + second.stderrs) ** 2)

    def check_tally(self, tally: Tally) -> None:
        """Refuse a tally of another survey or shape."""
        check_tally(tally, self.survey_id, self.cells_shape)

    def check_items(self, items: object) -> Items:
        """Items of the survey's domain, row after row in memory."""
        return check_items(items, self.survey.domain)

    # How far off a count may be.

    def count_law(self, people: int) -> CountLaw:
        """The law of a count, but for the collisions that its standard error holds as well: here Gaussian."""
        return gaussian_law(people)

    @property
    @abstractmethod
    def influence(self) -> tuple[float, float]:
        """The most and the least that one report, honest or not, adds to the count of a value, in people."""

    @abstractmethod
    def noise_stderr(self, people: int) -> float:
        """Standard error of a count from the privacy noise of this many people alone."""

    def collision_stderr(self, norm: float) -> float:
        """Standard error of a count from other values in the same buckets, if their counts have this norm ‖v‖₂.

        0 where nothing collides, or where the standard error is known from a tally only.
        """
        del norm
        return 0.0

    @property
    def bounds_every_count(self) -> bool:
        """Whether every value is scored, and `error_bound` is about all of their counts at once."""
        return False

    def error_bound(self, people: int, norm: float, beta: float) -> float:
        """What the error of a count exceeds with a chance of at most β: of one value fixed beforehand, in people.

        Here a Gaussian bound for noise and collisions. Where `bounds_every_count`, it is the bound of a theorem for
        the largest error of all counts. `norm` is ‖v‖₂ of the counts that can collide with the value's.
        """
        return normal_error(math.hypot(self.noise_stderr(people), self.collision_stderr(norm)), beta)

    def largest_error_bound(self, crowd: Histogram, beta: float) -> float:
        """What the largest error of all counts exceeds with a chance of at most β: here a union over the values."""
        each = beta if self.bounds_every_count else beta / self.size
        return self.error_bound(crowd.people, crowd.norm, each)

    def heavy_hitter_condition(self, crowd: Histogram) -> Condition | None:
        """What the mechanism's theorem asks of the crowd; None if it has no such theorem."""
        del crowd
        return None

    # What can be expected before anybody has answered.

    @property
    def stated_bits(self) -> tuple[int, int | None]:
        """Bits of a usual value and of a long one, for which chances are stated; None where no value is long."""
        return self.bits, None

    def found_chance(self, people: int, held: float, query: Query, bits: int | None = None) -> float:
        """The chance that `discover` finds a value that `held` of this many people hold.

        `bits` is the length of its code; without it, that of a usual value. Here every value is scored, and it is
        found if its count passes what values that nobody holds hardly reach.
        """
        del bits
        return self.passing_chance(people, held, math.log(query.level / 2) - math.log(self.size))

    def passing_chance(self, people: int, held: float, log_chance: float) -> float:
        """The chance that a value's count passes the edge that one nobody holds passes with a chance of e^log_chance.

        By the law of the counts, without collisions.
        """
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([self.noise_stderr(people)]))[0])
        return -math.expm1(float(law.log_below(law.threshold(log_chance, extra), held, extra)))

    def named_chance(self, people: int, held: float, log_chance: float) -> float:
        """The chance that a candidate is seen, where one that nobody holds is seen with a chance of e^log_chance."""
        return self.passing_chance(people, held, log_chance)

    def predicted_stderr(self, people: int, held: float) -> float:
        """The standard error of the count of a value that `held` of this many people hold, in people; no collisions."""
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([self.noise_stderr(people)]))[0])
        return math.sqrt(float(law.variance(np.array([held]))[0]) + extra)

    @property
    def report_bytes(self) -> int:
        """Bytes of a report on the wire."""
        return self.report_dtype.itemsize

    @property
    def tally_bytes(self) -> int:
        """Bytes of a tally in memory: 8 for each cell."""
        return 8 * math.prod(self.cells_shape)

    @property
    def is_compiled(self) -> bool:
        """Whether `discover` has been compiled on this machine, or needs no compiling."""
        return True

    @property
    def decode_seconds(self) -> float:
        """About how long `discover` takes on one core, to within a factor of three: here N log N for N values."""
        return 1e-3 + 1e-9 * self.size * self.bits

    # The simulation's.

    @property
    def samples_at_once(self) -> bool:
        """Whether `sample_tally` costs the same however many people there are."""
        return False

    @property
    def label(self) -> str:
        """Its name, with the options that decide whether it samples at once."""
        return self.survey.mechanism

    @property
    def instead_of_sampling(self) -> str:
        """What to do where a crowd is too large to be sampled person by person, for the end of a sentence."""
        return "simulate so many, and expect errors that grow with the square root of the people"

    @property
    def samples_any_crowd(self) -> bool:
        """Whether `sample` costs the same however many people there are."""
        return self.samples_at_once

    def sample(self, histogram: Histogram, rng: np.random.Generator) -> Sample:
        """What the decoder sees of a crowd: here its sampled tally. Approximate if people alone are pooled."""
        tally = self.sample_tally(histogram, rng)
        return Sample(
            partial(self.discover, tally),
            partial(self.estimate, tally),
            partial(self.counts_of_all, tally),
            approximation=_POOLED if histogram.singletons else "",
        )

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The tally of a crowd: here everybody makes a report, at the cost of `noise_draws` for each."""
        check_listed(histogram, self.label)
        self.check_items(histogram.items)
        counted = zip(histogram.items, histogram.counts, strict=True)
        everyone = (np.repeat(item[np.newaxis], count, axis=0) for item, count in counted)
        reports = make_reports(self, everyone, SeededRandomWords(int(rng.integers(2**63))))
        return add_up(self, self.survey_id, reports)


def count_all(estimate: Callable[[Items], Estimates], size: int) -> NDArray[np.float64]:
    """The counts of the values 0 to size − 1, some thousands at a time."""
    counts = np.empty(size)
    for start in range(0, size, _ITEMS_AT_ONCE):
        items = np.arange(start, min(start + _ITEMS_AT_ONCE, size), dtype=np.uint64)[:, np.newaxis]
        counts[start : start + len(items)] = estimate(items).counts
    return counts


def make_reports(randomizer: Randomizer, people: Iterable[Items], random_words: RandomWordSource) -> Iterator[Reports]:
    """Everybody's reports, in parts. A part takes a few megabytes, so memory does not grow with the people."""
    needed = randomizer.random_words_per_report
    at_once = max(1, _WORDS_AT_ONCE // needed)
    for items in people:
        for start in range(0, len(items), at_once):
            part = items[start : start + at_once]
            yield randomizer.randomize(part, random_words.draw(len(part), needed))


def check_tally(tally: Tally, survey_id: bytes, cells_shape: tuple[int, ...]) -> None:
    """A tally of this survey and shape, or an error."""
    if tally.survey_id != survey_id:
        raise SurveyMismatch(f"a tally must be of survey {survey_id.hex()[:8]}, got one of {tally.survey_id.hex()[:8]}")
    if tally.cells.shape != cells_shape:
        raise ParameterError(f"a tally must have cells of shape {cells_shape}, got {tally.cells.shape}")


def check_listed(histogram: Histogram, name: str) -> None:
    """All items of the crowd are listed, or an error."""
    if histogram.singletons:
        raise ParameterError(f"{name} samples crowds whose items are all listed, got {histogram.singletons} singletons")
