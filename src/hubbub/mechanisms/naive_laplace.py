"""The paper's naive baseline (end of section 3.1): a noisy histogram from every person.

The paper adds Lap(1/ε) because "exactly one entry" changes; replacing a value changes two entries, so the scale is
2/ε (erratum E8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import (
    Entry,
    Request,
    check_batch,
    check_cells,
    check_fields,
    check_items,
    check_reports,
)
from hubbub.mechanisms.channels import LaplaceChannel, noise_from_json, noise_to_json
from hubbub.mechanisms.row_sketch import check_listed, check_tally
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, Reports, Words
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.count_law import CountLaw, laplace_law
from hubbub.numeric.sampling import DiscreteLaplace

MAX_SIZE = 2**16


class NaiveLaplace:
    """One noisy count per value from each person."""

    def __init__(self, survey: Survey) -> None:
        check_fields(survey.parameters, {"noise_rate", "digit_thresholds"})
        self.survey = survey
        self.survey_id = survey.survey_id
        self.size = survey.domain.size
        if self.size > MAX_SIZE:
            raise ParameterError(f"naive-laplace must have a universe of at most 2^16 values, got {self.size}")
        # Replacing a value changes two entries of the histogram, by 1 each.
        self.channel = LaplaceChannel(self.size, changed=2, step=1, noise=noise_from_json(survey.parameters))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Survey]]:
        return (type(self), (self.survey,))

    @property
    def report_dtype(self) -> np.dtype[np.void]:
        """The id ‖ one integer per value."""
        return self.channel.report_dtype

    @property
    def words_per_report(self) -> int:
        """Two words for the id, and a draw per value."""
        return self.channel.words_per_report

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Computed from the thresholds of the survey."""
        return self.channel.guarantee(self.survey.epsilon)

    def randomize(self, items: Items, words: Words) -> Reports:
        """A noisy indicator vector for each item."""
        items, words = check_batch(items, words, self.survey.domain, self.words_per_report)
        indicators = np.zeros((len(items), self.size), np.int8)
        indicators[np.arange(len(items)), items[:, 0].astype(np.int64)] = 1
        return self.channel.report(indicators, words)

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """One cell per value."""
        return self.channel.cells_shape

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest client could have sent."""
        check_reports(reports, self.report_dtype)
        return self.channel.validate(reports)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add valid reports to the cells."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        self.channel.accumulate(cells, reports)

    def _stderr(self, people: int) -> float:
        return math.sqrt(people * self.channel.noise.variance)

    def count_law(self, people: int) -> CountLaw:
        """The law of a count: everybody's noise, and nothing else."""
        return laplace_law(people, float(self.channel.noise.rate))

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """The cells: unbiased, with noise and no collisions."""
        check_tally(tally, self.survey_id, self.cells_shape)
        items = check_items(items, self.survey.domain)
        counts = tally.cells[items[:, 0].astype(np.int64)].astype(np.float64)
        return Estimates(items, counts, np.full(len(items), self._stderr(tally.count)))

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The largest cells that stand out from the noise."""
        check_tally(tally, self.survey_id, self.cells_shape)
        stderr = self._stderr(tally.count)
        counts = tally.cells.astype(np.float64)
        law = self.count_law(tally.count)
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        items = chosen.astype(np.uint64)[:, np.newaxis]
        limit = law.seen_from(stands_out, 0.0, selection.FOUND_95)
        return Estimates(items, counts[chosen], np.full(len(chosen), stderr), threshold, limit)

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The law of the per-person path: counts and sums of noise."""
        check_listed(histogram, "naive-laplace")
        check_items(histogram.items, self.survey.domain)
        counts = np.zeros(self.size, np.int64)
        np.add.at(counts, histogram.items[:, 0].astype(np.int64), histogram.counts)
        return Tally(self.survey_id, histogram.people, self.channel.sample(counts, histogram.people, rng))


def default_delta(options: Mapping[str, str]) -> Decimal:
    """Above what 64-bit thresholds cost, and far below anything that matters."""
    del options
    return Decimal("1e-15")


def derive(request: Request) -> dict[str, Any]:
    """Scale 2/ε: ε/2 for each of the two entries that change."""
    if request.size > MAX_SIZE:
        raise ParameterError(f"naive-laplace must have a universe of at most 2^16 values, got {request.size}")
    noise = DiscreteLaplace.with_rate(request.epsilon / 2)
    executed = LaplaceChannel(request.size, 2, 1, noise).guarantee(request.epsilon).delta
    if executed > request.delta:
        raise ParameterError(
            f"delta must be at least {executed:.2g} for naive-laplace, whose noise has 64-bit thresholds, "
            f"got delta={request.delta}"
        )
    return noise_to_json(noise)


ENTRY = Entry(facts.NAIVE_LAPLACE, default_delta, derive, NaiveLaplace)
