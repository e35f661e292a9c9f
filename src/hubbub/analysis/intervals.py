"""Intervals that hold together although the values were chosen by looking at the data."""

from __future__ import annotations

import math

import numpy as np

from hubbub.numeric.tails import normal_quantile_log, normal_tail


def simultaneous_width(people: int, size: int, threshold: float, stderr: float, level: float) -> float:
    """How many standard errors to go either way so that all reported intervals hold together.

    A value held by v people is reported only if its estimate passes the threshold T. Suppose that no estimate of
    the universe is more than T above its truth (the selection's own half of the level is for that). Then a reported
    interval of half-width c·s misses with a chance of at most

        g(v) = Q(max(c, (T − v)/s)) − Q(T/s)  +  [v > T + c·s]·Q(c)

    from above and from below. At most people/v values are held by v people, and there are at most `size` values, so
    the chance of any miss is at most the smaller of max (people/v)·g(v) and size·max g(v); c is the least for which
    that is within the level. Where nothing was selected (threshold −inf), c is the union bound over the universe.
    """
    if not math.isfinite(threshold):
        return normal_quantile_log(math.log(level / 2) - math.log(size))
    if people < 1 or stderr <= 0:
        return 0.0
    held = np.unique(np.geomspace(1, people, 4000))
    absent = float(normal_tail(threshold / stderr))

    def miss(width: float) -> float:
        above = np.maximum(normal_tail(np.maximum(width, (threshold - held) / stderr)) - absent, 0.0)
        below = np.where(held > threshold + width * stderr, normal_tail(width), 0.0)
        return min(float(np.max((above + below) * people / held)), size * float(np.max(above + below)))

    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if miss(middle) > level else (low, middle)
    return high
