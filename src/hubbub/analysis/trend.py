"""A trend: the values of an answer, period by period, with what can be said of their change.

The code that shows a trend is imported on first use, as for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from hubbub.analysis.answer import Answer
from hubbub.analysis.documents import fits, read

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

    from hubbub.analysis.sentences import Sentence

Change: TypeAlias = Literal["", "rising", "falling", "new", "gone", "highest"]
"""What is said of a value; empty if its change is not beyond noise."""

_CHANGES: Final = ("", "rising", "falling", "new", "gone", "highest")


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time with a tally of its own: a slice, or a period of a survey that repeats.

    Attributes
    ----------
    start : date
        Its first day, in UTC.
    reports : int
        How many reports it has.
    whole : bool
        It has ended, so that it can be compared with others.
    """

    start: date
    reports: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Point:
    """The count of a value in one period; the attributes are those of a `Hitter`.

    The intervals of all values and periods of a trend hold together.
    """

    count: float
    share: float
    stderr: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """One value, period by period.

    Attributes
    ----------
    value : int or str
        The value.
    points : tuple of Point
        One for each period.
    change : str
        What is said of the last whole period: its share is "rising" or "falling" against the period `since`, "highest"
        of all periods from `since` on, "new" if it is larger than in all earlier periods and was seen in none of them,
        or "gone" if it is smaller than in `since`, and no longer seen. Empty if no change is beyond noise.
    since : date or None
        The first day of the period that it is compared with; None if nothing is said.
    """

    value: int | str
    points: tuple[Point, ...]
    change: Change = ""
    since: date | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Trend:
    """Values and their counts period by period.

    Attributes
    ----------
    level : float
        The chance, at most, that anything in the trend is wrong. A quarter is for values that nobody holds, a quarter
        for the intervals of the whole time, a quarter for those of single periods, and a quarter for statements.
    repeats : bool
        Each device answers in every period. Otherwise later periods hold only new devices, and nothing is compared.
    periods : tuple of Period
        The periods, in their order.
    answer : Answer
        The answer from the reports of all periods together.
    series : tuple of Series
        One for each row of the answer, in its order.
    """

    level: float
    repeats: bool
    periods: tuple[Period, ...]
    answer: Answer
    series: tuple[Series, ...]

    def __repr__(self) -> str:
        from hubbub.analysis.trend_tables import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows: a table with a small chart in each row."""
        from hubbub.analysis.trend_tables import as_html

        return as_html(self)

    def sentences(self) -> list[Sentence]:
        """What there is to say about the trend, as (kind, text) pairs.

        The kind is "change" for the statement about a value, "compared" for why there are none, and otherwise that of a
        sentence about the answer from all periods together.
        """
        from hubbub.analysis.trend_words import sentences

        return sentences(self)

    def to_document(self) -> dict[str, Any]:
        """The trend as plain data for JSON: the document of its answer with more fields, as docs/commands.md says."""
        from hubbub.analysis.trend_words import told

        return {
            **self.answer.to_document(),
            "level": self.level,
            "repeats": self.repeats,
            "periods": [{**asdict(each), "start": each.start.isoformat()} for each in self.periods],
            "series": [
                {**asdict(each), "since": None if each.since is None else each.since.isoformat()}
                for each in self.series
            ],
            "sentences": told(self),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Trend:
        """The trend in a document of `to_document`.

        Raises KeyError, TypeError or AttributeError if the document is something else.
        """
        level, repeats = document["level"], document["repeats"]
        periods = tuple(read(Period, {**each, "start": _day(each["start"])}) for each in document["periods"])
        series = tuple(map(_series, document["series"]))
        answer = Answer.from_document(document)
        same = [each.value for each in series] == [row.value for row in answer.hitters]
        if not (fits(level, float) and isinstance(repeats, bool) and same):
            raise TypeError("level, repeats or series")
        starts = [each.start for each in periods]
        if not starts or starts != sorted(set(starts)):
            raise TypeError("periods")
        compared = [None, *(each.start for each in periods if each.whole)]
        if any(len(each.points) != len(periods) or each.since not in compared for each in series):
            raise TypeError("points or since")
        return cls(level, repeats, periods, answer, series)

    def to_json(self) -> str:
        """The trend as the text of one JSON object, that of `to_document`."""
        return json.dumps(self.to_document(), ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """A row for each value and period, as CSV text. Values are made harmless for spreadsheets, as in `Answer`."""
        from hubbub.analysis.trend_tables import as_csv

        return as_csv(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each value and period, as a pandas DataFrame."""
        from hubbub.analysis.trend_tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """A row for each value and period, as a polars DataFrame."""
        from hubbub.analysis.trend_tables import to_polars

        return to_polars(self)

    def to_arrow(self) -> pyarrow.Table:
        """A row for each value and period, as an Arrow table."""
        from hubbub.analysis.trend_tables import to_arrow

        return to_arrow(self)

    def plot(self) -> Figure:
        """Draw a small chart for each of the first values: its share in each period, with the interval as a band.

        `figure.savefig("trend.png")` writes it to a file.
        """
        from hubbub.analysis.trend_plots import plot

        return plot(self)


def _series(data: Mapping[str, Any]) -> Series:
    """The series in plain data. Raises KeyError, TypeError or AttributeError."""
    value, change, since = data["value"], data["change"], data["since"]
    points = tuple(read(Point, point) for point in data["points"])
    if not fits(value, int | str) or change not in _CHANGES or bool(change) != (since is not None):
        raise TypeError("series")
    return Series(value, points, change, None if since is None else _day(since))


def _day(text: object) -> date:
    """The day of a document."""
    if not isinstance(text, str):
        raise TypeError("a day")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise TypeError("a day") from None
