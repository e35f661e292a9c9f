"""Where values lie in a tree, and what a count there means. Everything that searches a tree works on this."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.checks import check_fields, whole, whole_text
from hubbub.mechanisms.tree.parameters import FIELDS, read_plan
from hubbub.mechanisms.tree.text_walk import text_walk
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Query
from hubbub.model.mechanism import Items
from hubbub.model.survey import Survey
from hubbub.numeric import tree_kernels
from hubbub.numeric.bit_paths import from_paths, to_paths
from hubbub.numeric.count_law import CountLaw, response_law
from hubbub.numeric.hashing import HashKey, Purpose, derive_key
from hubbub.numeric.sampling import response_epsilon
from hubbub.numeric.tails import binomial_threshold
from hubbub.numeric.text_paths import fingerprint_places, path_bits, text_items, text_paths
from hubbub.numeric.tree_kernels import EVIDENCE_FROM, EVIDENCE_STEPS, EVIDENCE_TO


class TreeGeometry:
    """Rows, paths and buckets of a survey's tree, and the law of the matches that a value has."""

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
        self.code = text_walk(domain.code) if isinstance(domain, CodedText) else None
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
        self.limits: dict[tuple[int, int, float], float] = {}  # what `limits.found_from` has found, which takes a while

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

    # What counts mean.

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
        that chance: the other half is for neighbours of real values (`search`).
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
