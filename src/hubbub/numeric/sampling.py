"""Exact samplers: pure functions of random words against integer thresholds computed in high precision.

Randomised response rounds its threshold towards privacy, so the stated epsilon bounds the executed one. Discrete
Laplace noise is built from the independent binary digits of geometric variables: it takes a fixed number of random
words, integers only, and no loop of random length. The cost of its truncation and rounding is bounded and goes into
delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError
from hubbub.jit import kernel

_PRECISION: Final = 80
_TWO64: Final = Decimal(2**64)
MAX_DIGITS: Final = 30  # noise then fits an int32
_RATES: Final = (Decimal("1e-100"), Decimal("1e100"))  # far beyond useful rates, and safe to calculate with
_TAIL: Final = 50.0  # the digits reach 50 times the scale: larger noise has a chance below e^-50
_RATE_DIGITS: Final = 20


def bit_threshold(epsilon: Decimal) -> int:
    """The largest t such that telling the truth about a bit with chance t / 2^64, and otherwise lying, is ε-private."""
    return (response_threshold(epsilon, 2) + 2**64) // 2


def bit_epsilon(threshold: int) -> Decimal:
    """The privacy loss of a bit threshold, rounded up: ln(t / (2^64 − t))."""
    if not 2**63 < threshold < 2**64:
        raise ParameterError(f"a bit threshold must be from 2^63 + 1 to 2^64 - 1, got {threshold}")
    with localcontext(Context(prec=_PRECISION, rounding=ROUND_CEILING)):
        return (Decimal(threshold) / Decimal(2**64 - threshold)).ln() * (1 + Decimal(10) ** -40)


def response_threshold(epsilon: Decimal, symbols: int = 2, own: int = 1) -> int:
    """The largest t such that telling the truth with chance t / 2^64, else responding uniformly, is ε-private.

    The truth is one of `own` symbols, all equally likely; a uniform response is any of all `symbols`.
    """
    with localcontext(Context(prec=_PRECISION, rounding=ROUND_FLOOR)):
        grown = min(epsilon, Decimal(200)).exp()  # from 200 on the threshold is 2^64 - 1, whose loss is below 50
        gain = own * (grown - 1)
        threshold = min(int(gain / (gain + symbols) * _TWO64), 2**64 - 1)
        # Decimal's exp is within one unit of its last digit, 60 digits below those kept. The numbers of random words
        # per symbol may differ by one, which may take a few more steps.
        while threshold > 0 and response_epsilon(threshold, symbols, own) > epsilon:
            threshold -= 1
    if threshold == 0:
        raise ParameterError(f"epsilon must be large enough for a 64-bit threshold, got epsilon={epsilon}")
    return threshold


def response_epsilon(threshold: int, symbols: int = 2, own: int = 1) -> Decimal:
    """The privacy loss of a threshold, rounded up: ln(1 + t·⌈2^64/own⌉ / ((2^64 − t)·⌊2^64/symbols⌋)).

    A uniform symbol is ⌊word·symbols / 2^64⌋, so at least ⌊2^64/symbols⌋ random words give each symbol, and at most
    ⌈2^64/own⌉ random words give each of a value's own symbols.
    """
    if not 0 < threshold < 2**64:
        raise ParameterError(f"a threshold must be from 1 to 2^64 - 1, got {threshold}")
    told, lied = threshold * -(-(2**64) // own), (2**64 - threshold) * (2**64 // symbols)
    with localcontext(Context(prec=_PRECISION, rounding=ROUND_CEILING)):
        return (1 + Decimal(told) / Decimal(lied)).ln() * (1 + Decimal(10) ** -40)


def bernoulli(random_words: NDArray[np.uint64], threshold: int) -> NDArray[np.bool_]:
    """True with probability exactly threshold / 2^64."""
    return random_words < np.uint64(threshold)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Noise k with chance proportional to e^(−rate·|k|), from the binary digits of two geometric variables.

    A geometric variable with ratio a = e^−rate has independent binary digits: digit j is 1 with chance
    a^(2^j) / (1 + a^(2^j)). With J digits its law is exact, conditional on being below 2^J. The noise is the difference
    of two of these variables.

    Attributes
    ----------
    rate : Decimal
        1 / scale of the Laplace distribution it stands for.
    digit_thresholds : tuple of int
        For each digit, from the lowest, its chance times 2^64, rounded to nearest.
    """

    rate: Decimal
    digit_thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        low, high = _RATES
        if not (isinstance(self.rate, Decimal) and self.rate.is_finite() and low <= self.rate <= high):
            raise ParameterError(f"rate must be a number from {low} to {high}, got rate={self.rate!r:.60}")
        if not 1 <= len(self.digit_thresholds) <= MAX_DIGITS:
            raise ParameterError(f"noise must have 1 to {MAX_DIGITS} digits, got {len(self.digit_thresholds)}")
        for threshold in self.digit_thresholds:
            if isinstance(threshold, bool) or not isinstance(threshold, int) or not 0 <= threshold < 2**64:
                raise ParameterError(f"a digit threshold must be from 0 to 2^64 - 1, got {threshold!r}")

    @classmethod
    def with_rate(cls, rate: Decimal | float) -> DiscreteLaplace:
        """Noise of at most this rate, rounded down (more noise) to 20 digits."""
        rounded = Context(prec=_RATE_DIGITS, rounding=ROUND_FLOOR).create_decimal(rate)
        if not (rounded.is_finite() and rounded > 0):
            raise ParameterError(f"rate must be a number above 0, got rate={rate}")
        digits = max(1, math.ceil(math.log2(_TAIL / float(rounded))))
        if digits > MAX_DIGITS:
            raise ParameterError(
                f"noise must have a scale of at most {2**MAX_DIGITS / _TAIL:.3g}, got {1 / float(rounded):.3g}"
            )
        exact = _digit_chances(rounded, digits)
        return cls(rounded, tuple(int((chance * _TWO64).to_integral_value()) for chance in exact))

    @property
    def digits(self) -> int:
        """J: binary digits of each geometric variable."""
        return len(self.digit_thresholds)

    @property
    def random_words(self) -> int:
        """Random words of one draw: one for each digit of both variables."""
        return 2 * self.digits

    @property
    def bound(self) -> int:
        """The largest absolute value of a draw."""
        return (1 << self.digits) - 1

    @cached_property
    def distance(self) -> Decimal:
        """Upper bound on the total variation distance to the untruncated, unrounded noise."""
        with localcontext(Context(prec=_PRECISION, rounding=ROUND_CEILING)):
            exact = _digit_chances(self.rate, self.digits)
            rounding = sum(
                (abs(Decimal(t) / _TWO64 - p) for t, p in zip(self.digit_thresholds, exact, strict=True)), Decimal(0)
            )
            cut = (-self.rate * (1 << self.digits)).exp()
            # The last term is for the rounding of the 80 digits themselves.
            return 2 * (cut + rounding) * (1 + Decimal(10) ** -40) + Decimal(10) ** -70

    @cached_property
    def variance(self) -> float:
        """2a / (1 − a)², a = e^−rate."""
        rate = float(self.rate)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    def add_to(
        self, responses: NDArray[np.int8], random_words: NDArray[np.uint64], noisy: NDArray[np.signedinteger]
    ) -> None:
        """noisy[i, c] = responses[i, c] + a draw from random_words[i, c·k : (c + 1)·k], k = `self.random_words`."""
        _add_noise(responses, random_words, np.array(self.digit_thresholds, np.uint64), noisy)

    def sample_sums(self, people: int, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
        """Sums of `people` draws each, without drawing them: a difference of two negative binomials."""
        if people == 0:
            return np.zeros(shape, np.int64)
        chance = -math.expm1(-float(self.rate))
        if people / chance > 2.0**62:
            raise ParameterError(f"sums of noise must fit 64 bits, got {people} people with scale {1 / chance:.3g}")
        plus = rng.negative_binomial(people, chance, shape)
        return (plus - rng.negative_binomial(people, chance, shape)).astype(np.int64)


@lru_cache(maxsize=256)
def _digit_chances(rate: Decimal, digits: int) -> tuple[Decimal, ...]:
    with localcontext(Context(prec=_PRECISION)):
        powers = ((-rate * (1 << j)).exp() for j in range(digits))
        return tuple(power / (1 + power) for power in powers)


@kernel
def _add_noise(responses, random_words, thresholds, noisy):  # type: ignore[no-untyped-def]
    """Twin: tests/reference/naive.py::add_noise."""
    digits = thresholds.shape[0]
    for i in range(responses.shape[0]):
        for c in range(responses.shape[1]):
            base = 2 * digits * c
            noise = np.int64(0)
            for j in range(digits):
                plus = np.int64(random_words[i, base + j] < thresholds[j])
                minus = np.int64(random_words[i, base + digits + j] < thresholds[j])
                noise += (plus - minus) << j
            noisy[i, c] = responses[i, c] + noise
