"""The gateway: takes releases from a relay, opens them, and stores their reports like those of any upload."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from hubbub.collector.bodies import read_body
from hubbub.collector.documents import Released
from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import Collector
from hubbub.collector.uploads import BINARY, PlainRoute
from hubbub.errors import SurveyClosed, UnknownSurvey, WireError
from hubbub.model.mechanism import Reports
from hubbub.sealing.release import MOST_PART_BYTES, Part, parse_part
from hubbub.sealing.request import HEADER_BYTES, parse_request
from hubbub.sealing.sealed import open_request
from hubbub.store.reports import Upload
from hubbub.store.sealing_keys import SealingKey, sealing_key
from hubbub.store.store import StoredSurvey

_REPLY: Final = b'{"accepted":%d,"duplicate":%d,"invalid":%d}'


class _Opened(NamedTuple):
    """What a part brings: a survey, and the valid reports to it."""

    stored: StoredSurvey
    reports: Reports


async def take_release(request: Request) -> Response:
    """Take one part of a release. The reply comes when its reports are durable; the same part again changes nothing."""
    collector: Collector = request.app.state.collector
    await asyncio.to_thread(collector.relay.check, request.headers.get("authorization"))
    collector.check_room()
    with collector.owner_budget.room() as reading:
        budget = collector.owner_budget
        data = await read_body(request.scope, request.receive, budget, reading, MOST_PART_BYTES)
        part = parse_part(data)
        async with collector.opening:  # one at a time: 4,000 requests take about half a second of a core
            opened = await asyncio.to_thread(_open, collector, part)
        accepted = 0
        if opened is not None:
            await collector.rates.check(collector.store, opened.stored)
            accepted = await _store(collector, part, opened)
    kept = 0 if opened is None or accepted < 0 else len(opened.reports)
    counts = (max(accepted, 0), kept - max(accepted, 0) if kept else 0, len(part.requests) - kept)
    for counter, count in zip(collector.metrics.by_status, counts, strict=True):
        counter.inc(count)
    return Response(_REPLY % counts, media_type="application/json")


def _open(collector: Collector, part: Part) -> _Opened | None:
    """Open the requests of a part. Returns None if no survey takes them: they are sealed for nobody, or too late.

    Raises Problem if the release is smaller than the crowd that its survey asks for.
    """
    queue = parse_request(part.requests[0])
    key = sealing_key(collector.store.engine, queue.key)
    if key is None:
        return None
    try:
        stored = collector.store.survey(key.survey_id)
    except UnknownSurvey:
        return None
    if stored.damage:
        raise Problem("damaged", "the survey is damaged and takes no reports now; send them again later")
    if queue.crowd != stored.survey.crowd or stored.state(collector.clock.now()) != "open":
        return None
    if part.size < queue.crowd:
        sentence = f"a release to this survey must have at least {queue.crowd} requests, got {part.size}"
        raise Problem("small-release", sentence)
    dtype = stored.mechanism.report_dtype
    header = part.requests[0][:HEADER_BYTES]  # all are of one queue, and what else is there was not shuffled with them
    raw = b"".join(_report(key, each, dtype.itemsize) for each in part.requests if each[:HEADER_BYTES] == header)
    reports = np.frombuffer(raw, dtype)
    return _Opened(stored, reports[stored.mechanism.validate(reports)])


def _report(key: SealingKey, request: bytes, size: int) -> bytes:
    """Return the report in a request; nothing if it cannot be opened, or is not of this survey and size."""
    try:
        opened = open_request(key.private, request)
    except WireError:
        return b""
    return opened.report if opened.survey_id == key.survey_id and len(opened.report) == size else b""


async def _store(collector: Collector, part: Part, opened: _Opened) -> int:
    """Wait until the reports of a part are durable; return how many are new, or -1 if the survey has just closed."""
    stored = opened.stored
    known = (part.release, part.part, part.parts)
    try:
        new = await collector.commit(Upload(stored.key, opened.reports, slice_days=stored.slice_days, part=known))
    except (SurveyClosed, UnknownSurvey):
        collector.store.forget_state(stored.survey_id)
        return -1
    return int(np.count_nonzero(new))


ROUTES: Final = [
    PlainRoute(
        "/v1/releases",
        take_release,
        methods=["POST"],
        tags=["relay"],
        summary="Send one part of a release; the reply comes when its reports are durable",
        response_model=Released,
        response_description="How many of its reports are new, known from before, and unusable.",
        responses=refusals(
            {
                400: "The release cannot be read.",
                401: "The relay's token is needed.",
                408: "The release took too long to arrive.",
                413: "The release is too large.",
                422: "The release is smaller than the crowd of its survey.",
                429: "Too many requests came without the relay's token, or the survey has too many reports.",
                503: "Nothing can be stored now: try again after Retry-After seconds.",
            }
        ),
        openapi_extra={
            "security": [{"HTTPBearer": []}],
            "requestBody": {"required": True, "content": BINARY},
        },
    )
]
