"""What an ε means to one person, in odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from hubbub.analysis.wording import at_most_percent, ceiling
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
    above = f"{ceiling(factor, digits):,.{digits}f}"
    times = above.rstrip("0").rstrip(".") if digits else above
    even, rare = _after(0.5, epsilon), _after(0.01, epsilon)
    return (
        f"One report can change the odds of anything about its sender by a factor of at most {times}, up or down: an "
        f"observer who was 50 % sure can become at most {at_most_percent(even)} sure, and one who was 1 % sure at most "
        f"{at_most_percent(rare)}."
    )
