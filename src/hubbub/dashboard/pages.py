"""The read-only pages: a survey, its answer as HTML, JSON and CSV, and the public page."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hubbub.analysis.ready_made import fits_script
from hubbub.analysis.tables import as_csv
from hubbub.collector.documents import answer_document
from hubbub.collector.published import Shown
from hubbub.collector.rates import NOTICE_TIMES, expected_so_far, is_above
from hubbub.collector.relay_figures import relay_figures
from hubbub.collector.scripts import shipped
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.access import base_url, for_everybody, for_owner, has_session
from hubbub.dashboard.kept_answers import Answers
from hubbub.dashboard.meaning import answer_facts
from hubbub.dashboard.public_facts import public_facts
from hubbub.dashboard.rendering import HEADERS, render, show_kept
from hubbub.errors import ParameterError, shown
from hubbub.model.domain import Categories
from hubbub.model.repeating import cost_words, days_words
from hubbub.store.daily import reports_by_day
from hubbub.store.names import names_of
from hubbub.store.releases import released
from hubbub.store.schema import reading
from hubbub.store.sites import site_asking
from hubbub.store.slices import Range, list_slices, parse_range
from hubbub.store.store import StoredSurvey

_PATIENCE: Final = 1.0  # seconds that a page waits for its answer; after that a script asks for it


async def show_survey(request: Request) -> Response:
    """Show one survey. If its answer takes long, the page comes without it and asks for it later."""
    stored = await find_survey(request)
    answers: Answers = request.app.state.answers
    facts = await asyncio.to_thread(survey_facts, request, stored)
    if stored.earlier:
        return render(request, "earlier.html", {"owner": True, "survey": facts})
    slices = asked_slices(request, stored)
    search = asyncio.ensure_future(answers.get(stored, slices))
    done, _ = await asyncio.wait([search], timeout=_PATIENCE)
    search.add_done_callback(lambda ended: ended.exception())  # the script's own request will report an error
    kept = search.result() if done else answers.latest(stored, slices)
    answer = None if kept is None else answer_facts(kept.found)
    script = shipped()["hubbub.js"]
    shown = {
        "owner": True,
        "survey": facts,
        "answer": answer,
        "query": query_of(request),
        "period": slices.words,
        **await asyncio.to_thread(_periods, request.app.state.collector, stored),
        "asked": request.query_params,
        "base": base_url(request),
        "script": script,
        "counts_all": stored.survey.domain.is_list,
        "names": await asyncio.to_thread(names_of, request.app.state.collector.store.engine, stored),
        "fits_script": fits_script(stored.survey.domain, stored.survey.mechanism, float(stored.survey.epsilon)),
        "site": await asyncio.to_thread(site_asking, request.app.state.collector.store.engine, stored.key),
        "attributes": "" if words.asks_for_site(stored.survey.domain) else 'data-value="…"',
    }
    return render(request, "survey.html", shown)


async def show_answer(request: Request) -> Response:
    """Show the answer alone, as HTML that a script puts into the page."""
    stored = await find_survey(request)
    kept = await request.app.state.answers.get(stored, asked_slices(request, stored))
    found, complaint = kept.found, ""
    if (forged := request.query_params.get("forged", "0")) != "0":
        try:
            found = await asyncio.to_thread(found.if_forged, read_count(forged))
        except ParameterError as error:
            complaint = str(error)
    survey = {"id": stored.survey_id.hex(), "state": stored.state(datetime.now(UTC))}
    facts = {"answer": answer_facts(found), "survey": survey, "query": query_of(request), "complaint": complaint}
    return render(request, "answer.html", facts)


async def show_state(request: Request) -> Response:
    """Return the number of reports, as JSON; a page asks for it every few seconds. Reads no tally."""
    stored = await find_survey(request)
    answers: Answers = request.app.state.answers
    days = await asyncio.to_thread(reports_by_day, request.app.state.collector.store.engine, stored.key)
    kept, version = answers.latest(stored), await answers.version(stored)
    is_newest = kept is not None and kept.version == version  # its number of reports is exact, with merged tallies
    document = {
        "reports": kept.found.answer.reports if kept is not None and is_newest else sum(days.values()),
        "version": version,
        "above": is_above(sum(days.values()), expected_so_far(stored.survey)),
        "state": stored.state(datetime.now(UTC)),
    }
    return JSONResponse(document, headers=HEADERS)


async def download_json(request: Request) -> Response:
    """Return the answer as the JSON document of the API."""
    stored = await find_survey(request)
    slices = asked_slices(request, stored)
    kept = await request.app.state.answers.get(stored, slices)
    document = answer_document(stored, kept.found.answer, slices.words).model_dump_json(indent=1)
    return Response(document, headers=download(stored, "json"), media_type="application/json")


async def download_csv(request: Request) -> Response:
    """Return the answer as a table for spreadsheets."""
    stored = await find_survey(request)
    kept = await request.app.state.answers.get(stored, asked_slices(request, stored))
    text = as_csv(kept.found.answer).encode("utf-8-sig", "replace")  # spreadsheets know UTF-8 by its mark
    return Response(text, headers=download(stored, "csv"), media_type="text/csv; charset=utf-8")


async def show_about(request: Request) -> Response:
    """Show everybody what a survey asks, what it guarantees, and what a report looks like."""
    stored, owner = await find_survey(request), await has_session(request)
    collector: Collector = request.app.state.collector
    survey, state = stored.survey, stored.state(datetime.now(UTC))
    names = survey.domain.names if isinstance(survey.domain, Categories) else ()
    shown: Shown = await request.app.state.shown.get(stored)
    site = await asyncio.to_thread(site_asking, request.app.state.collector.store.engine, stored.key)
    asked = "" if site is None else site.asked_by(stored.survey_id)

    def facts() -> dict[str, Any]:
        """Return what the page says. It must depend on nothing but the key."""
        return {
            "owner": owner,
            "survey": {**survey_facts_public(collector, stored), "state": state},
            "examples": words.examples(survey.domain),
            **public_facts(stored, state, shown, list(names), asked),
        }

    crowd = 0  # the smallest release, which may become smaller
    if survey.through is not None:
        crowd = (await asyncio.to_thread(released, collector.store.engine, stored.key)).smallest
    return await show_kept(request, "about.html", (stored.survey_id, state, owner, shown.key, crowd, asked), facts)


def asked_slices(request: Request, stored: StoredSurvey) -> Range:
    """Return the slices of time that the address asks for: all, or those of `from`, `to` or `last`."""
    asked = request.query_params
    first, until = (asked.get(name) or None for name in ("from", "to"))  # a picker sends what is not chosen as empty
    return parse_range(stored.slice_days, first, until, asked.get("last"))


def read_count(text: str) -> int:
    """Return a number of reports that a page asks about."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise ParameterError(f"forged must be a whole number of at least 0, got {shown(text)}")
    return int(text)


