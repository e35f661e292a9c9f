"""JL-HH: the paper's near-optimal mechanism, Algorithm 1, and its one-bit form.

    paper   here                 meaning
    N       size                 values in the universe; at most 2^24, since every one is scored
    m       rows                 rows of the projection
    A       sign_bits()          ±1 here; the paper's ±1/√m is applied once, as 1/m, in the estimate
    z       channel.noise        drawn once per person (E3), discrete, so that no float leaves a device
    c_p     scores()             ⟨Ae_p, Av + z⟩ for every p

`projection=dense` is the paper's matrix of independent signs, from a public hash, never stored. `hadamard` takes
its rows from the characters of GF(2)^L: the same variances, and all N scores by one Walsh–Hadamard transform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry, Request, check_fields, whole
from hubbub.mechanisms.channels import (
    LaplaceChannel,
    OneBitChannel,
    bit_from_json,
    calibrate_bit,
    calibrate_noise,
    noise_from_json,
    noise_to_json,
)
from hubbub.mechanisms.row_sketch import RowSketch, check_listed
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric import projection
from hubbub.numeric.hadamard import sample_characters, transform
from hubbub.numeric.hashing import HashKey, Purpose, derive_key, hash_uint64, uniform_below
from hubbub.numeric.sampling import bit_threshold

MAX_BITS = 24
MAX_DENSE_SIGNS = 2**36  # signs a dense decoder may have to walk through: about a minute
_DISTORTION_SHARE = 4  # κ: the projection's distortion is at most 1/√κ of the noise
_MIN_ROWS = 64


class JLHeavyHitters(RowSketch):
    """JL-HH (Algorithm 1 of Hsu, Khanna, Roth), every value of the universe scored."""

    def __init__(self, survey: Survey) -> None:
        parameters, options = survey.parameters, survey.options
        self.dense = options["projection"] == "dense"
        if survey.domain.bits > MAX_BITS:
            raise ParameterError(f"jl must have a universe of at most 2^{MAX_BITS} values, got 2^{survey.domain.bits}")
        channel: LaplaceChannel | OneBitChannel
        rows = whole(parameters, "rows", 1, 2**24)
        if options["calibration"] == "onebit":
            check_fields(parameters, {"rows", "truth_threshold"})
            channel = bit_from_json(parameters, rows, survey.public_seed)
        else:
            check_fields(parameters, {"rows", "noise_rate", "digit_thresholds"})
            # Two values may differ in every row, from +1 to −1: replacement neighbours (errata E1, E2).
            channel = LaplaceChannel(rows, changed=rows, step=2, noise=noise_from_json(parameters))
        super().__init__(survey, rows, channel)
        if not self.dense and (rows > self._padded or (rows < self._padded and isinstance(channel, OneBitChannel))):
            raise ParameterError(
                f"parameters.rows must be {self._padded} for hadamard, or fewer with noise, got {rows}"
            )

    # The projection.

    @property
    def _padded(self) -> int:
        return 1 << self.bits

    @property
    def _complete(self) -> bool:
        """Whether the rows are all characters of GF(2)^L in order, so that nothing collides."""
        return not self.dense and self.rows == self._padded

    @cached_property
    def _characters(self) -> NDArray[np.int64]:
        """The r of each hadamard row: all of GF(2)^L where there are as many rows, else independent and uniform."""
        if self._complete:
            return np.arange(self._padded, dtype=np.int64)
        key = derive_key(self.survey.public_seed, Purpose.PROJECTION_ROWS)
        return uniform_below(hash_uint64(key, np.arange(self.rows, dtype=np.uint64)[:, np.newaxis]), self._padded)

    @cached_property
    def _sign_key(self) -> HashKey:
        return derive_key(self.survey.public_seed, Purpose.PROJECTION_SIGNS)

    def sign_bits(self, items: Items) -> NDArray[np.uint8]:
        """Columns of A for the items."""
        if self.dense:
            return ((1 - projection.signs(self._sign_key, items[:, 0], self.rows)) >> 1).astype(np.uint8)
        return parity_bits(items[:, :1] & self._characters.astype(np.uint64))

    def sign_bits_at(self, items: Items, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Single entries of A."""
        if self.dense:
            return projection.sign_bits_at(self._sign_key, items[:, 0], rows)
        characters = rows if self._complete else self._characters[rows]
        return parity_bits(items[:, 0] & characters.astype(np.uint64))

    def answers(self, bits: NDArray[np.uint8]) -> NDArray[np.int8]:
        """±1."""
        return (1 - 2 * bits.astype(np.int8)).astype(np.int8)

    # The analyst's role.

    def row_sums(self, tally: Tally) -> NDArray[np.float64]:
        """The cells themselves; for one bit, times rows·C_ε, since each report speaks of one row."""
        factor = self.rows * self.channel.gain if isinstance(self.channel, OneBitChannel) else 1.0
        return tally.cells.astype(np.float64) * factor

    def scores(self, tally: Tally, items: Items | None = None) -> NDArray[np.float64]:
        """c_p of the given items, or of all: ⟨Ae_p, Q⟩ of the paper, unbiased."""
        factor = self.channel.gain if isinstance(self.channel, OneBitChannel) else 1.0 / self.rows
        if self.dense:
            wanted = np.arange(self.size, dtype=np.uint64) if items is None else items[:, 0]
            return np.multiply(projection.scores(self._sign_key, wanted, tally.cells), factor, dtype=np.float64)
        spectrum = tally.cells
        if not self._complete:
            spectrum = np.zeros(self._padded, np.int64)
            np.add.at(spectrum, self._characters, tally.cells)
        everything = np.multiply(transform(spectrum)[: self.size], factor, dtype=np.float64)
        return everything if items is None else everything[items[:, 0].astype(np.int64)]

    def _stderrs(self, tally: Tally, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._complete:  # nothing collides: only noise
            noise = self.noise_stderr(tally.count) ** 2
            own = np.clip(counts, 0, tally.count) if isinstance(self.channel, OneBitChannel) else 0.0
            return np.sqrt(np.maximum(noise - own, 0.0) + np.zeros_like(counts))
        return self.stderr(self.row_sums(tally), counts, tally.count)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of the items.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over words and public seed; the standard error
        covers noise and collisions. Cost: one transform (hadamard) or len(items)·rows (dense).
        """
        self.check_tally(tally)
        items = self.check_items(items)
        counts = self.scores(tally, items)
        return Estimates(items, counts, self._stderrs(tally, counts))

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Score every value and keep what stands out; with `best_guess`, the paper's argmax."""
        self.check_tally(tally)
        counts = self.scores(tally)
        absent = float(self._stderrs(tally, np.zeros(1))[0])
        stands_out = self.absent_threshold(tally.count, absent, query)
        chosen, threshold = selection.select(counts, stands_out, query)
        kept = counts[chosen]
        items = chosen.astype(np.uint64)[:, np.newaxis]
        limit = stands_out + selection.FOUND_95 * absent
        return Estimates(items, kept, self._stderrs(tally, kept), threshold, limit)


class HadamardJLHeavyHitters(JLHeavyHitters):
    """JL-HH with hadamard rows, whose tally can be drawn from a histogram."""

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The law of the per-person path, in O(N log N) draws however many people there are."""
        check_listed(histogram, "jl")
        self.check_items(histogram.items)
        counts = np.zeros(self._padded, np.int64)
        np.add.at(counts, histogram.items[:, 0].astype(np.int64), histogram.counts)
        if isinstance(self.channel, OneBitChannel):
            cells = self.channel.sample(*sample_characters(counts, rng), rng)
        else:
            cells = self.channel.sample(transform(counts)[self._characters].astype(np.int64), histogram.people, rng)
        return Tally(self.survey_id, histogram.people, cells)


def make_jl(survey: Survey) -> JLHeavyHitters:
    """The class for the survey's projection: only hadamard rows have a `sample_tally`."""
    dense = survey.options["projection"] == "dense"
    return JLHeavyHitters(survey) if dense else HadamardJLHeavyHitters(survey)


def default_delta(options: Mapping[str, str]) -> Decimal:
    """Pure for one bit, 10⁻⁶ for Laplace noise."""
    return Decimal(0) if options["calibration"] == "onebit" else Decimal("1e-6")


def derive(request: Request) -> dict[str, Any]:
    """Rows so that distortion stays below the noise: m = ⌈κ·n/(2b²)⌉ instead of the paper's n⁴·log N (E4)."""
    if request.bits > MAX_BITS:
        raise ParameterError(f"jl must have a universe of at most 2^{MAX_BITS} values, got 2^{request.bits}")
    dense = request.options["projection"] == "dense"
    calibration = request.options["calibration"]
    everything = 1 << request.bits
    if calibration == "onebit":
        gain = 2.0**64 / (2 * bit_threshold(request.epsilon) - 2**64)
        rows = _limit_rows(request.expected_reports / gain**2, request) if dense else everything
        return {"rows": rows, **calibrate_bit(request.epsilon)}
    if not request.delta > 0:
        raise ParameterError(f"calibration={calibration} must have a delta above 0, got delta={request.delta}")
    scale = math.sqrt(8 * math.log(1 / float(request.delta))) / float(request.epsilon)
    rows = _limit_rows(request.expected_reports / (2 * scale**2), request)
    noise = calibrate_noise(calibration, request.epsilon, request.delta, changed=rows, step=2)
    if calibration == "tight":  # less noise asks for more rows; b changes little with m, so once is enough
        scale = 1 / (float(noise.rate) * math.sqrt(rows))
        rows = _limit_rows(request.expected_reports / (2 * scale**2), request)
        noise = calibrate_noise(calibration, request.epsilon, request.delta, changed=rows, step=2)
    return {"rows": rows, **noise_to_json(noise)}


def parity_bits(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Parity of the bits of each word."""
    return np.asarray(np.bitwise_count(words) & 1, np.uint8)


def _limit_rows(wanted: float, request: Request) -> int:
    rows = max(_MIN_ROWS, math.ceil(_DISTORTION_SHARE * wanted))
    if request.options["projection"] == "hadamard":
        return min(rows, 1 << request.bits)
    if rows * request.size > MAX_DENSE_SIGNS or rows > 2**21:
        raise ParameterError(f"projection=dense must have rows·values of at most 2^36, got {rows}·{request.size}")
    return rows


ENTRY = Entry(facts.JL, default_delta, derive, make_jl)
