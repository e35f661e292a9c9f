"""The Bucket mechanism: the paper's efficient mechanism, Algorithm 3, with a soft decoder and a one-bit form.

    paper           here             meaning
    log(12N) = k₁   rows_per_trial   hash functions of a trial: ⌈log₂ 12N⌉ (log bases: erratum E16)
    8 log(1/β) = k₂ trials           ⌈8 ln(1/β)⌉
    H               matrix           redrawn until a trial has full rank, so that its solution is unique (E17)
    –               shifts           ρ: bit = ⟨r, x⟩ ⊕ ρ, so that value 0 is hashed like any other (E18)
    u               cells            sums of noisy bits
    w_i, w*         discover()       solutions of the trials and their vote; infeasible or ≥ N is ⊥ (E19)

The soft decoder treats all k₁·k₂ rows as one binary linear code and decodes it by ordered statistics; it needs no
further privacy, since it reads the same sums.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
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
from hubbub.mechanisms.roles import Condition
from hubbub.mechanisms.row_sketch import RowSketch
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric import gf2, ordered_statistics
from hubbub.numeric.bisection import bisect
from hubbub.numeric.hashing import Purpose, derive_key, hash_words
from hubbub.numeric.tails import normal_tail

MAX_BITS = 512
_SAMPLE_CHUNK = 1 << 24  # draws at once


class Bucket(RowSketch):
    """The Bucket mechanism (Algorithm 3 of Hsu, Khanna, Roth)."""

    def __init__(self, survey: Survey) -> None:
        parameters = survey.parameters
        self.rows_per_trial = whole(parameters, "rows_per_trial", 1, 2**12)
        self.trials = whole(parameters, "trials", 1, 2**10)
        # With more than 4·2^bits rows nearly every draw of a trial has a zero row, and redrawing would not end.
        if not survey.domain.bits < self.rows_per_trial <= 4 << survey.domain.bits:
            raise ParameterError(
                f"parameters.rows_per_trial must be above the {survey.domain.bits} bits of an item and at most 4 times "
                f"its 2^{survey.domain.bits} values, got {self.rows_per_trial}"
            )
        rows = self.rows_per_trial * self.trials
        # Two values may differ in every bit, by 1.
        super().__init__(survey, rows, row_channel(survey, {"rows_per_trial", "trials"}, rows, step=1))
        self.soft = survey.options["decoder"] == "soft"
        # Correcting a third wrong row takes a millisecond in small universes and seconds in large ones.
        self.order = 3 if self.bits <= 64 else 2
        # ± the most that one report adds to a row's sum of signs, corrected for the background (see `estimate`).
        noise, spread = self.channel.noise, self._background
        most = self.channel.gain if noise is None else 1.0 + self.part_scale * self.channel.largest
        self.influence = most * (1 - spread) + spread, -most * (1 - spread) + spread

    # The hash functions.

    @cached_property
    def matrix(self) -> NDArray[np.uint64]:
        """H of all trials, one below the other, packed: shape (rows, item_limbs)."""
        key = derive_key(self.survey.public_seed, Purpose.BUCKET_MATRIX)
        return np.concatenate([self._draw_trial(key, trial) for trial in range(self.trials)])

    def _draw_trial(self, key: Any, trial: int) -> NDArray[np.uint64]:
        """The rows of one trial, drawn again until they have full rank and none is zero."""
        top = np.uint64((1 << (self.bits - 64 * (self.item_limbs - 1))) - 1)
        attempt = 0
        while True:
            message = np.indices((self.rows_per_trial, self.item_limbs), np.uint32).reshape(2, -1)
            prefix = np.broadcast_to(np.array([[trial], [attempt]], np.uint32), (2, message.shape[1]))
            drawn = hash_words(key, np.concatenate([prefix, message]).T).reshape(self.rows_per_trial, -1)
            drawn[:, -1] &= top
            # The paper draws from non-zero rows; full rank makes the solution of a trial unique (E17).
            if drawn.any(axis=1).all() and gf2.rank(drawn, self.bits) == self.bits:
                return drawn
            attempt += 1

    @cached_property
    def shifts(self) -> NDArray[np.uint8]:
        """ρ of every row."""
        key = derive_key(self.survey.public_seed, Purpose.BUCKET_SHIFT)
        return (hash_words(key, np.arange(self.rows, dtype=np.uint32)[:, np.newaxis]) & np.uint64(1)).astype(np.uint8)

    def sign_bits(self, items: Items) -> NDArray[np.uint8]:
        """⟨r, x⟩ ⊕ ρ for every row."""
        return gf2.parities(self.matrix, items) ^ self.shifts

    def sign_bits_at(self, items: Items, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """⟨r, x⟩ ⊕ ρ for one row each."""
        return gf2.parity_pairs(self.matrix[rows], items) ^ self.shifts[rows]

    def responses(self, items: Items) -> NDArray[np.int8]:
        """The bits, as in the paper."""
        return self.sign_bits(items).astype(np.int8)

    # The analyst's role.

    @property
    def part_scale(self) -> float:
        """A row's sum of signs is n − 2u."""
        return 2.0

    def row_sums(self, tally: Tally) -> NDArray[np.float64]:
        """Each row's n − 2u; for one bit, the cells times rows·C_ε, since each report is about one row."""
        cells = tally.cells.astype(np.float64)
        if self.channel.noise is None:
            return cells * self.channel.sum_factor(self.rows)
        return tally.count - 2 * cells

    def signs(self, items: Items) -> NDArray[np.float64]:
        """Every sign of the items, ±1, shape (n, rows)."""
        return np.asarray(1.0 - 2.0 * self.sign_bits(items), np.float64)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of any items: the mean over all rows of sign·sum.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed; the standard error
        covers noise and collisions. Cost: len(items)·rows.
        """
        self.check_tally(tally)
        items = self.check_items(items)
        sums = self.row_sums(tally)
        raw = self.signs(items) @ sums / self.rows
        return Estimates(items, raw + (tally.count - raw) * self._background, self.stderr(sums, raw, tally.count))

    @property
    def _background(self) -> float:
        """2^−L, which corrects a small bias: since no row is 0, two values agree in slightly under half of the rows.

        The signs of a row r ≠ 0 sum to 0 over all values, so a background of μ people on every value cannot be seen.
        The measured counts are therefore (true − μ), with μ = (people − the measured counts)/2^L.
        """
        return 2.0**-self.bits

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """The soft decoder finds values one by one, subtracting each from the sums; the paper's vote finds one."""
        self.check_tally(tally)
        sums = self.row_sums(tally)
        found: list[NDArray[np.uint64]] = []
        counts: NDArray[np.float64] = np.empty(0)
        left = sums
        threshold = -math.inf
        while len(found) < query.top:
            item = self.decode_soft(left) if self.soft else self.decode_vote(left)
            if item is None or any(np.array_equal(item, other) for other in found):
                break
            sign = self.signs(item[np.newaxis])[0]
            count = float(sign @ left) / self.rows
            passed = self.absent_threshold(tally.count, float(self.stderr(left, np.zeros(1), tally.count)[0]), query)
            if not query.best_guess:
                threshold = passed
                if count <= passed:
                    break
            found.append(item)
            # Fit all counts together by least squares, so that no value's collisions stay in another's count.
            design = self.signs(np.stack(found)).T
            raw = np.asarray(np.linalg.lstsq(design, sums, rcond=None)[0], np.float64)
            left = sums - design @ raw
            counts = raw + (tally.count - raw.sum()) * self._background
            if not self.soft:
                break
        # The residual sums hold the noise and the collisions of all values not found: they give the standard error.
        stderr = float(self.stderr(left, np.zeros(1), tally.count)[0])
        limit = max(selection.found_z(self.size, query), self.decodable_z) * stderr
        order = np.argsort(-counts, kind="stable")
        items = np.array(found, np.uint64).reshape(-1, self.item_limbs)[order]
        return Estimates(items, counts[order], np.full(len(found), stderr), threshold, limit)

    def decode_soft(self, sums: NDArray[np.float64]) -> NDArray[np.uint64] | None:
        """The value whose signs agree best with the sums, or None if it is outside the universe."""
        soft = sums * (1.0 - 2.0 * self.shifts)
        item, _ = ordered_statistics.decode(self.matrix, self.bits, soft, self.order)
        return item if self.in_universe(item) else None

    def decode_vote(self, sums: NDArray[np.float64]) -> NDArray[np.uint64] | None:
        """The value that most trials solve to, or None if no trial has a solution in the universe."""
        # u > n/2, which is a negative sum of signs, means bit 1 (Algorithm 3); then the shift is undone.
        bits = (sums < 0).astype(np.uint8) ^ self.shifts
        votes: Counter[bytes] = Counter()
        for trial in range(self.trials):
            rows = slice(trial * self.rows_per_trial, (trial + 1) * self.rows_per_trial)
            item = gf2.solve(self.matrix[rows], bits[rows], self.bits)
            if item is not None and self.in_universe(item):
                votes[item.tobytes()] += 1
        if not votes:
            return None
        most = max(votes.values())
        tied = np.stack([np.frombuffer(key, np.uint64) for key, n in sorted(votes.items()) if n == most])
        return np.asarray(tied[int(np.argmax(self.signs(tied) @ sums))])  # a tie goes to the larger estimate (E19)

    def in_universe(self, item: NDArray[np.uint64]) -> bool:
        """Whether the item, as a number, is below the size of the universe."""
        return int.from_bytes(item.astype("<u8").tobytes(), "little") < self.size

    @cached_property
    def decodable_z(self) -> float:
        """Standard errors of a count that the decoder finds with a chance of 95 %, in a Gaussian model of the rows."""
        found = self._soft_success if self.soft else self._vote_success
        root = math.sqrt(self.rows)
        return bisect(lambda z: found(z / root) >= 0.95, 0.0, root * 10, 60)[1]

    def _soft_success(self, signal: float) -> float:
        """The chance that soft decoding finds a value whose signal in a row is this many standard deviations."""
        return ordered_statistics.success_chance(signal, self.rows, self.bits, self.order)

    def _vote_success(self, signal: float) -> float:
        """The chance that some trial has all rows right; that is enough, since wrong trials hardly ever agree."""
        trial = (1.0 - float(normal_tail(signal))) ** self.rows_per_trial
        return 1.0 - (1.0 - trial) ** self.trials

    def found_chance(self, people: int, held: float, query: Query, bits: int | None = None) -> float:
        """The chance that the decoder finds a value that no other collides with, and that its count stands out."""
        signal = held / (self.noise_stderr(people) * math.sqrt(self.rows))
        decoded = self._soft_success(signal) if self.soft else self._vote_success(signal)
        return min(decoded, super().found_chance(people, held, query, bits))

    @property
    def decode_seconds(self) -> float:
        """Gaussian elimination over all bits, for a few values."""
        return 0.02 + 2e-9 * self.bits**3

    # How far off a count may be.

    def collision_stderr(self, norm: float) -> float:
        """‖v‖₂/√rows: every other value agrees with this one in about half of the rows."""
        return norm / math.sqrt(self.rows)

    def heavy_hitter_condition(self, crowd: Histogram) -> Condition:
        """Theorem 4.8: the count that the heavy hitter needs, as printed and corrected, and the count that it has."""
        count = int(crowd.counts.max())
        others = math.sqrt(max(crowd.norm**2 - float(count) ** 2, 0.0))
        noise = self.channel.noise
        if noise is None:  # the Laplace scale whose noise in a row's sum has the same variance
            scale = self.noise_stderr(crowd.people) * math.sqrt(self.rows / (8 * crowd.people))
        else:
            scale = 1 / float(noise.rate)
        printed, corrected = (
            needed_count(crowd.people, others, self.rows_per_trial, scale, corrected) for corrected in (False, True)
        )
        return Condition(printed, corrected, count, count >= corrected)

    # For simulations: items·rows draws, however many people there are.

    @property
    def pools_singletons(self) -> bool:
        """True: pooled as fair coins on every row, which is exact for each row and approximate for all together."""
        return True

    def sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        """The people whose bit is 1, for each row."""
        sums = rng.binomial(histogram.singletons, 0.5, self.rows)
        for part in self._parts(histogram):
            bits = self.sign_bits(histogram.items[part])
            sums = sums + (bits * histogram.counts[part, np.newaxis]).sum(axis=0)
        return sums.astype(np.int64)

    def sample_bits(
        self, histogram: Histogram, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each row, how many people report on it with true bit 0 and with true bit 1, drawn at random."""
        even = np.full(self.rows, 1.0 / self.rows)
        alone = rng.multinomial(histogram.singletons, even)
        ones = rng.binomial(alone, 0.5)
        zeros = alone - ones
        for part in self._parts(histogram):
            drawn = rng.multinomial(histogram.counts[part], even)
            bits = self.sign_bits(histogram.items[part]).astype(bool)
            ones = ones + np.where(bits, drawn, 0).sum(axis=0)
            zeros = zeros + np.where(bits, 0, drawn).sum(axis=0)
        return zeros, ones

    def _parts(self, histogram: Histogram) -> list[slice]:
        """The items of a crowd in parts that fit in memory."""
        chunk = max(1, _SAMPLE_CHUNK // self.rows)
        return [slice(start, start + chunk) for start in range(0, len(histogram.items), chunk)]


def needed_count(
    people: float, others_norm: float, rows_per_trial: float, scale: float, corrected: bool = True, beta: float = 0.25
) -> float:
    """The count, in people, from which a heavy hitter wins each trial with chance 3/4 (Lemma 4.6, Theorem 4.8).

    As printed, 8·√(2c·k₁) + b·√(6n)·ln(24 k₁). Corrected (E10–E14): Chebyshev's √(12 k₁ c) and twice the noise in
    its √ln form, √(12 k₁ c) + 2b·√(6n·ln(24 k₁)), valid where 6·ln(24 k₁) ≤ n.
    """
    rows = rows_per_trial
    log = math.log(6 * rows / beta)
    if corrected:
        return math.sqrt(3 * rows / beta) * others_norm + 2 * scale * math.sqrt(6 * people * log)
    return 8 * math.sqrt(2 * rows) * others_norm + scale * math.sqrt(6 * people) * log


def derive(request: Request) -> dict[str, Any]:
    """k₁ = ⌈log₂ 12N⌉ rows in each of k₂ = ⌈8 ln(1/β)⌉ trials."""
    if request.domain.bits > MAX_BITS:
        raise ParameterError(f"bucket must have a universe of at most 2^{MAX_BITS} values, got 2^{request.domain.bits}")
    rows_per_trial = (12 * request.domain.size - 1).bit_length()
    trials = math.ceil(-8 * Decimal(request.options["beta"]).ln())
    if trials > 2**10:
        raise ParameterError(f"option beta must be at least 1e-55, got {request.options['beta']}")
    parameters = {"rows_per_trial": rows_per_trial, "trials": trials}
    calibration = request.options["calibration"]
    if calibration == "onebit":
        return {**parameters, **calibrate_bit(request.epsilon)}
    rows = rows_per_trial * trials
    noise = calibrate_noise(calibration, request.epsilon, request.delta, changed=rows, step=1)
    return {**parameters, **noise_to_json(noise)}


ENTRY = Entry(facts.BUCKET, derive, Bucket, default_delta)
