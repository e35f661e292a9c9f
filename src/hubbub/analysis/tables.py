"""An answer as a table: lines for a terminal, HTML for a notebook, CSV, and frames of pandas, polars and Arrow.

CSV and frames have rows and nothing else: what they leave out is said in a warning.
"""

from __future__ import annotations

import csv
import html
import io
import unicodedata
import warnings
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final

from hubbub.analysis.sentences import LEFT_OUT, about_first, told
from hubbub.analysis.wording import cells, finite, number, plural, possible, short, stands
from hubbub.extras import require
from hubbub.model.estimates import Hitter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas
    import polars
    import pyarrow

    from hubbub.analysis.answer import Answer

MOST_ROWS: Final = 50
"""The most rows in a table for people; JSON and CSV have all rows."""

COLUMNS: Final = tuple(field.name for field in fields(Hitter))

_HEADINGS: Final = ("value", "people", "share", "between", "sure", "fakes")
_FORMULA: Final = frozenset("=+-@")
_FILLERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and symbols without any ink
_WIDTH, _HEIGHT = 180, 14  # of a bar
_KINDS: Final = {
    **dict.fromkeys(("count", "share", "stderr", "low", "high", "confidence"), "float64"),
    **dict.fromkeys(("listed", "late", "uneven", "stands_out"), "bool"),
    **dict.fromkeys(("ahead_of", "fake_reports"), "int64"),
    "rival": "string",
    **dict.fromkeys(("stands_to", "first_to"), "int64"),
}


def as_text(answer: Answer) -> str:
    """Lines for a terminal: the number of reports, the first rows, and what could have been found."""
    shown = answer.hitters[:MOST_ROWS]
    more = [(stands(hitter, answer.forged),) if answer.forged else () for hitter in shown]
    headings = (*_HEADINGS, *(["stands"] if answer.forged else []))
    rows = [headings, *((short(row.value), *cells(row), *last) for row, last in zip(shown, more, strict=True))]
    rows = rows if shown else []
    lines = [plural(answer.reports, "report"), *aligned(rows)]
    return "\n".join(filter(None, [*lines, about_first(MOST_ROWS, len(answer.hitters)), *told(answer)]))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned lines: the first column to the left, all others to the right."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(sizes[0]), *(cell.rjust(size) for cell, size in zip(row[1:], sizes[1:], strict=True))])
        for row in rows
    ]


