"""Errors as RFC 9457 problem documents: one shape for everything that can go wrong."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hubbub.errors import (
    HubbubError,
    StoreError,
    StoreUnavailable,
    SurveyClosed,
    SurveyMismatch,
    UnknownSurvey,
    WireError,
)

RETRY_SECONDS: Final = 2

TITLES: Final = {
    "bad-request": (400, "The request cannot be read"),
    "malformed-batch": (400, "The batch of reports cannot be read"),
    "unauthorized": (401, "The owner's token is needed"),
    "origin-not-allowed": (403, "Pages of this origin may not report to the survey"),
    "not-found": (404, "There is nothing here"),
    "unknown-survey": (404, "There is no such survey"),
    "method-not-allowed": (405, "The method does not fit"),
    "too-slow": (408, "The request took too long to arrive"),
    "not-yet-open": (409, "The survey is not yet open"),
    "closed": (410, "The survey is closed"),
    "too-large": (413, "The request is too large"),
    "wrong-survey": (422, "The batch is for another survey"),
    "invalid-reports": (422, "No report of the batch is valid"),
    "invalid-request": (422, "The request cannot be met"),
    "internal": (500, "The collector failed"),
    "damaged": (500, "The store is damaged"),
    "busy": (503, "The collector is busy"),
    "unavailable": (503, "Nothing can be stored now"),
}
"""Every kind of problem, with its status and what it means."""


class Problem(HTTPException):
    """A refusal: its kind, and one sentence about this case."""

    def __init__(self, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        status, self.title = TITLES[kind]
        retry = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
        super().__init__(status, detail, {**retry, **(headers or {})})
        self.kind = kind
        self.more = more


def respond(problem: Problem) -> Response:
    """The problem as a reply."""
    document = {
        "type": f"urn:hubbub:problem:{problem.kind}",
        "title": problem.title,
        "status": problem.status_code,
        "detail": problem.detail,
        **problem.more,
    }
    body = json.dumps(document, ensure_ascii=True).encode("ascii")
    return Response(body, problem.status_code, problem.headers, "application/problem+json")


def problem_of(error: Exception) -> Problem:
    """The problem that an exception of ours, or of the framework, is to a caller."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreUnavailable):
        # What a database says is for the operator's log, not for strangers.
        return Problem("unavailable", "the store must be there and writable, got one that is not: try again later")
    if isinstance(error, UnknownSurvey):
        return Problem("unknown-survey", str(error))
    if isinstance(error, SurveyClosed):
        return Problem("closed", str(error))
    if isinstance(error, SurveyMismatch):
        return Problem("wrong-survey", str(error))
    if isinstance(error, StoreError):
        return Problem("damaged", str(error))
    if isinstance(error, WireError):
        return Problem("malformed-batch", str(error))
    if isinstance(error, HubbubError):
        return Problem("invalid-request", str(error))
    if isinstance(error, HTTPException):
        kind = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
        return Problem(kind, str(error.detail), dict(error.headers or {}))
    return Problem("internal", "the collector must answer, got an error that is in its log")


async def handle(_request: Request, error: Exception) -> Response:
    """An exception handler for all of them."""
    return respond(problem_of(error))


async def handle_invalid(_request: Request, error: Exception) -> Response:
    """What pydantic says of a request, as one sentence; the first of its complaints."""
    first: dict[str, Any] = next(iter(error.errors()), {})  # type: ignore[attr-defined]  # RequestValidationError
    place = ".".join(str(part) for part in first.get("loc", ()) if part != "body") or "the body"
    return respond(Problem("invalid-request", f"{place}: {first.get('msg', 'invalid')}"[:300]))
