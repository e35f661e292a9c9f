"""Assertions that samples follow a given law, with a known, tiny chance of a false alarm."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-9


def assert_binomial(successes: int, trials: int, chance: float, false_alarm: float = FALSE_ALARM) -> None:
    """Assert that `successes` is Binomial(trials, chance): an exact two-sided test.

    A correct number fails with a chance of at most `false_alarm`.
    """
    low = stats.binom.ppf(false_alarm / 2, trials, chance)
    high = stats.binom.isf(false_alarm / 2, trials, chance)
    assert low <= successes <= high, (
        f"{successes}/{trials} outside [{low:.0f}, {high:.0f}] for p={chance:.6g}, false alarm {false_alarm:g}"
    )


def assert_same_law(first: np.ndarray, second: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Assert that two samples have the same law: the exact two-sample Kolmogorov–Smirnov test."""
    p = float(stats.ks_2samp(first, second, method="exact").pvalue)
    assert p >= false_alarm, f"two samples have different laws: p = {p:.3g}"


def assert_mean_zero(values: np.ndarray, false_alarm: float = FALSE_ALARM) -> None:
    """Assert that independent values have the mean 0: Student's t-test."""
    p = float(stats.ttest_1samp(values, 0.0).pvalue)
    assert p >= false_alarm, f"mean {values.mean():.4g} of {len(values)} values is not 0: p = {p:.3g}"


def assert_unit_spread(values: np.ndarray, slack: float = 0.05, false_alarm: float = FALSE_ALARM) -> None:
    """Assert that errors divided by their standard errors have a root mean square from about 0.7 to 1 + slack.

    A smaller one would mean that the standard errors are far too large to be of use.
    """
    degrees = len(values)
    low, high = stats.chi2.ppf(false_alarm / 2, degrees), stats.chi2.isf(false_alarm / 2, degrees)
    square = float(np.sum(values**2))
    assert square <= high * (1 + slack) ** 2, f"errors are {math.sqrt(square / degrees):.3f} standard errors"
    assert square >= low * 0.5, f"standard errors are idle: errors are {math.sqrt(square / degrees):.3f} of them"
