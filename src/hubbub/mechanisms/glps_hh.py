"""GLPS-HH: the paper's mechanism by compressed sensing, Algorithm 2, and its one-bit form.

    paper       here                 meaning
    s           layout.sparsity      how many values are to be recovered; Theorem 4.2's unless chosen
    Φ           operator             {−1, 0, 1}, never materialised; hubbub's own (numeric/sparse_operator.py)
    m           operator.cells       rows of Φ
    –           operator.slots       entries of a column that are not zero, one in each slot
    z           channel.noise        drawn once per person, discrete
    c           measurements()       Φv + z, or its unbiased estimate from one-bit reports
    GLPS(c, Φ)  recover()            `faithful` as in GLPS, `refit` by least squares (numeric/sparse_recovery.py)
    p*          discover()           argmax of v̂, with `best_guess`

Two values differ in every slot by at most 2 in sum (one entry changes its sign, or two entries appear and vanish), so
the loss is that of `slots` parts with step 2, not of m parts (erratum E23). In the one-bit form a report is about one
slot and one Walsh–Hadamard coefficient over its buckets, which is one parity of the value's bits.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry, check_batch, check_fields, whole_text
from hubbub.mechanisms.channels import LaplaceChannel, OneBitChannel, SlottedBitChannel, noise_from_json
from hubbub.mechanisms.glps_plan import default_delta, derive, layout_from_json
from hubbub.mechanisms.row_sketch import ChannelMechanism
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, Reports, Words
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric import gf2, ordered_statistics, sparse_recovery
from hubbub.numeric.hadamard import sample_signed_characters, transform_rows
from hubbub.numeric.sparse_operator import Operator
from hubbub.numeric.tails import normal_quantile_log, normal_tail

_AT_ONCE = 1 << 22  # entries of columns in memory


class GLPSHeavyHitters(ChannelMechanism):
    """GLPS-HH (Algorithm 2 of Hsu, Khanna, Roth)."""

    def __init__(self, survey: Survey) -> None:
        parameters = survey.parameters
        self.layout = layout_from_json(parameters, survey.domain.bits)
        fields = {"sparsity", "repeats", "estimates", "bucket_bits", "code_rows", "estimate_bits"}
        channel: LaplaceChannel | SlottedBitChannel
        if survey.options["calibration"] == "onebit":
            check_fields(parameters, {*fields, "truth_threshold"})
            threshold = whole_text("truth_threshold", parameters.get("truth_threshold"))
            channel = SlottedBitChannel(self.layout.slot_bits, threshold, survey.public_seed)
        else:
            check_fields(parameters, {*fields, "noise_rate", "digit_thresholds"})
            slots, noise = self.layout.slots, noise_from_json(parameters)
            channel = LaplaceChannel(self.layout.cells, changed=2 * slots, step=2, noise=noise, groups=slots)
        super().__init__(survey, channel)
        self.decoder = survey.options["decoder"]

    @cached_property
    def operator(self) -> Operator:
        """Φ. A collector never draws it."""
        return Operator(self.bits, self.layout, self.survey.public_seed)

    # The client's role.

    def randomize(self, items: Items, words: Words) -> Reports:
        """One report per row: a pure function of items and words."""
        items, words = check_batch(items, words, self.survey.domain, self.words_per_report)
        if isinstance(self.channel, OneBitChannel):
            return self.channel.report(self.sign_bits_at(items, self.channel.rows_of(words[:, :2])), words)
        return self.channel.report(self.answers(items), words)

    def sign_bits_at(self, items: Items, cells: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The bit of each (item, cell) pair that a one-bit report tells: ⟨a, x⟩ with the cell's character a."""
        return gf2.parity_pairs(self.operator.characters(cells), items)

    def answers(self, items: Items) -> NDArray[np.int8]:
        """Columns of Φ."""
        cells, signs = self.operator.columns(items)
        answers = np.zeros((len(items), self.operator.cells), np.int8)
        np.put_along_axis(answers, cells, signs, axis=1)
        return answers

    # The analyst's role.

    def measurements(self, tally: Tally) -> NDArray[np.float64]:
        """Φv + z, the paper's c; for one bit, each slot's cells transformed back, times slots·C_ε."""
        cells = tally.cells.astype(np.float64)
        if not isinstance(self.channel, OneBitChannel):
            return cells
        factor = self.operator.slots * self.channel.gain
        tables = [transform_rows(block.table(cells)).ravel() for block in self.operator.blocks]
        return np.concatenate(tables) * factor

    def noise_stderr(self, people: int) -> float:
        """Standard error of a count from the privacy noise alone."""
        if isinstance(self.channel, OneBitChannel):
            return self.channel.gain * math.sqrt(people)
        return math.sqrt(people * self.channel.noise.variance / self.operator.slots)

    @property
    def noise_terms(self) -> tuple[int, float]:
        """One draw per slot, in a mean over slots."""
        return self.operator.slots, 1.0 / self.operator.slots

    @property
    def collision_share(self) -> float:
        """Standard error of a count from collisions, over the norm ‖v‖₂ of the other counts."""
        return math.sqrt(float(np.sum(0.5**self.operator.slot_bits))) / self.operator.slots

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of any items: the mean over all slots of sign·(the row of the item's bucket).

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over words and public seed (but for what the rank
        of a code costs, less than 2⁻⁹ of what collides); the standard error covers noise and collisions. Cost:
        len(items)·slots.
        """
        self.check_tally(tally)
        items = self.check_items(items)
        measured = self.measurements(tally)
        counts, stderrs = np.empty(len(items)), np.empty(len(items))
        for part in self._parts(len(items)):
            cells, signs = self.operator.columns(items[part])
            seen = signs * measured[cells]
            counts[part] = seen.mean(axis=1)
            # Slots are uncorrelated, so the spread of the mean shows in them.
            stderrs[part] = seen.std(axis=1, ddof=1) / math.sqrt(self.operator.slots)
        return Estimates(items, counts, np.maximum(stderrs, self.noise_stderr(tally.count)))

    def recover(self, tally: Tally) -> tuple[Items, NDArray[np.float64]]:
        """v̂ as Algorithm 2 has it: the values recovered, largest first, and their counts; all others have 0."""
        self.check_tally(tally)
        return sparse_recovery.recover(self.operator, self.measurements(tally), self.decoder, self.size)

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Recover v̂ and keep what stands out; with `best_guess`, the paper's argmax of v̂.

        The counts are fitted again to all rows together. That reads the same sums, so it costs no privacy.
        """
        self.check_tally(tally)
        measured = self.measurements(tally)
        items, values = sparse_recovery.recover(self.operator, measured, self.decoder, self.size)
        items = items[values > 0]
        counts, left = sparse_recovery.fit(self.operator, items, measured)
        threshold = -math.inf
        if query.best_guess:
            items, counts = items[: query.top], counts[: query.top]  # the largest in v̂
        else:
            while True:
                threshold = self.absent_threshold(tally.count, self._absent_stderr(left, tally.count), query)
                if (counts > threshold).all():
                    break
                items = items[counts > threshold]
                counts, left = sparse_recovery.fit(self.operator, items, measured)
        order = np.argsort(-counts, kind="stable")[: query.top]
        stderr = self._absent_stderr(left, tally.count)
        limit = max(selection.found_z(self.size, query), self.decodable_z) * stderr
        return Estimates(items[order], counts[order], np.full(len(order), stderr), threshold, limit)

    def _absent_stderr(self, left: NDArray[np.float64], people: int) -> float:
        """Root mean square of the count of a random absent value in what is left: noise and collisions together."""
        squares = sum(float(np.sum(block.table(left * left)) / 2**block.bucket_bits) for block in self.operator.blocks)
        return max(math.sqrt(squares) / self.operator.slots, self.noise_stderr(people))

    @cached_property
    def decodable_z(self) -> float:
        """Standard errors of a count that the decoder finds with a chance of 95 %, in a Gaussian model of the rows."""
        low, high = 0.0, math.sqrt(self.operator.slots) * 40
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self._found_chance(middle) >= 0.95 else (middle, high)
        return high

    def _found_chance(self, z: float) -> float:
        """The chance that a value with a count of z standard errors is identified in a stage, and kept."""
        layout, signal = self.layout, z / math.sqrt(self.operator.slots)
        missed = 1.0
        for stage in layout.stages:
            columns = self.bits - stage.bucket_bits + 1
            once = ordered_statistics.success_chance(signal, stage.code_rows, columns, sparse_recovery.ORDER)
            # Its codeword must also agree better with the rows than the best of all others does by chance.
            best_other = normal_quantile_log(-columns * math.log(2))
            once *= float(normal_tail(best_other - signal * math.sqrt(stage.code_rows)))
            found = 1.0 - (1.0 - once) ** layout.repeats
            if self.decoder == "faithful" and layout.estimates:
                # The median of its rows must beat those of what the other buckets say.
                spread = math.sqrt(math.pi / 2 / layout.estimates)
                others = math.sqrt(2 * math.log(layout.repeats << stage.bucket_bits))
                found *= 1.0 - float(normal_tail(signal / spread - others))
            missed *= 1.0 - found
        return 1.0 - missed

    # The simulation's.

    def sample_tally(self, histogram: Histogram, rng: np.random.Generator) -> Tally:
        """The law of the per-person path, in items·slots + rows·log(rows) draws however many people there are.

        Singletons are pooled as people with a uniform bucket and a fair sign in every slot: exact for each row,
        approximate for all together.
        """
        self.check_items(histogram.items)
        one_bit = isinstance(self.channel, OneBitChannel)
        draw = self._sample_bits if one_bit else self._sample_sums
        return Tally(self.survey_id, histogram.people, draw(histogram, rng))

    def _sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        assert isinstance(self.channel, LaplaceChannel)  # noqa: S101  # for the type checker
        sums = np.concatenate(
            [
                2 * rng.binomial(alone, 0.5) - alone
                for bits in self.operator.slot_bits
                for alone in [rng.multinomial(histogram.singletons, np.full(1 << bits, 0.5**bits))]
            ]
        )
        for part in self._parts(len(histogram.items)):
            measured = self.operator.measure(histogram.items[part], histogram.counts[part].astype(np.float64))
            sums = sums + np.rint(measured).astype(np.int64)
        return self.channel.sample(sums, histogram.people, rng)

    def _sample_bits(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        assert isinstance(self.channel, OneBitChannel)  # noqa: S101
        slots, cells = self.operator.slots, self.operator.cells
        plus, minus = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
        for part in self._parts(len(histogram.items)):
            speaking = rng.multinomial(histogram.counts[part], np.full(slots, 1.0 / slots))
            where, signs = self.operator.columns(histogram.items[part])
            np.add.at(plus, where[signs > 0], speaking[signs > 0])
            np.add.at(minus, where[signs < 0], speaking[signs < 0])
        zeros, ones = [], []
        for block in self.operator.blocks:  # who speaks of which coefficient of the slot
            shape = block.slots, 1 << block.bucket_bits
            mixed = sample_signed_characters(plus[block.cells].reshape(shape), minus[block.cells].reshape(shape), rng)
            zeros.append(mixed[0].ravel())
            ones.append(mixed[1].ravel())
        even = np.repeat(1.0 / (slots * 2.0**self.operator.slot_bits), 1 << self.operator.slot_bits)
        alone = rng.multinomial(histogram.singletons, even)
        lone_ones = rng.binomial(alone, 0.5)
        return self.channel.sample(np.concatenate(zeros) + alone - lone_ones, np.concatenate(ones) + lone_ones, rng)

    def _parts(self, count: int) -> list[slice]:
        chunk = max(1, _AT_ONCE // self.operator.slots)
        return [slice(start, start + chunk) for start in range(0, count, chunk)]


ENTRY = Entry(facts.GLPS, default_delta, derive, GLPSHeavyHitters)
