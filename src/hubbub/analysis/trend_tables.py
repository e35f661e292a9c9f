"""A trend as a table: lines for a terminal, HTML with a small chart in each row, CSV, and frames of other libraries."""

from __future__ import annotations

import csv
import html
import io
from typing import TYPE_CHECKING, Any, Final

from hubbub.analysis.sentences import about_first
from hubbub.analysis.tables import (
    MOST_ROWS,
    aligned,
    arrow_table,
    harmless,
    pandas_frame,
    polars_frame,
    type_of_values,
    warn_of_left_out,
)
from hubbub.analysis.trend_words import heading, period_words, told
from hubbub.analysis.wording import number, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas
    import polars
    import pyarrow

    from hubbub.analysis.trend import Point, Series, Trend

MOST_PERIODS: Final = 4
"""The most periods, the last ones, in a table for people; JSON and CSV have all."""

COLUMNS: Final = {
    "value": "string",
    "period": "string",
    "reports": "int64",
    "whole": "bool",
    "count": "float64",
    "share": "float64",
    "stderr": "float64",
    "low": "float64",
    "high": "float64",
    "change": "string",
    "since": "string",
}
"""The columns of CSV and frames, and their types. The change of a value stands in all of its rows."""

_WIDTH, _HEIGHT, _EDGE = 160, 36, 2  # of a small chart, in pixels


def table(trend: Trend) -> tuple[list[str], list[list[str]]]:
    """The headings and cells of a table for people: the count and interval of the last periods, and what changed."""
    shown = slice(-MOST_PERIODS, None)
    headings = ["value", *(period_words(trend, each) for each in trend.periods[shown]), "change"]
    return headings, [
        [short(each.value), *map(cell, each.points[shown]), change(each)] for each in trend.series[:MOST_ROWS]
    ]


def cell(point: Point) -> str:
    """A count with its interval."""
    return f"{number(min(max(point.count, point.low), point.high))} ({number(point.low)} – {number(point.high)})"


def change(series: Series) -> str:
    """What is said of a value, in a word or three."""
    return f"highest since {series.since}" if series.change == "highest" else series.change


def notes(trend: Trend) -> list[str]:
    """The sentences below a table."""
    left_out = len(trend.periods) - MOST_PERIODS
    some = f"The last {MOST_PERIODS} of {len(trend.periods)} periods; JSON and CSV have all." if left_out > 0 else ""
    return list(filter(None, [about_first(MOST_ROWS, len(trend.series)), some, *told(trend)]))


def as_text(trend: Trend) -> str:
    """Lines for a terminal."""
    headings, rows = table(trend)
    return "\n".join([heading(trend), *aligned([headings, *rows] if rows else []), *notes(trend)])


def as_html(trend: Trend) -> str:
    """A table with a small chart in each row, and sentences. Values are escaped."""
    headings, rows = table(trend)
    head = "".join(f"<th>{html.escape(each)}</th>" for each in [*headings, ""])
    body = "".join(
        f"<tr><td><bdi>{html.escape(first)}</bdi></td>{''.join(f'<td>{html.escape(each)}</td>' for each in rest)}"
        f"<td>{sparkline(trend, series)}</td></tr>"
        for (first, *rest), series in zip(rows, trend.series, strict=False)
    )
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = "<br>".join(map(html.escape, notes(trend)))
    return f"<div><div>{html.escape(heading(trend))}</div>{grid}<div>{below}</div></div>"


def sparkline(trend: Trend, series: Series, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    """An SVG of the share in each period, with its interval as a band. It has no style and no text of strangers.

    A period that goes on ends in a hollow point.
    """
    sizes = [max(each.reports, 1) for each in trend.periods]
    lows, highs, shares = (
        [getattr(point, name) / size for point, size in zip(series.points, sizes, strict=True)]
        for name in ("low", "high", "count")
    )
    top = max(*highs, 1e-9)
    across = [_EDGE + (width - 2 * _EDGE) * (k + 0.5) / len(sizes) for k in range(len(sizes))]

    def path(numbers: Sequence[float], places: Sequence[float]) -> str:
        """The places of some shares, in pixels."""
        down = [height - _EDGE - (height - 2 * _EDGE) * min(max(each / top, 0.0), 1.0) for each in numbers]
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, down, strict=True))

    x, y = path(shares, across).split(" ")[-1].split(",")
    fill = "currentColor" if trend.periods[-1].whole else "none"
    label = f"{len(sizes)} periods, the last from {number(100 * lows[-1])} to {number(100 * highs[-1])} %"
    return (
        f'<svg class="spark" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{label}"><polygon points="{path(highs, across)} {path(lows[::-1], across[::-1])}" '
        'fill="currentColor" fill-opacity="0.2"/>'
        f'<polyline points="{path(shares, across)}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
        f'<circle cx="{x}" cy="{y}" r="2.5" fill="{fill}" stroke="currentColor"/></svg>'
    )


def rows_of(trend: Trend) -> list[dict[str, Any]]:
    """A row for each value and period, with the columns of `COLUMNS`."""
    return [
        {
            "value": series.value,
            "period": period.start.isoformat(),
            "reports": period.reports,
            "whole": period.whole,
            **{name: getattr(point, name) for name in ("count", "share", "stderr", "low", "high")},
            "change": series.change,
            "since": "" if series.since is None else series.since.isoformat(),
        }
        for series in trend.series
        for period, point in zip(trend.periods, series.points, strict=True)
    ]


def as_csv(trend: Trend) -> str:
    """A heading, and a row for each value and period; lines end with CR LF."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in row.items()} for row in rows_of(trend))
    return text.getvalue()


def to_pandas(trend: Trend) -> pandas.DataFrame:
    """The rows as a pandas DataFrame."""
    return pandas_frame(*_columns(trend))


def to_polars(trend: Trend) -> polars.DataFrame:
    """The rows as a polars DataFrame."""
    return polars_frame(*_columns(trend))


def to_arrow(trend: Trend) -> pyarrow.Table:
    """The rows as an Arrow table."""
    return arrow_table(*_columns(trend))


def _columns(trend: Trend) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The rows as columns, and the type of each."""
    warn_of_left_out(trend.answer, stacklevel=5)
    rows = rows_of(trend)
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    columns["value"], kind = type_of_values(columns["value"])
    return columns, {**COLUMNS, "value": kind}
