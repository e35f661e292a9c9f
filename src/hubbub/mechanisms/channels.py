"""The two ways a device answers: every coordinate with Laplace noise, or one bit by randomised response.

A channel knows nothing of values or items. It takes the answers of a linear query, makes a private report of them,
adds reports up, and states what it guarantees, computed from the integers that run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, PrivacyError
from hubbub.mechanisms.base import whole_text
from hubbub.model.mechanism import Reports, Words
from hubbub.model.numbers import parse_decimal
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.tally import Cells
from hubbub.numeric.composition import composed_delta, largest_each, theorem_each
from hubbub.numeric.hashing import Purpose, check_bound, derive_key, hash_uint64, uniform_below
from hubbub.numeric.sampling import (
    MAX_DIGITS,
    DiscreteLaplace,
    bernoulli,
    bit_epsilon,
    bit_threshold,
)

_ID_WORDS = 2
_ID_FIELD = ("id", "<u8", (_ID_WORDS,))


class LaplaceChannel:
    """A vector of small integers, each with discrete Laplace noise drawn once (the paper's way).

    Parameters
    ----------
    coordinates : int
        Length of the vector.
    changed : int
        In how many coordinates the vectors of two values can differ.
    step : int
        By how much, at most, in each.
    noise : DiscreteLaplace
        The noise of each coordinate.
    groups : int, optional
        How many groups the changed coordinates fall into, where `step` bounds the sum of the differences in a group
        and not only each of them. Without it every coordinate is a group of its own.
    """

    def __init__(
        self, coordinates: int, changed: int, step: int, noise: DiscreteLaplace, groups: int | None = None
    ) -> None:
        self.coordinates = coordinates
        self.changed = changed
        self.step = step
        self.noise = noise
        self.groups = changed if groups is None else groups
        self.largest = noise.bound + 1  # the answers themselves are at most 1 in size
        kind = next(kind for kind in ("<i1", "<i2", "<i4") if self.largest <= np.iinfo(kind).max)
        self.report_dtype = np.dtype([_ID_FIELD, ("answers", kind, (coordinates,))])
        self.words_per_report = _ID_WORDS + coordinates * noise.words
        self.cells_shape = (coordinates,)

    def guarantee(self, epsilon: Decimal) -> PrivacyGuarantee:
        """(ε, δ) with the exact δ at this ε: exact composition, and (1 + e^ε) times what the truncation costs."""
        each = self.step * self.noise.rate
        with localcontext(Context(prec=40, rounding=ROUND_CEILING)):
            pure = self.groups * each <= epsilon
            # One ulp outwards on both sides, so that the floats bound the decimals.
            bounds = math.nextafter(float(epsilon), 0), math.nextafter(float(each), math.inf)
            composed = 0.0 if pure else composed_delta(*bounds, self.groups)
            grown = epsilon.exp().next_plus()  # rounded to nearest whatever the context says
            cut = (1 + grown) * self.changed * self.noise.distance
            return PrivacyGuarantee(epsilon, min(Decimal(1), Decimal(composed) + cut))

    def report(self, answers: NDArray[np.int8], words: Words) -> Reports:
        """Reports of answers, shape (n, coordinates)."""
        reports = np.zeros(len(words), self.report_dtype)
        reports["id"] = words[:, :_ID_WORDS]
        self.noise.add_to(answers, words[:, _ID_WORDS:], reports["answers"])
        return reports

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """Within what the digits of the noise can reach."""
        answers = reports["answers"]
        return np.asarray((answers.max(axis=1) <= self.largest) & (answers.min(axis=1) >= -self.largest))

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add the answers up."""
        cells += reports["answers"].sum(axis=0, dtype=np.int64)

    def sample(self, sums: NDArray[np.int64], people: int, rng: np.random.Generator) -> Cells:
        """Cells with the law of the sum of everyone's reports, given the sums of their answers."""
        return sums + self.noise.sample_sums(people, sums.shape, rng)

    def to_json(self) -> dict[str, Any]:
        """The parameters of the noise, for the survey."""
        return noise_to_json(self.noise)


class OneBitChannel:
    """One bit about one row, by randomised response; the row is a public coin of the report's id. Pure ε.

    Parameters
    ----------
    rows : int
        Rows of the query, each answered with a bit.
    threshold : int
        The truth is told with chance threshold / 2^64.
    seed : bytes
        The survey's public seed.
    """

    report_dtype = np.dtype([_ID_FIELD, ("bit", "u1")])
    words_per_report = _ID_WORDS + 1

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
        """The pure ε of the threshold, whatever was stated."""
        del epsilon
        return PrivacyGuarantee(self._epsilon, Decimal(0))

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row each report is about: a public function of its id, uniform over the rows."""
        return uniform_below(hash_uint64(self._key, ids), self.rows)

    def report(self, bits: NDArray[np.uint8], words: Words) -> Reports:
        """Reports of the bits at the rows of `rows_of(words[:, :2])`."""
        reports = np.zeros(len(words), self.report_dtype)
        reports["id"] = words[:, :_ID_WORDS]
        reports["bit"] = bits ^ ~bernoulli(words[:, _ID_WORDS], self.threshold)
        return reports

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """A bit is 0 or 1."""
        return np.asarray(reports["bit"] <= 1)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """+1 for a bit 0 and −1 for a bit 1, in the cell of its row."""
        # Not by bincount, which would cost O(rows) for each batch however small.
        np.add.at(cells, self.rows_of(reports["id"]), 1 - 2 * reports["bit"].astype(np.int64))

    def sample(self, zeros: NDArray[np.int64], ones: NDArray[np.int64], rng: np.random.Generator) -> Cells:
        """Cells with the law of the sum of reports, given how many are about each row with either true bit."""
        truth = self.threshold / 2.0**64
        plus = rng.binomial(zeros, truth) + ones - rng.binomial(ones, truth)
        return (2 * plus - zeros - ones).astype(np.int64)

    def to_json(self) -> dict[str, Any]:
        """The parameters of the response, for the survey."""
        return {"truth_threshold": str(self.threshold)}


class SlottedBitChannel(OneBitChannel):
    """One bit about one cell, where cells come in slots of 2^bits each: a uniform slot, then a uniform cell of it.

    Parameters
    ----------
    slot_bits : NDArray[np.int64]
        log₂ of the cells of each slot.
    threshold, seed
        As in `OneBitChannel`.
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


def calibrate_noise(
    calibration: str,
    epsilon: Decimal,
    delta: Decimal,
    changed: int,
    step: int,
    groups: int | None = None,
    queries: int | None = None,
) -> DiscreteLaplace:
    """The noise for a query: `paper` as Theorem 2.5 has it, `tight` the least that exact composition allows.

    `queries` is how many parts the paper counts, `changed` unless given; the rest is as in `LaplaceChannel`. Either
    noise is confirmed by exact composition for replacement neighbours before it is returned; the paper's is not always
    (at ε = 8, δ = 10⁻³ it is refused).
    """
    if not delta > 0:
        raise ParameterError(f"calibration={calibration} must have a delta above 0, got delta={delta}")
    if calibration == "paper":
        noise = DiscreteLaplace.with_rate(theorem_each(float(epsilon), queries or changed, float(delta)))
    else:
        first = DiscreteLaplace.with_rate(largest_each(float(epsilon), groups or changed, float(delta)) / step)
        cut = LaplaceChannel(1, changed, step, first, groups).guarantee(epsilon).delta - delta
        # Twice what truncation costs (both digits and rate move a little), plus the rounding of the composition.
        spare = delta * (1 - Decimal("1e-8")) - 2 * max(cut, Decimal(0))
        if spare <= 0:
            raise ParameterError(f"delta must be above what 64-bit thresholds cost here, {cut:.2g}, got delta={delta}")
        noise = DiscreteLaplace.with_rate(largest_each(float(epsilon), groups or changed, float(spare)) / step)
    executed = LaplaceChannel(1, changed, step, noise, groups).guarantee(epsilon).delta
    if executed > delta:
        raise PrivacyError(
            f"calibration={calibration} must be confirmed by exact composition, "
            f"got delta={executed:.3g} at epsilon={epsilon} where delta={delta} is stated"
        )
    return noise


def calibrate_bit(epsilon: Decimal) -> dict[str, Any]:
    """The parameters of a one-bit channel."""
    return {"truth_threshold": str(bit_threshold(epsilon))}


def noise_to_json(noise: DiscreteLaplace) -> dict[str, Any]:
    """The parameters of the noise, as a survey carries them."""
    return {"noise_rate": str(noise.rate.normalize()), "digit_thresholds": [str(t) for t in noise.digit_thresholds]}


def noise_from_json(parameters: Mapping[str, Any]) -> DiscreteLaplace:
    """The noise of a survey; a wrong one is a ParameterError, a weak one shows in the guarantee."""
    rate, thresholds = parameters.get("noise_rate"), parameters.get("digit_thresholds")
    if not isinstance(rate, str) or not isinstance(thresholds, list):
        raise ParameterError(f"parameters.noise_rate must be a string beside a list of thresholds, got {rate!r:.60}")
    number = parse_decimal("parameters.noise_rate", rate)
    if str(number.normalize()) != rate:
        raise ParameterError(f"parameters.noise_rate must be in canonical form, got {rate!r:.60}")
    if len(thresholds) > MAX_DIGITS:
        raise ParameterError(f"parameters.digit_thresholds must be at most {MAX_DIGITS}, got {len(thresholds)}")
    return DiscreteLaplace(number, tuple(whole_text("digit_thresholds", t) for t in thresholds))


def bit_from_json(parameters: Mapping[str, Any], rows: int, seed: bytes) -> OneBitChannel:
    """The one-bit channel of a survey."""
    return OneBitChannel(rows, whole_text("truth_threshold", parameters.get("truth_threshold")), seed)