def query_of(request: Request) -> str:
    """Return the query of the address as links need it, with its question mark; empty if there is none."""
    asked = {name: text for name, text in request.query_params.items() if name in ("from", "to", "last") and text}
    return f"?{urlencode(asked)}" if asked else ""


def _periods(collector: Collector, stored: StoredSurvey) -> dict[str, Any]:
    """Return links to periods, in words, and the slices of the picker: none as long as there is one slice."""
    with reading(collector.store.engine) as connection:
        slices = list_slices(connection, stored.key, stored.slice_days)
    many = len(slices)
    unit, letter = ("day", "d") if stored.slice_days == 1 else ("week", "w")
    lengths = [length for length in (4, 12, 52) if length < many]
    this = "today" if unit == "day" else "this week"
    links = [("all the time", ""), (f"{this} so far", f"?last=1{letter}")]
    links += [(f"the last {length} {unit}s", f"?last={length}{letter}") for length in lengths]
    if many < 2:
        return {"periods": []}
    ends = [(each.end.isoformat(), (each.end - timedelta(1)).isoformat()) for each in slices]
    return {"periods": links, "starts": [each.start.isoformat() for each in slices], "ends": ends}


def survey_facts_public(collector: Collector, stored: StoredSurvey) -> dict[str, Any]:
    """Return the public facts of a survey."""
    figures = relay_figures(collector.store, stored)
    survey = stored.survey
    state = stored.state(datetime.now(UTC))
    return {
        "id": stored.survey_id.hex(),
        "name": survey.name,
        "state": state,
        "time_left": words.time_left(survey.opens, survey.closes, state),
        "epsilon": format(survey.epsilon, "f"),
        "delta": format(survey.delta, "f"),
        "mechanism": survey.mechanism,
        "question": words.question(survey.domain),
        "often": "once" if survey.every is None else f"once every {days_words(survey.every)}",
        "cost": "" if survey.every is None else cost_words(survey.epsilon, survey.every),
        "origins": list(stored.origins),
        "relay": [] if figures is None else list(figures.words),
    }


def survey_facts(request: Request, stored: StoredSurvey) -> dict[str, Any]:
    """Return the facts of a survey for its owner, without the answer. Reads its counters."""
    collector: Collector = request.app.state.collector
    reports = sum(reports_by_day(collector.store.engine, stored.key).values())
    expected = expected_so_far(stored.survey)
    return {
        **survey_facts_public(collector, stored),
        "reports": reports,
        "expected": expected,
        "is_above": is_above(reports, expected),
        "notice_times": NOTICE_TIMES,
        "most_times": collector.rates.times,
    }


def download(stored: StoredSurvey, ending: str) -> dict[str, str]:
    """Return the headers of a file that a browser saves."""
    name = f"hubbub-{stored.survey_id.hex()[:8]}.{ending}"
    return {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}


async def find_survey(request: Request) -> StoredSurvey:
    """Return the survey that the address names."""
    collector: Collector = request.app.state.collector
    return await collector.find(request.path_params["survey_id"])


_SURVEY: Final = "/surveys/{survey_id}"
ROUTES: Final = [
    *(
        Route(path, for_owner(page), methods=["GET"], include_in_schema=False)
        for path, page in (
            (_SURVEY, show_survey),
            (f"{_SURVEY}/answer", show_answer),
            (f"{_SURVEY}/answer.json", download_json),
            (f"{_SURVEY}/answer.csv", download_csv),
            (f"{_SURVEY}/state", show_state),
        )
    ),
    Route("/about/{survey_id}", for_everybody(show_about), methods=["GET"], include_in_schema=False),
]
