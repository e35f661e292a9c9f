"""What an ε means to one person, in odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from hubbub.analysis import wording
from hubbub.numeric.composition import composed_epsilon

BELIEFS: Final = (0.001, 0.01, 0.1, 0.5)
SURVEYS: Final = (1, 4, 12, 52)
DELTA: Final = 1e-6
"""The δ of the composed yearly figure: the chance that it fails."""


@dataclass(frozen=True, slots=True)
class Belief:
    """How sure an observer is of something about a person's value: before her report, and at most after it."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Year:
    """The total privacy loss of one person who answers several surveys.

    Attributes
    ----------
    surveys : int
        How many she answers in a year, each with the same ε.
    epsilon : float
        The sum of the ε, which always holds.
    epsilon_composed : float
        A bound that holds except with a chance of δ = 10⁻⁶, by exact composition; at most the sum.
    """

    surveys: int
    epsilon: float
    epsilon_composed: float


def beliefs(epsilon: float) -> tuple[Belief, ...]:
    """How sure an observer can become at most from one report, for some beliefs: odds grow by a factor of e^ε.

    >>> [round(belief.after, 3) for belief in beliefs(1.0)]
    [0.003, 0.027, 0.232, 0.731]
    """
    return tuple(Belief(before, _after(before, epsilon)) for before in BELIEFS)


def _after(before: float, epsilon: float) -> float:
    return 1 / (1 + (1 - before) / before * math.exp(-epsilon))


def years(epsilon: float) -> tuple[Year, ...]:
    """The total loss of 1, 4, 12 and 52 surveys a year, each with this ε."""
    return tuple(
        Year(surveys, surveys * epsilon, min(surveys * epsilon, composed_epsilon(epsilon, surveys, DELTA)))
        for surveys in SURVEYS
    )


def about_one_person(epsilon: float) -> str:
    """How much an observer can learn from one report at most, in a sentence.

    >>> about_one_person(1.0).partition(": ")[2]
    'an observer who was 50 % sure can become at most 73.2 % sure, and one who was 1 % sure at most 2.7 %.'
    """
    factor = math.exp(epsilon)
    digits = 0 if factor >= 10 else 1 - math.floor(math.log10(min(factor - 1, 1.0)))
    above = f"{_round_up(factor, digits):,.{digits}f}"
    times = above.rstrip("0").rstrip(".") if digits else above
    even, rare = _after(0.5, epsilon), _after(0.01, epsilon)
    return (
        f"One report can change the odds of anything about its sender by a factor of at most {times}, up or down: an "
        f"observer who was 50 % sure can become at most {at_most_percent(even)} sure, and one who was 1 % sure at most "
        f"{at_most_percent(rare)}."
    )


def percent(chance: float) -> str:
    """A chance in per cent with as many digits as are useful, never rounded to 0 or 100.

    >>> [percent(chance) for chance in (0.00041, 0.1234, 0.731, 0.99999)]
    ['0.041 %', '12.3 %', '73.1 %', '99.999 %']
    """
    text = wording.percent(chance, _digits(chance)).removesuffix("%")
    return text.rstrip("0").rstrip(".") + " %"


def at_most_percent(chance: float) -> str:
    """An upper bound in per cent with as many digits, rounded up, so that what is shown is a bound, too.

    >>> [at_most_percent(chance) for chance in (0.5, 0.5000025, 0.7310586, 0.99987)]
    ['50 %', '50.1 %', '73.2 %', '99.987 %']
    """
    digits = _digits(chance)
    return f"{_round_up(100 * chance, digits):.{digits}f}".rstrip("0").rstrip(".") + " %"


def _digits(chance: float) -> int:
    """After the point of a chance in per cent."""
    near = min(chance, 1 - chance)
    return 1 if near >= 0.001 else min(12, 1 - math.floor(math.log10(max(near, 1e-12))) - 2)


def _round_up(number: float, digits: int) -> float:
    """The next number of so many digits after the point; what floats are off by is no reason to go on to another."""
    scale = 10.0**digits
    return math.ceil(round(number * scale, 6)) / scale
