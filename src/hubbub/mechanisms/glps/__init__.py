"""GLPS-HH: the paper's mechanism by compressed sensing, Algorithm 2, and its one-bit form.

    paper       here                 meaning
    s           layout.sparsity      how many values are to be recovered; Theorem 4.2's unless chosen
    Φ           operator             {−1, 0, 1}, never materialised; hubbub's own (operator.py)
    m           operator.cells       rows of Φ
    –           operator.slots       entries of a column that are not zero, one in each slot
    z           channel.noise        drawn once per person, discrete
    c           measurements()       Φv + z, or its unbiased estimate from one-bit reports
    GLPS(c, Φ)  recover()            `faithful` as in GLPS, `refit` by least squares (recovery.py)
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
from hubbub.mechanisms.base import Entry
from hubbub.mechanisms.calibration import channel_of, default_delta
from hubbub.mechanisms.channels import LaplaceChannel, SlottedBitChannel
from hubbub.mechanisms.glps import recovery
from hubbub.mechanisms.glps.operator import Operator
from hubbub.mechanisms.glps.plan import SIZES, derive, layout_from_json
from hubbub.mechanisms.row_sketch import ChannelMechanism
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric import gf2, ordered_statistics
from hubbub.numeric.bisection import bisect
from hubbub.numeric.hadamard import sample_signed_characters, transform_rows
from hubbub.numeric.tails import normal_quantile_log, normal_tail

_AT_ONCE = 1 << 22  # entries of columns in memory


class GLPSHeavyHitters(ChannelMechanism):
    """GLPS-HH (Algorithm 2 of Hsu, Khanna, Roth)."""

    def __init__(self, survey: Survey) -> None:
        layout = layout_from_json(survey.parameters, survey.domain.bits)
        channel = channel_of(
            survey,
            SIZES,
            lambda threshold: SlottedBitChannel(layout.slot_bits, threshold, survey.public_seed),
            lambda noise: LaplaceChannel(layout.cells, 2 * layout.slots, step=2, noise=noise, groups=layout.slots),
        )
        super().__init__(survey, channel)
        self.layout = layout
        self.decoder = survey.options["decoder"]

    @cached_property
    def operator(self) -> Operator:
        """Φ, drawn when first used. A collector never needs it."""
        return Operator(self.bits, self.layout, self.survey.public_seed)

    # The client's role.

    def sign_bits_at(self, items: Items, cells: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The bit of each (item, cell) pair that a one-bit report tells: ⟨a, x⟩ with the cell's character a."""
        return gf2.parity_pairs(self.operator.characters(cells), items)

    def responses(self, items: Items) -> NDArray[np.int8]:
        """Columns of Φ."""
        cells, signs = self.operator.columns(items)
        responses = np.zeros((len(items), self.operator.cells), np.int8)
        np.put_along_axis(responses, cells, signs, axis=1)
        return responses

    # The analyst's role.

    def measurements(self, tally: Tally) -> NDArray[np.float64]:
        """Φv + z, the paper's c; for one bit, each slot's cells transformed back, times slots·C_ε."""
        cells = tally.cells.astype(np.float64)
        if self.channel.noise is not None:
            return cells
        tables = [transform_rows(block.table(cells)).ravel() for block in self.operator.blocks]
        return np.concatenate(tables) * self.channel.sum_factor(self.parts)

    @property
    def parts(self) -> int:
        """A count is a mean over slots."""
        return self.layout.slots

    def collision_stderr(self, norm: float) -> float:
        """In a slot of 2^κ buckets another value shares this one's bucket with a chance of 2^−κ."""
        return norm * (math.sqrt(float(np.sum(0.5**self.layout.slot_bits))) / self.layout.slots)

    def largest_error_bound(self, crowd: Histogram, beta: float) -> float:
        """The guarantee of sparse recovery, in people. Its constants are measured, not proved; β plays no part."""
        del beta
        rest = float(np.linalg.norm(np.sort(crowd.counts)[: -self.layout.sparsity].astype(np.float64)))
        # A count is a mean over slots, so the noise of one measurement is √slots times as large.
        noise = self.noise_stderr(crowd.people) * math.sqrt(self.layout.slots * self.layout.cells)
        return recovery.error_bound(rest, noise, self.size, self.layout.sparsity)

    def counts_of_all(self, tally: Tally) -> NDArray[np.float64]:
        """v̂ as in the paper: the counts of the recovered values, and 0 for all others."""
        items, values = self.recover(tally)
        counts = np.zeros(self.size)
        counts[items[:, 0].astype(np.int64)] = values
        return counts

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Unbiased counts of any items: the mean over all slots of sign·(the row of the item's bucket).

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed (except for a bias
        below 2⁻⁹ of the colliding counts, since codes are drawn with full rank); the standard error covers noise and
        collisions. Cost: len(items)·slots.
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

    def sum_extra(self, tally: Tally, items: Items) -> float:
        """What the spread over slots shows: values in the same buckets, and collisions."""
        cells, signs = self.operator.columns(self.check_items(items))
        parts = (signs * self.measurements(tally)[cells]).sum(axis=0)
        return self.beyond_law(parts, tally.count, len(items))

    def recover(self, tally: Tally) -> tuple[Items, NDArray[np.float64]]:
        """v̂ as in Algorithm 2: the recovered values, largest first, and their counts; all others have 0."""
        self.check_tally(tally)
        return recovery.recover(self.operator, self.measurements(tally), self.decoder, self.size)

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Recover v̂ and keep what stands out; with `best_guess`, the paper's argmax of v̂.

        The counts are fitted again to all rows together. That reads the same sums, so it costs no privacy.
        """
        self.check_tally(tally)
        measured = self.measurements(tally)
        items, values = recovery.recover(self.operator, measured, self.decoder, self.size)
        items = items[values > 0]
        counts, left = recovery.fit(self.operator, items, measured)
        threshold = -math.inf
        if query.best_guess:
            items, counts = items[: query.top], counts[: query.top]  # the largest in v̂
        else:
            while True:
                threshold = self.absent_threshold(tally.count, self._absent_stderr(left, tally.count), query)
                if (counts > threshold).all():
                    break
                items = items[counts > threshold]
                counts, left = recovery.fit(self.operator, items, measured)
        order = np.argsort(-counts, kind="stable")[: query.top]
        stderr = self._absent_stderr(left, tally.count)
        limit = max(selection.found_z(self.size, query), self.decodable_z) * stderr
        return Estimates(items[order], counts[order], np.full(len(order), stderr), threshold, limit)

    def _absent_stderr(self, left: NDArray[np.float64], people: int) -> float:
        """Root mean square, in people, of a random absent value's count in the residual: noise and collisions."""
        squares = sum(float(np.sum(block.table(left * left)) / 2**block.bucket_bits) for block in self.operator.blocks)
        return max(math.sqrt(squares) / self.operator.slots, self.noise_stderr(people))

    @cached_property
    def decodable_z(self) -> float:
        """Standard errors of a count that the decoder finds with a chance of 95 %, in a Gaussian model of the rows."""
        return bisect(lambda z: self._found_chance(z) >= 0.95, 0.0, math.sqrt(self.operator.slots) * 40, 40)[1]

    def _found_chance(self, z: float) -> float:
        """The chance that a value with a count of z standard errors is identified in a stage, and kept."""
        layout, signal = self.layout, z / math.sqrt(self.operator.slots)
        missed = 1.0
        for stage in layout.stages:
            columns = self.bits - stage.bucket_bits + 1
            once = ordered_statistics.success_chance(signal, stage.code_rows, columns, recovery.ORDER)
            # Its codeword must also agree with the rows better than any other does by chance.
            best_other = normal_quantile_log(-columns * math.log(2))
            once *= float(normal_tail(best_other - signal * math.sqrt(stage.code_rows)))
            found = 1.0 - (1.0 - once) ** layout.repeats
            if self.decoder == "faithful" and layout.estimates:
                # The median of its rows must be above the medians of the values in other buckets.
                spread = math.sqrt(math.pi / 2 / layout.estimates)
                others = math.sqrt(2 * math.log(layout.repeats << stage.bucket_bits))
                found *= 1.0 - float(normal_tail(signal / spread - others))
            missed *= 1.0 - found
        return 1.0 - missed

    def found_chance(self, people: int, held: float, query: Query, bits: int | None = None) -> float:
        """The chance that a stage identifies a value that no other collides with, and that its count stands out."""
        found = self._found_chance(held / self.noise_stderr(people))
        return min(found, super().found_chance(people, held, query, bits))

    # For simulations: items·slots + rows·log(rows) draws, however many people there are.

    @property
    def pools_singletons(self) -> bool:
        """True: pooled with a uniform bucket and a fair sign in every slot.

        This is exact for each row and approximate for all together.
        """
        return True

    def sample_sums(self, histogram: Histogram, rng: np.random.Generator) -> NDArray[np.int64]:
        """Φv of the listed values, plus a signed multinomial draw in every slot for the singletons."""
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
        return sums

    def sample_bits(
        self, histogram: Histogram, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many report on each coefficient of each slot, with true bit 0 and with true bit 1, drawn at random."""
        slots, cells = self.operator.slots, self.operator.cells
        plus, minus = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
        for part in self._parts(len(histogram.items)):
            speaking = rng.multinomial(histogram.counts[part], np.full(slots, 1.0 / slots))
            where, signs = self.operator.columns(histogram.items[part])
            np.add.at(plus, where[signs > 0], speaking[signs > 0])
            np.add.at(minus, where[signs < 0], speaking[signs < 0])
        zeros, ones = [], []
        for block in self.operator.blocks:  # who reports on which coefficient of the slot
            shape = block.slots, 1 << block.bucket_bits
            mixed = sample_signed_characters(plus[block.cells].reshape(shape), minus[block.cells].reshape(shape), rng)
            zeros.append(mixed[0].ravel())
            ones.append(mixed[1].ravel())
        even = np.repeat(1.0 / (slots * 2.0**self.operator.slot_bits), 1 << self.operator.slot_bits)
        alone = rng.multinomial(histogram.singletons, even)
        lone_ones = rng.binomial(alone, 0.5)
        return np.concatenate(zeros) + alone - lone_ones, np.concatenate(ones) + lone_ones

    def _parts(self, count: int) -> list[slice]:
        """`count` items in parts whose columns fit in memory."""
        chunk = max(1, _AT_ONCE // self.operator.slots)
        return [slice(start, start + chunk) for start in range(0, count, chunk)]


ENTRY = Entry(facts.GLPS, derive, GLPSHeavyHitters, default_delta)
