"""The default: tree-coded linear local hashing. Efficient, near-optimal, one short report per person, pure ε.

A value becomes a path of bits. A report's id chooses, as public coins, a row of the tree (a depth) and s random masks;
the device answers with the s parities of masks and bucket, as one symbol of q = 2^s under randomised response. Sums of
signs, Walsh–Hadamard transformed, estimate the people in every bucket of every row; a value's count is the sum over
rows, so that everybody's report counts towards it.

It answers in practice the question the paper ends on: whether an efficient local mechanism can be as accurate as
JL-HH, which scores every value of the universe.

Where its ideas come from: reports are optimal local hashing with a linear hash; searching prefixes of growing length
is the prefix extending method (PEM) and TreeHist; keeping a list of prefixes is list decoding; subtracting what was
found is peeling. Ours are the sum over all rows, thresholds by prior, one class for each length, and posterior odds.

Read `spec` first: the whole search in 50 lines. Then `shape` (rows, classes and depths) with `tuning`, `law` (what a
report says), `code` (items as paths), `descend` and `gates` (what is kept on the way down, and why), `search`, `fit`
(counts of several values at once), `limits` (which counts can be found), `beside` (candidates next to found values),
`together` (groups of values). `sampling` draws the row counts of a whole simulated crowd at once. The inner loops are
in the modules named kernels; only these need numba.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import facts, selection
from hubbub.mechanisms.base import Entry
from hubbub.mechanisms.checks import (
    check_cells,
    check_fields,
    check_inputs,
    check_items,
    check_reports,
    whole,
    whole_text,
)
from hubbub.mechanisms.roles import count_all
from hubbub.mechanisms.survey_mechanism import Sample, SurveyMechanism, check_listed
from hubbub.mechanisms.tree import kernels, kernels_reports, together
from hubbub.mechanisms.tree.beside import beside
from hubbub.mechanisms.tree.code import PathCode
from hubbub.mechanisms.tree.fit import refit
from hubbub.mechanisms.tree.forged import of_forgers
from hubbub.mechanisms.tree.gates import InBeam, LevelBudget, StandsOut
from hubbub.mechanisms.tree.law import MAX_MASKS, POLYNOMIALS, MatchLaw
from hubbub.mechanisms.tree.limits import found_chance, found_from, named_chance
from hubbub.mechanisms.tree.parameters import FIELDS, derive, stated_lengths, typical_length
from hubbub.mechanisms.tree.row_counts import RowCounts
from hubbub.mechanisms.tree.sampling import APPROXIMATION, LEAST_BUCKET_BITS, sample_row_counts
from hubbub.mechanisms.tree.search import guess, search
from hubbub.mechanisms.tree.shape import ROW_BITS, read_shape
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Estimates, Query, Totals
from hubbub.model.mechanism import Histogram, Items, RandomWords, Reports
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.count_law import CountLaw
from hubbub.numeric.distinct import copy_ids
from hubbub.numeric.hadamard import transform
from hubbub.numeric.hashing import Purpose, derive_key, hash_uint64
from hubbub.numeric.shuffling import Kind, match_kinds
from hubbub.numeric.sum_law import window_sum

_WORTH_A_GUESS = 3.0  # standard errors below acceptance; a value further below is hardly ever real


class Tree(SurveyMechanism):
    """Tree-coded linear local hashing.

    Attributes
    ----------
    shape : Shape
        Rows, shares and classes.
    law : MatchLaw
        What a report says.
    code : PathCode
        Items as paths.
    coded : bool
        True for texts, whose classes are many and whose priors differ.
    limits : dict
        A cache for `limits.found_from`, which is slow.
    """

    report_dtype = np.dtype([("id", "<u8", (2,)), ("symbol", "u1")])
    random_words_per_report = 4  # id, id, keep the truth?, the symbol otherwise
    certifies = True
    most_subtracted = 4096

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey)
        parameters, domain = survey.parameters, survey.domain
        if "depths" in parameters:
            raise ParameterError("a survey must be of this version, got an earlier one: use that to read its tally")
        check_fields(parameters, FIELDS)
        self.shape = read_shape(parameters, domain.bits)
        self.rows, width = self.shape.rows, self.shape.bucket_bits
        self.coded = isinstance(domain, CodedText)
        if self.rows == 1 and self.coded:
            raise ParameterError("parameters.ends must have two entries or more for coded text, got one")
        masks = whole(parameters, "masks", 1, MAX_MASKS if self.rows > 1 else min(MAX_MASKS, width))
        self.law = MatchLaw(whole_text("keep_threshold", parameters["keep_threshold"]), masks, width, self.rows)
        self.guarantee, self.influence = self.law.guarantee, self.law.influence
        # The sums of every row, one after the other, then the number of reports of every row.
        self.cells_shape = ((self.rows << width) + self.rows,)
        self.stated_bits = stated_lengths(domain)
        self.in_beam = InBeam(typical_length(domain), width)
        self.limits: dict[tuple[int, int, float], float] = {}

    @cached_property
    def code(self) -> PathCode:  # noqa: D102
        return PathCode(self.survey.domain, self.shape, self.survey.public_seed)

    @cached_property
    def kernel_coins(self) -> kernels_reports.Coins:
        """How to read a report's coins, in the form that the kernels take."""
        key, width = derive_key(self.survey.public_seed, Purpose.TREE_COINS), self.shape.bucket_bits
        ends = np.array(self.shape.ends, np.uint64)
        tops = np.arange(1 << kernels_reports.TABLE_BITS, dtype=np.uint64)
        tops <<= np.uint64(ROW_BITS - kernels_reports.TABLE_BITS)
        first_rows = np.searchsorted(ends, tops, side="right").astype(np.int64)
        polynomial = 1 << width | POLYNOMIALS[width - 1] if self.rows == 1 else 0
        low, high = np.uint32(key.low), np.uint32(key.high)
        return kernels_reports.Coins(low, high, ends, first_rows, self.law.masks, width, np.uint64(polynomial))

    # The client's role.

    @property
    def lie_chance(self) -> float:
        """The chance of a symbol other than the true one."""
        return 1.0 - self.law.true

    @property
    def report_kinds(self) -> list[Kind]:
        """The kinds of two values that share no bucket; those that do differ in fewer reports."""
        return match_kinds(self.law.keep, 1 / self.law.symbols, self.law.collision / self.law.symbols)

    @property
    def word_classes(self) -> tuple[Collection[int], ...]:
        """The threshold of the truth, and the words from which another symbol is told otherwise."""
        step = 64 - self.law.masks
        return (self.law.threshold,), range(0, 1 << 64, 1 << step)

    def rows_of(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row that a report of each id is about."""
        coins = hash_uint64(derive_key(self.survey.public_seed, Purpose.TREE_COINS), ids)
        return np.searchsorted(self.kernel_coins.ends, coins >> np.uint64(64 - ROW_BITS), side="right")

    def randomize(self, items: Items, random_words: RandomWords) -> Reports:
        """One symbol per item: a pure function of items and random words."""
        items, random_words = check_inputs(items, random_words, self.survey.domain, self.random_words_per_report)
        reports = np.empty(len(items), self.report_dtype)
        reports["id"] = random_words[:, :2]
        for number, places, paths in self.code.classes(items):
            symbols, keep = np.empty(len(paths), np.uint8), np.uint64(self.law.threshold)
            rows = self.code.kernel_rows[number]
            kernels_reports.randomize(self.kernel_coins, rows, paths, random_words[places], keep, symbols)
            reports["symbol"][places] = symbols
        return reports

    # The collector's role.

    def validate(self, reports: Reports) -> NDArray[np.bool_]:
        """A symbol is below 2^s."""
        check_reports(reports, self.report_dtype)
        return np.asarray(reports["symbol"] < self.law.symbols)

    def accumulate(self, cells: Cells, reports: Reports) -> None:
        """Add 2^s − 1 signs for each report."""
        check_cells(cells, self.cells_shape)
        check_reports(reports, self.report_dtype)
        split = self.rows << self.shape.bucket_bits
        # Copies: for strided or read-only arrays numba would compile the kernel a second time.
        ids, symbols = copy_ids(reports), np.array(reports["symbol"])
        kernels_reports.accumulate(self.kernel_coins, ids, symbols, cells[:split], cells[split:])

    # The analyst's role.

    def noise_stderr(self, people: int) -> float:
        """The standard error, in people, that privacy noise alone gives the count of a value nobody holds."""
        return self.law.spread(people)

    def row_counts(self, tally: Tally) -> RowCounts:
        """For every row and bucket, an unbiased estimate of its reporters in excess of an even spread over buckets.

        In people; costs one Walsh–Hadamard transform per row.
        """
        self.check_tally(tally)
        split = self.rows << self.shape.bucket_bits
        people = tally.cells[split:].astype(np.float64)
        buckets = 1 << self.shape.bucket_bits
        estimates = np.empty((self.rows, buckets), np.float32)
        for row in range(self.rows):
            sums = transform(tally.cells[row * buckets : (row + 1) * buckets])  # q·matches − people
            beyond = sums / self.law.symbols + people[row] * (1 / self.law.symbols - self.law.absent)
            estimates[row] = beyond * self.law.per_match
            if self.rows > 1:
                estimates[row] = (estimates[row] - people[row] / buckets) / (1 - 1 / buckets)
        return RowCounts(estimates, people, self.law.noise)

    def _stderrs(self, row_counts: RowCounts, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard errors, in people: the noise of all reports, and the collisions that show in the rows' buckets."""
        people = float(row_counts.people.sum())
        held = np.clip(counts, 0.0, people)
        variance = self.law.noise * (people - held) + self.law.own_noise * held
        if self.rows > 1:
            shares = row_counts.people / max(people, 1.0)
            square = np.mean(row_counts.estimates.astype(np.float64) ** 2, axis=1) - self.law.noise * row_counts.people
            own = np.outer(held**2, shares**2) / row_counts.estimates.shape[1]
            variance = variance + np.maximum(square - own, 0.0).sum(axis=1)
        return np.sqrt(variance)

    def estimate(self, tally: Tally, items: Items) -> Estimates:
        """Counts of any items: the sum over rows of their buckets' estimates.

        Guarantees (tests/mechanisms/test_conformance.py): unbiased over randomness and public seed; the standard error
        covers noise and collisions. Cost: one transform per row, and len(items)·rows.
        """
        items = check_items(items, self.survey.domain)
        return self._estimate(self.row_counts(tally), items)

    def _estimate(self, row_counts: RowCounts, items: Items) -> Estimates:
        counts = row_counts.sums(self.code.buckets(items))
        return Estimates(items, counts, self._stderrs(row_counts, counts))

    def gap_variance(self, tally: Tally, first: Estimates, second: Estimates) -> NDArray[np.float64]:
        """The variance of the difference of two counts, in people².

        Only reports that match exactly one of the two values contribute. In a tree with one row the variance is exact
        for reports of people who hold one of the two. For the other reports it is an upper bound, a few per cent too
        large, since how often three values share a symbol depends on the values.
        """
        if self.rows > 1:
            return super().gap_variance(tally, first, second)
        law = self.law
        lie, apart = (1 - law.keep) / law.symbols, 1 - law.collision
        own = apart * (law.true + lie) * law.per_match**2 - 1
        rest = 2 * (law.absent - lie * law.collision) * law.per_match**2
        holders = np.clip(first.counts, 0.0, None) + np.clip(second.counts, 0.0, None)
        holders = np.minimum(holders, tally.count)
        return np.asarray(holders * own + (tally.count - holders) * rest)

    def estimate_beside(self, tally: Tally, items: Items, found: Items) -> Estimates:
        """Counts of the items after the values in `found` are subtracted; an item in `found` keeps its own count.

        Counts are a least-squares fit over all rows. Standard errors include what shared buckets add (`beside`).
        """
        items, found = check_items(items, self.survey.domain), check_items(found, self.survey.domain)
        if self.rows == 1:  # buckets are shared in hashed rows only
            return self.estimate(tally, items)
        numbers = {item.tobytes(): number for number, item in enumerate(found)}
        known = np.array([numbers.get(item.tobytes(), -1) for item in items], np.int64)
        buckets = self.code.buckets(items)
        scored = beside(self.law, self.row_counts(tally), buckets, self.code.buckets(found), known)
        stderrs = np.sqrt(self._stderrs(scored.left, scored.counts) ** 2 + scored.added)
        return scored.estimates(self.shape, self.law, items, stderrs, buckets, known)

    def count_groups(self, tally: Tally, groups: Sequence[Items], found: Items) -> Totals:
        """How many people hold any value of each group, from the joint law of all rows (`together`)."""
        self.check_tally(tally)
        if self.rows == 1:
            return super().count_groups(tally, groups, found)
        fit = refit(self.law, self.row_counts(tally), self.code.buckets(found))
        items, places = together.number(groups, found)
        return together.count_groups(self.law, fit, self.code.buckets(items), places)

    def sum_law(self, people: int, members: int) -> CountLaw:
        """The law of the sum of so many counts; in one row, reports name windows of values with the same symbol."""
        if self.rows > 1:
            return super().sum_law(people, members)
        law, size = self.law, 1 << self.shape.bucket_bits
        return window_sum(people, size, size >> law.masks, law.true, 1 / law.per_match, members)

    def log_priors(self, items: Items) -> NDArray[np.float64]:
        """The logarithm of each item's share of the level of a search: short codes have more."""
        return super().log_priors(items) if self.rows == 1 else self.code.log_priors(items)

    def discover(self, tally: Tally, query: Query) -> Estimates:
        """Search the tree; a universe that fits into one row is scored value by value."""
        return self._discover(self.row_counts(tally), query)

    def _discover(self, row_counts: RowCounts, query: Query) -> Estimates:
        people = round(float(row_counts.people.sum()))
        if self.rows == 1:
            return self._score_all(row_counts, query)
        items, fit, doubts, rivals = search(self, row_counts, query)
        order = np.argsort(-fit.counts, kind="stable")[: query.top]
        forgers = of_forgers(self, fit, items, query)
        items, counts, rivals = items[order], fit.counts[order], rivals[order]
        typical, long = self.stated_bits
        gate, log_priors = StandsOut(LevelBudget(query.level)), self.code.log_priors(items)
        least = gate.least(self.law, people, np.append(log_priors, -math.log(2) * typical))
        return Estimates(
            items,
            counts,
            self._stderrs(row_counts, counts) * np.sqrt(fit.inflation[order]),
            threshold=-math.inf if query.best_guess else float(least.min()),
            detection_limit=found_from(self, people, typical, query),
            log_priors=log_priors,
            doubts=doubts[order],
            long_limit=None if long is None else found_from(self, people, long, query),
            uneven=fit.uneven[order] | (items != rivals).any(axis=1),
            rivals=rivals,
            fakes=forgers.fakes[order],
            moves=forgers.moves[order],
            stands=forgers.stands[order],
        )

    def guess(self, tally: Tally, known: Items, most: int, query: Query) -> Estimates:
        """The best values besides the known ones, with the odds of their neighbours."""
        if self.rows == 1:
            return super().guess(tally, known, most, query)
        self.check_tally(tally)
        left = refit(self.law, self.row_counts(tally), self.code.buckets(known)).left
        items, counts, doubts = guess(self, left, query, known, most, _WORTH_A_GUESS)
        stderrs = self._stderrs(left, counts)
        return Estimates(items, counts, stderrs, log_priors=self.code.log_priors(items), doubts=doubts)

    def count_law(self, people: int) -> CountLaw:
        """The law of a count among this many people, ignoring collisions of hashed buckets."""
        return self.law.count_law(people)

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
        return kernels.are_compiled()

    @property
    def decode_seconds(self) -> float:
        """About 10 ns for each child of the beams of two passes; with one row, the time of a transform."""
        if self.rows == 1:
            return super().decode_seconds
        children = 0
        for each in self.shape.classes:
            widths = self.in_beam.widths(each).tolist()
            before = [1, *(min(width, 1 << depth) for width, depth in zip(widths, each.depths[:-1], strict=False))]
            children += sum(some << step for some, step in zip(before, each.steps, strict=True))
        return 2e-8 * children

    def limits_for(self, tally: Tally, items: Items, query: Query, usual: float) -> NDArray[np.float64]:
        """How many must hold each item for `discover` to find it with a chance of about 95 %."""
        del usual
        self.check_tally(tally)
        lengths = np.rint(self.code.lengths(check_items(items, self.survey.domain))).astype(np.int64)
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
        counts = row_counts.sums(self.code.buckets(items))
        law = self.count_law(round(float(row_counts.people.sum())))
        stands_out = law.threshold(math.log(query.level / 2) - math.log(self.size))
        chosen, threshold = selection.select(counts, stands_out, query)
        limit = self._seen_from(law.people, query)
        return Estimates(items[chosen], counts[chosen], self._stderrs(row_counts, counts[chosen]), threshold, limit)

    # For simulations.

    @property
    def samples_any_crowd(self) -> bool:
        """True if row counts can be drawn approximately, at once; False for universes of fewer than 2^10 values."""
        return self.shape.bucket_bits >= LEAST_BUCKET_BITS

    def sample(self, histogram: Histogram, rng: np.random.Generator) -> Sample:
        """Row counts drawn by `sampling`, never a tally; the cost does not grow with the number of people."""
        if not self.samples_any_crowd:
            return super().sample(histogram, rng)
        if self.coded or self.rows == 1:  # only paths of large numbers are spread evenly
            check_listed(histogram, self.label)
        check_items(histogram.items, self.survey.domain)
        drawn = sample_row_counts(self.code, self.law, histogram, rng)
        estimate = partial(self._estimate, drawn)
        return Sample(partial(self._discover, drawn), estimate, partial(count_all, estimate, self.size), APPROXIMATION)


ENTRY = Entry(facts.TREE, derive, Tree)
