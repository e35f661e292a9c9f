"""What a mechanism knows of itself, role by role: callers take the narrow type that they need.

The roles of a device and of a collector are the protocols `Randomizer` and `Accumulator` of `hubbub.model.mechanism`.
Those of whoever reads the sums, plans a survey, simulates a crowd or doubts the privacy are here. Most facts have a
default that is safe for any mechanism; a mechanism that knows better overrides it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.mechanisms.checks import check_items
from hubbub.model.estimates import Estimates, Query, Totals
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.count_law import CountLaw, gaussian_law
from hubbub.numeric.shuffling import Kind, pure_kinds
from hubbub.numeric.sum_law import uncorrelated_sum
from hubbub.numeric.tails import normal_error

_ITEMS_AT_ONCE = 1 << 12


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition under which a theorem promises that the heavy hitter is found.

    The counts that it must have, in people, are as the paper prints it and with corrected constants. `holds` is whether
    `heavy_hitter_count`, which it has, meets the latter.
    """

    needed_as_printed: float
    needed_corrected: float
    heavy_hitter_count: int
    holds: bool


class OfSurvey(ABC):
    """What every role knows: its survey, and the sizes that follow from it.

    Attributes
    ----------
    survey, survey_id, size, bits, item_limbs
        The survey, and facts about its domain.
    report_dtype : dtype
        The fixed binary layout of one report, little-endian.
    guarantee : PrivacyGuarantee
        The guarantee computed from the integer thresholds of the survey.
    cells_shape : tuple of int
        The shape of the tally's cells.
    stated_bits : tuple of int and (int or None)
        Code bits of a usual value and of a long one, for which chances are stated; None if no value is long.
    """

    report_dtype: np.dtype[np.void]
    guarantee: PrivacyGuarantee
    cells_shape: tuple[int, ...]

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.survey_id = survey.survey_id
        self.size = survey.domain.size
        self.bits = survey.domain.bits
        self.item_limbs = survey.domain.item_limbs
        self.stated_bits: tuple[int, int | None] = (self.bits, None)

    @property
    def label(self) -> str:
        """Its name, with the options that decide whether it samples at once."""
        return self.survey.mechanism

    @property
    def report_bytes(self) -> int:
        """Bytes of a report on the wire."""
        return self.report_dtype.itemsize

    @property
    def tally_bytes(self) -> int:
        """Bytes of a tally in memory: 8 for each cell."""
        return 8 * math.prod(self.cells_shape)

    def check_tally(self, tally: Tally) -> None:
        """Refuse a tally of another survey or shape."""
        check_tally(tally, self.survey_id, self.cells_shape)

    def check_items(self, items: object) -> Items:
        """Items of the survey's domain, C-contiguous; anything else is a ParameterError."""
        return check_items(items, self.survey.domain)


class PrivacyFacts(OfSurvey):
    """How reports of two values differ: for audits, and for the privacy of the sums."""

    @property
    def lie_chance(self) -> float | None:
        """The chance that a report does not match its sender's value; None if reports are not simply true or false."""
        return None

    @property
    def report_kinds(self) -> list[Kind]:
        """How reports of two values differ, for the worst two: kinds of reports, and how likely each value makes them.

        By default those of the worst mechanism with the same ε. Only for pure ε.
        """
        return pure_kinds(math.nextafter(float(self.guarantee.epsilon), math.inf))

    @property
    def word_classes(self) -> tuple[Collection[int], ...]:
        """For each random word after the id, the words at which the response may change; empty where it is noise."""
        return ()

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row that a report of each id is about: a public coin. By default there is one row."""
        return np.zeros(len(ids), np.int64)


class CountFacts(OfSurvey):
    """The law of a count.

    Attributes
    ----------
    influence : tuple of two floats
        The most and the least that one report, honest or not, adds to the count of a value, in people.
    certifies : bool
        Whether a count moves by no more than that for each forged report, or by what the estimates say, and the error
        of a count does not depend on what is forged. Then answers are certified against forged reports.
    """

    influence: tuple[float, float]
    certifies: bool = False

    def count_law(self, people: int) -> CountLaw:
        """The law of a count without collisions (its standard error includes them); by default Gaussian."""
        return gaussian_law(people)

    @abstractmethod
    def noise_stderr(self, people: int) -> float:
        """The standard error, in people, that the privacy noise of this many people alone gives a count."""

    def passing_chance(self, people: int, held: float, log_chance: float) -> float:
        """The chance that the count of a value that `held` people hold passes a threshold.

        An absent value passes that threshold with a chance of e^log_chance. By the law of counts without collisions.
        """
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([self.noise_stderr(people)]))[0])
        return -math.expm1(float(law.log_chances(law.threshold(log_chance, extra), held, extra)[1]))

    def sum_law(self, people: int, members: int) -> CountLaw:
        """The law of the sum of the counts of so many values, given how many people hold any of them.

        It has the mechanism's exact covariance of two counts; by default they are uncorrelated.
        """
        return uncorrelated_sum(self.count_law(people), members)

    def named_chance(self, people: int, held: float, log_chance: float) -> float:
        """The chance that a candidate stands out, if one that nobody holds does so with a chance of e^log_chance."""
        return self.passing_chance(people, held, log_chance)


class SurveyDecoder(CountFacts):
    """The analyst's role: reads tallies, never reports."""

    @abstractmethod
    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of any items."""

    @abstractmethod
    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The items that stand out, largest first."""

    def guess(self, tally: Tally, known: Items, most: int, query: Query) -> Estimates:
        """The values with the largest counts besides the known ones, whether they stand out or not; at most so many."""
        del query
        best = self.discover(tally, Query(most + len(known), best_guess=True))
        those = {item.tobytes() for item in known}
        new = np.array([k for k, item in enumerate(best.items) if item.tobytes() not in those][:most], np.int64)
        return Estimates(best.items[new], best.counts[new], best.stderrs[new])

    @property
    def most_subtracted(self) -> int:
        """The most known values that `estimate_beside` can subtract from the sums; 0 if it subtracts none."""
        return 0

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items after the values already found are subtracted; by default nothing is subtracted."""
        del found
        return self.estimate(tally, items)

    def count_groups(self, tally: Tally, groups: Sequence[Items], found: Items) -> Totals:
        """For each group of different items, how many people hold any of them; `found` are large values to subtract.

        By default the sums of the members' counts.
        """
        del found
        counts = np.array([self.estimate(tally, items).counts.sum() for items in groups])
        return Totals(counts, np.array([self.sum_extra(tally, items) for items in groups]))

    def sum_extra(self, tally: Tally, items: Items) -> float:
        """The variance (people²) of the sum of the items' counts beyond `sum_law`; by default the law has all of it."""
        del tally, items
        return 0.0

    def log_priors(self, items: Items) -> NDArray[np.float64]:
        """The logarithm of each item's share of the level of a search; by default all values have the same."""
        return np.full(len(items), -math.log(self.size))

    def limits_for(self, tally: Tally, items: Items, query: Query, usual: float) -> NDArray[np.float64]:
        """How many must hold each item for `discover` to find it with a chance of about 95 %.

        `usual` is the limit that `discover` stated; by default it applies to every value.
        """
        del tally, query
        return np.full(len(items), usual)

    def counts_of_all(self, tally: Tally) -> NDArray[np.float64]:
        """The count of every value of a universe that is small enough to list: an array of `size` numbers of people."""
        return count_all(partial(self.estimate, tally), self.size)

    def gap_variance(self, tally: Tally, first: Estimates, second: Estimates) -> NDArray[np.float64]:
        """The variance of the difference of two counts of a tally, pair by pair; by default the largest possible."""
        del tally
        return np.asarray((first.stderrs + second.stderrs) ** 2)

    @property
    def is_compiled(self) -> bool:
        """True if `discover` has been compiled on this machine, or needs no compiling."""
        return True


