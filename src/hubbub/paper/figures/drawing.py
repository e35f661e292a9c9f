"""Shared by the figures: colours, markers, points with bars, and a legend next to the axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hubbub.paper.largest_error import Errors

BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY: Final = "#666666"

_MECHANISM_STYLE: Final[dict[Any, Any]] = {
    "JL-HH": (BLUE, "o"),
    "Bucket": (RED, "s"),
    "Bucket, vote": (ORANGE, "D"),
    "GLPS-HH": (GREEN, "^"),
    "GLPS-HH, lean, s = 1": (GREEN, "^"),
    "GLPS-HH, staged, s = 4": (PURPLE, "v"),
    "naive baseline": (GREY, "P"),
    "tree (hubbub's default)": (BLACK, "*"),
    "subset (short lists)": (ORANGE, "D"),
}
CALIBRATION: Final = {"paper": "paper's noise", "tight": "tight noise", "onebit": "one bit"}


def named(label: str, calibration: str) -> str:
    """The name of a mechanism, with its calibration if it has one."""
    return f"{label}, {CALIBRATION[calibration]}" if calibration else label


def wilson(successes: int, runs: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a chance, which stays between 0 and 1 even for few runs.

    >>> [round(end, 3) for end in wilson(10, 10)]
    [0.722, 1.0]
    """
    z = 1.959964
    share, weight = successes / runs, z * z / runs
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / runs + weight / (4 * runs)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def column(rows: Iterable[object], name: str) -> NDArray[np.float64]:
    """One field of all rows."""
    return np.array([getattr(row, name) for row in rows], np.float64)


def style_of(label: str) -> dict[str, Any]:
    """Colour and marker of a mechanism, for all figures."""
    colour, marker = _MECHANISM_STYLE[label]
    return {"color": colour, "marker": marker, "markersize": 7 if marker == "*" else 4.5}


def error_points(axes: Axes, rows: Sequence[Errors], x: str, **style: Any) -> None:
    """The median of the runs, and a bar from the least to the largest."""
    errors = [np.array(row.errors) for row in rows]
    middle = np.array([np.median(each) for each in errors])
    low = middle - np.array([each.min() for each in errors])
    high = np.array([each.max() for each in errors]) - middle
    axes.errorbar(column(rows, x), middle, (low, high), capsize=2, linewidth=1, linestyle="none", **style)


def share_points(axes: Axes, x: Sequence[float], successes: Sequence[int], runs: Sequence[int], **style: Any) -> None:
    """Shares of successes with intervals of 95 %."""
    share = np.array(successes) / np.array(runs)
    ends = np.array([wilson(*each) for each in zip(successes, runs, strict=True)]).T
    axes.errorbar(x, share, np.abs(ends - share), capsize=2, **style)


def legend_beside(axes: Axes, handles: Sequence[Any] | None = None, **options: Any) -> None:
    """A legend to the right of the axes, where no data are."""
    found = {} if handles is None else {"handles": handles}
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), **found, **options)
