"""Bisection: find where a condition begins to hold that fails below and holds above."""

from __future__ import annotations

from collections.abc import Callable


def bisect(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    steps: int = 200,
    close: Callable[[float, float], bool] | None = None,
) -> tuple[float, float]:
    """Two numbers near each other: `holds` is false at the first and true at the second.

    Parameters
    ----------
    holds : function of a number
        False up to some number and true from there on. It is called once per step, and never for the two ends.
    low, high : float
        The condition is assumed to fail at `low` and to hold at `high`.
    steps : int
        The most halvings of the interval. The search also ends when no float is left between the two.
    close : function of both numbers, optional
        Ends the search as soon as it is true for the remaining interval.

    Examples
    --------
    >>> bisect(lambda x: x * x >= 2, 0.0, 2.0)
    (1.414213562373095, 1.4142135623730951)
    """
    for _ in range(steps):
        middle = (low + high) / 2
        if middle in (low, high) or (close is not None and close(low, high)):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def first_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole number above `low` for which `holds` is true; `high` if it is true for none below it.

    >>> first_whole(lambda k: k * k >= 50, 0, 100)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
