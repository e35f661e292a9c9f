"""Figures of plans and comparisons. They do not use pyplot, so no global state changes and no display is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from hubbub.analysis.plots import check_plot_file
from hubbub.errors import InputError

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
    "svg.hashsalt": "hubbub",  # the same numbers give the same file
}


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
        for number, (epsilon, points) in enumerate(curves.items()):
            axes.plot(
                [share for share, _ in points],
                [chance for _, chance in points],
                color=_COLOURS[number % len(_COLOURS)],
                linestyle=_LINES[number % len(_LINES)],
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
        for number, (name, points) in enumerate(curves.items()):
            axes.plot(
                [epsilon for epsilon, _ in points],
                [value for _, value in points],
                color=_COLOURS[number % len(_COLOURS)],
                marker=_MARKERS[number % len(_MARKERS)],
                label=name,
            )
        axes.set(xscale="log", ylim=(-0.02, 1.02), xlabel="ε", ylabel=ylabel)
        ticks = sorted({epsilon for points in curves.values() for epsilon, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()

    _save(path, title, draw)


def _as_percent(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda chance, _: f"{100 * chance:.0f} %")


def _save(path: str, title: str, draw: Callable[[Axes], None]) -> None:
    check_plot_file(path)
    kind = Path(path).suffix.lower()[1:]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        axes.set_title(title, loc="left", fontsize="medium")
        figure.legend(loc="outside right upper")
        try:
            figure.savefig(path, dpi=130, metadata={"Software": None} if kind == "png" else {})
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(f"cannot write the figure {path!r}: {reason}") from None
