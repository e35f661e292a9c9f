"""The figures of `hubbub paper`, drawn from their numbers alone. The only home of matplotlib.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart; no series is told by its colour
alone. Figures are made without pyplot, so nothing global changes and no display is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator, NullLocator

Numbers = dict[str, Any]
Rows = list[dict[str, Any]]

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

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "hubbub",  # the same numbers give the same file
    "svg.fonttype": "path",
    "figure.dpi": 100,
}

_MECHANISM_STYLE: Final[dict[Any, Any]] = {
    "JL-HH": (BLUE, "o"),
    "Bucket": (RED, "s"),
    "Bucket, vote": (ORANGE, "D"),
    "GLPS-HH": (GREEN, "^"),
    "GLPS-HH, lean, s = 1": (GREEN, "^"),
    "GLPS-HH, staged, s = 4": (PURPLE, "v"),
    "naive baseline": (GREY, "P"),
    "tree (hubbub's default)": (BLACK, "*"),
}
_CALIBRATION: Final = {"paper": "paper's noise", "tight": "tight noise", "onebit": "one bit"}


def save_figure(numbers: Numbers, folder: Path) -> list[str]:
    """Draw a figure from its numbers into NAME.png and NAME.svg; the names of the files."""
    with mpl.rc_context(_STYLE):
        figure = _FIGURES[numbers["figure"]](numbers)
        names = [f"{numbers['figure']}.{kind}" for kind in ("png", "svg")]
        figure.savefig(folder / names[0], dpi=130, metadata={"Software": None})
        figure.savefig(folder / names[1], metadata={"Date": None})
    return names


def wilson(successes: int, runs: int) -> tuple[float, float]:
    """An interval of 95 % for a chance (Wilson's), which stays within 0 and 1 for few runs.

    >>> [round(end, 3) for end in wilson(10, 10)]
    [0.722, 1.0]
    """
    z = 1.959964
    share, weight = successes / runs, z * z / runs
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / runs + weight / (4 * runs)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def _select(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _column(rows: Iterable[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], float)


def _style_of(label: str) -> dict[str, Any]:
    colour, marker = _MECHANISM_STYLE[label]
    return {"color": colour, "marker": marker, "markersize": 7 if marker == "*" else 4.5}


def _error_points(axes: Axes, rows: Rows, x: str, scale: float = 1.0, **style: Any) -> None:
    """The median of the runs, and a bar from the least to the largest."""
    errors = [np.array(row["errors"]) / scale for row in rows]
    middle = np.array([np.median(each) for each in errors])
    low = middle - np.array([each.min() for each in errors])
    high = np.array([each.max() for each in errors]) - middle
    axes.errorbar(_column(rows, x), middle, (low, high), capsize=2, linewidth=1, linestyle="none", **style)


def _share_points(axes: Axes, x: np.ndarray, points: Rows, **style: Any) -> None:
    """Shares of successes with intervals of 95 %."""
    share = np.array([point["successes"] / point["runs"] for point in points])
    ends = np.array([wilson(point["successes"], point["runs"]) for point in points]).T
    axes.errorbar(x, share, np.abs(ends - share), capsize=2, **style)


def _beside(axes: Axes, handles: Sequence[Any] | None = None, **options: Any) -> None:
    """A legend to the right of the axes, where no data are."""
    found = {} if handles is None else {"handles": handles}
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), **found, **options)


# The figures.


def _error_against_people(numbers: Numbers) -> Figure:
    setting, rows = numbers["setting"], numbers["rows"]
    panels = [
        *((row, column, *panel) for (row, column), panel in zip(np.ndindex(3, 3), setting["panels"], strict=True)),
        (1, 3, "naive baseline", ""),
        (2, 3, "tree (hubbub's default)", ""),
    ]
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    grid = figure.subplots(3, 4, sharex=True, sharey=True)
    for row, column, label, calibration in panels:
        axes = grid[row, column]
        mine = _select(rows, label=label, calibration=calibration)
        people = _column(mine, "people")
        lower, upper = setting["lower_bound"] * np.sqrt(people), _column(mine, "bound")
        axes.fill_between(people, lower, upper, color=SKY, alpha=0.18, linewidth=0)
        axes.plot(people, lower, color=BLACK, linewidth=1.2)
        axes.plot(people, upper, color=BLUE, linewidth=1.2, linestyle="--")
        axes.plot(people, people, color=GREY, linewidth=1, linestyle=":")
        _error_points(axes, mine, "people", color=RED, marker="o")
        axes.set_title(f"{label}, {_CALIBRATION[calibration]}" if calibration else label)
        axes.set(xscale="log", yscale="log", ylim=(8, 2e10), xticks=[1e3, 1e5, 1e7, 1e9])
        axes.xaxis.set_minor_locator(NullLocator())
    for axes in grid[2]:
        axes.set_xlabel("people n")
    for axes in grid[:, 0]:
        axes.set_ylabel("largest error of a count (people)")
    handles = [
        Line2D([], [], color=RED, marker="o", linestyle="none", label="measured: median,\nleast and largest run"),
        Line2D([], [], color=BLUE, linestyle="--", label="upper bound of the\nmechanism (see the text)"),
        Line2D([], [], color=BLACK, label=f"lower bound for any local\nmechanism, {setting['lower_bound']:.3f} √n"),
        Line2D([], [], color=GREY, linestyle=":", label="n: the error says nothing"),
    ]
    grid[0, 3].axis("off")
    grid[0, 3].legend(handles=handles, loc="center", borderaxespad=0)
    figure.suptitle(
        f"Error against people: ε = {setting['epsilon']:g}, 2^{setting['bits']} values, crowd: {setting['crowd']}"
    )
    return figure


def _error_against_universe(numbers: Numbers) -> Figure:
    setting, rows = numbers["setting"], numbers["rows"]
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    root = math.sqrt(setting["people"])
    series = dict.fromkeys((row["label"], row["calibration"]) for row in rows if "label" in row)
    for label, calibration in series:
        mine = _select(rows, label=label, calibration=calibration)
        style = _style_of(label)
        fill = "none" if calibration == "paper" else style["color"]
        name = f"{label}, {_CALIBRATION[calibration]}" if calibration else label
        line = "--" if calibration == "paper" else "-"
        left.plot(
            _column(mine, "bits"),
            [np.median(row["errors"]) / root for row in mine],
            linestyle=line,
            markerfacecolor=fill,
            label=name,
            **style,
        )
        if label in ("JL-HH", "naive baseline"):
            left.plot(
                _column(mine, "bits"), _column(mine, "bound") / root, color=style["color"], linewidth=1, linestyle=":"
            )
    left.axhline(setting["lower_bound"], color=BLACK, linewidth=1.2)
    left.annotate(
        "lower bound",
        (0.99, setting["lower_bound"]),
        (0, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
    )
    left.set(yscale="log", xlabel="bits of a value, log₂ N", ylabel="largest error of a count / √n")
    left.set_title(f"Local: error grows with √log N (n = {setting['people']:,})")
    handles, _ = left.get_legend_handles_labels()
    handles.append(Line2D([], [], color=GREY, linestyle=":", linewidth=1, label="theorem's bound (same colour)"))
    _beside(left, handles, fontsize=8)
    one_bit = _select(rows, label="JL-HH", calibration="onebit")
    middle = [np.median(row["errors"]) for row in one_bit]
    right.plot(_column(one_bit, "bits"), middle, label="local: JL-HH, one bit, any count", **_style_of("JL-HH"))
    right.axhline(setting["lower_bound"] * root, color=BLACK, linewidth=1.2, label="local: lower bound")
    central = _select(rows, mechanism="exponential")
    bits = _column(central, "bits")
    right.plot(bits, _column(central, "bound"), color=GREEN, linestyle=":", label="central: bound (2/ε)·ln(N/β)")
    label = f"central: exponential mechanism,\nworst crowd, {1 - setting['beta']:.0%} quantile"
    right.plot(bits, _column(central, "regret"), color=GREEN, marker="X", label=label)
    right.set(yscale="log", xlabel="bits of a value, log₂ N", ylabel="error (people)", ylim=(1, None))
    right.set_title("What trust buys")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MultipleLocator(4))
    right.legend(loc="center", bbox_to_anchor=(0.5, 0.52), fontsize=8)
    return figure


def _smallest_crowd(numbers: Numbers) -> Figure:
    setting, rows = numbers["setting"], numbers["rows"]
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    grid = figure.subplots(1, 3, sharex=True, sharey=True)
    shares = sorted({row["share"] for row in rows})
    for axes, (calibration, title) in zip(grid, _CALIBRATION.items(), strict=True):
        for label in dict.fromkeys(row["label"] for row in rows):
            mine = [row for row in _select(rows, label=label, calibration=calibration) if row["people"]]
            axes.plot(
                _column(mine, "share"),
                _column(mine, "people"),
                linewidth=1.2,
                label=f"{label} (2^{mine[0]['bits']} values)" if mine else label,
                **_style_of(label),
            )
        axes.set(xscale="log", yscale="log", xlabel="share f who hold the value", title=title)
        axes.set_xticks(shares, [f"{share:.0%}" for share in shares])
        axes.xaxis.set_minor_locator(NullLocator())
        guide = np.array([min(shares), max(shares)])
        lowest = min(
            row["people"] * row["share"] ** 2 for row in _select(rows, calibration=calibration) if row["people"]
        )
        axes.plot(guide, 0.4 * lowest / guide**2, color=GREY, linestyle=":", linewidth=1.2, label="slope of 1/f²")
    grid[0].set_ylabel(f"smallest crowd n, found in {setting['wanted']:.0%} of runs")
    _beside(grid[2])
    figure.suptitle(
        f"Smallest crowd that shows a heavy hitter: ε = {setting['epsilon']:g}, δ = {setting['delta']:g} (one bit: 0)"
    )
    return figure


def _bucket_success(numbers: Numbers) -> Figure:
    setting, rows = numbers["setting"], numbers["rows"]
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    grid = figure.subplots(2, 2, sharey=True).ravel()
    exponents = [None, *sorted({row["zipf"] for row in rows if row["zipf"]})]
    for axes, exponent in zip(grid, exponents, strict=True):
        for decoder, label, style in (
            ("hard", "the paper's vote", {"color": ORANGE, "marker": "D", "markersize": 8, "markerfacecolor": "none"}),
            ("soft", "soft decoding of the same sums", {"color": RED, "marker": "s"}),
        ):
            mine = _select(rows, zipf=exponent, decoder=decoder)
            _share_points(axes, _column(mine, "people"), mine, linewidth=1.2, label=label, **style)
        axes.set(xscale="log", ylim=(-0.04, 1.08), xlabel="people n")
        if exponent is None:
            axes.set_title(
                f"The theorem's crowd: {setting['share']:.0%} hold one value, all others differ (2^{setting['bits']})"
            )
            for people, text, line, height in (
                (setting["theorem_people"], "Theorem 4.8 as printed", "--", 0.12),
                (setting["corrected_people"], "corrected", ":", 0.3),
            ):
                axes.axvline(people, color=BLACK, linestyle=line, linewidth=1.2)
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                place = {"textcoords": "offset points", "ha": "right", "va": "center", "bbox": box}
                axes.annotate(f"{text}: {people / 1e7:.1f}·10⁷", (people, height), (-4, 0), **place)
        else:
            axes.set_title(f"Zipf {exponent:g}: the condition holds for no n (2^{setting['zipf_bits']} values)")
    for axes in (grid[0], grid[2]):
        axes.set_ylabel("heavy hitter found (share of runs)")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle(
        f"The Bucket mechanism with the paper's noise: ε = {setting['epsilon']:g}, δ = {setting['delta']:g}. "
        "Bars: 95 % intervals"
    )
    return figure


def _separation(numbers: Numbers) -> Figure:
    setting, rows = numbers["setting"], numbers["rows"]
    figure = Figure(figsize=(12.5, 5.2), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    errors = _select(rows, kind="error")
    styles = {
        "best local": (BLACK, "o", "best local estimate"),
        "JL-HH onebit": (BLUE, "v", "JL-HH, one bit"),
        "Bucket onebit": (RED, "s", "Bucket, one bit"),
        "naive baseline": (GREY, "P", "naive baseline"),
        "JL-HH paper": (SKY, "^", "JL-HH, paper's noise"),
        "central": (GREEN, "X", "central (exponential, Laplace)"),
    }
    people = sorted({row["people"] for row in errors})
    for label, (colour, marker, name) in styles.items():
        mine = _select(errors, label=label)
        style: dict[str, Any] = {"color": colour, "marker": marker, "label": name, "linewidth": 1}
        if label in ("best local", "central"):  # in a choice between two, even a coin is not far from the bound
            first.plot(_column(mine, "people"), _column(mine, "regret"), **style)
        second.plot(_column(mine, "people"), _column(mine, "rmse"), **style)
    roots = np.sqrt(people)
    first.plot(people, setting["regret_bound"] * roots, color=BLACK, linestyle="--")
    first.plot(people, setting["guess_regret"] * roots, color=ORANGE, linestyle="-.", label="choice by a coin")
    first.axhline(setting["central_bound"], color=GREEN, linestyle=":", label="central upper bound")
    second.plot(people, setting["rmse_bound"] * roots, color=BLACK, linestyle="--", label="local lower bound, c√n")
    first.set(
        xscale="log",
        yscale="log",
        xlabel="people n",
        ylabel=f"people missed by the choice, {1 - setting['beta']:.0%} quantile",
    )
    first.set_title(f"Choosing the larger (c = {setting['regret_bound']:.2f})")
    second.set(xscale="log", yscale="log", xlabel="people n", ylabel="root mean square error of the count")
    second.set_title(f"Counting (c = {setting['rmse_bound']:.3f})")
    for curve, colour, marker in zip(setting["curves"], (BLUE, BLACK, PURPLE), ("o", "s", "^"), strict=True):
        third.plot(curve["c"], curve["chance"], color=colour, linewidth=1.2)
        played = _select(rows, kind="failure", epsilon=curve["epsilon"])[0]
        points = [{"successes": failures, "runs": played["runs"]} for failures in played["failures"]]
        style = {"color": colour, "marker": marker, "linestyle": "none", "label": f"ε = {curve['epsilon']:g}"}
        _share_points(third, np.array(played["c"]), points, **style)
    third.set(xlabel="c", ylabel="chance to miss by more than c·√n", ylim=(0, None))
    third.legend(title="lines: formula; points: best choice")
    third.set_title("The chance of failure: formula and play")
    handles = second.get_legend_handles_labels()[0] + first.get_legend_handles_labels()[0][2:]
    figure.legend(handles=handles, loc="outside lower left", ncols=5)
    figure.suptitle(
        f"Two values, fair bits: what any local mechanism must miss, and what trust buys (ε = {setting['epsilon']:g})"
    )
    return figure


_FIGURES: Final[dict[str, Callable[[Numbers], Figure]]] = {
    "separation": _separation,
    "error-against-people": _error_against_people,
    "error-against-universe": _error_against_universe,
    "smallest-crowd": _smallest_crowd,
    "bucket-success": _bucket_success,
}
