"""The default: tree-coded linear local hashing. Efficient, near-optimal, one short report per person, pure ε.

A value becomes a path of bits. A report's id chooses, as public coins, a row of the tree (a depth) and s random masks;
the device answers with the s parities of masks and bucket, as one symbol of q = 2^s under randomised response. Sums of
signs, Walsh–Hadamard transformed, estimate the people in every bucket of every row; a value's count is the sum over
rows, so that everybody's report counts towards it. The search down the tree is in `tree_search`.

It answers in practice the question the paper ends on: whether an efficient local mechanism can be as accurate as
JL-HH, which scores every value of the universe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms import selection
from hubbub.mechanisms.base import (
    About,
    Entry,
    Option,
    check_batch,
    check_fields,
    check_items,
    check_reports,
    whole,
    whole_text,
)
from hubbub.mechanisms.row_sketch import check_tally
from hubbub.mechanisms.text_walk import TextWalk
from hubbub.mechanisms.tree_beside import beside, sharing_tails
from hubbub.mechanisms.tree_levels import TreeLevels
from hubbub.mechanisms.tree_limits import found_from
from hubbub.mechanisms.tree_parameters import FIELDS, derive, read_plan, stated_lengths
from hubbub.mechanisms.tree_search import search
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Estimates, Query
from hubbub.model.mechanism import Items, Reports, Words
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric import tree_kernels, tree_reports
from hubbub.numeric.bit_paths import from_paths, to_paths
from hubbub.numeric.count_law import CountLaw, response_law
from hubbub.numeric.hadamard import transform
from hubbub.numeric.hashing import HashKey, Purpose, derive_key
from hubbub.numeric.sampling import response_epsilon
from hubbub.numeric.tails import binomial_threshold
from hubbub.numeric.text_paths import fingerprint_places, path_bits, text_items, text_paths
from hubbub.numeric.tree_kernels import EVIDENCE_FROM, EVIDENCE_STEPS, EVIDENCE_TO

ABOUT = About(
    name="tree",
    title="Tree-coded linear local hashing: the default",
    guarantee="pure ε",
    report="17 bytes",
    limit="universe ≤ 2^512 values, ε ≤ 6",
    server_time="about a second at 64 bits, nine at 512",
    use_when="the universe is large and nothing is known of its values",
    options=(Option("size", "auto", "of tally and beam", ("auto", "small", "standard")),),
)


class Tree:
    """Tree-coded linear local hashing."""

    report_dtype = np.dtype([("id", "<u8", (2,)), ("symbol", "u1")])
    words_per_report = 4  # id, id, keep the truth?, the symbol otherwise

    def __init__(self, survey: Survey) -> None:
        parameters = survey.parameters
        check_fields(parameters, FIELDS)
        self.survey = survey
        self.survey_id = survey.survey_id
        self.size = survey.domain.size
        self.bits = survey.domain.bits
        self.item_words = survey.domain.item_words
        domain = survey.domain
        self.fingerprint = whole(parameters, "fingerprint_bits", 0, 20)
        if (self.fingerprint > 0) != isinstance(domain, CodedText):
            raise ParameterError(f"parameters.fingerprint_bits must be above 0 for coded text, got {self.fingerprint}")
        self.code = TextWalk(domain.code) if isinstance(domain, CodedText) else None
        self.path_bits = path_bits(self.fingerprint, self.bits)
        self.path_words = -(-self.path_bits // 64)
        self.plan = read_plan(parameters, self.path_bits)
        self.masks = whole(parameters, "masks", 1, tree_kernels.MAX_MASKS)
        self.beam = 1 << whole(parameters, "beam_bits", 0, 20)
        self.threshold = whole_text("keep_threshold", parameters["keep_threshold"])
        self.symbols = 1 << self.masks
        self._epsilon = response_epsilon(self.threshold, self.symbols)
        self.rows = len(self.plan.depths)
        # What a report of the value adds to its own buckets on average, and the variance a report adds to others'.
        self.keep = self.threshold / 2.0**64
        self.gain = 1.0 / ((self.symbols - 1) * self.keep)
        self.noise = 1.0 / ((self.symbols - 1) * self.keep**2)
        # The chances that a report matches a value that nobody holds, and the value of its sender.
        self.absent = 1.0 / self.symbols
        self.true = self.keep + (1 - self.keep) / self.symbols
        self.own_noise = (self.symbols * self.gain) ** 2 * self.true * (1 - self.true)
        self._thresholds: dict[tuple[int, float], float] = {}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Survey]]:
        return (type(self), (self.survey,))

    # Public coins and buckets.

    @cached_property
    def _keys(self) -> tuple[HashKey, HashKey, HashKey]:
        seed = self.survey.public_seed
        root = Purpose.TREE_BIJECTION if self.code is None else Purpose.TREE_FINGERPRINT
        root_key, coins, bucket = (derive_key(seed, p) for p in (root, Purpose.TREE_COINS, Purpose.TREE_BUCKET))
        return root_key, coins, bucket

    @property
    def bucket_key(self) -> HashKey:
        """The key of the buckets."""
        return self._keys[2]

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The plan as the kernels take it."""
        parent_bits = [depth - chunk for depth, chunk in zip(self.plan.depths, self.plan.chunks, strict=True)]
        return {
            "ends": np.array(self.plan.ends, np.uint64),
            "depths": np.array(self.plan.depths, np.int64),
            "chunks": np.array(self.plan.chunks, np.int64),
            "parent_masks": np.stack([self.prefix_mask(bits) for bits in parent_bits]),
        }

    def paths(self, items: Items) -> NDArray[np.uint64]:
        """Where the items lie in the tree: by a bijection, or for a text code with a fingerprint of the whole."""
        if self.code is not None:
            return text_paths(self._keys[0], items, self.bits, self.fingerprint)
        return to_paths(self._keys[0], items, self.bits)

    def items(self, paths: NDArray[np.uint64]) -> Items:
        """The items that lie there."""
        if self.code is not None:
            return text_items(paths, self.bits, self.fingerprint)
        return from_paths(self._keys[0], paths, self.bits)

    def is_value(self, paths: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether a whole path can be somebody's: inside the universe, and for text a code with its fingerprint."""
        if self.code is not None:
            return self.completed(paths, self.path_bits)[1]
        if self.size == 1 << self.bits:
            return np.ones(len(paths), bool)
        return np.array([int.from_bytes(item.tobytes(), "little") < self.size for item in self.items(paths)], bool)

    def completed(self, paths: NDArray[np.uint64], depth: int) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Whole paths of texts that end within the first `depth` bits, and which of them are somebody's.

        Those are texts of the domain whose fingerprint is the one that the path began with.
        """
        items = self.items(paths)
        whole = self.paths(items)
        matching = np.asarray(((whole & self.prefix_mask(depth)) == paths).all(axis=1))
        matching[matching] = [value is not None for value in self.survey.domain.decode(items[matching])]
        return whole, matching

    def prefix_mask(self, depth: int) -> NDArray[np.uint64]:
        """The first bits of a path."""
        total = 64 * self.path_words
        mask = ((1 << depth) - 1) << (total - depth)
        return np.frombuffer(mask.to_bytes(total // 8, "big"), ">u8").astype(np.uint64)

    def is_code(self, depth: int, chunk: int) -> tuple[bool, ...]:
        """Which of the last bits of a path's first `depth` bits are bits of a text code, not of the fingerprint."""
        places = fingerprint_places(self.fingerprint)
        return tuple(place not in places for place in range(depth - chunk, depth))

    @cached_property
    def fallback_paths(self) -> NDArray[np.uint64]:
        """The path of "(other)", if the domain is text with a code."""
        none = self.survey.domain.encode([None])
        return self.paths(none if self.code is not None else none[:0])

    def buckets(self, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The bucket of each path in each row, shape (n, rows)."""
        return np.stack([self.row_buckets(row, paths) for row in range(self.rows)], axis=1)

    def row_buckets(self, row: int, paths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The bucket of each path in one row."""
        key, plan = self.bucket_key, self.plan
        found = np.empty(len(paths), np.uint64)
        tree_kernels.buckets(
            np.uint32(key.low),
            np.uint32(key.high),
            paths,
            self.arrays["parent_masks"][row],
            row,
            plan.depths[row],
            plan.chunks[row],
            plan.bucket_bits,
            found,
        )
        return found

    # The client's role.

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The pure ε of the threshold: given the public coins, two values' chances of a symbol differ by e^ε."""
        return PrivacyGuarantee(self._epsilon, Decimal(0))

    def randomize(self, items: Items, words: Words) -> Reports:
        """One symbol per item: a pure function of items and words."""
        items, words = check_batch(items, words, self.survey.domain, self.words_per_report)
        coins, bucket = self._keys[1], self._keys[2]
        arrays = self.arrays
        symbols = np.empty(len(items), np.uint8)
        tree_reports.randomize(
            np.uint32(coins.low),
            np.uint32(coins.high),
            np.uint32(bucket.low),
            np.uint32(bucket.high),
            self.paths(items),
            words,
            arrays["ends"],
            arrays["parent_masks"],
            arrays["depths"],
            arrays["chunks"],
            self.plan.bucket_bits,
            self.masks,
            np.uint64(self.threshold),
            symbols,
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
        check_reports(reports, self.report_dtype)
        coins = self._keys[1]
        split = self.rows << self.plan.bucket_bits
        tree_reports.accumulate(
            np.uint32(coins.low),
            np.uint32(coins.high),
            reports["id"],
            reports["symbol"],
            self.arrays["ends"],
            self.plan.bucket_bits,
            self.masks,
            cells[:split],
            cells[split:],
        )

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

        All are least squares of what the rows say, with the variance that shared buckets add (`tree_beside`).
        """
        check_tally(tally, self.survey_id, self.cells_shape)
        items, found = check_items(items, self.survey.domain), check_items(found, self.survey.domain)
        if self.rows == 1:  # buckets are shared in hashed rows only
            return self.estimate(tally, items)
        paths = self.paths(items)
        counts, shared, left = beside(self, self.levels(tally), paths, self.paths(found))
        stderrs = np.sqrt(self._stderrs(left, counts) ** 2 + shared)
        return Estimates(items, counts, stderrs, sharing_tails=sharing_tails(self, left, paths))

    def count_law(self, people: int) -> CountLaw:
        """The law of a count but for collisions: a report of somebody else matches with chance 1/q."""
        return response_law(people, self.symbols, self.keep)

    def log_priors(self, paths: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The logarithm of each value's share of the level: 1/N, or for text 2^−(length of its code)."""
        if self.code is None:
            return np.full(len(paths), -math.log(self.size))
        return -math.log(2) * self.code.lengths(self.items(paths), self.bits)

    def odds(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Nats for a value that some share of the people hold: for each person estimated, and off for each report.

        A report matches the value with chance 1/q if nobody holds it, and with a larger one if that share does: the
        likelihood ratio of the matches is linear in their number, and so in the estimate.
        """
        absent, true = self.absent, self.true
        held = absent + np.clip(shares, 0.0, 1.0) * (true - absent)
        match, miss = np.log(held / absent), np.log((1 - held) / (1 - absent))
        return (match - miss) / (self.gain * self.symbols), -absent * match - (1 - absent) * miss

    def evidence(self, people: float) -> NDArray[np.float32]:
        """Bits of evidence that somebody holds a value, for counts in standard errors as `tree_kernels.Step` has them.

        It is the exact likelihood ratio of the matches among the reports of so many people, for the share that
        explains them best: people·KL(matches/people ‖ 1/q). A normal law would overstate it where matches are few.
        Negative for counts below 0.
        """
        errors = np.arange(-EVIDENCE_FROM * EVIDENCE_STEPS, EVIDENCE_TO * EVIDENCE_STEPS + 1) / EVIDENCE_STEPS
        absent, people = self.absent, max(people, 1e-9)
        spread = math.sqrt(self.noise / people) / (self.gain * self.symbols)  # of the share of matches
        share = np.clip(absent + errors * spread, 1e-12, 1 - 1e-12)
        bits = share * np.log2(share / absent) + (1 - share) * np.log2((1 - share) / (1 - absent))
        return np.asarray(people * bits * np.sign(errors), np.float32)

    def acceptance_counts(self, paths: NDArray[np.uint64], people: int, query: Query) -> NDArray[np.float64]:
        """The count that each value, if absent, reaches with a chance of level/2 times its share, by the exact tail.

        An absent value's symbol matches each report with chance 1/q, so its matches are binomial. A search has half of
        that chance: the other half is for neighbours of real values (`tree_search`).
        """
        levels = self.log_shares(paths, query)
        found = {level: self.count_threshold(people, level) for level in set(levels.tolist())}
        return np.array([found[level] for level in levels.tolist()], np.float64)

    def log_shares(self, paths: NDArray[np.uint64], query: Query) -> NDArray[np.float64]:
        """The logarithm of the chance that each value may have to be reported though nobody holds it."""
        return self.log_priors(paths) + math.log(query.level / (2 if self.rows == 1 else 4))

    def count_threshold(self, people: int, log_level: float) -> float:
        """The least count that a value nobody holds reaches with at most this chance, among so many reports."""
        key = (people, log_level)
        if key not in self._thresholds:
            matches = binomial_threshold(people, 1.0 / self.symbols, log_level)
            self._thresholds[key] = (self.symbols * matches - people) * self.gain
        return self._thresholds[key]

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
            log_priors=self.log_priors(paths),
            doubts=doubts[order],
            long_limit=None if self.code is None else found_from(self, people, long, query),
            uneven=fit.uneven[order],
        )

    def limits_for(self, tally: Tally, items: Items, query: Query) -> NDArray[np.float64]:
        """How many must hold each item for `discover` to find it with a chance of about 95 %."""
        check_tally(tally, self.survey_id, self.cells_shape)
        lengths = np.full(len(items), self.bits)
        if self.code is not None:
            lengths = np.rint(self.code.lengths(check_items(items, self.survey.domain), self.bits)).astype(np.int64)
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


ENTRY = Entry(ABOUT, default_delta, derive, Tree)
