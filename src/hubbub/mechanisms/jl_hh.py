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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry, Request
from hubbub.mechanisms.calibration import (
    calibrate_bit,
    calibrate_noise,
    default_delta,
    noise_to_json,
    row_channel,
)
from hubbub.mechanisms.checks import whole
from hubbub.mechanisms.row_sketch import RowSketch
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric import projection
from hubbub.numeric.hadamard import sample_characters, transform
from hubbub.numeric.hashing import HashKey, Purpose, derive_key, hash_uint64, uniform_below
from hubbub.numeric.sampling import bit_threshold

MAX_BITS = 24
MAX_DENSE_SIGNS = 2**36  # the most signs that a dense decoder computes: about a minute
_DISTORTION_SHARE = 4  # κ: the projection's distortion is at most 1/√κ of the noise
_MIN_ROWS = 64


class JLHeavyHitters(RowSketch):
    """JL-HH (Algorithm 1 of Hsu, Khanna, Roth), every value of the universe scored."""

    def __init__(self, survey: Survey) -> None:
        parameters, options = survey.parameters, survey.options
        self.dense = options["projection"] == "dense"
        if survey.domain.bits > MAX_BITS:
            raise ParameterError(f"jl must have a universe of at most 2^{MAX_BITS} values, got 2^{survey.domain.bits}")
        rows = whole(parameters, "rows", 1, 2**24)
        # Two values may differ in every row, from +1 to −1: replacement neighbours (errata E1, E2).
        super().__init__(survey, rows, row_channel(survey, {"rows"}, rows, step=2))
        self.certifies = self._complete
        if not self.dense and (rows > self._padded or (rows < self._padded and self.channel.noise is None)):
            raise ParameterError(
                f"parameters.rows must be {self._padded} for hadamard, or fewer with noise, got {rows}"
            )

    # The projection.

    @property
    def _padded(self) -> int:
        """2^L: the values of the smallest group that holds the universe."""
        return 1 << self.bits

    @property
    def _complete(self) -> bool:
        """Whether the rows are all characters of GF(2)^L in order, so that nothing collides."""
        return not self.dense and self.rows == self._padded

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """The r of each hadamard row: all of GF(2)^L if there are 2^L rows, else independent and uniform."""
        if self._complete:
            return np.arange(self._padded, dtype=np.int64)
        key = derive_key(self.survey.public_seed, Purpose.PROJECTION_ROWS)
        return uniform_below(hash_uint64(key, np.arange(self.rows, dtype=np.uint64)[:, np.newaxis]), self._padded)

    @cached_property
    def _sign_key(self) -> HashKey:
        """The key of the signs of a dense projection."""
        return derive_key(self.survey.public_seed, Purpose.PROJECTION_SIGNS)

    def sign_bits(self, items: Items) -> NDArray[np.uint8]:
        """The sign bits of the items' columns of A, shape (n, rows); 1 means −1."""
        if self.dense:
            return ((1 - projection.signs(self._sign_key, items[:, 0], self.rows)) >> 1).astype(np.uint8)
        return parity_bits(items[:, :1] & self.characters.astype(np.uint64))

    def sign_bits_at(self, items: Items, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The sign bit of one entry of A for each (item, row) pair; 1 means −1."""
        if self.dense:
            return projection.sign_bits_at(self._sign_key, items[:, 0], rows)
        characters = rows if self._complete else self.characters[rows]
        return parity_bits(items[:, 0] & characters.astype(np.uint64))

    def responses(self, items: Items) -> NDArray[np.int8]:
        """The items' columns of A as ±1, shape (n, rows)."""
        return (1 - 2 * self.sign_bits(items).astype(np.int8)).astype(np.int8)

    # The analyst's role.

    def row_sums(self, tally: Tally) -> NDArray[np.float64]:
        """The cells themselves; for one bit, times rows·C_ε, since each report is about one row."""
        return tally.cells.astype(np.float64) * self.channel.sum_factor(self.rows)

    def scores(self, tally: Tally, items: Items | None = None) -> NDArray[np.float64]:
        """c_p of the given items, or of all: ⟨Ae_p, Q⟩ of the paper, unbiased."""
        factor = self.channel.mean_factor(self.rows)
        if self.dense:
            wanted = np.arange(self.size, dtype=np.uint64) if items is None else items[:, 0]
            return np.multiply(projection.scores(self._sign_key, wanted, tally.cells), factor, dtype=np.float64)
        spectrum = tally.cells
        if not self._complete:
            spectrum = np.zeros(self._padded, np.int64)
            np.add.at(spectrum, self.characters, tally.cells)
        everything = np.multiply(transform(spectrum)[: self.size], factor, dtype=np.float64)
        return everything if items is None else everything[items[:, 0].astype(np.int64)]

    def _stderrs(self, tally: Tally, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard errors of counts, in people: noise alone if nothing collides, else the spread over rows."""
        if self._complete:  # nothing collides: only noise
            noise = self.noise_stderr(tally.count) ** 2
            # A one-bit report agrees with its sender's own value more than half of the time, so it varies less.
            own = np.clip(counts, 0, tally.count) if self.channel.noise is None else 0.0
            return np.sqrt(np.maximum(noise - own, 0.0) + np.zeros_like(counts))
        return self.stderr(self.row_sums(tally), counts, tally.count)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of the items.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed; the standard error
        covers noise and collisions. Cost: one transform (hadamard) or len(items)·rows (dense).
        """
        self.check_tally(tally)
        items = self.check_items(items)
        counts = self.scores(tally, items)
        return Estimates(items, counts, self._stderrs(tally, counts))

    def sum_extra(self, tally: Tally, items: Items) -> float:
        """Nothing if all characters are rows: then counts are uncorrelated. Else what the spread over rows shows."""
        return 0.0 if self._complete else super().sum_extra(tally, items)

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

    def counts_of_all(self, tally: Tally) -> NDArray[np.float64]:
        """The scores of all values, by one transform."""
        self.check_tally(tally)
        return self.scores(tally)

    @property
    def bounds_every_count(self) -> bool:
        """Every value is scored."""
        return True

    def error_bound(self, people: int, norm: float, beta: float) -> float:
        """Theorem 3.2 for the rows and the noise that are executed."""
        noise = self.channel.noise
        if noise is None:
            return one_bit_error(people, self.size, norm, self.rows, self.channel.gain, beta, self.dense)
        scale = 1 / (float(noise.rate) * math.sqrt(self.rows))
        return laplace_error(people, self.size, norm, self.rows, scale, beta, not self.dense)

    # For simulations.

    @property
    def samples_at_once(self) -> bool:
        """True for hadamard rows, which take O(N log N) draws; False for dense rows."""
        return not self.dense

    @property
    def label(self) -> str:
        """Its name, with the projection if that makes it slow to sample."""
        return "jl with projection=dense" if self.dense else "jl"

    @property
    def instead_of_sampling(self) -> str:
        """Hadamard rows can be sampled at once."""
        return "projection=hadamard has no such limit"

    def sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        """The transform of the counts, at the rows of this projection."""
        del rng
        return transform(self._counts(histogram))[self.characters].astype(np.int64)

    def sample_bits(
        self, histogram: Histogram, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many report on each character with true bit 0 and 1, by a transform whose steps are random draws."""
        return sample_characters(self._counts(histogram), rng)

    def _counts(self, histogram: Histogram) -> NDArray[np.int64]:
        """How many hold each value of the padded universe."""
        counts = np.zeros(self._padded, np.int64)
        np.add.at(counts, histogram.items[:, 0].astype(np.int64), histogram.counts)
        return counts


def laplace_error(people: int, size: int, norm: float, rows: int, scale: float, beta: float, hadamard: bool) -> float:
    """The error, in people, of all counts at once: Theorem 3.2 with the constants and rows that are executed.

    ‖v‖₂·√(2 ln(2N/β)/m) + 2b·√(n·ln(2N/β)), where b is the scale for entries ±1/√m (the noise term in its Gaussian
    form). Hadamard rows have a Bernstein instead of a sub-Gaussian tail and add 2n·ln(2N/β)/(3m); with all of them
    (m ≥ N) there is no distortion. It holds with a chance of 1 − β.
    """
    log = math.log(2 * size / beta)
    noise = 2 * scale * math.sqrt(people * log)
    if hadamard and rows >= size:
        return noise
    distortion = norm * math.sqrt(2 * log / rows)
    return noise + distortion + (2 * people * log / (3 * rows) if hadamard else 0.0)


def one_bit_error(people: int, size: int, norm: float, rows: int, gain: float, beta: float, dense: bool) -> float:
    """The same for one-bit JL-HH: C_ε·√(2n·ln(2N/β)) by Hoeffding's bound, plus the distortion of dense rows."""
    log = math.log(2 * size / beta)
    return gain * math.sqrt(2 * people * log) + (norm * math.sqrt(2 * log / rows) if dense else 0.0)


def derive(request: Request) -> dict[str, Any]:
    """Rows so that distortion stays below the noise: m = ⌈κ·n/(2b²)⌉ instead of the paper's n⁴·log N (E4)."""
    if request.domain.bits > MAX_BITS:
        raise ParameterError(f"jl must have a universe of at most 2^{MAX_BITS} values, got 2^{request.domain.bits}")
    dense = request.options["projection"] == "dense"
    calibration = request.options["calibration"]
    everything = 1 << request.domain.bits
    if calibration == "onebit":
        gain = 2.0**64 / (2 * bit_threshold(request.epsilon) - 2**64)
        rows = limit_rows(request.expected_reports / gain**2, request) if dense else everything
        return {"rows": rows, **calibrate_bit(request.epsilon)}
    if not request.delta > 0:
        raise ParameterError(f"calibration={calibration} must have a delta above 0, got delta={request.delta}")
    scale = math.sqrt(8 * math.log(1 / float(request.delta))) / float(request.epsilon)
    rows = limit_rows(request.expected_reports / (2 * scale**2), request)
    noise = calibrate_noise(calibration, request.epsilon, request.delta, changed=rows, step=2)
    if calibration == "tight":  # less noise asks for more rows; b changes little with m, so once is enough
        scale = 1 / (float(noise.rate) * math.sqrt(rows))
        rows = limit_rows(request.expected_reports / (2 * scale**2), request)
        noise = calibrate_noise(calibration, request.epsilon, request.delta, changed=rows, step=2)
    return {"rows": rows, **noise_to_json(noise)}


def parity_bits(limbs: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Parity of the bits of each word."""
    return np.asarray(np.bitwise_count(limbs) & 1, np.uint8)


def limit_rows(wanted: float, request: Request) -> int:
    """κ times the wanted rows: at most 2^L for hadamard rows; for dense rows a ParameterError if they are too many."""
    rows = max(_MIN_ROWS, math.ceil(_DISTORTION_SHARE * wanted))
    if request.options["projection"] == "hadamard":
        return min(rows, 1 << request.domain.bits)
    if rows * request.domain.size > MAX_DENSE_SIGNS or rows > 2**21:
        raise ParameterError(
            f"projection=dense must have rows·values of at most 2^36, got {rows}·{request.domain.size}"
        )
    return rows


ENTRY = Entry(facts.JL, derive, JLHeavyHitters, default_delta)
