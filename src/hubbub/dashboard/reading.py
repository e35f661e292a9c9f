"""The pages for whoever has a read-only link: the surveys that it is for, their answers as pages and files, trends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hubbub.analysis.tables import as_csv
from hubbub.collector.documents import answer_document
from hubbub.collector.reading import range_for
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.access import for_readers
from hubbub.dashboard.kept_answers import Kept
from hubbub.dashboard.meaning import answer_facts
from hubbub.dashboard.pages import download, find_survey, query_of, survey_facts_public
from hubbub.dashboard.rendering import render
from hubbub.dashboard.trends import trend_page
from hubbub.store.overview import list_surveys
from hubbub.store.readers import Reader
from hubbub.store.slices import Range
from hubbub.store.store import StoredSurvey


async def show_home(request: Request) -> Response:
    """Show the surveys of the link, the newest first."""
    collector: Collector = request.app.state.collector
    reader: Reader = request.state.reader
    listed = await asyncio.to_thread(list_surveys, collector.store.engine)
    now = datetime.now(UTC)
    surveys = [
        {
            "id": each.survey_id.hex(),
            "name": each.name,
            "state": each.state(now),
            "time_left": words.time_left(each.opens, each.closes, each.state(now)),
        }
        for each in reversed(listed)
        if reader.may_read(each.survey_id.hex())
    ]
    return render(request, "reading_home.html", {**_facts(reader), "surveys": surveys})


async def show_survey(request: Request) -> Response:
    """Show the answer of one survey."""
    stored, slices, kept = await _answer(request)
    survey = {**survey_facts_public(request.app.state.collector, stored), "path": f"/read/{stored.survey_id.hex()}"}
    shown = {"survey": survey, "answer": answer_facts(kept.found), "period": slices.words, "query": query_of(request)}
    return render(request, "reading.html", {**_facts(request.state.reader), **shown})


async def download_json(request: Request) -> Response:
    """Return the answer as the JSON document of the API."""
    stored, slices, kept = await _answer(request)
    document = answer_document(stored, kept.found.answer, slices.words).model_dump_json(indent=1)
    return Response(document, headers=download(stored, "json"), media_type="application/json")


async def download_csv(request: Request) -> Response:
    """Return the answer as a table for spreadsheets."""
    stored, _, kept = await _answer(request)
    text = as_csv(kept.found.answer).encode("utf-8-sig", "replace")
    return Response(text, headers=download(stored, "csv"), media_type="text/csv; charset=utf-8")


async def show_trend(request: Request) -> Response:
    """Show the values over time."""
    stored = await find_survey(request)
    return await trend_page(request, stored, _slices(request, stored), _facts(request.state.reader), "/read")


async def _answer(request: Request) -> tuple[StoredSurvey, Range, Kept]:
    """Return a survey, the slices that are asked for and may be seen, and the answer about them."""
    stored = await find_survey(request)
    slices = _slices(request, stored)
    return stored, slices, await request.app.state.answers.get(stored, slices)


def _slices(request: Request, stored: StoredSurvey) -> Range:
    """Return the slices that the address asks for, without those that the reader may not see."""
    asked = request.query_params
    names = (asked.get("from"), asked.get("to"), asked.get("last"))
    return range_for(request.state.reader, stored, request.app.state.collector.clock.now(), names)


def _facts(reader: Reader) -> dict[str, Any]:
    """Return what every page for readers knows."""
    seen = "also the slice of time that goes on" if reader.live else "slices of time that have ended"
    return {"owner": False, "reader": reader.name, "seen": seen}


_SURVEY: Final = "/read/{survey_id}"
ROUTES: Final = [
    Route(path, for_readers(page), methods=["GET"], include_in_schema=False)
    for path, page in (
        ("/read", show_home),
        (_SURVEY, show_survey),
        (f"{_SURVEY}/answer.json", download_json),
        (f"{_SURVEY}/answer.csv", download_csv),
        (f"{_SURVEY}/trend", show_trend),
    )
]
