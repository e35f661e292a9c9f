"""The pages about time: all values with a small chart each, and one value with a large one."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hubbub.analysis.question import Question
from hubbub.analysis.trend import Series, Trend
from hubbub.analysis.trend_tables import cell, change, sparkline
from hubbub.analysis.trend_words import about_change, heading, period_words, told
from hubbub.analysis.trending import trend_of
from hubbub.analysis.wording import percent
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.access import for_owner
from hubbub.dashboard.pages import asked_slices, find_survey, query_of
from hubbub.dashboard.rendering import render
from hubbub.store.names import names_of
from hubbub.store.periods import periods_between
from hubbub.store.slices import Range
from hubbub.store.store import StoredSurvey

TOP: Final = 50
_LARGE: Final = (720, 220)  # pixels of the chart of one value


async def show_trend(request: Request) -> Response:
    """Show all values of a time with a small chart each; with `value` in the address, that value alone."""
    stored = await find_survey(request)
    return await trend_page(request, stored, asked_slices(request, stored), {"owner": True})


async def trend_page(
    request: Request, stored: StoredSurvey, slices: Range, more: dict[str, Any], folder: str = "/surveys"
) -> Response:
    """Return the page about some slices; `more` says who reads it, and `folder` where surveys are for her."""
    collector = request.app.state.collector
    found: Trend = await collector.compute(lambda: _find(collector, stored, slices))
    survey_id = stored.survey_id.hex()
    facts = {
        **more,
        "survey": {"id": survey_id, "name": stored.survey.name, "path": f"{folder}/{survey_id}"},
        "query": query_of(request),
        "heading": heading(found),
    }
    asked = request.query_params.get("value")
    one = next((each for each in found.series if str(each.value) == asked), None)
    if one is not None:
        return render(request, "trend_of_value.html", {**facts, **_facts_of_value(found, one)})
    rows = [
        {
            "value": words.visible(each.value),
            "link": f"?{urlencode({**dict(request.query_params), 'value': str(each.value)})}",
            "last": cell(each.points[-1]),
            "change": change(each),
            "chart": Markup(sparkline(found, each)),  # numbers only  # noqa: S704
        }
        for each in found.series
    ]
    return render(request, "trend.html", {**facts, "rows": rows, "sentences": told(found)})


def _find(collector: Collector, stored: StoredSurvey, slices: Range) -> Trend:
    """Compute the trend; takes about a second of a core, and a tenth for each slice."""
    asked = Question(TOP).about(stored.survey.domain, names_of(collector.store.engine, stored, slices))
    periods = periods_between(collector.store, stored, slices)
    return trend_of(stored.mechanism, periods.tallies, asked, periods.repeats, periods.unfinished)


def _facts_of_value(found: Trend, series: Series) -> dict[str, Any]:
    """Return a large chart of one value, and its counts in all periods."""
    return {
        "value": words.visible(series.value),
        "said": about_change(found, series),
        "chart": Markup(sparkline(found, series, *_LARGE)),  # noqa: S704  # numbers only
        "points": [
            (period_words(found, period), f"{period.reports:,}", cell(point), percent(min(max(point.share, 0.0), 1.0)))
            for period, point in zip(found.periods, series.points, strict=True)
        ],
    }


ROUTES: Final = [Route("/surveys/{survey_id}/trend", for_owner(show_trend), methods=["GET"], include_in_schema=False)]
