"""Errors as RFC 9457 problem documents: all errors have the same shape."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hubbub.errors import (
    HubbubError,
    KeyReused,
    StoreError,
    StoreUnavailable,
    SurveyClosed,
    SurveyMismatch,
    UnknownSite,
    UnknownSurvey,
    WireError,
)

RETRY_SECONDS: Final = (2, 30)
"""A refused client should retry after a random time between these, so that not all retry at once."""

EVERY_PAGE: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
"""Headers that let pages of any origin read a reply. Without them a script cannot tell one refusal from another."""

TITLES: Final = {
    "bad-request": (400, "The request cannot be read"),
    "malformed-batch": (400, "The batch of reports cannot be read"),
    "unauthorized": (401, "The owner's token is needed"),
    "no-relay": (401, "The relay's token is needed"),
    "origin-not-allowed": (403, "Pages of this origin may not report to the survey"),
    "relay-only": (403, "The survey takes reports through a relay only"),
    "read-only": (403, "The owner's token is needed, and this one only reads"),
    "not-for-token": (403, "The token is for other surveys"),
    "foreign-page": (403, "The request comes from a page of another origin"),
    "wrong-code": (403, "The code does not log in"),
    "not-found": (404, "There is nothing here"),
    "not-published": (404, "The survey shows no answer"),
    "unknown-survey": (404, "There is no such survey"),
    "unknown-site": (404, "There is no such site"),
    "method-not-allowed": (405, "The method does not fit"),
    "too-slow": (408, "The request took too long to arrive"),
    "not-yet-open": (409, "The survey is not yet open"),
    "key-reused": (409, "The idempotency key was used for another tally"),
    "closed": (410, "The survey is closed"),
    "too-large": (413, "The request is too large"),
    "long-address": (414, "The address of the request is too long"),
    "wrong-survey": (422, "The batch is for another survey"),
    "invalid-reports": (422, "No report of the batch is valid"),
    "invalid-request": (422, "The request cannot be met"),
    "small-release": (422, "The release is smaller than the crowd of its survey"),
    "too-many-attempts": (429, "Too many requests without the token"),
    "too-many-reports": (429, "The survey got many more reports than were expected"),
    "too-fast": (429, "Reports come too fast"),
    "large-head": (431, "The head of the request is too large"),
    "internal": (500, "The collector failed"),
    "damaged": (503, "The survey is damaged"),
    "busy": (503, "The collector is busy"),
    "crowded-out": (503, "The room was needed for uploads that make progress"),
    "unavailable": (503, "Nothing can be stored now"),
}
"""Every kind of problem, with its HTTP status and its title."""


_KINDS: Final[dict[type[HubbubError], str]] = {
    UnknownSurvey: "unknown-survey",
    UnknownSite: "unknown-site",
    SurveyClosed: "closed",
    KeyReused: "key-reused",
    SurveyMismatch: "wrong-survey",
    StoreError: "damaged",
    WireError: "malformed-batch",
    HubbubError: "invalid-request",
}
"""What kind of problem an error is: the first that fits."""


class Problem(HTTPException):
    """A request that is refused: a key of `TITLES`, and one sentence about this case.

    Every 503 has a Retry-After among the headers of its reply.
    """

    def __init__(self, kind: str, detail: str, headers: dict[str, str] | None = None) -> None:
        status, self.title = TITLES[kind]
        retry = {"Retry-After": str(random.randint(*RETRY_SECONDS))} if status == 503 else {}
        super().__init__(status, detail, {**retry, **(headers or {})})
        self.kind = kind


def respond(problem: Problem) -> Response:
    """Return the problem as an HTTP reply. It is about the request alone, so every page may read it."""
    document = {
        "type": f"urn:hubbub:problem:{problem.kind}",
        "title": problem.title,
        "status": problem.status_code,
        "detail": problem.detail,
    }
    body = json.dumps(document, ensure_ascii=True).encode("ascii")
    headers = {**EVERY_PAGE, **(problem.headers or {})}
    return Response(body, problem.status_code, headers, "application/problem+json")


def problem_of(error: Exception) -> Problem:
    """Return the problem that tells a caller about an exception of ours or of the framework."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreUnavailable):
        # The words of the database are for the operator's log, not for strangers.
        return Problem("unavailable", "nothing can be stored now; send this again later")
    for ours, kind in _KINDS.items():
        if isinstance(error, ours):
            return Problem(kind, str(error))
    if isinstance(error, HTTPException):
        named = {404: "not-found", 405: "method-not-allowed"}
        return Problem(named.get(error.status_code, "bad-request"), str(error.detail), dict(error.headers or {}))
    return Problem("internal", "the collector failed; its log says where")


def refusals(descriptions: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route, for its documentation: a problem document for each of these statuses."""
    content: dict[str, Any] = {"application/problem+json": {}}
    return {status: {"description": text, "content": content} for status, text in descriptions.items()}


async def handle(_request: Request, error: Exception) -> Response:
    """Turn an exception into a reply; the handler for all exceptions but RequestValidationError."""
    return respond(problem_of(error))


async def handle_invalid(_request: Request, error: Exception) -> Response:
    """Turn the first error of pydantic about a request into a reply of one sentence."""
    first: dict[str, Any] = next(iter(error.errors()), {})  # type: ignore[attr-defined]  # RequestValidationError
    place = ".".join(str(part) for part in first.get("loc", ()) if part != "body") or "the body"
    return respond(Problem("invalid-request", f"{place}: {first.get('msg', 'invalid')}"[:300]))
