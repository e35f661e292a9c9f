"""The home page: surveys as cards, 60 per page, from the list and the daily counters; no survey is loaded for it."""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hubbub.analysis.outlook import smallest_share
from hubbub.analysis.wording import one_in
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.access import for_owner
from hubbub.dashboard.rendering import HEADERS, render
from hubbub.mechanisms.roles import Forecasts
from hubbub.store.daily import all_by_day
from hubbub.store.overview import ListedSurvey, count_surveys, list_surveys
from hubbub.store.sites import Site, list_sites

DAYS_SHOWN: Final = 30
CARDS: Final = 60
"""Surveys on one page."""
_MOST_KEPT: Final = 1_000


class Limits:
    """The smallest share that is found with a survey's reports, as the planner predicts it; each is computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], float | None] = {}

    def share(self, mechanism: Forecasts, people: int) -> float | None:
        """Return the smallest share found with this many reports; None if none can be. Takes up to 0.1 s."""
        rounded = _round(people)
        key = (mechanism.survey_id, rounded)
        if key not in self._known:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            least = smallest_share(mechanism, rounded) if rounded else math.inf
            self._known[key] = least if math.isfinite(least) else None
        return self._known[key]


async def show_home(request: Request) -> Response:
    """Show the newest surveys as cards, or older ones. Costs five queries, and reads only the surveys it shows."""
    collector: Collector = request.app.state.collector
    asked = request.query_params.get("page", "1")
    page = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1

    def read() -> tuple[list[dict[str, Any]], int, list[dict[str, Any]]]:
        """Read the list and the counters, in a thread."""
        shown = list_surveys(collector.store.engine, newest=(CARDS * (page - 1), CARDS), alone=True) if page else []
        today = int(time.time()) // 86_400
        by_day = all_by_day(collector.store.engine, [each.key for each in shown], today - DAYS_SHOWN + 1)
        number = count_surveys(collector.store.engine)
        sites = [_site_card(collector, each) for each in list_sites(collector.store.engine)] if page == 1 else []
        return [_card(each, by_day.get(each.key, {}), today) for each in shown], number, sites

    cards, number, sites = await asyncio.to_thread(read)
    facts = {"owner": True, "surveys": cards, "page": page, "pages": -(-number // CARDS), "number": number}
    facts["sites"] = sites
    return render(request, "home.html", facts)


async def show_limit(request: Request) -> Response:
    """Return the smallest share that is found with the reports so far, and with the expected ones, as JSON.

    A script asks for it when a card comes into view: it loads the survey's mechanism, and takes up to 0.2 s of CPU.
    """
    collector: Collector = request.app.state.collector
    limits: Limits = request.app.state.limits
    stored = await collector.find(request.path_params["survey_id"])

    def predict() -> dict[str, str | None]:
        """Ask the planner, in a thread."""
        [listed] = list_surveys(collector.store.engine, stored.survey_id)
        now = limits.share(stored.mechanism, listed.reports)
        then = limits.share(stored.mechanism, max(listed.reports, listed.expected_reports))
        return {"now": None if now is None else one_in(now), "then": None if then is None else one_in(then)}

    return JSONResponse(await asyncio.to_thread(predict), headers=HEADERS)


def _round(people: int) -> int:
    """Return the number rounded down to two digits: limits are no more exact than that, and are cached."""
    unit: int = 10 ** max(0, len(str(people)) - 2)
    return people // unit * unit


def _site_card(collector: Collector, site: Site) -> dict[str, Any]:
    """Return the facts of a site's card; a script asks for its largest values."""
    days = all_by_day(collector.store.engine, [each.key for each in site.questions], 0)
    today = int(time.time()) // 86_400
    by_day = {day: sum(each.get(day, 0) for each in days.values()) for each in days.values() for day in each}
    return {
        "site": site.site,
        "name": site.name,
        "questions": len(site.questions),
        "reports": sum(by_day.values()),
        "week": sum(by_day.get(day, 0) for day in range(today - 6, today + 1)),
        "before": sum(by_day.get(day, 0) for day in range(today - 13, today - 6)),
    }


def _card(listed: ListedSurvey, by_day: dict[int, int], today: int) -> dict[str, Any]:
    """Return the facts of a card."""
    state = listed.state(datetime.now(UTC))
    return {
        "id": listed.survey_id.hex(),
        "name": listed.name,
        "state": state,
        "time_left": words.time_left(listed.opens, listed.closes, state),
        "epsilon": listed.epsilon,
        "reports": listed.reports,
        "expected": listed.expected_reports,
        "more_expected": listed.expected_reports > listed.reports and state not in ("closed", "earlier version"),
        "days": [by_day.get(day, 0) for day in range(today - DAYS_SHOWN + 1, today + 1)],
        "today": by_day.get(today, 0),
    }


ROUTES: Final = [
    Route(path, for_owner(page), methods=["GET"], include_in_schema=False)
    for path, page in (("/", show_home), ("/surveys/{survey_id}/limit", show_limit))
]
