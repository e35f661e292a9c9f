"""Intervals that all hold at once, although the values were chosen by looking at the data."""

from __future__ import annotations

import math

import numpy as np

from hubbub.numeric.count_law import UNDERSTATED, CountLaw
from hubbub.numeric.tails import normal_quantile_log

_COUNTS = 1200  # numbers of holders that are tried
_SLOPES = 120
_HALVINGS = 50


def simultaneous_width(law: CountLaw, size: int, threshold: float, extra: float, level: float) -> float:
    """The width c, in standard normal deviations, with which all reported intervals hold at once.

    Each end of an interval is exceeded with a chance of α = Q(c). A value held by v people is reported only if its
    estimate X passes the threshold T. The chance that it is reported and its interval misses is at most

        g(v) = min(α, P_v[X > T]) + max(0, α − P_v[X < T]),

    where the terms are for misses above and below. At most `size` values are held, with at most people·slots holders
    in all. So the chance of any miss is at most max Σ g(v_x) over all crowds. For every slope b ≥ 0 that is at most
    size·max(g(v) − b·v) + b·people·slots. α is the largest for which some slope keeps this within the level. Values
    that nobody holds are not in the sum: reporting one is another kind of error, with its own half of the level. If
    nothing was selected (threshold −inf) every value of the universe has an interval, and α is level/(2·size).

    Parameters
    ----------
    law : CountLaw
        The law of one estimate.
    size : int
        Values that could be reported.
    threshold : float
        T.
    extra : float
        The largest variance that collisions add, in people².
    level : float
        The chance, at most, that any reported interval misses.
    """
    slack = math.log(UNDERSTATED)
    if not math.isfinite(threshold):
        return normal_quantile_log(math.log(level / 2) - slack - math.log(size))
    if law.people < 1:
        return 0.0
    held = np.unique(np.geomspace(1, law.people, _COUNTS).round())
    passing, failing = (np.exp(logs) for logs in law.log_chances(threshold, held, extra))
    people = law.people * law.slots
    low, high = math.log(level / 2) - math.log(size), math.log(level)
    low = max(low, math.log(level / 2) - math.log(people))  # at most this many values are held
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        chance = math.exp(middle)
        misses = np.minimum(chance, passing) + np.maximum(0.0, chance - failing)
        # An upper bound on the sum of the misses over the values of any crowd, by duality.
        steepest = float(np.max(misses / held))
        slopes = np.concatenate([[0.0], steepest * np.geomspace(1e-4, 1.0, _SLOPES)])
        above = np.maximum((misses - slopes[:, np.newaxis] * held).max(axis=1), 0.0)
        above[-1] = 0.0  # but for rounding
        is_too_much = float(np.min(above * float(min(size, people)) + slopes * people)) > level
        low, high = (low, middle) if is_too_much else (middle, high)
    return normal_quantile_log(low - slack)
