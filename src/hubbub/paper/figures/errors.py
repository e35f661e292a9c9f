"""Figures 1 and 4: the largest error of any count, against the people and against the universe."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator, NullLocator

from hubbub.paper.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    SKY,
    column,
    error_points,
    legend_beside,
    named,
    style_of,
)
from hubbub.paper.largest_error import Errors, Regret, Setting, UniverseSetting
from hubbub.paper.study import NAIVE, TREE, Measured, of_type, select


def error_against_people(measured: Measured[Setting, Errors]) -> Figure:
    """A panel for each mechanism and calibration: the largest error of any count, between its bounds."""
    setting, rows = measured.setting, measured.rows
    panels = [
        *((place, *panel) for place, panel in zip(np.ndindex(3, 3), setting.panels, strict=True)),
        ((1, 3), NAIVE.label, ""),
        ((2, 3), TREE.label, ""),
    ]
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    grid = figure.subplots(3, 4, sharex=True, sharey=True)
    for place, label, calibration in panels:
        axes = grid[place]
        mine = select(rows, label=label, calibration=calibration)
        people = column(mine, "people")
        lower, upper = setting.lower_bound * np.sqrt(people), column(mine, "bound")
        axes.fill_between(people, lower, upper, color=SKY, alpha=0.18, linewidth=0)
        axes.plot(people, lower, color=BLACK, linewidth=1.2)
        axes.plot(people, upper, color=BLUE, linewidth=1.2, linestyle="--")
        axes.plot(people, people, color=GREY, linewidth=1, linestyle=":")
        error_points(axes, mine, "people", color=RED, marker="o")
        axes.set_title(named(label, calibration))
        axes.set(xscale="log", yscale="log", ylim=(8, 2e10), xticks=[1e3, 1e5, 1e7, 1e9])
        axes.xaxis.set_minor_locator(NullLocator())
    for axes in grid[2]:
        axes.set_xlabel("people n")
    for axes in grid[:, 0]:
        axes.set_ylabel("largest error of a count (people)")
    handles = [
        Line2D([], [], color=RED, marker="o", linestyle="none", label="measured: median,\nleast and largest run"),
        Line2D([], [], color=BLUE, linestyle="--", label="upper bound of the\nmechanism (see the text)"),
        Line2D([], [], color=BLACK, label=f"lower bound for any local\nmechanism, {setting.lower_bound:.3f} √n"),
        Line2D([], [], color=GREY, linestyle=":", label="n: the error says nothing"),
    ]
    grid[0, 3].axis("off")
    grid[0, 3].legend(handles=handles, loc="center", borderaxespad=0)
    figure.suptitle(f"Error against people: ε = {setting.epsilon:g}, 2^{setting.bits} values, crowd: {setting.crowd}")
    return figure


def error_against_universe(measured: Measured[UniverseSetting, Errors | Regret]) -> Figure:
    """Errors over √n of all local mechanisms on the left, and of the centralised one on the right."""
    setting, rows = measured.setting, measured.rows
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    root = math.sqrt(setting.people)
    errors, central = of_type(rows, Errors), of_type(rows, Regret)
    series = dict.fromkeys((row.label, row.calibration) for row in errors)
    for label, calibration in series:
        mine = select(errors, label=label, calibration=calibration)
        style = style_of(label)
        fill = "none" if calibration == "paper" else style["color"]
        name = named(label, calibration)
        line = "--" if calibration == "paper" else "-"
        left.plot(
            column(mine, "bits"),
            [np.median(row.errors) / root for row in mine],
            linestyle=line,
            markerfacecolor=fill,
            label=name,
            **style,
        )
        if label in ("JL-HH", "naive baseline"):
            left.plot(
                column(mine, "bits"), column(mine, "bound") / root, color=style["color"], linewidth=1, linestyle=":"
            )
    left.axhline(setting.lower_bound, color=BLACK, linewidth=1.2)
    left.annotate(
        "lower bound",
        (0.99, setting.lower_bound),
        (0, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
    )
    left.set(yscale="log", xlabel="bits of a value, log₂ N", ylabel="largest error of a count / √n")
    left.set_title(f"Local: error grows with √log N (n = {setting.people:,})")
    handles, _ = left.get_legend_handles_labels()
    handles.append(Line2D([], [], color=GREY, linestyle=":", linewidth=1, label="theorem's bound (same colour)"))
    legend_beside(left, handles, fontsize=8)
    one_bit = select(errors, label="JL-HH", calibration="onebit")
    middle = [np.median(row.errors) for row in one_bit]
    right.plot(column(one_bit, "bits"), middle, label="local: JL-HH, one bit, any count", **style_of("JL-HH"))
    right.axhline(setting.lower_bound * root, color=BLACK, linewidth=1.2, label="local: lower bound")
    bits = column(central, "bits")
    right.plot(bits, column(central, "bound"), color=GREEN, linestyle=":", label="central: bound (2/ε)·ln(N/β)")
    label = f"central: exponential mechanism,\nworst crowd, {1 - setting.beta:.0%} quantile"
    right.plot(bits, column(central, "regret"), color=GREEN, marker="X", label=label)
    right.set(yscale="log", xlabel="bits of a value, log₂ N", ylabel="error (people)", ylim=(1, None))
    right.set_title("What trust buys")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MultipleLocator(4))
    right.legend(loc="center", bbox_to_anchor=(0.5, 0.52), fontsize=8)
    return figure
