"""Figures of answers, with matplotlib."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from hubbub.analysis.sentences import COUNTS, told
from hubbub.analysis.wording import finite, number, plural, possible, short
from hubbub.errors import ParameterError
from hubbub.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hubbub.analysis.answer import Answer

FORMATS: Final = ("png", "svg", "pdf")

_MOST_BARS: Final = 30
_TITLE: Final = 90  # characters of a line
_STANDS: Final = "#7f9fd0"
_NOISE: Final = "#c3c9d0"  # of what does not stand out


def check_plot_file(path: str) -> None:
    """Check before any work: the name must end in .png, .svg or .pdf, and matplotlib must be installed."""
    if PurePath(path).suffix.lower().lstrip(".") not in FORMATS:
        raise ParameterError(f"the name of a figure must end in .png, .svg or .pdf, got {path!r}")
    require("A figure", "matplotlib", "plots")


def plot(answer: Answer, ax: Axes | None = None, **style: Any) -> Axes:
    """Implements `Answer.plot`. At most the first 30 values are drawn."""
    require("A figure", "matplotlib", "plots")
    rows = answer.hitters[:_MOST_BARS]
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=_size(answer), layout="constrained")
    places = range(len(rows))
    counts = [possible(row) for row in rows]
    # Post-processing may have moved a count out of its interval.
    below = [max(count - row.low, 0.0) for row, count in zip(rows, counts, strict=True)]
    above = [max(row.high - count, 0.0) for row, count in zip(rows, counts, strict=True)]
    usual = {"color": [_STANDS if row.stands_out else _NOISE for row in rows], "ecolor": "#22385a", "capsize": 3}
    ax.barh(places, counts, xerr=[below, above], **{**usual, "height": 0.7, "zorder": 2, **style})
    # An unescaped $ would start math mode.
    ax.set_yticks(places, [short(row.value).replace("$", r"\$") for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("people")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.grid(axis="x", color="#dddddd", zorder=0)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.axvline(0, color="#22385a", linewidth=0.8)
    ax.set_title(_title(answer, len(rows)), loc="left", fontsize="medium")
    if (limit := finite(answer.detection_limit)) is not None:
        ax.axvline(limit, color="#b03a2e", linestyle="--", linewidth=1.2, zorder=3)
        # Not in a legend, which would cover the bars.
        ax.set_xlabel(f"people (dashed line: detection limit, {number(limit)})")
    if not rows:
        ax.set_xlim(0, max(answer.reports, 1))
        ax.text(0.5, 0.5, "nothing stands out", transform=ax.transAxes, ha="center", va="center")
    return ax


def _size(answer: Answer) -> tuple[float, float]:
    """The size of a figure with room for the bars, in inches."""
    return 7.0, 1.6 + 0.28 * min(max(len(answer.hitters), 3), _MOST_BARS)


def _title(answer: Answer, drawn: int) -> str:
    """The title: the number of reports, and what a reader must know about the counts."""
    said = plural(answer.reports, "report")
    if drawn < len(answer.hitters):
        said += f", the first {drawn} of {plural(len(answer.hitters), 'row')}"
    return "\n".join([said, *(textwrap.fill(each, _TITLE) for each in told(answer, COUNTS))])


def save_plot(answer: Answer, path: str) -> None:
    """Write the figure of an answer to a file, in the format that its name says."""
    check_plot_file(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Not through pyplot, whose open figures are left alone. Without dates and random ids, the same answer gives the
    # same file. A letter that the font lacks is drawn as a box, which needs no warning.
    kind = PurePath(path).suffix.lower().lstrip(".")
    dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure = Figure(figsize=_size(answer), layout="constrained")
    plot(answer, figure.add_subplot())
    with rc_context({"svg.hashsalt": "hubbub"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(path, dpi=150, format=kind, metadata=dates)
