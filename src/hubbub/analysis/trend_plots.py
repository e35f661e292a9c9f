"""The figure of a trend: a small chart for each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hubbub.analysis.plots import STANDS, check_plot_file, write_figure
from hubbub.analysis.sentences import about_first
from hubbub.analysis.trend_tables import change
from hubbub.analysis.trend_words import heading
from hubbub.analysis.wording import short
from hubbub.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hubbub.analysis.trend import Series, Trend

_MOST: Final = 24  # charts
_ACROSS: Final = 3


def plot(trend: Trend) -> Figure:
    """Implements `Trend.plot`. At most the first 24 values are drawn."""
    require("A figure", "matplotlib", "plots")
    from matplotlib.figure import Figure

    shown = trend.series[:_MOST]
    down = max(1, -(-len(shown) // _ACROSS))
    figure = Figure(figsize=(3.2 * _ACROSS, 1.0 + 1.7 * down), layout="constrained")
    title = [heading(trend), about_first(len(shown), len(trend.series))]
    figure.suptitle("\n".join(filter(None, title)), fontsize="medium")
    charts = figure.subplots(down, _ACROSS, squeeze=False).flat
    for axes, series in zip(charts, [*shown, *[None] * (down * _ACROSS - len(shown))], strict=True):
        if series is None:
            axes.set_axis_off()
        else:
            _draw(axes, trend, series)
    return figure


def _draw(axes: Axes, trend: Trend, series: Series) -> None:
    """Draw the shares of one value in per cent, with their intervals as a band."""
    places = range(len(trend.periods))
    sizes = [max(each.reports, 1) / 100 for each in trend.periods]
    low, share, high = (
        [getattr(point, name) / size for point, size in zip(series.points, sizes, strict=True)]
        for name in ("low", "count", "high")
    )
    axes.fill_between(places, low, high, color=STANDS, alpha=0.4, linewidth=0)
    axes.plot(places, share, color="#22385a", marker="o", markersize=3, linewidth=1.2)
    said = f": {change(series)}" if series.change else ""
    axes.set_title(f"{short(series.value)}{said}".replace("$", r"\$"), loc="left", fontsize="small")
    ends = sorted({0, len(trend.periods) - 1})
    axes.set_xticks(ends, [trend.periods[place].start.isoformat() for place in ends], fontsize="x-small")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.tick_params(axis="y", labelsize="x-small")
    axes.spines[["top", "right"]].set_visible(False)


def save_plot(trend: Trend, path: str) -> None:
    """Write the figure of a trend to a file, in the format that its name says."""
    check_plot_file(path)
    write_figure(plot(trend), path)
