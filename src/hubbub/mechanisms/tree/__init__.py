"""The default: tree-coded linear local hashing. Efficient, near-optimal, one short report per person, pure ε.

A value becomes a path of bits. A report's id chooses, as public coins, a row of the tree (a depth) and s random masks;
the device answers with the s parities of masks and bucket, as one symbol of q = 2^s under randomised response. Sums of
signs, Walsh–Hadamard transformed, estimate the people in every bucket of every row; a value's count is the sum over
rows, so that everybody's report counts towards it.

It answers in practice the question the paper ends on: whether an efficient local mechanism can be as accurate as
JL-HH, which scores every value of the universe.

Read on in this order: `plan` and `parameters` (the shape of a tree), `paths` with `fingerprint` (items as paths),
`geometry` (the bucket of each path, and how likely a count is by chance), `row_counts` (the estimate of every bucket)
and `fit` (counts of several values at once), `search` with `walk`, `beam`, `text_beam` and `lists` (the search down the
tree), `accept` (which found values are real), `limits` with `draws` (which counts can be found), `beside` (counts of
candidates next to found values). The inner loops are in `kernels`, `kernels_beam`, `kernels_paths` and
`kernels_reports`; only these need numba. `sampling` draws the row counts of a whole simulated crowd at once. No module
of the package imports this one.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry
from hubbub.mechanisms.checks import check_cells, check_inputs, check_items, check_reports
from hubbub.mechanisms.survey_mechanism import Sample, SurveyMechanism, check_listed, check_tally, count_all
from hubbub.mechanisms.tree import kernels_beam, kernels_reports
from hubbub.mechanisms.tree.beside import beside, sharing_tails
from hubbub.mechanisms.tree.fit import influences
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.limits import found_chance, found_from, named_chance
from hubbub.mechanisms.tree.parameters import derive
from hubbub.mechanisms.tree.plan import beam_widths
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.sampling import APPROXIMATION, LEAST_BUCKET_BITS, sample_row_counts
from hubbub.mechanisms.tree.search import search
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Histogram, Items, RandomWords, Reports
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.distinct import copy_ids
from hubbub.numeric.hadamard import transform
from hubbub.numeric.shuffling import Kind, match_kinds


class Tree(TreeGeometry, SurveyMechanism):
    """Tree-coded linear local hashing."""

    report_dtype = np.dtype([("id", "<u8", (2,)), ("symbol", "u1")])
    random_words_per_report = 4  # id, id, keep the truth?, the symbol otherwise
    most_subtracted = 4096

    # The client's role.

    @property
    def lie_chance(self) -> float:
        """The chance of a symbol other than the true one."""
        return 1.0 - self.true

    @property
    def report_kinds(self) -> list[Kind]:
        """The kinds of two values that share no bucket; those that do differ in fewer reports."""
        return match_kinds(self.keep, 1 / self.symbols, self.collision / self.symbols)

    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One symbol per item: a pure function of items and random words."""
        items, random_words = check_inputs(items, random_words, self.survey.domain, self.random_words_per_report)
        symbols = np.empty(len(items), np.uint8)
        kernels_reports.randomize(
            self.kernel_coins,
            self.kernel_rows,
            self.codec.to_paths(items),
            random_words,
            np.uint64(self.threshold),
            symbols,
        )
        reports = np.empty(len(items), self.report_dtype)
        reports["id"] = random_words[:, :2]
        reports["symbol"] = symbols
        return reports

    # The collector's role.

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """A symbol is below 2^s."""
        check_reports(reports, self.report_dtype)
        return np.asarray(reports["symbol"] < self.symbols)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add 2^s − 1 signs for each report."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        split = self.rows << self.plan.bucket_bits
        # Copies: for strided or read-only arrays numba would compile the kernel a second time.
        ids, symbols = copy_ids(reports), np.array(reports["symbol"])
        kernels_reports.accumulate(self.kernel_coins, ids, symbols, cells[:split], cells[split:])

    # The analyst's role.

    def noise_stderr(self, people: int) -> float:
        """The standard error, in people, that privacy noise alone gives the count of a value nobody holds."""
        return math.sqrt(self.noise * people)

    def row_counts(self, tally: Tally) -> RowCounts:
        """For every row and bucket, an unbiased estimate of its reporters in excess of an even spread over buckets.

        In people; costs one Walsh–Hadamard transform per row.
        """
        split = self.rows << self.plan.bucket_bits
        people = tally.cells[split:].astype(np.float64)
        buckets = 1 << self.plan.bucket_bits
        estimates = np.empty((self.rows, buckets), np.float32)
        for row in range(self.rows):
            sums = transform(tally.cells[row * buckets : (row + 1) * buckets])  # q·matches − people
            beyond = sums / self.symbols + people[row] * (1 / self.symbols - self.absent)
            estimates[row] = beyond * self.per_match
            if self.rows > 1:
                estimates[row] = (estimates[row] - people[row] / buckets) / (1 - 1 / buckets)
        return RowCounts(estimates, people, self.noise)

    def _stderrs(self, row_counts: RowCounts, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard errors, in people: the noise of all reports, and the collisions that show in the rows' buckets."""
        people = float(row_counts.people.sum())
        held = np.clip(counts, 0.0, people)
        variance = self.noise * (people - held) + self.own_noise * held
        if self.rows > 1:
            shares = row_counts.people / max(people, 1.0)
            square = np.mean(row_counts.estimates.astype(np.float64) ** 2, axis=1) - self.noise * row_counts.people
            own = np.outer(held**2, shares**2) / row_counts.estimates.shape[1]
            variance = variance + np.maximum(square - own, 0.0).sum(axis=1)
        return np.sqrt(variance)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Counts of any items: the sum over rows of their buckets' estimates.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed; the standard error
        covers noise and collisions. Cost: one transform per row, and len(items)·rows.
        """
        check_tally(tally, self.survey_id, self.cells_shape)
        items = check_items(items, self.survey.domain)
        return self._estimate(self.row_counts(tally), items)

    def _estimate(self, row_counts: RowCounts, items: Items) -> Estimates:
        counts = row_counts.sums(self.buckets(self.codec.to_paths(items)))
        return Estimates(items, counts, self._stderrs(row_counts, counts))

    def gap_variance(self, tally: Tally, first: Estimates, second: Estimates) -> NDArray[np.float64]:
        """The variance of the difference of two counts, in people².

        Only reports that match exactly one of the two values contribute. In a tree with one row the variance is exact
        for reports of people who hold one of the two. For the other reports it is an upper bound, a few per cent too
        large, since how often three values share a symbol depends on the values.
        """
        if self.rows > 1:
            return super().gap_variance(tally, first, second)
        lie, apart = (1 - self.keep) / self.symbols, 1 - self.collision
        own = apart * (self.true + lie) * self.per_match**2 - 1
        rest = 2 * (self.absent - lie * self.collision) * self.per_match**2
        holders = np.clip(first.counts, 0.0, None) + np.clip(second.counts, 0.0, None)
        holders = np.minimum(holders, tally.count)
        return np.asarray(holders * own + (tally.count - holders) * rest)

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items after the values in `found` are subtracted; an item in `found` keeps its own count.

        Counts are a least-squares fit over all rows. Their standard errors include the variance that shared buckets
        add (`beside`).
        """
        check_tally(tally, self.survey_id, self.cells_shape)
        items, found = check_items(items, self.survey.domain), check_items(found, self.survey.domain)
        if self.rows == 1:  # buckets are shared in hashed rows only
            return self.estimate(tally, items)
        paths = self.codec.to_paths(items)
        scored = beside(self, self.row_counts(tally), paths, self.codec.to_paths(found), self.influence)
        stderrs = np.sqrt(self._stderrs(scored.left, scored.counts) ** 2 + scored.added)
        tails = sharing_tails(self, scored.left, paths)
        return Estimates(items, scored.counts, stderrs, sharing_tails=tails, influences=scored.influences)

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Search the tree; a universe that fits into one row is scored value by value."""
        check_tally(tally, self.survey_id, self.cells_shape)
        return self._discover(self.row_counts(tally), query)

    def _discover(self, row_counts: RowCounts, query: Query) -> Estimates:
        people = round(float(row_counts.people.sum()))
        if self.rows == 1:
            return self._score_all(row_counts, query)
        paths, fit, doubts = search(self, row_counts, query)
        order = np.argsort(-fit.counts, kind="stable")[: query.top]
        paths, counts = paths[order], fit.counts[order]
        typical, long = self.stated_bits
        usual = self.count_threshold(people, math.log(query.level / 4) - math.log(2) * typical)
        needed = self.acceptance_counts(paths, people, query)
        return Estimates(
            self.codec.to_items(paths),
            counts,
            self._stderrs(row_counts, counts) * np.sqrt(fit.inflation[order]),
            threshold=-math.inf if query.best_guess else float(needed.min(initial=usual)),
            detection_limit=found_from(self, people, typical, query),
            log_priors=self.codec.log_priors(paths),
            doubts=doubts[order],
            long_limit=None if long is None else found_from(self, people, long, query),
            uneven=fit.uneven[order],
            influences=influences(fit, *self.influence)[order],
        )

    def found_chance(self, people: int, held: float, query: Query, bits: int | None = None) -> float:
        """The chance that the search finds a value with a code of this many bits, if no other hides it (`limits`)."""
        if self.rows == 1:
            return super().found_chance(people, held, query, bits)
        return found_chance(self, people, held, self.stated_bits[0] if bits is None else bits, query)

    def named_chance(self, people: int, held: float, log_chance: float) -> float:
        """The chance that a candidate passes its test, which allows for counts due to shared buckets (`limits`)."""
        if self.rows == 1:
            return super().named_chance(people, held, log_chance)
        return named_chance(self, people, held, log_chance)

    @property
    def is_compiled(self) -> bool:
        """True if the beam's kernels are compiled on disk; the other kernels are compiled together with them."""
        return kernels_beam.are_compiled()

    @property
    def decode_seconds(self) -> float:
        """About 60 ns for each child of the beam, 250 ns for texts; with one row, the time of a transform."""
        if self.rows == 1:
            return super().decode_seconds
        steps = sorted(set(self.plan.depths))
        chunks = [self.plan.chunks[self.plan.depths.index(depth)] for depth in steps]
        beams = beam_widths(self.beam, steps, chunks, self.coded)
        children = sum(beam << chunk for beam, chunk in zip(beams[:-1], chunks[1:], strict=True))
        return children * (2.5e-7 if self.coded else 6e-8)

    def limits_for(self, tally: Tally, items: Items, query: Query, usual: float) -> NDArray[np.float64]:
        """How many must hold each item for `discover` to find it with a chance of about 95 %."""
        del usual
        check_tally(tally, self.survey_id, self.cells_shape)
        lengths = np.rint(self.codec.lengths(check_items(items, self.survey.domain))).astype(np.int64)
        if self.rows == 1:
            return np.full(len(items), self._seen_from(tally.count, query))
        found = {length: found_from(self, tally.count, length, query) for length in set(lengths.tolist())}
        return np.array([found[length] for length in lengths.tolist()])

    def _seen_from(self, people: int, query: Query) -> float:
        law = self.count_law(people)
        return law.seen_from(law.threshold(math.log(query.level / 2) - math.log(self.size)), 0.0, selection.FOUND_95)

    def _score_all(self, row_counts: RowCounts, query: Query) -> Estimates:
        """Score every value of a universe that fits into one row, and select those that stand out."""
        items = np.arange(self.size, dtype=np.uint64)[:, np.newaxis]
        counts = row_counts.sums(self.buckets(self.codec.to_paths(items)))
        law = self.count_law(round(float(row_counts.people.sum())))
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        limit = self._seen_from(law.people, query)
        return Estimates(items[chosen], counts[chosen], self._stderrs(row_counts, counts[chosen]), threshold, limit)

    # For simulations.

    @property
    def samples_any_crowd(self) -> bool:
        """True if row counts can be drawn approximately, at once; False for universes of fewer than 2^10 values."""
        return self.plan.bucket_bits >= LEAST_BUCKET_BITS

    def sample(self, histogram: Histogram, rng: np.random.Generator) -> Sample:
        """Row counts drawn by `sampling`, never a tally; the cost does not grow with the number of people."""
        if not self.samples_any_crowd:
            return super().sample(histogram, rng)
        if self.coded or self.rows == 1:  # only paths of large numbers are spread evenly
            check_listed(histogram, self.label)
        check_items(histogram.items, self.survey.domain)
        drawn = sample_row_counts(self, histogram, rng)
        estimate = partial(self._estimate, drawn)
        return Sample(partial(self._discover, drawn), estimate, partial(count_all, estimate, self.size), APPROXIMATION)


ENTRY = Entry(facts.TREE, derive, Tree)
