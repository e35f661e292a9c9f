"""The routes for everybody: read a survey, and report to it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import numpy as np
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Scope

from hubbub.collector.bodies import Reading, read_body
from hubbub.collector.documents import UploadReply
from hubbub.collector.kept_bytes import KeptBytes
from hubbub.collector.problems import Problem, problem_of, refusals, respond
from hubbub.collector.state import Collector
from hubbub.errors import HubbubError, SurveyClosed, UnknownSurvey
from hubbub.store.reports import Upload
from hubbub.store.store import StoredSurvey
from hubbub.wire.report_batch import parse_batch

_ACCEPTED, _DUPLICATE, _INVALID = 0, 1, 2
_ONE_NEW: Final = b'{"accepted":1,"duplicate":0,"invalid":0,"statuses":["accepted"]}'
_ONE_OLD: Final = b'{"accepted":0,"duplicate":1,"invalid":0,"statuses":["duplicate"]}'
_STATUSES: Final = np.array([b'"accepted"', b'"duplicate"', b'"invalid"'], dtype=object)
_CACHE: Final = "public, max-age=300"


class PlainRoute(APIRoute):
    """A route whose function gets the raw request. Uploads are many, and the framework's parsing takes time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function of the route itself."""
        handler: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return handler


async def get_survey(request: Request) -> Response:
    """Return the canonical JSON of a survey. It never changes, so it may be cached."""
    collector: Collector = request.app.state.collector
    stored = await collector.find(request.path_params["survey_id"])
    tag = f'"{stored.survey_id.hex()}"'
    headers = {"ETag": tag, "Cache-Control": _CACHE, **_cors_headers(request.scope, stored)}
    headers["Vary"] = f"Accept-Encoding, {headers['Vary']}" if "Vary" in headers else "Accept-Encoding"
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(stored.document, media_type="application/json", headers=headers)
    headers["Content-Encoding"] = "gzip"
    kept: KeptBytes = request.app.state.kept
    packed = await kept.get(("document", stored.survey_id), lambda: gzip.compress(stored.document, 9, mtime=0))
    return Response(packed, media_type="application/json", headers=headers)


async def get_open_survey(request: Request) -> Response:
    """Return a survey like `get_survey` while it takes reports, and else an empty reply with 204.

    Scripts of web pages ask for it before they make a report. A status of 4xx would be an error in a visitor's console,
    though nothing is wrong: the line is on the page, and the survey is over.
    """
    collector: Collector = request.app.state.collector
    headers = {"Access-Control-Allow-Origin": "*"}
    with suppress(UnknownSurvey):
        stored = await collector.find(request.path_params["survey_id"])
        if stored.state(collector.clock.now()) == "open":
            return await get_survey(request)
        headers = _cors_headers(request.scope, stored)
    return Response(status_code=204, headers={**headers, "Cache-Control": _CACHE})


async def preflight(request: Request) -> Response:
    """Answer a browser's CORS preflight request."""
    collector: Collector = request.app.state.collector
    stored = await collector.find(request.path_params["survey_id"])
    headers = {
        **_cors_headers(request.scope, stored),
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "Content-Type",
        "Access-Control-Max-Age": "86400",
    }
    return Response(status_code=204, headers=headers)


async def take(request: Request) -> Response:
    """Take a batch of reports. The reply comes when they are durable."""
    collector: Collector = request.app.state.collector
    stored: StoredSurvey | None = None
    headers: dict[str, str] = {}
    reading = Reading()
    started = time.perf_counter()
    try:
        stored = await collector.find(request.path_params["survey_id"])
        headers = _cors_headers(request.scope, stored)
        now = collector.clock.now()
        if stored.state(now) != "open":
            raise _not_open(stored, now)
        if stored.survey.through is not None:
            raise Problem(
                "relay-only", "the survey takes sealed reports through a relay only; send none to it directly"
            )
        collector.check_room()
        await collector.rates.check(collector.store, stored)
        data = await read_body(request.scope, request.receive, collector.budget, reading)
        reply = await _store_batch(collector, stored, data)
        collector.metrics.upload_seconds.observe(time.perf_counter() - started)
        if reply in (_ONE_NEW, _ONE_OLD):
            return _acknowledge_one(reply, tuple(headers.items()))
        return Response(reply, media_type="application/json", headers=headers)
    except (HubbubError, Problem) as error:
        error.__traceback__ = None  # it would keep the refused bytes until the garbage collector finds them
        if stored is not None and isinstance(error, UnknownSurvey | SurveyClosed):
            collector.store.forget_state(stored.survey_id)
        problem = problem_of(error)
        problem.headers = {**(problem.headers or {}), **headers}
        collector.metrics.refused.labels(problem.kind).inc()
        return respond(problem)
    except ClientDisconnect:  # this is common, and nobody is left to reply to
        collector.metrics.refused.labels("cut-off").inc()
        return Response(status_code=400)
    finally:
        collector.budget.free(reading)


