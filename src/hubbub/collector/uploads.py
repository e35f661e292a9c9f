"""What everybody may do: read a survey, and report to it. Plain routes, because uploads are many."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from hubbub.collector.limits import read_batch
from hubbub.collector.problems import Problem, problem_of, respond
from hubbub.collector.state import collector_of
from hubbub.errors import HubbubError, SurveyClosed, UnknownSurvey
from hubbub.store.reports import Batch
from hubbub.store.store import StoredSurvey
from hubbub.wire.report_batch import parse_batch

_ACCEPTED, _DUPLICATE, _INVALID = 0, 1, 2
_STATUSES: Final = np.array([b'"accepted"', b'"duplicate"', b'"invalid"'], dtype=object)
_CACHE: Final = "public, max-age=300"
_EXPOSED: Final = {"Access-Control-Expose-Headers": "Retry-After"}


async def get_survey(request: Request) -> Response:
    """The canonical JSON of a survey. It never changes, so it may be kept."""
    stored = await collector_of(request).find(request.path_params["survey_id"])
    tag = f'"{stored.survey.survey_id.hex()}"'
    headers = {"ETag": tag, "Cache-Control": _CACHE, **_cors_headers(request, stored)}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(stored.document, media_type="application/json", headers=headers)


async def preflight(request: Request) -> Response:
    """What a browser asks before a request that is not simple."""
    stored = await collector_of(request).find(request.path_params["survey_id"])
    headers = {
        **_cors_headers(request, stored),
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "86400",
    }
    return Response(status_code=204, headers=headers)


async def post_reports(request: Request) -> Response:
    """Reports, answered when they are durable."""
    collector = collector_of(request)
    headers: dict[str, str] = {}
    try:
        stored = await collector.find(request.path_params["survey_id"])
        headers = _cors_headers(request, stored)
        with collector.budget.room() as taken:
            return await _take(request, stored, taken, headers)
    except (HubbubError, Problem) as error:
        problem = problem_of(error)
        problem.headers = {**(problem.headers or {}), **headers}
        collector.metrics.add("hubbub_refused_uploads_total", 1, f'problem="{problem.kind}"')
        return respond(problem)
    except ClientDisconnect:  # every day, and nobody is there to be told
        collector.metrics.add("hubbub_refused_uploads_total", 1, 'problem="cut-off"')
        return Response(status_code=400)


async def _take(request: Request, stored: StoredSurvey, taken: list[int], headers: dict[str, str]) -> Response:
    collector = collector_of(request)
    _check_open(stored)
    data = await read_batch(request, collector.budget, taken)
    mechanism = stored.mechanism
    reports = parse_batch(data, stored.survey.survey_id, mechanism.report_dtype)
    valid = mechanism.validate(reports)
    statuses = np.where(valid, _ACCEPTED, _INVALID)
    if valid.any():
        kept = reports if valid.all() else reports[valid]
        try:
            new = await asyncio.wrap_future(collector.writer.submit(Batch(stored.key, kept)))
        except (UnknownSurvey, SurveyClosed):
            collector.store.forget_state(stored.survey.survey_id)
            raise
        statuses[valid] = np.where(new, _ACCEPTED, _DUPLICATE)
    counts = [int(count) for count in np.bincount(statuses, minlength=3)]
    for name, count in zip(("accepted", "duplicate", "invalid"), counts, strict=True):
        if count:
            collector.metrics.add("hubbub_reports_total", count, f'status="{name}"')
    if len(reports) and counts[_INVALID] == len(reports):
        raise Problem(
            "invalid-reports", f"a report must be one that a device can send, got {len(reports)} that are not"
        )
    return Response(_reply(counts, statuses), media_type="application/json", headers=headers)


def _reply(counts: list[int], statuses: NDArray[np.int64]) -> bytes:
    """JSON by hand: nearly always it is the same word a thousand times."""
    if counts[_ACCEPTED] == len(statuses):
        each = b",".join([b'"accepted"'] * len(statuses))
    else:
        each = b",".join(_STATUSES[statuses])
    accepted, duplicate, invalid = counts
    return b'{"accepted":%d,"duplicate":%d,"invalid":%d,"statuses":[%b]}' % (accepted, duplicate, invalid, each)


def _check_open(stored: StoredSurvey) -> None:
    survey, now = stored.survey, datetime.now(UTC)
    if stored.closed or (survey.closes is not None and survey.closes <= now):
        raise Problem("closed", "a survey must be open to be reported to, got one that is closed")
    if survey.opens is not None and now < survey.opens:
        wait = str(int((survey.opens - now).total_seconds()) + 1)
        raise Problem("not-yet-open", f"the survey must be open, got one that opens in {wait} s", {"Retry-After": wait})


def _cors_headers(request: Request, stored: StoredSurvey) -> dict[str, str]:
    """Let pages of the survey's origins read the reply, and refuse those of others. Programs send no origin."""
    origin = request.headers.get("origin")
    if origin is None or "*" in stored.origins:
        return {"Access-Control-Allow-Origin": "*", **_EXPOSED} if "*" in stored.origins else {"Vary": "Origin"}
    if origin not in stored.origins:
        raise Problem(
            "origin-not-allowed", "the page must be of an origin of the survey, got another", {"Vary": "Origin"}
        )
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin", **_EXPOSED}


ROUTES: Final = [
    Route("/v1/surveys/{survey_id}", get_survey, methods=["GET"]),
    Route("/v1/surveys/{survey_id}", preflight, methods=["OPTIONS"]),
    Route("/v1/surveys/{survey_id}/reports", post_reports, methods=["POST"]),
    Route("/v1/surveys/{survey_id}/reports", preflight, methods=["OPTIONS"]),
]
