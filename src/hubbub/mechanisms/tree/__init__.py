"""The default: tree-coded linear local hashing. Efficient, near-optimal, one short report per person, pure ε.

A value becomes a path of bits. A report's id chooses, as public coins, a row of the tree (a depth) and s random masks;
the device answers with the s parities of masks and bucket, as one symbol of q = 2^s under randomised response. Sums of
signs, Walsh–Hadamard transformed, estimate the people in every bucket of every row; a value's count is the sum over
rows, so that everybody's report counts towards it.

It answers in practice the question the paper ends on: whether an efficient local mechanism can be as accurate as
JL-HH, which scores every value of the universe.

Read on in this order: `plan` and `parameters` (the shape of a tree), `paths` with `fingerprint` (items as paths),
`geometry` (where paths lie, and what a count means), `levels` and `fit` (what a tally says, and what it says of values
together), `search` with `walk`, `beam`, `text_beam` and `lists` (down the tree), `accept` (what is real), `limits`
(what can be found), `beside` (candidates next to what was found). The inner loops are in `kernels`, `kernels_beam`,
`kernels_paths` and `kernels_reports`, and only these need numba. No module imports this one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry
from hubbub.mechanisms.checks import check_batch, check_cells, check_items, check_reports
from hubbub.mechanisms.survey_mechanism import SurveyMechanism, check_tally
from hubbub.mechanisms.tree import kernels_reports
from hubbub.mechanisms.tree.beside import beside, sharing_tails
from hubbub.mechanisms.tree.geometry import TreeGeometry
from hubbub.mechanisms.tree.levels import TreeLevels
from hubbub.mechanisms.tree.limits import found_from
from hubbub.mechanisms.tree.parameters import derive, stated_lengths
from hubbub.mechanisms.tree.search import search
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Items, Reports, Words
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.hadamard import transform


class Tree(TreeGeometry, SurveyMechanism):
    """Tree-coded linear local hashing."""

    report_dtype = np.dtype([("id", "<u8", (2,)), ("symbol", "u1")])
    words_per_report = 4  # id, id, keep the truth?, the symbol otherwise
    most_subtracted = 4096

    # The client's role.

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The pure ε of the threshold: given the public coins, two values' chances of a symbol differ by e^ε."""
        return PrivacyGuarantee(self._epsilon, Decimal(0))

    def randomize(self, items: Items, words: Words) -> Reports:
        """One symbol per item: a pure function of items and words."""
        items, words = check_batch(items, words, self.survey.domain, self.words_per_report)
        symbols = np.empty(len(items), np.uint8)
        kernels_reports.randomize(
            self.kernel_coins, self.kernel_rows, self.paths(items), words, np.uint64(self.threshold), symbols
        )
        reports = np.empty(len(items), self.report_dtype)
        reports["id"] = words[:, :2]
        reports["symbol"] = symbols
        return reports

    # The collector's role.

    @property
    def cells_shape(self) -> tuple[int, ...]:
        """The sums of every row, one after the other, then the number of reports of every row."""
        return ((self.rows << self.plan.bucket_bits) + self.rows,)

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """A symbol is below 2^s."""
        check_reports(reports, self.report_dtype)
        return np.asarray(reports["symbol"] < self.symbols)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add 2^s − 1 signs for each report."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        split = self.rows << self.plan.bucket_bits
        # Copies, since kernels would be compiled once more for arrays with gaps, and for those that cannot be written.
        ids, symbols = np.array(reports["id"]), np.array(reports["symbol"])
        kernels_reports.accumulate(self.kernel_coins, ids, symbols, cells[:split], cells[split:])

    # The analyst's role.

    @property
    def influence(self) -> tuple[float, float]:
        """The most and the least that one report, honest or not, adds to the count of a value, in people.

        That is (e^ε + q − 1)/(e^ε − 1) if its symbol is the value's, and −1/(q − 1) times that if it is not; a trace
        more where buckets are hashed, since what an even spread would put there is taken off. It holds for `estimate`,
        which sums over rows. In `discover` a value that shares no bucket with another is moved by at most that times
        the `inflation` of its `Fit`; for values that share buckets no bound is proved.
        """
        spread = 1 / (1 << self.plan.bucket_bits) if self.rows > 1 else 0.0
        most, least = (self.symbols - 1) * self.gain, -self.gain
        return (most - spread) / (1 - spread), (least - spread) / (1 - spread)

    def noise_stderr(self, people: int) -> float:
        """Standard error of a count from the privacy noise alone, where nobody holds the value."""
        return math.sqrt(self.noise * people)

    def levels(self, tally: Tally) -> TreeLevels:
        """For every row and bucket, an unbiased estimate of its reporters beyond an even spread over the buckets."""
        split = self.rows << self.plan.bucket_bits
        people = tally.cells[split:].astype(np.float64)
        buckets = 1 << self.plan.bucket_bits
        estimates = np.empty((self.rows, buckets), np.float32)
        for row in range(self.rows):
            matches = transform(tally.cells[row * buckets : (row + 1) * buckets])
            estimates[row] = matches * self.gain
            if self.rows > 1:
                estimates[row] = (estimates[row] - people[row] / buckets) / (1 - 1 / buckets)
        return TreeLevels(estimates, people, self.noise)

    def _stderrs(self, levels: TreeLevels, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Noise of everybody's reports, and for each row the collisions that its buckets show beyond noise."""
        people = float(levels.people.sum())
        held = np.clip(counts, 0.0, people)
        variance = self.noise * (people - held) + self.own_noise * held
        if self.rows > 1:
            shares = levels.people / max(people, 1.0)
            square = np.mean(levels.estimates.astype(np.float64) ** 2, axis=1) - self.noise * levels.people
            own = np.outer(held**2, shares**2) / levels.estimates.shape[1]
            variance = variance + np.maximum(square - own, 0.0).sum(axis=1)
        return np.sqrt(variance)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Counts of any items: the sum over rows of their buckets' estimates.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over words and public seed; the standard error
        covers noise and collisions. Cost: one transform per row, and len(items)·rows.
        """
        check_tally(tally, self.survey_id, self.cells_shape)
        items = check_items(items, self.survey.domain)
        levels = self.levels(tally)
        counts = levels.sums(self.buckets(self.paths(items)))
        return Estimates(items, counts, self._stderrs(levels, counts))

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items in what is left when the values already found are taken away, and of those found.

        All are least squares of what the rows say, with the variance that shared buckets add (`beside`).
        """
        check_tally(tally, self.survey_id, self.cells_shape)
        items, found = check_items(items, self.survey.domain), check_items(found, self.survey.domain)
        if self.rows == 1:  # buckets are shared in hashed rows only
            return self.estimate(tally, items)
        paths = self.paths(items)
        counts, shared, left = beside(self, self.levels(tally), paths, self.paths(found))
        stderrs = np.sqrt(self._stderrs(left, counts) ** 2 + shared)
        return Estimates(items, counts, stderrs, sharing_tails=sharing_tails(self, left, paths))

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Search the tree; a universe that fits into one row is scored value by value."""
        check_tally(tally, self.survey_id, self.cells_shape)
        levels = self.levels(tally)
        people = tally.count
        if self.rows == 1:
            return self._score_all(levels, query)
        paths, fit, doubts = search(self, levels, query)
        order = np.argsort(-fit.counts, kind="stable")[: query.top]
        paths, counts = paths[order], fit.counts[order]
        typical, long = stated_lengths(self.survey.domain, self.bits)
        usual = self.count_threshold(people, math.log(query.level / 4) - math.log(2) * typical)
        needed = self.acceptance_counts(paths, people, query)
        return Estimates(
            self.items(paths),
            counts,
            self._stderrs(levels, counts) * np.sqrt(fit.inflation[order]),
            threshold=-math.inf if query.best_guess else float(needed.min(initial=usual)),
            detection_limit=found_from(self, people, typical, query),
            log_priors=self.codec.log_priors(paths),
            doubts=doubts[order],
            long_limit=None if long is None else found_from(self, people, long, query),
            uneven=fit.uneven[order],
        )

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

    def _score_all(self, levels: TreeLevels, query: Query) -> Estimates:
        """Every value of a universe that fits into one row."""
        items = np.arange(self.size, dtype=np.uint64)[:, np.newaxis]
        counts = levels.sums(self.buckets(self.paths(items)))
        law = self.count_law(round(float(levels.people.sum())))
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        limit = self._seen_from(law.people, query)
        return Estimates(items[chosen], counts[chosen], self._stderrs(levels, counts[chosen]), threshold, limit)


def default_delta(options: Mapping[str, str]) -> Decimal:
    """Pure."""
    del options
    return Decimal(0)


ENTRY = Entry(facts.TREE, default_delta, derive, Tree)
