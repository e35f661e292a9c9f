"""What is said of a trend, in sentences. Whoever shows a trend chooses kinds, and words nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from hubbub.analysis import sentences as of_answer
from hubbub.analysis.sentences import Sentence
from hubbub.analysis.wording import percent, plural, short

if TYPE_CHECKING:
    from hubbub.analysis.trend import Period, Point, Series, Trend

BELOW: Final = ("compared", "change", "level", *of_answer.BELOW)
"""The kinds below every table of a trend."""

ONCE: Final = (
    "Each device answers this survey once, so later periods hold only new devices: "
    "counts are shown, and nothing is called rising or falling."
)
"""Why a survey that does not repeat has no statements."""


def sentences(trend: Trend) -> list[Sentence]:
    """All that can be said of a trend, in the order of reading; only what there is to say."""
    said = [("change", about_change(trend, each)) for each in trend.series]
    if not any(each.change for each in trend.series):
        said.append(("compared", _about_none(trend)))
    text = (
        f"The chance that anything here is wrong, a value, an interval or a statement, is at most {100 * trend.level:g}"
        " %."
    )
    said.append(("level", text))
    return [*(Sentence(kind, text) for kind, text in said if text), *of_answer.sentences(trend.answer)]


def told(trend: Trend, kinds: Collection[str] = BELOW) -> list[str]:
    """The texts of the sentences of some kinds."""
    return [each.text for each in sentences(trend) if each.kind in kinds]


def about_change(trend: Trend, series: Series) -> str:
    """The statement about a value, with the shares that it compares; empty if there is none."""
    if not series.change or series.since is None:
        return ""
    points = dict(zip((each.start for each in trend.periods), series.points, strict=True))
    last = max(each.start for each in trend.periods if each.whole)
    value, now, then = short(series.value), _share(points[last]), _share(points[series.since])
    return {
        "rising": f"{value} is rising: {now} of the reports, after {then} in the period from {series.since} on.",
        "falling": f"{value} is falling: {now} of the reports, after {then} in the period from {series.since} on.",
        "highest": f"{value} is at its highest since {series.since}: {now} of the reports.",
        "new": f"{value} is new: {now} of the reports; no earlier period shows it.",
        "gone": f"{value} is gone: the last period does not show it; from {series.since} on it had {then}.",
    }[series.change]


def _share(point: Point) -> str:
    """An estimated share, moved into the possible range."""
    return f"about {percent(min(max(point.share, 0.0), 1.0), 1)}"


def _about_none(trend: Trend) -> str:
    """Why nothing is said of any value."""
    if not trend.repeats:
        return ONCE
    if len([each for each in trend.periods if each.whole]) < 2:
        return "Two whole periods are needed before anything can be compared."
    return "No value changed beyond noise." if trend.series else ""


def heading(trend: Trend) -> str:
    """How many reports and periods there are, and from when on."""
    first = trend.periods[0].start
    return f"{plural(trend.answer.reports, 'report')} in {plural(len(trend.periods), 'period')} from {first} on"


def period_words(trend: Trend, period: Period) -> str:
    """The first day of a period, and whether it goes on or is there in part."""
    part = "so far" if period == trend.periods[-1] else "in part"
    return f"{period.start}{'' if period.whole else f', {part}'}"
