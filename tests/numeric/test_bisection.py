"""Bisection: the edge of a condition, in floats and in whole numbers."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hubbub.numeric.bisection import bisect, first_whole


@given(st.floats(-1e6, 1e6))
def test_the_edge_is_between_neighbouring_floats(edge: float) -> None:
    """With steps enough no float is left between the two numbers, and the condition changes there."""
    low, high = bisect(lambda x: x >= edge, -1e7, 1e7, 2000)
    assert low < edge <= high
    assert math.nextafter(low, math.inf) == high


def test_it_ends_after_its_steps_or_when_close_enough() -> None:
    """Ten halvings leave a thousandth; `close` ends the search at the width it names."""
    low, high = bisect(lambda x: x >= 0.3, 0.0, 1.0, 10)
    assert high - low == 2.0**-10
    asked: list[float] = []
    low, high = bisect(lambda x: not asked.append(x) and x >= 0.3, 0.0, 1.0, close=lambda low, high: high - low < 0.1)
    assert high - low == 1 / 16
    assert len(asked) == 4


@given(st.integers(1, 1000))
def test_the_first_whole_number(edge: int) -> None:
    """The least for which it holds, or the upper end."""
    assert first_whole(lambda k: k >= edge, 0, 500) == min(edge, 500)
