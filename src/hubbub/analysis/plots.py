"""Figures of answers, plans and comparisons, with matplotlib."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from hubbub.analysis.sentences import COUNTS, about_first, told
from hubbub.analysis.wording import finite, number, plural, possible, short
from hubbub.errors import ParameterError
from hubbub.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hubbub.analysis.answer import Answer

FORMATS: Final = ("png", "svg", "pdf")

_MOST_BARS: Final = 30
_TITLE: Final = 90  # characters of a line
STANDS: Final = "#7f9fd0"
"""The colour of what stands out."""

_NOISE: Final = "#c3c9d0"  # of what does not stand out
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito
_LINES: Final = ("-", "--", "-.", ":")
_MARKERS: Final = "osD^vP*"
_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "legend.frameon": False,
}


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
    usual = {"color": [STANDS if row.stands_out else _NOISE for row in rows], "ecolor": "#22385a", "capsize": 3}
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
    said = [plural(answer.reports, "report"), about_first(drawn, len(answer.hitters)), *told(answer, COUNTS)]
    return "\n".join(textwrap.fill(each, _TITLE) for each in said if each)


def save_plot(answer: Answer, path: str) -> None:
    """Write the figure of an answer to a file, in the format that its name says."""
    check_plot_file(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(answer), layout="constrained")
    plot(answer, figure.add_subplot())
    write_figure(figure, path)


def draw_chances(
    path: str, title: str, curves: Mapping[float, Sequence[tuple[float, float]]], wanted: float, chosen: float | None
) -> None:
    """Draw the chance to be found against the share, with a line for each ε and a horizontal line at `wanted`.

    Parameters
    ----------
    path : str
        The file to write; its name must end in .png, .svg or .pdf.
    title : str
        The title of the figure.
    curves : mapping
        For each ε, pairs of a share and a chance.
    wanted : float
        The chance that was asked for.
    chosen : float, optional
        The ε of the plan, whose line is thicker.
    """

    def draw(axes: Axes) -> None:
        for place, (epsilon, points) in enumerate(curves.items()):
            axes.plot(
                [share for share, _ in points],
                [chance for _, chance in points],
                color=_COLOURS[place % len(_COLOURS)],
                linestyle=_LINES[place % len(_LINES)],
                linewidth=2.4 if epsilon == chosen else 1.4,
                label=f"ε = {epsilon:g}",
            )
        axes.axhline(wanted, color="#666666", linewidth=0.8)
        axes.text(
            1.0,
            wanted - 0.01,
            f"{100 * wanted:g} %",
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="top",
            color="#666666",
        )
        axes.set(
            xscale="log", ylim=(0, 1.02), xlabel="share of the people who hold the value", ylabel="chance to be seen"
        )
        _as_percent(axes)

    _save(path, title, draw)


def draw_against_epsilon(
    path: str, title: str, ylabel: str, curves: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Draw a line for each name; its points are pairs of an ε and a number from 0 to 1."""

    def draw(axes: Axes) -> None:
        for place, (name, points) in enumerate(curves.items()):
            axes.plot(
                [epsilon for epsilon, _ in points],
                [value for _, value in points],
                color=_COLOURS[place % len(_COLOURS)],
                marker=_MARKERS[place % len(_MARKERS)],
                label=name,
            )
        axes.set(xscale="log", ylim=(-0.02, 1.02), xlabel="ε", ylabel=ylabel)
        ticks = sorted({epsilon for points in curves.values() for epsilon, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()

    _save(path, title, draw)


def _as_percent(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda chance, _: f"{100 * chance:.0f} %")


def _save(path: str, title: str, draw: Callable[[Axes], None]) -> None:
    """Write a figure of lines with a legend."""
    check_plot_file(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.set_title(title, loc="left", fontsize="medium")
        figure.legend(loc="outside right upper")
        write_figure(figure, path)


def write_figure(figure: Figure, path: str) -> None:
    """Write a figure, without dates and random ids: the same numbers give the same file.

    It does not go through pyplot, whose open figures are left alone. A letter that the font lacks is drawn as a box,
    which needs no warning.
    """
    from matplotlib import rc_context

    kind = PurePath(path).suffix.lower().lstrip(".")
    dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with rc_context({"svg.hashsalt": "hubbub"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        try:
            figure.savefig(path, dpi=150, format=kind, metadata=dates)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise ParameterError(f"cannot write {path!r}: {reason}") from None
