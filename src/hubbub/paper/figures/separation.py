"""Figure 5: the lower bound, the mechanisms that attain it, and what trusting a server would gain."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hubbub.paper.figures.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, column, share_points
from hubbub.paper.separation import Failures, Misses, Setting
from hubbub.paper.study import Measured, of_type, select


def separation(measured: Measured[Setting, Misses | Failures]) -> Figure:
    """Two values and fair bits: regrets, errors, and the chance of failure."""
    setting, rows = measured.setting, measured.rows
    figure = Figure(figsize=(12.5, 5.2), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    errors, failures = of_type(rows, Misses), of_type(rows, Failures)
    styles = {
        "best local": (BLACK, "o", "best local estimate"),
        "JL-HH onebit": (BLUE, "v", "JL-HH, one bit"),
        "Bucket onebit": (RED, "s", "Bucket, one bit"),
        "subset (short lists)": (ORANGE, "D", "subset"),
        "subset (short lists) posterior mean": (ORANGE, "x", "subset, posterior mean"),
        "tree (hubbub's default)": (PURPLE, "*", "tree"),
        "naive baseline": (GREY, "P", "naive baseline"),
        "JL-HH paper": (SKY, "^", "JL-HH, paper's noise"),
        "central": (GREEN, "X", "central (exponential, Laplace)"),
    }
    people = sorted({row.people for row in errors})
    for label, (colour, marker, name) in styles.items():
        mine = select(errors, label=label)
        style: dict[str, Any] = {"color": colour, "marker": marker, "label": name, "linewidth": 1}
        if label in ("best local", "central"):  # for a choice between two values, even a coin is close to the bound
            first.plot(column(mine, "people"), column(mine, "regret"), **style)
        second.plot(column(mine, "people"), column(mine, "rmse"), **style)
    roots = np.sqrt(people)
    first.plot(people, setting.regret_bound * roots, color=BLACK, linestyle="--")
    first.plot(people, setting.guess_regret * roots, color=ORANGE, linestyle="-.", label="choice by a coin")
    first.axhline(setting.central_bound, color=GREEN, linestyle=":", label="central upper bound")
    second.plot(people, setting.rmse_bound * roots, color=BLACK, linestyle="--", label="local lower bound, c√n")
    first.set(
        xscale="log",
        yscale="log",
        xlabel="people n",
        ylabel=f"people missed by the choice, {1 - setting.beta:.0%} quantile",
    )
    first.set_title(f"Choosing the larger (c = {setting.regret_bound:.2f})")
    second.set(xscale="log", yscale="log", xlabel="people n", ylabel="root mean square error of the count")
    second.set_title(f"Counting (c = {setting.rmse_bound:.3f})")
    for curve, colour, marker in zip(setting.curves, (BLUE, BLACK, PURPLE), ("o", "s", "^"), strict=True):
        third.plot(curve.c, curve.chance, color=colour, linewidth=1.2)
        played = select(failures, epsilon=curve.epsilon)[0]
        runs = [played.runs] * len(played.c)
        style = {"color": colour, "marker": marker, "linestyle": "none", "label": f"ε = {curve.epsilon:g}"}
        share_points(third, played.c, played.failures, runs, **style)
    third.set(xlabel="c", ylabel="chance to miss by more than c·√n", ylim=(0, None))
    third.legend(title="lines: formula; points: best choice")
    third.set_title("The chance of failure: formula and play")
    handles = second.get_legend_handles_labels()[0] + first.get_legend_handles_labels()[0][2:]
    figure.legend(handles=handles, loc="outside lower left", ncols=5)
    figure.suptitle(
        f"Two values, fair bits: what any local mechanism must miss, and what trust buys (ε = {setting.epsilon:g})"
    )
    return figure