@lru_cache(maxsize=1024)
def _acknowledge_one(reply: bytes, headers: tuple[tuple[str, str], ...]) -> Response:
    """Return the reply to a single report: it is one of a few, and may be sent any number of times."""
    return Response(reply, media_type="application/json", headers=dict(headers))


async def _store_batch(collector: Collector, stored: StoredSurvey, data: bytes) -> bytes:
    """Check the reports of a batch, wait until the valid ones are durable, and return the reply as JSON.

    The JSON is written by hand for speed: it usually repeats one word a thousand times.
    """
    reports = parse_batch(data, stored.survey_id, stored.mechanism.report_dtype)
    valid = stored.mechanism.validate(reports)
    upload = Upload(stored.key, reports if valid.all() else reports[valid], slice_days=stored.slice_days)
    new = np.zeros(0, np.bool_)
    collector.rates.reserve(stored, len(upload.reports))
    try:
        if len(upload.reports):
            new = await collector.commit(upload)
    finally:
        collector.rates.settle(stored, len(upload.reports), int(np.count_nonzero(new)))
    if len(reports) == len(new) == 1:  # nearly every upload
        collector.metrics.by_status[_ACCEPTED if new[0] else _DUPLICATE].inc()
        return _ONE_NEW if new[0] else _ONE_OLD
    statuses = np.full(len(reports), _INVALID, np.uint8)
    statuses[valid] = np.where(new, _ACCEPTED, _DUPLICATE)
    counts = np.bincount(statuses, minlength=3).tolist()
    for counter, count in zip(collector.metrics.by_status, counts, strict=True):
        counter.inc(count)
    if len(reports) and counts[_INVALID] == len(reports):
        raise Problem("invalid-reports", f"none of the {len(reports)} reports is valid: no device would send them")
    all_new = counts[_ACCEPTED] == len(reports)
    words = [b'"accepted"'] * len(reports) if all_new else _STATUSES[statuses].tolist()
    return b'{"accepted":%d,"duplicate":%d,"invalid":%d,"statuses":[%b]}' % (*counts, b",".join(words))


def _not_open(stored: StoredSurvey, now: datetime) -> Problem:
    """Return the problem that a survey takes no reports now."""
    if stored.damage:
        return Problem("damaged", "the survey is damaged and takes no reports now; send them again later")
    if stored.state(now) != "not yet open" or stored.opens is None:
        return Problem("closed", "the survey is closed and takes no more reports")
    wait = str(int((stored.opens - now).total_seconds()) + 1)
    return Problem("not-yet-open", f"the survey opens in {wait} s; send the reports then", {"Retry-After": wait})


def _cors_headers(scope: Scope, stored: StoredSurvey) -> dict[str, str]:
    """Return headers that let pages of the survey's origins read the reply. Raises Problem for pages of others.

    Programs send no origin and are always let through. Refusals have a few more of these headers: see `respond`.
    """
    sent = dict(scope["headers"]).get(b"origin")
    if sent is None or "*" in stored.origins:
        return {"Access-Control-Allow-Origin": "*"} if "*" in stored.origins else {"Vary": "Origin"}
    origin: str = sent.decode("latin-1")
    if origin not in stored.origins:
        raise Problem("origin-not-allowed", "pages of this origin may not report to the survey", {"Vary": "Origin"})
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}


_SURVEY: Final = "/v1/surveys/{survey_id}"
_PLACE: Final = {"name": "survey_id", "in": "path", "required": True, "schema": {"type": "string"}}
BINARY: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_UNREADABLE: Final = {
    403: "Pages of this origin may not report, or reports come through a relay only.",
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
        f"{_SURVEY}/open",
        get_open_survey,
        methods=["GET"],
        tags=["everybody"],
        summary="Read the canonical JSON of a survey, if it takes reports now",
        response_description="The survey; its id is the SHA-256 of these bytes.",
        responses={
            204: {"description": "The survey is closed, not yet open, or there is none."},
            **refusals({code: text for code, text in _UNREADABLE.items() if code != 404}),
        },
        openapi_extra={"parameters": [_PLACE]},
    ),
    PlainRoute(
        f"{_SURVEY}/reports",
        take,
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
                429: "The survey has too many reports, or gets them too fast: try again after Retry-After seconds.",
            }
        ),
        openapi_extra={"parameters": [_PLACE], "requestBody": {"required": True, "content": BINARY}},
    ),
    PlainRoute(_SURVEY, preflight, methods=["OPTIONS"], include_in_schema=False),
    PlainRoute(f"{_SURVEY}/reports", preflight, methods=["OPTIONS"], include_in_schema=False),
]
