"""Base classes: of mechanisms with a channel, and of the row sketches JL-HH and Bucket, which average rows of signs.

In a row sketch, a value has a sign in every row. The sum over people of their signs, row by row, is measured
privately; the count of a value is the mean over rows of (its sign)·(the row's sum).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.channels import Channel, LinearQuery, OneBitChannel
from hubbub.mechanisms.checks import check_cells, check_inputs, check_reports
from hubbub.mechanisms.survey_mechanism import SurveyMechanism, check_listed
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Items, RandomWords, Reports
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.count_law import CountLaw


class ChannelMechanism(SurveyMechanism, LinearQuery):
    """A mechanism whose reports are those of a channel, and whose counts are means over parts: rows or slots."""

    def __init__(self, survey: Survey, channel: Channel) -> None:
        super().__init__(survey)
        self.channel = channel
        self.report_dtype = channel.report_dtype
        self.random_words_per_report = channel.random_words_per_report
        self.guarantee = channel.guarantee(survey.epsilon)
        self.noise_draws = channel.noise_draws
        self.cells_shape = channel.cells_shape
        # ± the largest valid response times the gain, in people: a count is a mean over parts of ± responses.
        self.influence = (channel.largest * channel.gain, -(channel.largest * channel.gain))

    # Answered by the channel.

    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One report per row: a pure function of items and random words."""
        items, random_words = check_inputs(items, random_words, self.survey.domain, self.random_words_per_report)
        return self.channel.randomize(self, items, random_words)

    @property
    def word_classes(self) -> tuple[Collection[int], ...]:
        """The threshold of the one bit; none for Laplace noise."""
        return ((self.channel.threshold,),) if isinstance(self.channel, OneBitChannel) else ()

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row that a one-bit report of each id is about."""
        return self.channel.rows_of(ids) if isinstance(self.channel, OneBitChannel) else super().rows_of(ids)

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest client could have sent."""
        check_reports(reports, self.report_dtype)
        return self.channel.validate(reports)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add valid reports to the cells."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        self.channel.accumulate(cells, reports)

    # Counts.

    @property
    @abstractmethod
    def parts(self) -> int:
        """The number of rows or slots; a count is the mean of their estimates."""

    @property
    def part_scale(self) -> float:
        """The factor on a cell's Laplace noise in the estimate of one part."""
        return 1.0

    def noise_stderr(self, people: int) -> float:
        """Standard error of a count from the privacy noise alone."""
        return self.channel.noise_stderr(people, self.parts, self.part_scale)

    def count_law(self, people: int) -> CountLaw:
        """The law of an estimated count, ignoring collisions."""
        return self.channel.count_law(people, self.parts, self.part_scale)

    def absent_threshold(self, people: int, stderr: float, query: Query) -> float:
        """The count that any absent value exceeds with a chance of level/2 at most, given its standard error."""
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([stderr]))[0])
        return law.threshold(math.log(query.level / 2) - math.log(self.size), extra)

    # For simulations.

    @property
    def samples_at_once(self) -> bool:
        """True: the channel draws the sum of everybody's noise at once."""
        return True

    @property
    def pools_singletons(self) -> bool:
        """Whether a crowd can be sampled without listing the people whose value nobody else holds."""
        return False

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """A tally with the same law as real reports; the cost does not grow with the number of people."""
        if not self.samples_at_once:
            return super().sample_tally(histogram, rng)
        if not self.pools_singletons:
            check_listed(histogram, self.survey.mechanism)
        self.check_items(histogram.items)
        return Tally(self.survey_id, histogram.people, self.channel.sample_cells(self, histogram, rng))

    def beyond_law(self, parts: NDArray[np.float64], people: int, members: int) -> float:
        """What the spread of a sum's parts shows beyond `sum_law`: the variance of their mean, less that of the law.

        `parts` are what each row or slot says of the sum of so many counts.
        """
        held = np.clip(parts.mean(keepdims=True), 0.0, people)
        spread = float(parts.var()) / max(len(parts) - 1, 1)
        return max(spread - float(self.sum_law(people, members).variance(held)[0]), 0.0)


class RowSketch(ChannelMechanism):
    """A mechanism whose cells are one noisy sum of signs per row."""

    def __init__(self, survey: Survey, rows: int, channel: Channel) -> None:
        super().__init__(survey, channel)
        self.rows = rows

    @property
    def parts(self) -> int:
        """A count is a mean over rows."""
        return self.rows

    @abstractmethod
    def sign_bits(self, items: Items) -> NDArray[np.uint8]:
        """Every sign bit of the items, shape (n, rows); 1 means −1."""

    @abstractmethod
    def row_sums(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased sums over people of their signs, for each row."""

    def stderr(self, sums: NDArray[np.float64], counts: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """Standard errors from noise and collisions together, in people, estimated from the spread over rows.

        The squares of sign·sum do not depend on the sign, so one pass over the rows serves every item.
        """
        mean_square = float(np.mean(sums * sums))
        spread = np.sqrt(np.maximum(mean_square - counts * counts, 0.0) / max(self.rows - 1, 1))
        return np.maximum(spread, self.noise_stderr(people))

    def sum_extra(self, tally: Tally, items: Items) -> float:
        """What the spread over rows shows: values with the same signs in many rows, and collisions."""
        signs = len(items) - 2.0 * self.sign_bits(items).sum(axis=0, dtype=np.float64)
        return self.beyond_law(signs * self.row_sums(tally), tally.count, len(items))
