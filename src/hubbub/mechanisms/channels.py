"""The two ways a device responds: every coordinate with Laplace noise, or one bit by randomised response.

A channel does not know what items mean. It asks a linear query for responses, makes a private report of them, adds
reports up, and computes its privacy guarantee from the integer thresholds that are executed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import ROUND_CEILING, Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from hubbub.model.mechanism import Histogram, Items, RandomWords, Reports
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.tally import Cells
from hubbub.numeric.composition import composed_delta
from hubbub.numeric.count_law import CountLaw, laplace_law, response_law
from hubbub.numeric.hashing import Purpose, check_bound, derive_key, hash_uint64, uniform_below
from hubbub.numeric.sampling import DiscreteLaplace, bernoulli, bit_epsilon

_ID_WORDS = 2
_ID_FIELD = ("id", "<u8", (_ID_WORDS,))


class LinearQuery(ABC):
    """What a channel asks a mechanism: the responses of a person, and those of a whole crowd for a simulation.

    The Laplace channel asks for responses and sums, the one-bit channel for bits.
    """

    @abstractmethod
    def responses(self, items: Items) -> NDArray[np.int8]:
        """All responses of each item, shape (n, coordinates), each at most 1 in size."""

    @abstractmethod
    def sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        """The sums over a crowd of everyone's responses, without noise."""

    def sign_bits_at(self, items: Items, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The bit of each (item, row) pair that a one-bit report tells; 1 means −1."""
        raise NotImplementedError("this mechanism has no one-bit form")

    def sample_bits(
        self, histogram: Histogram, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many of a crowd report on each row with true bit 0, and how many with true bit 1."""
        raise NotImplementedError("this mechanism has no one-bit form")


class Channel(ABC):
    """How the responses of a linear query become a private report.

    Attributes
    ----------
    report_dtype : np.dtype
        The layout of a report: its id, then the response.
    random_words_per_report : int
        Random words that one report uses.
    cells_shape : tuple of int
        The shape of the sums of reports.
    noise : DiscreteLaplace or None
        The noise of each coordinate; None where a report is one bit, by randomised response.
    gain : float
        The factor that makes sums unbiased under randomised response; 1 for Laplace noise.
    noise_draws : int
        How many times one person draws noise.
    largest : int
        The most that one report, honest or not, adds to a cell.
    """

    report_dtype: np.dtype[np.void]
    random_words_per_report: int
    cells_shape: tuple[int, ...]
    noise: DiscreteLaplace | None = None
    gain = 1.0
    noise_draws = 1
    largest = 1

    @abstractmethod
    def guarantee(self, epsilon: Decimal) -> PrivacyGuarantee:
        """The guarantee that the executed integer thresholds give at a stated ε."""

    @abstractmethod
    def randomize(self, query: LinearQuery, items: Items, random_words: RandomWords) -> Reports:
        """One report per item: a pure function of items and random words."""

    @abstractmethod
    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports an honest client could have sent."""

    @abstractmethod
    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add reports to the cells, in place."""

    @abstractmethod
    def sample_cells(self, query: LinearQuery, histogram: Histogram, rng: np.random.Generator) -> Cells:
        """Cells with the law of the sum of a crowd's reports."""

    # The noise in a count. A count is the mean, over `parts` rows (or slots), of ± each row's sum.

    @abstractmethod
    def sum_factor(self, parts: int) -> float:
        """The factor that makes a cell an unbiased sum over people."""

    @abstractmethod
    def mean_factor(self, parts: int) -> float:
        """The factor that makes the sum over the parts an unbiased count."""

    @abstractmethod
    def noise_stderr(self, people: int, parts: int, scale: float = 1.0) -> float:
        """The standard error of a count due to noise, in people; Laplace noise counts `scale` times in each part."""

    @abstractmethod
    def count_law(self, people: int, parts: int, scale: float = 1.0) -> CountLaw:
        """The law of a count, ignoring collisions."""


class LaplaceChannel(Channel):
    """A vector of small integers, each with discrete Laplace noise drawn once (the paper's way).

    Parameters
    ----------
    coordinates : int
        Length of the vector.
    changed : int
        In how many coordinates the vectors of two values can differ.
    step : int
        The most that they can differ in each.
    noise : DiscreteLaplace
        The noise of each coordinate.
    groups : int, optional
        The number of groups of changed coordinates, if `step` bounds the sum of the differences within a group rather
        than each difference. Without it every coordinate is a group of its own.
    """

    def __init__(
        self, coordinates: int, changed: int, step: int, noise: DiscreteLaplace, groups: int | None = None
    ) -> None:
        self.coordinates = coordinates
        self.changed = changed
        self.step = step
        self.noise: DiscreteLaplace = noise
        self.groups = changed if groups is None else groups
        self.largest = noise.bound + 1  # the responses themselves are at most 1 in size
        kind = next(kind for kind in ("<i1", "<i2", "<i4") if self.largest <= np.iinfo(kind).max)
        self.noise_draws = coordinates
        self.report_dtype = np.dtype([_ID_FIELD, ("responses", kind, (coordinates,))])
        self.random_words_per_report = _ID_WORDS + coordinates * noise.random_words
        self.cells_shape = (coordinates,)

    def guarantee(self, epsilon: Decimal) -> PrivacyGuarantee:
        """(ε, δ) with the exact δ at this ε: exact composition, plus (1 + e^ε) times the cost of truncation."""
        each = self.step * self.noise.rate
        with localcontext(Context(prec=40, rounding=ROUND_CEILING)):
            pure = self.groups * each <= epsilon
            # One ulp outwards on both sides, so that the floats bound the decimals.
            bounds = math.nextafter(float(epsilon), 0), math.nextafter(float(each), math.inf)
            composed = 0.0 if pure else composed_delta(*bounds, self.groups)
            grown = epsilon.exp().next_plus()  # exp() rounds to nearest in any context, so go one step up
            cut = (1 + grown) * self.changed * self.noise.distance
            return PrivacyGuarantee(epsilon, min(Decimal(1), Decimal(composed) + cut))

    def randomize(self, query: LinearQuery, items: Items, random_words: RandomWords) -> Reports:
        """Each response plus its own noise, drawn once per person (erratum E3)."""
        reports = np.zeros(len(random_words), self.report_dtype)
        reports["id"] = random_words[:, :_ID_WORDS]
        self.noise.add_to(query.responses(items), random_words[:, _ID_WORDS:], reports["responses"])
        return reports

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have only responses that the noise can reach."""
        responses = reports["responses"]
        return np.asarray((responses.max(axis=1) <= self.largest) & (responses.min(axis=1) >= -self.largest))

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add the responses up."""
        cells += reports["responses"].sum(axis=0, dtype=np.int64)

    def sample_cells(self, query: LinearQuery, histogram: Histogram, rng: np.random.Generator) -> Cells:
        """The sums of everyone's responses, and the sum of everyone's noise."""
        sums = query.sample_sums(histogram, rng)
        return sums + self.noise.sample_sums(histogram.people, sums.shape, rng)

    def sum_factor(self, parts: int) -> float:
        """1: a cell is the sum of everyone's responses already."""
        del parts
        return 1.0

    def mean_factor(self, parts: int) -> float:
        """1/parts: a count is the mean over the parts."""
        return 1.0 / parts

    def noise_stderr(self, people: int, parts: int, scale: float = 1.0) -> float:
        """From one draw per person and part, averaged over parts."""
        return scale * math.sqrt(people * self.noise.variance / parts)

    def count_law(self, people: int, parts: int, scale: float = 1.0) -> CountLaw:
        """The law of everybody's noise; nothing else is random."""
        return laplace_law(people, float(self.noise.rate), parts, scale / parts)


class OneBitChannel(Channel):
    """One bit about one of several rows, by randomised response; the row is a public coin of the report's id. Pure ε.

    The truth is told with chance threshold / 2^64.
    """

    report_dtype = np.dtype([_ID_FIELD, ("bit", "u1")])
    random_words_per_report = _ID_WORDS + 1

    def __init__(self, rows: int, threshold: int, seed: bytes) -> None:
        check_bound(rows)
        self.rows = rows
        self.threshold = threshold
        self.cells_shape = (rows,)
        self._epsilon = bit_epsilon(threshold)
        self._key = derive_key(seed, Purpose.REPORT_ROW)
        # C_ε = (e^ε + 1)/(e^ε − 1) of the threshold that runs: what undoes the lies on average.
        self.gain = 2.0**64 / (2 * threshold - 2**64)

    def guarantee(self, epsilon: Decimal) -> PrivacyGuarantee:
        """The pure ε of the threshold; the stated ε is not used."""
        del epsilon
        return PrivacyGuarantee(self._epsilon, Decimal(0))

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row each report is about: a public function of its id, uniform over the rows."""
        return uniform_below(hash_uint64(self._key, ids), self.rows)

    def randomize(self, query: LinearQuery, items: Items, random_words: RandomWords) -> Reports:
        """The bit of the row that the id chooses, or the other bit."""
        reports = np.zeros(len(random_words), self.report_dtype)
        reports["id"] = random_words[:, :_ID_WORDS]
        bits = query.sign_bits_at(items, self.rows_of(random_words[:, :_ID_WORDS]))
        reports["bit"] = bits ^ ~bernoulli(random_words[:, _ID_WORDS], self.threshold)
        return reports

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """A bit is 0 or 1."""
        return np.asarray(reports["bit"] <= 1)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """+1 for a bit 0 and −1 for a bit 1, in the cell of its row."""
        # Not bincount, which would cost O(rows) even for a small batch.
        np.add.at(cells, self.rows_of(reports["id"]), 1 - 2 * reports["bit"].astype(np.int64))

    def sample_cells(self, query: LinearQuery, histogram: Histogram, rng: np.random.Generator) -> Cells:
        """Draw how many tell the truth about each row, separately for true bits 0 and 1, and sum their signs."""
        zeros, ones = query.sample_bits(histogram, rng)
        truth = self.threshold / 2.0**64
        plus = rng.binomial(zeros, truth) + ones - rng.binomial(ones, truth)
        return (2 * plus - zeros - ones).astype(np.int64)

    def sum_factor(self, parts: int) -> float:
        """parts·gain: the gain corrects for false responses, and each report is about one part only."""
        return parts * self.gain

    def mean_factor(self, parts: int) -> float:
        """The gain: each report is about one part, so the sum over parts already is a sum over people."""
        del parts
        return self.gain

    def noise_stderr(self, people: int, parts: int, scale: float = 1.0) -> float:
        """gain·√people: every report adds ± the gain."""
        del parts, scale
        return self.gain * math.sqrt(people)

    def count_law(self, people: int, parts: int, scale: float = 1.0) -> CountLaw:
        """Randomised response: a report of someone who does not hold the value matches its sign half of the time."""
        del parts, scale
        return response_law(people, 2, 1.0 / self.gain)


class SlottedBitChannel(OneBitChannel):
    """One bit about one cell. Cells come in slots of 2^bits each: the slot is uniform, then the cell within it.

    `slot_bits` are log₂ of the cells of each slot; the rest is as in `OneBitChannel`.
    """

    def __init__(self, slot_bits: NDArray[np.int64], threshold: int, seed: bytes) -> None:
        sizes = np.int64(1) << slot_bits
        super().__init__(int(sizes.sum()), threshold, seed)
        self._first_cells = np.cumsum(sizes) - sizes
        self._within = (sizes - 1).astype(np.uint64)

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The cell each report is about: the high bits of the hash of its id choose the slot, the low ones the cell."""
        hashes = hash_uint64(self._key, ids)
        slots = uniform_below(hashes, len(self._within))
        return np.asarray(self._first_cells[slots] + (hashes & self._within[slots]).astype(np.int64))
