"""Figures 2, 3 and 6: the smallest crowd that shows a heavy hitter, where Bucket finds it, and what is proved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from hubbub.paper import bucket_success as bucket
from hubbub.paper import proved_search as proved
from hubbub.paper import smallest_crowd as smallest
from hubbub.paper.figures.drawing import (
    BLACK,
    BLUE,
    CALIBRATION,
    GREY,
    ORANGE,
    RED,
    column,
    legend_beside,
    share_points,
    style_of,
)
from hubbub.paper.study import TREE, Measured, select


def smallest_crowd(measured: Measured[smallest.Setting, smallest.Crowd]) -> Figure:
    """A panel for each calibration: the smallest crowd against the share of people who hold the value."""
    setting, rows = measured.setting, measured.rows
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    grid = figure.subplots(1, 3, sharex=True, sharey=True)
    shares = sorted({row.share for row in rows})
    for axes, (calibration, title) in zip(grid, CALIBRATION.items(), strict=True):
        shown = (calibration, "") if calibration == "onebit" else (calibration,)  # tree has no choice, and is pure
        for label in dict.fromkeys(row.label for row in rows if row.calibration in shown):
            mine = [row for row in select(rows, label=label) if row.people and row.calibration in shown]
            axes.plot(
                column(mine, "share"),
                column(mine, "people"),
                linewidth=1.2,
                label=f"{label} (2^{mine[0].bits} values)" if mine else label,
                **style_of(label),
            )
        axes.set(xscale="log", yscale="log", xlabel="share f who hold the value", title=title)
        axes.set_xticks(shares, [f"{share:.0%}" for share in shares])
        axes.xaxis.set_minor_locator(NullLocator())
        guide = np.array([min(shares), max(shares)])
        lowest = min(row.people * row.share**2 for row in select(rows, calibration=calibration) if row.people)
        axes.plot(guide, 0.4 * lowest / guide**2, color=GREY, linestyle=":", linewidth=1.2, label="slope of 1/f²")
    grid[0].set_ylabel(f"smallest crowd n, found in {setting.wanted:.0%} of runs")
    legend_beside(grid[2])
    figure.suptitle(
        f"Smallest crowd that shows a heavy hitter: ε = {setting.epsilon:g}, δ = {setting.delta:g} (one bit: 0)"
    )
    return figure


def bucket_success(measured: Measured[bucket.Setting, bucket.Successes]) -> Figure:
    """A panel for each crowd: in what share of runs the two decoders find the heavy hitter."""
    setting, rows = measured.setting, measured.rows
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    grid = figure.subplots(2, 2, sharey=True).ravel()
    exponents = [None, *sorted({row.zipf for row in rows if row.zipf})]
    for axes, exponent in zip(grid, exponents, strict=True):
        for decoder, label, style in (
            ("hard", "the paper's vote", {"color": ORANGE, "marker": "D", "markersize": 8, "markerfacecolor": "none"}),
            ("soft", "soft decoding of the same sums", {"color": RED, "marker": "s"}),
        ):
            mine = select(rows, zipf=exponent, decoder=decoder)
            share_points(axes, *_points(mine), linewidth=1.2, label=label, **style)
        axes.set(xscale="log", ylim=(-0.04, 1.08), xlabel="people n")
        if exponent is None:
            axes.set_title(
                f"The theorem's crowd: {setting.share:.0%} hold one value, all others differ (2^{setting.bits})"
            )
            for people, text, line, height in (
                (setting.theorem_people, "Theorem 4.8 as printed", "--", 0.12),
                (setting.corrected_people, "corrected", ":", 0.3),
            ):
                axes.axvline(people, color=BLACK, linestyle=line, linewidth=1.2)
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                place = {"textcoords": "offset points", "ha": "right", "va": "center", "bbox": box}
                axes.annotate(f"{text}: {people / 1e7:.1f}·10⁷", (people, height), (-4, 0), **place)
        else:
            axes.set_title(f"Zipf {exponent:g}: the condition holds for no n (2^{setting.zipf_bits} values)")
    for axes in (grid[0], grid[2]):
        axes.set_ylabel("heavy hitter found (share of runs)")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle(
        f"The Bucket mechanism with the paper's noise: ε = {setting.epsilon:g}, δ = {setting.delta:g}. "
        "Bars: 95 % intervals"
    )
    return figure


def _points(rows: Sequence[bucket.Successes]) -> tuple[list[int], list[int], list[int]]:
    """People, successes and runs of each row."""
    return [row.people for row in rows], [row.successes for row in rows], [row.runs for row in rows]


def proved_search(measured: Measured[proved.Setting, proved.Limits]) -> Figure:
    """What is proved of the search without buckets, and what tree states, over √n."""
    setting, rows = measured.setting, measured.rows
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axes = figure.subplots()
    people = column(rows, "people")
    for name, label, style in (
        ("alpha", "proved of the search\nwithout hashed buckets", {"color": BLUE, "marker": "o"}),
        ("stated", f"{TREE.label}:\nits prediction, not proved", style_of(TREE.label)),
        ("exhaustive", "scoring all values (normal law)", {"color": GREY, "linestyle": "--"}),
        ("converse", "no mechanism of one round\ncan promise less", {"color": BLACK}),
    ):
        axes.plot(people, column(rows, name) / np.sqrt(people), linewidth=1.2, label=label, **style)
    axes.set(xscale="log", ylim=(0, None), xlabel="people n", ylabel="people / √n")
    legend_beside(axes)
    figure.suptitle(
        f"What is proved of the search: ε = {setting.epsilon:g}, 2^{setting.bits} values, β = {setting.beta:g}"
    )
    return figure
