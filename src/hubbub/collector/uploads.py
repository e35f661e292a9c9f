"""The routes for everybody: read a survey, and report to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from fastapi.routing import APIRoute
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from hubbub.collector.documents import UploadReply
from hubbub.collector.limits import read_batch
from hubbub.collector.problems import Problem, problem_of, refusals, respond
from hubbub.collector.state import Collector
from hubbub.errors import HubbubError, SurveyClosed, UnknownSurvey
from hubbub.store.reports import Batch
from hubbub.store.store import StoredSurvey
from hubbub.wire.report_batch import parse_batch

_ACCEPTED, _DUPLICATE, _INVALID = 0, 1, 2
_STATUSES: Final = np.array([b'"accepted"', b'"duplicate"', b'"invalid"'], dtype=object)
_CACHE: Final = "public, max-age=300"
_EXPOSED: Final = {"Access-Control-Expose-Headers": "Retry-After"}


class PlainRoute(APIRoute):
    """A route whose function gets the request itself. Uploads are many, and the framework's parsing takes time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function of the route as it is."""
        handler: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return handler


async def get_survey(request: Request) -> Response:
    """Return the canonical JSON of a survey. It never changes, so it may be cached."""
    collector: Collector = request.app.state.collector
    stored = await collector.find(request.path_params["survey_id"])
    tag = f'"{stored.survey_id.hex()}"'
    headers = {"ETag": tag, "Cache-Control": _CACHE, **_cors_headers(request, stored)}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(stored.document, media_type="application/json", headers=headers)


async def preflight(request: Request) -> Response:
    """Answer the question that a browser asks before a request that is not simple."""
    collector: Collector = request.app.state.collector
    stored = await collector.find(request.path_params["survey_id"])
    headers = {
        **_cors_headers(request, stored),
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "86400",
    }
    return Response(status_code=204, headers=headers)


async def post_reports(request: Request) -> Response:
    """Take a batch of reports. The reply comes when they are durable."""
    collector: Collector = request.app.state.collector
    headers: dict[str, str] = {}
    try:
        stored = await collector.find(request.path_params["survey_id"])
        headers = _cors_headers(request, stored)
        now = datetime.now(UTC)
        if stored.state(now) != "open":
            raise _not_open(stored, now)
        with collector.budget.room() as taken:
            data = await read_batch(request, collector.budget, taken)
            reply = await _store_batch(collector, stored, data)
        return Response(reply, media_type="application/json", headers=headers)
    except (HubbubError, Problem) as error:
        problem = problem_of(error)
        problem.headers = {**(problem.headers or {}), **headers}
        collector.metrics.refused.labels(problem.kind).inc()
        return respond(problem)
    except ClientDisconnect:  # this is common, and nobody is left to be told
        collector.metrics.refused.labels("cut-off").inc()
        return Response(status_code=400)


async def _store_batch(collector: Collector, stored: StoredSurvey, data: bytes) -> bytes:
    """Check the reports of a batch, wait until the valid ones are durable, and return the reply as JSON."""
    reports = parse_batch(data, stored.survey_id, stored.mechanism.report_dtype)
    valid = stored.mechanism.validate(reports)
    statuses = np.where(valid, _ACCEPTED, _INVALID)
    if valid.any():
        kept = reports if valid.all() else reports[valid]
        try:
            new = await asyncio.wrap_future(collector.writer.submit(Batch(stored.key, kept)))
        except (UnknownSurvey, SurveyClosed):
            collector.store.forget_state(stored.survey_id)
            raise
        statuses[valid] = np.where(new, _ACCEPTED, _DUPLICATE)
    counts = np.bincount(statuses, minlength=3).tolist()
    for name, count in zip(("accepted", "duplicate", "invalid"), counts, strict=True):
        if count:
            collector.metrics.reports.labels(name).inc(count)
    if len(reports) and counts[_INVALID] == len(reports):
        raise Problem("invalid-reports", f"none of the {len(reports)} reports is one that a device can send")
    return _reply(counts, statuses)


def _reply(counts: list[int], statuses: NDArray[np.int64]) -> bytes:
    """Return the reply as JSON. It is written by hand, since it nearly always repeats a word a thousand times."""
    if counts[_ACCEPTED] == len(statuses):
        each = b",".join([b'"accepted"'] * len(statuses))
    else:
        each = b",".join(_STATUSES[statuses])
    accepted, duplicate, invalid = counts
    return b'{"accepted":%d,"duplicate":%d,"invalid":%d,"statuses":[%b]}' % (accepted, duplicate, invalid, each)


def _not_open(stored: StoredSurvey, now: datetime) -> Problem:
    """Return the problem that a survey takes no reports now."""
    opens = stored.survey.opens
    if stored.state(now) == "closed" or opens is None:
        return Problem("closed", "the survey is closed and takes no more reports")
    wait = str(int((opens - now).total_seconds()) + 1)
    return Problem("not-yet-open", f"the survey opens in {wait} s; send the reports then", {"Retry-After": wait})


def _cors_headers(request: Request, stored: StoredSurvey) -> dict[str, str]:
    """Return headers that let pages of the survey's origins read the reply. Raises Problem for pages of others.

    Programs send no origin and are always let through.
    """
    origin = request.headers.get("origin")
    if origin is None or "*" in stored.origins:
        return {"Access-Control-Allow-Origin": "*", **_EXPOSED} if "*" in stored.origins else {"Vary": "Origin"}
    if origin not in stored.origins:
        raise Problem("origin-not-allowed", "pages of this origin may not report to the survey", {"Vary": "Origin"})
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin", **_EXPOSED}


_SURVEY: Final = "/v1/surveys/{survey_id}"
_PLACE: Final = {"name": "survey_id", "in": "path", "required": True, "schema": {"type": "string"}}
_BINARY: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_UNREADABLE: Final = {
    403: "Pages of this origin may not report.",
    404: "There is no such survey.",
    503: "Nothing can be stored now: try again after Retry-After seconds.",
}
ROUTES: Final = [
    PlainRoute(
        _SURVEY,
        get_survey,
        methods=["GET"],
        tags=["everybody"],
        summary="Read the canonical JSON of a survey",
        response_description="The survey; its id is the SHA-256 of these bytes.",
        responses=refusals(_UNREADABLE),
        openapi_extra={"parameters": [_PLACE]},
    ),
    PlainRoute(
        f"{_SURVEY}/reports",
        post_reports,
        methods=["POST"],
        tags=["everybody"],
        summary="Send reports; the reply comes when they are durable",
        response_model=UploadReply,
        response_description="A status for each report.",
        responses=refusals(
            {
                **_UNREADABLE,
                400: "The batch cannot be read.",
                408: "The batch took too long to arrive.",
                409: "The survey is not yet open.",
                410: "The survey is closed.",
                413: "The batch is too large.",
                422: "The batch is for another survey, or no report in it is valid.",
            }
        ),
        openapi_extra={"parameters": [_PLACE], "requestBody": {"required": True, "content": _BINARY}},
    ),
    PlainRoute(_SURVEY, get_survey, methods=["HEAD"], include_in_schema=False),
    PlainRoute(_SURVEY, preflight, methods=["OPTIONS"], include_in_schema=False),
    PlainRoute(f"{_SURVEY}/reports", preflight, methods=["OPTIONS"], include_in_schema=False),
]