class Forecasts(CountFacts):
    """What can be expected of a survey before anybody has answered it, and what theorems promise."""

    def collision_stderr(self, norm: float) -> float:
        """The standard error, in people, from other values in the same buckets, if their counts have the norm ‖v‖₂.

        0 if nothing collides, or if this part of the standard error can only be known from a tally.
        """
        del norm
        return 0.0

    @property
    def bounds_every_count(self) -> bool:
        """True if every value is scored and `error_bound` holds for all their counts at once."""
        return False

    def error_bound(self, people: int, norm: float, beta: float) -> float:
        """A bound, in people, that the error of one value's count exceeds with a chance of at most β.

        The value must be fixed beforehand. By default it is a Gaussian bound for noise and collisions. If
        `bounds_every_count`, it is a theorem's bound for the largest error of all counts. `norm` is ‖v‖₂ of the counts
        that can collide with the value's.
        """
        return normal_error(math.hypot(self.noise_stderr(people), self.collision_stderr(norm)), beta)

    def largest_error_bound(self, crowd: Histogram, beta: float) -> float:
        """A bound, in people, that the largest error of all counts exceeds with a chance of at most β.

        By default a union bound over all values.
        """
        each = beta if self.bounds_every_count else beta / self.size
        return self.error_bound(crowd.people, crowd.norm, each)

    def heavy_hitter_condition(self, crowd: Histogram) -> Condition | None:
        """The condition of the mechanism's theorem, for this crowd; None if there is no such theorem."""
        del crowd
        return None

    def found_chance(self, people: int, held: float, query: Query, bits: int | None = None) -> float:
        """The chance that `discover` finds a value that `held` of this many people hold.

        `bits` is the length of its code, by default that of a usual value. By default every value is scored, and a
        value is found if its count passes the threshold that absent values hardly reach.
        """
        del bits
        return self.passing_chance(people, held, math.log(query.level / 2) - math.log(self.size))

    def predicted_stderr(self, people: int, held: float) -> float:
        """The standard error, in people, of the count of a value that `held` people hold, without collisions."""
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([self.noise_stderr(people)]))[0])
        return math.sqrt(float(law.variance(np.array([held]))[0]) + extra)

    @property
    def decode_seconds(self) -> float:
        """Seconds that `discover` takes on one core, within a factor of three; by default N log N for N values."""
        return 1e-3 + 1e-9 * self.size * self.bits


def count_all(estimate: Callable[[Items], Estimates], size: int) -> NDArray[np.float64]:
    """The counts of the values 0 to size − 1, estimated a few thousand at a time."""
    counts = np.empty(size)
    for start in range(0, size, _ITEMS_AT_ONCE):
        items = np.arange(start, min(start + _ITEMS_AT_ONCE, size), dtype=np.uint64)[:, np.newaxis]
        counts[start : start + len(items)] = estimate(items).counts
    return counts


def check_tally(tally: Tally, survey_id: bytes, cells_shape: tuple[int, ...]) -> None:
    """Require a tally of this survey and shape."""
    if tally.survey_id != survey_id:
        raise SurveyMismatch(f"a tally must be of survey {survey_id.hex()[:8]}, got one of {tally.survey_id.hex()[:8]}")
    if tally.cells.shape != cells_shape:
        raise ParameterError(f"a tally must have cells of shape {cells_shape}, got {tally.cells.shape}")
