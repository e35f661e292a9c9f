"""The base class of the mechanisms: all roles in one object, and how a crowd of it is simulated.

Code that answers, rehearses, simulates or plots asks a mechanism for facts about itself, and never checks its type.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.roles import Forecasts, PrivacyFacts, SurveyDecoder
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, Randomizer, RandomWords, Reports, add_up
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.randomness import RandomWordSource, SeededRandomWords

_WORDS_AT_ONCE = 1 << 22
_POOLED = "people alone on a value are pooled as fair coins on every row"


@dataclass(frozen=True)
class Sample:
    """The decoder of one simulated crowd: the mechanism's methods of these names, for this crowd instead of a tally.

    `approximation` is how the crowd's law differs from that of real reports; empty if it is exact.
    """

    discover: Callable[[Query], Estimates]
    estimate: Callable[[Items], Estimates]
    counts_of_all: Callable[[], NDArray[np.float64]]
    approximation: str


class Simulated(SurveyDecoder):
    """A mechanism whose crowds can be simulated: sums drawn from a histogram, and a decoder of each such crowd.

    Attributes
    ----------
    noise_draws : int
        How many times a device draws noise for one report; the cost of a report is proportional to it.
    """

    noise_draws: int = 1

    @abstractmethod
    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The tally of a simulated crowd."""

    @property
    def samples_at_once(self) -> bool:
        """True if the cost of `sample_tally` does not grow with the number of people."""
        return False

    @property
    def instead_of_sampling(self) -> str:
        """What to do if a crowd is too large to be sampled person by person: the end of an error message."""
        return "simulate that many, and expect errors that grow with the square root of the people"

    @property
    def samples_any_crowd(self) -> bool:
        """True if the cost of `sample` does not grow with the number of people."""
        return self.samples_at_once

    def sample(self, histogram: Histogram, rng: np.random.Generator) -> Sample:
        """The decoder of a simulated crowd; by default that of its sampled tally. Approximate with singletons."""
        tally = self.sample_tally(histogram, rng)
        return Sample(
            partial(self.discover, tally),
            partial(self.estimate, tally),
            partial(self.counts_of_all, tally),
            approximation=_POOLED if histogram.singletons else "",
        )


class SurveyMechanism(PrivacyFacts, Forecasts, Simulated):
    """The mechanism of one survey, in all roles.

    Attributes
    ----------
    random_words_per_report : int
        How many random words of 64 bits one report uses, the same for every item.
    """

    random_words_per_report: int

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Survey]]:
        return (type(self), (self.survey,))

    @abstractmethod
    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One report per item: a pure function of items and random words."""

    @abstractmethod
    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest client could have sent."""

    @abstractmethod
    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add valid reports to the cells."""

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The tally of a simulated crowd; by default everybody makes a report, at a cost of `noise_draws` each."""
        check_listed(histogram, self.label)
        self.check_items(histogram.items)
        counted = zip(histogram.items, histogram.counts, strict=True)
        everyone = (np.repeat(item[np.newaxis], count, axis=0) for item, count in counted)
        reports = make_reports(self, everyone, SeededRandomWords(int(rng.integers(2**63))))
        return add_up(self, reports)


def make_reports(randomizer: Randomizer, people: Iterable[Items], random_words: RandomWordSource) -> Iterator[Reports]:
    """Everybody's reports, in parts of a few megabytes, so memory does not grow with the number of people."""
    needed = randomizer.random_words_per_report
    at_once = max(1, _WORDS_AT_ONCE // needed)
    for items in people:
        for start in range(0, len(items), at_once):
            part = items[start : start + at_once]
            yield randomizer.randomize(part, random_words.draw(len(part), needed))


def check_listed(histogram: Histogram, name: str) -> None:
    """Require a crowd without singletons: all its items are listed."""
    if histogram.singletons:
        raise ParameterError(f"a crowd for {name} must list all its items, got {histogram.singletons} singletons")
