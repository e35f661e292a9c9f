"""How much a value must gain from one period to the next to be called rising in a trend."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hubbub.mechanisms.roles import Forecasts
from hubbub.numeric.bisection import bisect
from hubbub.numeric.count_law import UNDERSTATED, Floats, gap_law
from hubbub.numeric.tails import normal_tail

SHARE: Final = 0.1
"""The share before the gain of the value that a plan is about."""

VALUES: Final = 20
"""The values of a trend that a plan is about."""

PERIODS: Final = 12
"""The whole periods of a trend that a plan is about."""

_CLOSE = 3e-4  # of a share
_GRID = np.linspace(-6.0, 6.0, 241)


def rising_chance(built: Forecasts, people: int, share: float, gain: float, level: float = 0.05) -> float:
    """The chance that a value is called rising whose share, the same in all earlier periods, gains this much.

    For a trend of `VALUES` values in `PERIODS` periods of so many people each. It is called rising if the last period
    is surely above any earlier one; estimates are taken for normal here, and the visitors of a period for a random
    sample. Takes some milliseconds.
    """
    law, after = built.count_law(people), min(share + gain, 1.0)
    extra = float(law.collisions(np.zeros(1), np.array([built.noise_stderr(people)]))[0])

    def spread(held: Floats | float) -> Floats:
        """The standard error of an estimated share."""
        each = np.asarray(held, np.float64)
        return np.asarray(np.sqrt(law.variance(each * people) + extra + people * each * (1 - each)) / people)

    pooled = (share + after) / 2
    between = gap_law(law, law, np.array([min(pooled + float(spread(pooled)) / math.sqrt(2), max(pooled, 0.5))]))
    enough = math.log(level / 4) - math.log(2 * UNDERSTATED * VALUES * (PERIODS - 1))

    def is_sure(gap: float) -> bool:
        """Whether a difference of two estimated shares is beyond noise."""
        edge = np.array([gap - law.step / (2 * people)])
        return float(between.log_chances(edge, float(people), 2 * extra / people**2)[0][0]) <= enough

    _, needed = bisect(is_sure, 0.0, 40 * float(spread(pooled)), close=lambda low, high: high - low < _CLOSE * high)
    last = after + spread(after) * _GRID
    most = last - needed
    for _ in range(4):  # how much is needed depends on what both periods show
        most = last - needed * spread(np.clip((last + most) / 2, 0.0, 1.0)) / spread(pooled)
    ahead = normal_tail((share - most) / spread(share))
    weights = np.exp(-(_GRID**2) / 2)
    return 1 - float(weights @ (1 - ahead) ** (PERIODS - 1) / weights.sum())


def gain_needed(
    built: Forecasts, people: int, wanted: float = 0.95, share: float = SHARE, level: float = 0.05
) -> float:
    """The least gain with which a value of this share is called rising with a chance; infinite if none is enough."""
    if rising_chance(built, people, share, 1 - share, level) < wanted:
        return math.inf
    _, high = bisect(
        lambda gain: rising_chance(built, people, share, gain, level) >= wanted,
        0.0,
        1 - share,
        close=lambda low, high: high - low < _CLOSE,
    )
    return high
