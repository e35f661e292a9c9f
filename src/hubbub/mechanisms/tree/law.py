"""The law of reports: how likely a report matches a value, and what a number of matches says about it.

A report is a symbol of q = 2^s, and matches the values that have this symbol under the report's masks. Held by nobody,
a value is matched with the chance `absent`; by a report of one of its holders with the chance `true`.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from hubbub.model.privacy import PrivacyGuarantee
from hubbub.numeric.count_law import CountLaw, match_law, mean_variance
from hubbub.numeric.sampling import response_epsilon
from hubbub.numeric.tails import binomial_threshold

MAX_MASKS = 8
POLYNOMIALS = (1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9)
"""For b = 1 to 20 the least odd p for which x^b + p is irreducible over GF(2); bit i of p is x^i."""


class MatchLaw:
    """The law of the matches of a tree.

    Parameters
    ----------
    threshold : int
        The truth is kept where a random word is below this.
    masks : int
        s, the number of masks, and of bits of a symbol.
    bucket_bits : int
    rows : int
        In a tree with one row the masks are independent; with more, buckets are hashed.

    Attributes
    ----------
    symbols : int
        q = 2^s.
    guarantee : PrivacyGuarantee
        The pure ε of the threshold: for the same coins, two values' chances of a symbol differ by e^ε at most.
    keep, true, absent, collision : float
        The chances that the truth is kept, that a holder's report matches, that another one does, and that two
        different buckets have the same symbol.
    per_match : float
        People for each match: a count is (matches − absent·reports)·per_match.
    noise, own_noise : float
        The variance, in people², that a report adds to the counts of values which its sender does not hold, and to
        the count of the value she holds.
    influence : tuple of two floats
        The most and the least that one report adds to a sum over rows: (1 − absent)·per_match if it matches, and
        −absent·per_match if not. Where buckets are hashed both are slightly larger in size, since the count expected
        from an even spread is subtracted.
    """

    def __init__(self, threshold: int, masks: int, bucket_bits: int, rows: int) -> None:
        self.threshold, self.masks = threshold, masks
        self.symbols, self.keep = 1 << masks, threshold / 2.0**64
        epsilon = response_epsilon(threshold, self.symbols)  # first, since it refuses a threshold out of range
        self.guarantee = PrivacyGuarantee(epsilon, Decimal(0))
        self.collision = one_row_collision(bucket_bits, masks) if rows == 1 else 1.0 / self.symbols
        self.absent = self.collision + (1 - self.keep) * (1.0 / self.symbols - self.collision)
        self.true = self.keep + (1 - self.keep) / self.symbols
        self.per_match = 1.0 / (self.keep * (1 - self.collision))
        self.noise = self.per_match**2 * self.absent * (1 - self.absent)
        self.own_noise = self.per_match**2 * self.true * (1 - self.true)
        spread = 1 / (1 << bucket_bits) if rows > 1 else 0.0
        most, least = (1 - self.absent) * self.per_match, -self.absent * self.per_match
        self.influence = (most - spread) / (1 - spread), (least - spread) / (1 - spread)
        self._thresholds: dict[tuple[int, float], float] = {}

    def count_law(self, people: int) -> CountLaw:
        """The law of a count among this many people, ignoring collisions of hashed buckets."""
        return match_law(people, self.true, self.absent, 1.0 / self.per_match)

    def spread(self, people: float) -> float:
        """The standard error, in people, of the count of a value that nobody of so many holds."""
        return math.sqrt(self.noise * people)

    def threshold_of(self, people: int, log_level: float) -> float:
        """The least count, in people, that an absent value reaches with chance e^log_level at most. Cached.

        Its matches are binomial, so this is the exact tail.
        """
        key = (people, log_level)
        if key not in self._thresholds:
            matches = binomial_threshold(people, self.absent, log_level)
            self._thresholds[key] = (matches - people * self.absent) * self.per_match
        return self._thresholds[key]

    def odds(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The log-likelihood ratio that a value is held by a given share of the people rather than by nobody.

        It is linear in the number of matches, and thus in the count. Returns for each share, in nats, what each
        counted person adds, and what each report subtracts.
        """
        held = self.absent + np.clip(shares, 0.0, 1.0) * (self.true - self.absent)
        match, miss = np.log(held / self.absent), np.log((1 - held) / (1 - self.absent))
        return (match - miss) / self.per_match, -self.absent * match - (1 - self.absent) * miss


def one_row_collision(bits: int, masks: int) -> float:
    """The chance that two different values of this many bits have the same symbol in a tree with one row."""
    return ((1 << (bits - masks)) - 1) / ((1 << bits) - 1)


def best_masks(epsilon: float) -> int:
    """The masks with the least `noise`: about 1.4·ε of them."""
    grown, symbols = math.expm1(min(epsilon, 50.0)), [1 << masks for masks in range(1, MAX_MASKS + 1)]
    noise = [(grown + each) ** 2 / (grown**2 * (each - 1)) for each in symbols]
    return 1 + noise.index(min(noise))


def list_masks(size: int, epsilon: float) -> int:
    """The number of masks with the least noise for a list of `size` values in one row."""
    most = min(MAX_MASKS, (size - 1).bit_length())
    return min(range(1, most + 1), key=lambda masks: _one_row_noise(size, masks, epsilon))


def list_noise(size: int, epsilon: float) -> float:
    """The variance (people²) that each report adds to a count: the mean over all values of a list in one row."""
    return _one_row_noise(size, list_masks(size, epsilon), epsilon)


def _one_row_noise(size: int, masks: int, epsilon: float) -> float:
    lie = 1 / (math.exp(min(epsilon, 50.0)) + (1 << masks) - 1)  # each symbol but the true one
    keep, collision = math.expm1(min(epsilon, 50.0)) * lie, one_row_collision((size - 1).bit_length(), masks)
    return mean_variance(size, lie + keep, lie + collision * keep, keep * (1 - collision))
