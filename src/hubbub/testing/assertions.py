"""Statistical assertions whose false alarms have an exact, tiny chance: they say whether numbers have a law."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-9


def assert_binomial(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> None:
    """Two-sided exact test; wrong with probability at most `false_alarm`."""
    low = stats.binom.ppf(false_alarm / 2, trials, chance)
    high = stats.binom.isf(false_alarm / 2, trials, chance)
    assert low <= successes <= high, (
        f"{successes}/{trials} outside [{low:.0f}, {high:.0f}] for p={chance:.6g}, false alarm {false_alarm:g}"
    )


def assert_same_law(first: np.ndarray, second: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Two samples of one law: the exact two-sample Kolmogorov–Smirnov test."""
    p = float(stats.ks_2samp(first, second, method="exact").pvalue)
    assert p >= false_alarm, f"two samples have different laws: p = {p:.3g}"


def assert_mean_zero(values: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """The mean of independent values is 0: Student's test."""
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    assert p >= false_alarm, f"mean {values.mean():.4g} of {len(values)} values is not 0: p = {p:.3g}"


def assert_unit_spread(values: np.ndarray, slack: float = 0.05, false_alarm: float = FALSE_ALARM) -> None:
    """The root mean square of normalised errors is at most 1 + slack, and not so small that the claim is idle."""
    degrees = len(values)
    low, high = stats.chi2.ppf(false_alarm / 2, degrees), stats.chi2.isf(false_alarm / 2, degrees)
    square = float(np.sum(values**2))
    assert square <= high * (1 + slack) ** 2, f"errors are {math.sqrt(square / degrees):.3f} standard errors"
    assert square >= low * 0.5, f"standard errors are idle: errors are {math.sqrt(square / degrees):.3f} of them"