def as_html(answer: Answer) -> str:
    """A table with a caption. Values are escaped, so that they stay text and cannot affect the cells around them."""
    rows = answer.hitters[:MOST_ROWS]
    limit = finite(answer.detection_limit)
    most = max([1.0, *(max(row.high, possible(row)) for row in rows), *([limit] if limit is not None and rows else [])])
    said = filter(None, [about_first(MOST_ROWS, len(answer.hitters)), *told(answer)])
    headings = (*_HEADINGS[:4], "", *_HEADINGS[4:])
    head = "".join(
        f'<th style="text-align:{"left" if k == 0 else "right"}">{each}</th>' for k, each in enumerate(headings)
    )
    body = "".join(_row(row, most, limit, answer.forged) for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = "<br>".join(html.escape(each) for each in said)
    return f"<div><div>{plural(answer.reports, 'report')}</div>{table}<div>{below}</div></div>"


def _row(hitter: Hitter, most: float, limit: float | None, forged: int) -> str:
    """A line of the table."""
    texts = cells(hitter)
    left = f'<td style="text-align:left"><bdi>{html.escape(short(hitter.value))}</bdi></td>'
    first, rest = (
        "".join(f'<td style="text-align:right">{html.escape(x)}</td>' for x in each) for each in (texts[:3], texts[3:])
    )
    bar = _bar(hitter, most, limit, forged > (hitter.stands_to or 0))
    return f'<tr>{left}{first}<td style="padding:0 0.8em">{bar}</td>{rest}</tr>'


def _bar(hitter: Hitter, most: float, limit: float | None, fallen: bool) -> str:
    """An SVG: the interval as a bar, the count as a stroke at the end of a thin bar, and the limit as a line."""

    def at(count: float) -> float:
        """The place of a count, in pixels from the left."""
        return round(min(max(count / most, 0.0), 1.0) * (_WIDTH - 2) + 1, 1)

    low, count, high = at(hitter.low), at(possible(hitter)), at(hitter.high)
    color = "#3b6fb6" if hitter.stands_out and not fallen else "#9aa5b1"
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


def as_csv(answer: Answer) -> str:
    """A heading, and a row for each value; lines end with CR LF, as in RFC 4180.

    Groups come below the values, with the number of their members in a column of its own. If guesses were asked for,
    they come last, and have a chance instead of a confidence, in a column of its own.
    """
    text = io.StringIO()
    columns = (*COLUMNS, *(["members"] if answer.groups else []), *([] if answer.guessed_from is None else ["chance"]))
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    guesses = ({**asdict(guess), "stands_out": False} for guess in answer.guesses)
    groups = [{"stands_out": group.low > 0, **asdict(group)} for group in answer.groups]
    groups = [{"value" if name == "name" else name: each for name, each in group.items()} for group in groups]
    for row in (*map(asdict, answer.hitters), *groups, *guesses):
        writer.writerow({name: harmless(value) for name, value in row.items()})
    return text.getvalue()


def harmless(value: object) -> object:
    """The value, prefixed with ' if a spreadsheet would take it for a formula.

    Characters that nobody sees are ignored when looking for a formula, since programs may drop them; so is the form of
    its first character, which may be full-width or small. Values come from strangers: one may have been made up to run
    something on the machine where the answer is opened.

    >>> harmless("=HYPERLINK(1)"), harmless("tea"), harmless(-1)
    ("'=HYPERLINK(1)", 'tea', -1)
    """
    if not isinstance(value, str):
        return value
    begins = next((c for c in value if not _is_unseen(c)), "")
    is_formula = unicodedata.normalize("NFKC", begins)[:1] in _FORMULA
    return f"'{value}" if is_formula or value[:1] in ("\t", "\r", "\n") else value


def _is_unseen(character: str) -> bool:
    """Whether a character shows nothing by itself: a space, a control or format character, a mark, a filler."""
    return unicodedata.category(character)[0] in "CMZ" or character in _FILLERS


def warn_of_left_out(answer: Answer, stacklevel: int) -> None:
    """Warn of what rows without sentences do not say, at the line that asked for them."""
    for sentence in told(answer, LEFT_OUT):
        warnings.warn(sentence, stacklevel=stacklevel)


def to_pandas(answer: Answer) -> pandas.DataFrame:
    """The rows as a pandas DataFrame; all rows are copied."""
    columns, kinds = _columns(answer)
    return pandas_frame(columns, {**kinds, **dict.fromkeys(("ahead_of", "stands_to", "first_to"), "Int64")})


def to_polars(answer: Answer) -> polars.DataFrame:
    """The rows as a polars DataFrame; all rows are copied."""
    return polars_frame(*_columns(answer))


def to_arrow(answer: Answer) -> pyarrow.Table:
    """The rows as an Arrow table; all rows are copied."""
    return arrow_table(*_columns(answer))


def pandas_frame(columns: Mapping[str, list[Any]], kinds: Mapping[str, str]) -> pandas.DataFrame:
    """A pandas DataFrame of columns with these types."""
    require("A table of pandas", "pandas")
    import pandas

    dtypes: dict[str, Any] = {name: object if kind == "string" else kind for name, kind in kinds.items()}
    return pandas.DataFrame({name: pandas.Series(columns[name], dtype=dtypes[name]) for name in columns})


def polars_frame(columns: Mapping[str, list[Any]], kinds: Mapping[str, str]) -> polars.DataFrame:
    """A polars DataFrame of columns with these types."""
    require("A table of polars", "polars")
    import polars

    names = {"float64": "Float64", "bool": "Boolean", "int64": "Int64", "uint64": "UInt64", "string": "String"}
    return polars.DataFrame(columns, schema={name: getattr(polars, names[kinds[name]]) for name in columns})


def arrow_table(columns: Mapping[str, list[Any]], kinds: Mapping[str, str]) -> pyarrow.Table:
    """An Arrow table of columns with these types."""
    require("A table of Arrow", "pyarrow", "files")
    import pyarrow

    makers = {kind: getattr(pyarrow, "bool_" if kind == "bool" else kind)() for kind in set(kinds.values())}
    return pyarrow.table({name: pyarrow.array(column, makers[kinds[name]]) for name, column in columns.items()})


def _columns(answer: Answer) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The rows as columns, and the type of each."""
    warn_of_left_out(answer, stacklevel=5)
    rows = [asdict(hitter) for hitter in answer.hitters]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    columns["value"], value = type_of_values(columns["value"])
    return columns, {"value": value, **_KINDS}


def type_of_values(values: list[Any]) -> tuple[list[Any], str]:
    """The values and their type: a number type if all are numbers that fit it, else all as texts."""
    if values and all(isinstance(value, int) and 0 <= value < 1 << 64 for value in values):
        return values, "int64" if max(values) < 1 << 63 else "uint64"
    return list(map(str, values)), "string"
