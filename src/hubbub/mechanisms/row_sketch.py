"""What mechanisms with a channel share, and what JL-HH and the Bucket mechanism do: rows of signs, averaged back.

In a row sketch, a value has a sign in every row. The sum over people of their signs, row by row, is measured
privately; the count of a value is the mean over rows of (its sign)·(the row's sum).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.mechanisms.base import check_batch, check_cells, check_items, check_reports
from hubbub.mechanisms.channels import LaplaceChannel, OneBitChannel
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Histogram, Items, Reports, Words
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.count_law import CountLaw, laplace_law, response_law


class ChannelMechanism(ABC):
    """A mechanism whose reports are those of a channel."""

    def __init__(self, survey: Survey, channel: LaplaceChannel | OneBitChannel) -> None:
        self.survey = survey
        self.survey_id = survey.survey_id
        self.size = survey.domain.size
        self.bits = survey.domain.bits
        self.item_words = survey.domain.item_words
        self.channel = channel

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Survey]]:
        return (type(self), (self.survey,))

    @property
    def report_dtype(self) -> np.dtype[np.void]:
        """The id ‖ one bit, or the id ‖ one integer per row."""
        return self.channel.report_dtype

    @property
    def words_per_report(self) -> int:
        """Two words for the id, and what the channel needs."""
        return self.channel.words_per_report

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Computed from the thresholds of the survey."""
        return self.channel.guarantee(self.survey.epsilon)

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """As the channel has them."""
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

    @property
    @abstractmethod
    def noise_terms(self) -> tuple[int, float]:
        """How many draws of Laplace noise each person adds to a count, and by what they are multiplied."""

    def count_law(self, people: int) -> CountLaw:
        """The law of an estimated count, but for collisions.

        A one-bit report of somebody else agrees with a value's sign as often as not.
        """
        if isinstance(self.channel, OneBitChannel):
            return response_law(people, 2, 1.0 / self.channel.gain)
        draws, scale = self.noise_terms
        return laplace_law(people, float(self.channel.noise.rate), draws, scale)

    def absent_threshold(self, people: int, stderr: float, query: Query) -> float:
        """What a value nobody holds passes with a chance of level/2 among all values, given its standard error."""
        law = self.count_law(people)
        extra = float(law.collisions(np.zeros(1), np.array([stderr]))[0])
        return law.threshold(math.log(query.level / 2) - math.log(self.size), extra)

    def check_tally(self, tally: Tally) -> None:
        """A tally of this survey and shape."""
        check_tally(tally, self.survey_id, self.cells_shape)

    def check_items(self, items: object) -> Items:
        """Items of the survey's domain, row after row in memory."""
        return check_items(items, self.survey.domain)


class RowSketch(ChannelMechanism):
    """A mechanism whose cells are one noisy sum of signs per row."""

    def __init__(self, survey: Survey, rows: int, channel: LaplaceChannel | OneBitChannel) -> None:
        super().__init__(survey, channel)
        self.rows = rows

    @abstractmethod
    def sign_bits(self, items: Items) -> NDArray[np.uint8]:
        """Every sign bit of the items, shape (n, rows); 1 means −1."""

    @abstractmethod
    def sign_bits_at(self, items: Items, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The sign bit of each (item, row) pair."""

    @abstractmethod
    def answers(self, bits: NDArray[np.uint8]) -> NDArray[np.int8]:
        """What a device answers through the Laplace channel: ±1 (JL) or the bits themselves (Bucket)."""

    @abstractmethod
    def row_sums(self, tally: Tally) -> NDArray[np.float64]:
        """Unbiased sums over people of their signs, for each row."""

    def randomize(self, items: Items, words: Words) -> Reports:
        """One report per row: a pure function of items and words. Noise is drawn once per person (erratum E3)."""
        items, words = check_batch(items, words, self.survey.domain, self.words_per_report)
        if isinstance(self.channel, OneBitChannel):
            return self.channel.report(self.sign_bits_at(items, self.channel.rows_of(words[:, :2])), words)
        return self.channel.report(self.answers(self.sign_bits(items)), words)

    # Shared by the decoders.

    def noise_stderr(self, people: int) -> float:
        """Standard error of a count from the privacy noise alone."""
        if isinstance(self.channel, OneBitChannel):
            return self.channel.gain * math.sqrt(people)
        scale = abs(self.row_scale)
        return scale * math.sqrt(people * self.channel.noise.variance / self.rows)

    @property
    def noise_terms(self) -> tuple[int, float]:
        """One draw per row, in a mean over rows."""
        return self.rows, abs(self.row_scale) / self.rows

    @property
    def row_scale(self) -> float:
        """By what the noise of a cell is multiplied in `row_sums`, for the Laplace channel."""
        return 1.0

    def stderr(self, sums: NDArray[np.float64], counts: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """Noise and collisions together: a count is a mean over rows, so its spread shows in the rows.

        The squares of sign·sum do not depend on the sign, so one pass over the rows serves every item.
        """
        mean_square = float(np.mean(sums * sums))
        spread = np.sqrt(np.maximum(mean_square - counts * counts, 0.0) / max(self.rows - 1, 1))
        return np.maximum(spread, self.noise_stderr(people))


def check_tally(tally: Tally, survey_id: bytes, cells_shape: tuple[int, ...]) -> None:
    """A tally of this survey and shape, or an error."""
    if tally.survey_id != survey_id:
        raise SurveyMismatch(f"a tally must be of survey {survey_id.hex()[:8]}, got one of {tally.survey_id.hex()[:8]}")
    if tally.cells.shape != cells_shape:
        raise ParameterError(f"a tally must have cells of shape {cells_shape}, got {tally.cells.shape}")


def check_listed(histogram: Histogram, name: str) -> None:
    """All items of the crowd are listed."""
    if histogram.singletons:
        raise ParameterError(f"{name} samples crowds whose items are all listed, got {histogram.singletons} singletons")
