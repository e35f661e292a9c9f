"""An answer as HTML, for notebooks: a table with a bar for each interval. No script, and nothing is loaded."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from hubbub.analysis.tables import MOST_ROWS, sentences, short
from hubbub.analysis.wording import finite, interval, number, people_of, plural, possible, share_of, sure
from hubbub.model.estimates import Hitter

if TYPE_CHECKING:
    from hubbub.analysis.answer import Answer

_WIDTH, _HEIGHT = 180, 14


def as_html(answer: Answer) -> str:
    """A table with a caption. Values are escaped, so that they stay text and cannot affect the cells around them."""
    rows = answer.hitters[:MOST_ROWS]
    limit = finite(answer.detection_limit)
    most = max([1.0, *(max(row.high, possible(row)) for row in rows), *([limit] if limit is not None and rows else [])])
    said = sentences(answer)
    if len(answer.hitters) > MOST_ROWS:
        said.insert(0, f"The first {MOST_ROWS} of {plural(len(answer.hitters), 'row')}.")
    headings = ("value", "people", "share", "between", "", "sure", "fakes")
    head = "".join(
        f'<th style="text-align:{"left" if k == 0 else "right"}">{each}</th>' for k, each in enumerate(headings)
    )
    body = "".join(_row(row, most, limit) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = "<br>".join(html.escape(each) for each in said)
    return f"<div><div>{plural(answer.reports, 'report')}</div>{table}<div>{below}</div></div>"


def _row(hitter: Hitter, most: float, limit: float | None) -> str:
    """A line of the table."""
    numbers = (people_of(hitter), share_of(hitter), interval(hitter))
    last = (sure(hitter), f"{hitter.fake_reports:,}")
    left = f'<td style="text-align:left"><bdi>{html.escape(short(hitter.value))}</bdi></td>'
    first, rest = (
        "".join(f'<td style="text-align:right">{html.escape(x)}</td>' for x in each) for each in (numbers, last)
    )
    return f'<tr>{left}{first}<td style="padding:0 0.8em">{_bar(hitter, most, limit)}</td>{rest}</tr>'


def _bar(hitter: Hitter, most: float, limit: float | None) -> str:
    """An SVG: the interval as a bar, the count as a stroke at the end of a thin bar, and the limit as a line."""

    def at(count: float) -> float:
        """The place of a count, in pixels from the left."""
        return round(min(max(count / most, 0.0), 1.0) * (_WIDTH - 2) + 1, 1)

    low, count, high = at(hitter.low), at(possible(hitter)), at(hitter.high)
    color = "#3b6fb6" if hitter.stands_out else "#9aa5b1"
    line = ""
    if limit is not None:
        line = (
            f'<line x1="{at(limit)}" x2="{at(limit)}" y1="0" y2="{_HEIGHT}" stroke="currentColor" '
            'stroke-opacity="0.5" stroke-dasharray="2 2"/>'
        )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="from {number(hitter.low)} to '
        f'{number(hitter.high)}"><rect x="1" y="6" width="{max(count - 1, 0.0):.1f}" height="2" fill="{color}" '
        f'fill-opacity="0.25"/><rect x="{low}" y="4" width="{round(max(high - low, 1.0), 1)}" height="{_HEIGHT - 8}" '
        f'fill="{color}" fill-opacity="0.45"/><rect x="{count - 1:.1f}" y="1" width="2" height="{_HEIGHT - 2}" '
        f'fill="{color}"/>{line}</svg>'
    )
