"""Subset selection with public coins: the most accurate local counts of a short list of values.

A report's id gives public coins, which arrange the d values in a circle at random. A window is k neighbouring places;
there are d windows, and each value is in k of them. The device names a window: with some chance one of the k with its
value, otherwise any of the d. A report *matches* every value in the window that it names, and a value's count comes
from its matches.

Over random ids, the values in a window are a random set of k. So this is subset selection (Ye and Barg 2018; Wang et
al. 2016), whose error is the least possible of unbiased counts (docs/mechanisms.md has the proof). There, a device
sends the whole subset. Here the id determines it, and a report has 17 bytes. With k = 1 it is randomised response over
the values; with d = 2, Warner's.

======== ===========================================================================
symbol   meaning
======== ===========================================================================
d        `size`: values of the list
k        `window`: values in a window
held     the chance that a report matches the value of its sender
absent   the chance that it matches another value:
         held·(k − 1)/(d − 1) + (1 − held)·k/(d − 1)
======== ===========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry, Request
from hubbub.mechanisms.checks import (
    check_cells,
    check_fields,
    check_inputs,
    check_reports,
    size_text,
    whole,
    whole_text,
)
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, RandomWords, Reports
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.arrangements import add_matches, name_windows, places_of, sample_matches
from hubbub.numeric.count_law import CountLaw, match_law, mean_variance
from hubbub.numeric.hashing import Purpose, derive_key, hash_uint64
from hubbub.numeric.sampling import response_epsilon, response_threshold
from hubbub.numeric.shuffling import Kind, match_kinds
from hubbub.numeric.sum_law import window_sum

MAX_VALUES = 4096
_ONE_BYTE = 256  # windows that a byte can name
_AT_ONCE = 500_000_000  # people whose sums are drawn together: numpy's hypergeometric law takes fewer than 10^9


class Subset(SurveyMechanism):
    """Subset selection with public coins."""

    random_words_per_report = 4  # id, id, tell the truth?, which window
    certifies = True

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey)
        parameters = survey.parameters
        check_fields(parameters, {"window", "keep_threshold"})
        check_size(self.size)
        self.window = whole(parameters, "window", 1, self.size - 1)
        self.threshold = whole_text("keep_threshold", parameters["keep_threshold"])
        self.report_dtype = np.dtype([("id", "<u8", (2,)), ("start", "u1" if self.size <= _ONE_BYTE else "<u2")])
        self.cells_shape = (self.size,)  # the matches of each value
        # The pure ε of the threshold: for the same coins, two values' chances of a window differ by e^ε at most.
        self.guarantee = PrivacyGuarantee(response_epsilon(self.threshold, self.size, self.window), Decimal(0))
        self.held, self.absent = match_chances(self.size, self.window, (2**64 - self.threshold) / 2.0**64)
        # held − absent, computed directly, since the subtraction would round to 0 for a tiny threshold.
        self.gap = self.threshold / 2.0**64 * (self.size - self.window) / (self.size - 1)
        self.influence = (1 - self.absent) / self.gap, -self.absent / self.gap
        self._key = derive_key(survey.public_seed, Purpose.SUBSET_PLACES)

    # The client's role.

    @property
    def lie_chance(self) -> float:
        """The chance of a window without the value."""
        return 1.0 - self.held

    @property
    def report_kinds(self) -> list[Kind]:
        """The kinds of any two values: which of their places, drawn at random, a window covers."""
        covered = self.window / self.size
        return match_kinds(self.threshold / 2.0**64, covered, covered * (self.window - 1) / (self.size - 1))

    @property
    def word_classes(self) -> tuple[Collection[int], ...]:
        """The threshold of the truth, and the words from which another window is named, honestly or not."""
        parts = (self.window, self.size)
        return (self.threshold,), {-(-(part << 64) // number) for number in parts for part in range(number)}

    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One window per item: a pure function of items and random words. Costs about 1.2 ns per value of the list."""
        items, random_words = check_inputs(items, random_words, self.survey.domain, self.random_words_per_report)
        places = items[:, 0].astype(np.int64)
        if self.window > 1:
            places_of(hash_uint64(self._key, random_words[:, :2]), np.ascontiguousarray(items[:, 0]), self.size, places)
        name_windows(places, random_words, np.uint64(self.threshold), self.window, self.size, places)
        reports = np.empty(len(items), self.report_dtype)
        reports["id"] = random_words[:, :2]
        reports["start"] = places
        return reports

    # The collector's role.

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports name one of the d windows."""
        check_reports(reports, self.report_dtype)
        return np.asarray(reports["start"] < self.size)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add 1 for each value in the window that a report names. Costs about 1.3 ns for each value of the list."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        if self.window == 1:
            cells += np.bincount(reports["start"], minlength=self.size)
        else:
            add_matches(hash_uint64(self._key, reports["id"]), reports["start"].astype(np.int64), self.window, cells)

    # The analyst's role.

    def count_law(self, people: int) -> CountLaw:
        """The law of a count, exact for any number of people: matches are sums of independent coins."""
        return match_law(people, self.held, self.absent, self.gap)

    def sum_law(self, people: int, members: int) -> CountLaw:
        """The law of the sum of so many counts, exact for any number of people."""
        return window_sum(people, self.size, self.window, self.held, self.gap, members)

    def noise_stderr(self, people: int) -> float:
        """Standard error of the count of a value that nobody holds."""
        return math.sqrt(people * self.absent * (1 - self.absent)) / self.gap

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Counts of any items. The cost is negligible.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed; the standard error
        includes the noise of the value's own holders. The counts of all values add up to the number of reports.
        """
        self.check_tally(tally)
        items = self.check_items(items)
        counts, stderrs = self._count(tally, items[:, 0].astype(np.int64))
        return Estimates(items, counts, stderrs)

    def _count(self, tally: Tally, values: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = np.asarray((tally.cells[values] - tally.count * self.absent) / self.gap, np.float64)
        return counts, np.sqrt(self.count_law(tally.count).variance(np.clip(counts, 0.0, tally.count)))

    def gap_variance(self, tally: Tally, first: Estimates, second: Estimates) -> NDArray[np.float64]:
        """The variance (people²) of the difference of two counts: from windows with exactly one of the two values."""
        size, window, held, gap = self.size, self.window, self.held, self.gap
        own = (held * (size - window) + (1 - held) * window) / (size - 1) - gap**2
        pairs = max((size - 1) * (size - 2), 1)  # with two values everybody holds one of them
        rest = 2 * (held * (window - 1) * (size - window) + (1 - held) * window * (size - 1 - window)) / pairs
        holders = np.clip(first.counts, 0.0, None) + np.clip(second.counts, 0.0, None)
        holders = np.minimum(holders, tally.count)
        return np.asarray((holders * own + (tally.count - holders) * rest) / gap**2)

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Count every value, and return those that stand out from the noise."""
        self.check_tally(tally)
        counts, stderrs = self._count(tally, np.arange(self.size))
        law = self.count_law(tally.count)
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        limit = law.seen_from(stands_out, 0.0, selection.FOUND_95)
        items = chosen.astype(np.uint64)[:, np.newaxis]
        return Estimates(items, counts[chosen], stderrs[chosen], threshold, limit)

    @property
    def samples_at_once(self) -> bool:
        """True: the cost of `sample_tally` does not grow with the number of people."""
        return True

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """A tally with the same law as real reports. Costs about 3·d·k draws for any crowd."""
        items = self.check_items(histogram.items)
        counts = np.bincount(items[:, 0].astype(np.int64), histogram.counts, self.size).astype(np.int64)
        counts += rng.multinomial(histogram.singletons, np.full(self.size, 1 / self.size))
        cells = np.zeros(self.size, np.int64)
        parts = max(1, -(-int(counts.sum()) // _AT_ONCE))
        for part in range(parts):
            share = counts * (part + 1) // parts - counts * part // parts
            truthful = rng.binomial(share, self.threshold / 2.0**64)
            cells += sample_matches(share, truthful, self.window, rng)
        return Tally(self.survey_id, histogram.people, cells)


def match_chances(size: int, window: int, untrue: float) -> tuple[float, float]:
    """The chances that a report matches its sender's value, and that it matches another value.

    `untrue` is the chance that the device names any of the d windows at random. Computing from this small chance keeps
    the results from being rounded to 1 or 0 where ε is large.
    """
    missed = untrue * (size - window) / size
    return 1 - missed, ((1 - missed) * (window - 1) + missed * window) / (size - 1)


def noise_of(size: int, window: int, epsilon: float) -> float:
    """The variance (people²) that each report adds to a count: the mean over all values of the list."""
    gain = window * math.expm1(min(epsilon, 200.0))
    gap = gain / (gain + size) * (size - window) / (size - 1)
    return mean_variance(size, *match_chances(size, window, size / (gain + size)), gap)


def best_window(size: int, epsilon: float) -> int:
    """The number of values in a window with the least noise: about size/(e^ε + 1)."""
    return min(range(1, size), key=lambda window: noise_of(size, window, epsilon))


def check_size(size: int) -> None:
    """Require a list that is short enough."""
    if size > MAX_VALUES:
        raise ParameterError(f"subset must have a universe of at most {MAX_VALUES} values, got {size_text(size)}")


def derive(request: Request) -> dict[str, Any]:
    """The window size with the least noise, and the threshold, as integers."""
    check_size(request.domain.size)
    window = best_window(request.domain.size, float(request.epsilon))
    return {"window": window, "keep_threshold": str(response_threshold(request.epsilon, request.domain.size, window))}


ENTRY = Entry(facts.SUBSET, derive, Subset)
