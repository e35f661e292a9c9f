"""The bucket of each value in each row of a tree, and the law of a value's count. Searches build on this."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.errors import ParameterError
from hubbub.mechanisms.checks import check_fields, whole, whole_text
from hubbub.mechanisms.tree.fingerprint import path_bits
from hubbub.mechanisms.tree.kernels import EVIDENCE_FROM, EVIDENCE_STEPS, EVIDENCE_TO, Rows, buckets
from hubbub.mechanisms.tree.kernels_reports import TABLE_BITS, Coins
from hubbub.mechanisms.tree.parameters import FIELDS, STATED_LENGTHS, read_plan
from hubbub.mechanisms.tree.paths import NumberPaths, PathCodec, TextPaths
from hubbub.mechanisms.tree.plan import MAX_MASKS, POLYNOMIALS, ROW_BITS, collision_chance
from hubbub.model.coded_domain import CodedText
from hubbub.model.estimates import Query
from hubbub.model.privacy import PrivacyGuarantee
from hubbub.model.survey import Survey
from hubbub.numeric.count_law import CountLaw, match_law
from hubbub.numeric.hashing import Purpose, derive_key
from hubbub.numeric.sampling import response_epsilon
from hubbub.numeric.tails import binomial_threshold


class TreeGeometry:
    """Rows, paths and buckets of a survey's tree, and the law of how many reports match a value."""

    def __init__(self, survey: Survey) -> None:
        parameters, domain = survey.parameters, survey.domain
        check_fields(parameters, FIELDS)
        self.survey, self.survey_id = survey, survey.survey_id
        self.size, self.bits, self.item_limbs = domain.size, domain.bits, domain.item_limbs
        self.fingerprint = whole(parameters, "fingerprint_bits", 0, 20)
        self.coded = isinstance(domain, CodedText)  # texts may begin alike, and some are likelier than others
        self.stated_bits: tuple[int, int | None] = (self.bits, None)  # numbers have no long value
        if isinstance(domain, CodedText):
            usual, long = STATED_LENGTHS[domain.normalization]
            self.stated_bits = min(usual, self.bits), min(long, self.bits)
        if (self.fingerprint > 0) != self.coded:
            raise ParameterError(f"parameters.fingerprint_bits must be above 0 for coded text, got {self.fingerprint}")
        self.plan = read_plan(parameters, path_bits(self.fingerprint, self.bits))
        self.rows = len(self.plan.depths)
        if self.rows == 1 and self.coded:
            raise ParameterError("parameters.depths must have two entries or more for coded text, got one")
        width = self.plan.bucket_bits
        self.masks = whole(parameters, "masks", 1, MAX_MASKS if self.rows > 1 else min(MAX_MASKS, width))
        self.beam = 1 << whole(parameters, "beam_bits", 0, 20)
        self.threshold = whole_text("keep_threshold", parameters["keep_threshold"])
        self.symbols = 1 << self.masks
        # The pure ε of the threshold: for the same coins, two values' chances of a symbol differ by e^ε at most.
        self.guarantee = PrivacyGuarantee(response_epsilon(self.threshold, self.symbols), Decimal(0))
        # The sums of every row, one after the other, then the number of reports of every row.
        self.cells_shape: tuple[int, ...] = ((self.rows << width) + self.rows,)
        # The chance that two different buckets have the same symbol. In a tree with one row the masks are independent.
        self.collision = collision_chance(width, self.masks) if self.rows == 1 else 1.0 / self.symbols
        # `absent` and `true`: the chance that a report matches a value its sender does not hold, or does hold.
        self.keep = self.threshold / 2.0**64
        self.absent = self.collision + (1 - self.keep) * (1.0 / self.symbols - self.collision)
        self.true = self.keep + (1 - self.keep) / self.symbols
        # A match counts as `per_match` people. A report adds the variance `noise` (people²) to the counts of values
        # that its sender does not hold, and `own_noise` to the count of the value she holds.
        self.per_match = 1.0 / (self.keep * (1 - self.collision))
        self.noise = self.per_match**2 * self.absent * (1 - self.absent)
        self.own_noise = self.per_match**2 * self.true * (1 - self.true)
        # The most and the least that one report adds to a count: (1 − absent)/(true − absent) if its symbol is the
        # value's, and −absent/(true − absent) if not. Where buckets are hashed both are slightly larger in size, since
        # the count expected from an even spread is subtracted. This holds for `estimate`, which sums over rows. In
        # `discover` a value that shares no bucket with another moves by at most this times the `inflation` of its
        # `Fit`. For values that share buckets, `fit.influences` gives the bound, as long as the set of trusted rows
        # stays the same.
        spread = 1 / (1 << width) if self.rows > 1 else 0.0
        most, least = (1 - self.absent) * self.per_match, -self.absent * self.per_match
        self.influence = (most - spread) / (1 - spread), (least - spread) / (1 - spread)
        self._thresholds: dict[tuple[int, float], float] = {}
        self.limits: dict[tuple[int, int, float], float] = {}  # a cache for `limits.found_from`, which is slow

    # Public coins and buckets.

    @cached_property
    def kernel_rows(self) -> Rows:
        """The rows, in the form that the kernels take."""
        key, plan = derive_key(self.survey.public_seed, Purpose.TREE_BUCKET), self.plan
        hashed = [depth - chunk for depth, chunk in zip(plan.depths, plan.chunks, strict=True)]
        return Rows(
            low=np.uint32(key.low),
            high=np.uint32(key.high),
            parent_masks=self.codec.prefix_masks[hashed],
            depths=np.array(plan.depths, np.int64),
            chunks=np.array(plan.chunks, np.int64),
            bucket_bits=plan.bucket_bits,
        )

    @cached_property
    def kernel_coins(self) -> Coins:
        """How to read a report's coins, in the form that the kernels take."""
        key, width = derive_key(self.survey.public_seed, Purpose.TREE_COINS), self.plan.bucket_bits
        ends = np.array(self.plan.ends, np.uint64)
        tops = np.arange(1 << TABLE_BITS, dtype=np.uint64) << np.uint64(ROW_BITS - TABLE_BITS)
        first_rows = np.searchsorted(ends, tops, side="right").astype(np.int64)
        polynomial = 1 << width | POLYNOMIALS[width - 1] if self.rows == 1 else 0
        low, high = np.uint32(key.low), np.uint32(key.high)
        return Coins(low, high, ends, first_rows, self.masks, width, np.uint64(polynomial))

    @cached_property
    def codec(self) -> PathCodec:
        """How items become paths: by the domain's text code if it has one."""
        domain, seed = self.survey.domain, self.survey.public_seed
        if isinstance(domain, CodedText):
            return TextPaths(derive_key(seed, Purpose.TREE_FINGERPRINT), domain, self.fingerprint)
        return NumberPaths(derive_key(seed, Purpose.TREE_BIJECTION), domain.bits, domain.size)

    def buckets(self, paths: NDArray[np.uint64], rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """The bucket of each path in each row, or in the given ones: shape (n, rows)."""
        asked = np.arange(self.rows) if rows is None else np.array(rows, np.int64)
        found = np.empty((len(asked), len(paths)), np.uint64)
        buckets(self.kernel_rows, asked, paths, found)
        return np.ascontiguousarray(found.T).astype(np.int64)

    # What counts mean.

    def count_law(self, people: int) -> CountLaw:
        """The law of a count among this many people, ignoring collisions of hashed buckets."""
        return match_law(people, self.true, self.absent, 1.0 / self.per_match)

    def evidence(self, people: float) -> NDArray[np.float32]:
        """A table of the evidence, in bits, that somebody holds a value, by its count in standard errors.

        The steps of the table are those of `kernels.Step`. The evidence is the exact log-likelihood ratio of the
        matches among this many people's reports, for the share that explains them best:
        people·KL(matches/people ‖ absent). A normal law would overstate it where matches are few. It is negative for
        counts below 0.
        """
        errors = np.arange(-EVIDENCE_FROM * EVIDENCE_STEPS, EVIDENCE_TO * EVIDENCE_STEPS + 1) / EVIDENCE_STEPS
        absent, people = self.absent, max(people, 1e-9)
        spread = math.sqrt(self.noise / people) / self.per_match  # of the share of matches
        share = np.clip(absent + errors * spread, 1e-12, 1 - 1e-12)
        bits = share * np.log2(share / absent) + (1 - share) * np.log2((1 - share) / (1 - absent))
        return np.asarray(people * bits * np.sign(errors), np.float32)

    def acceptance_counts(self, paths: NDArray[np.uint64], people: int, query: Query) -> NDArray[np.float64]:
        """The least count, in people, at which each value is accepted.

        An absent value matches each report with the same chance, so its matches are binomial. It reaches this count
        with a chance of at most level/2 times the value's share of the level (its prior), by the exact tail. A search
        uses half of that: the other half is for neighbours of real values (`search`).
        """
        shares = self.codec.log_priors(paths) + math.log(query.level / (2 if self.rows == 1 else 4))
        found = {share: self.count_threshold(people, share) for share in set(shares.tolist())}
        return np.array([found[share] for share in shares.tolist()], np.float64)

    def count_threshold(self, people: int, log_level: float) -> float:
        """The least count, in people, that an absent value reaches with chance e^log_level at most. Cached."""
        key = (people, log_level)
        if key not in self._thresholds:
            matches = binomial_threshold(people, self.absent, log_level)
            self._thresholds[key] = (matches - people * self.absent) * self.per_match
        return self._thresholds[key]
