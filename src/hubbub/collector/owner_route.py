"""Who may use the owner's routes: the owner, and on routes that only read, read-only tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.types import Message

from hubbub.collector.bodies import MAX_DOCUMENT_BYTES, read_body
from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import Collector
from hubbub.errors import ParameterError, shown
from hubbub.store.readers import Reader

UNKNOWN: Final = refusals({404: "There is no such survey.", 410: "An earlier version made the survey."})
_HOLDERS: Final = "The token that the collector showed when it first started; to read answers, a read-only one."


class OwnerRoute(APIRoute):
    """A route for the owner. Strangers are refused before their body is read, and large bodies while they are read.

    With `takes_documents` a body is JSON, which is read before the request is handled. A read-only token is refused,
    unless the route is one `for_readers`, and the token is for the survey of the route.
    """

    takes_documents: bool = True
    for_readers: bool = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the framework's handler behind checks of the token, of the query and of the request's size."""
        handle = super().get_route_handler()
        asked = (self.dependant, *self.dependant.dependencies)
        known = {field.alias for each in asked for field in each.query_params}

        async def check_and_handle(request: Request) -> Response:
            """Check the request, and then handle it."""
            collector = await collector_of(request)
            try:
                reader = await asyncio.to_thread(collector.owner.check, request.headers.get("authorization"))
            except Problem:
                collector.metrics.owner_refusals.inc()
                raise
            if reader is not None:
                if not self.for_readers:
                    raise Problem("read-only", "this needs the owner's token, got one that only reads answers")
                check_reader(reader, request)
            request.state.reader = reader
            if unknown := [name for name in request.query_params if name not in known]:
                allowed = ", ".join(sorted(known)) or "none"
                raise ParameterError(f"a parameter must be one of this route ({allowed}), got {shown(unknown[0])}")
            given = [name for name, _ in request.query_params.multi_items()]
            if doubled := [name for name in given if given.count(name) > 1]:
                raise ParameterError(f"a parameter must be given once, got {shown(doubled[0])} twice")
            if not self.takes_documents:
                return await handle(request)
            budget = collector.owner_budget
            with budget.room() as reading:
                body = await read_body(request.scope, request.receive, budget, reading, MAX_DOCUMENT_BYTES)

                async def receive() -> Message:
                    """Return the body."""
                    return {"type": "http.request", "body": body, "more_body": False}

                return await handle(Request(request.scope, receive))

        return check_and_handle


class ReadRoute(OwnerRoute):
    """A route for the owner and for read-only tokens: it reads one survey, which its path names."""

    for_readers = True


def check_reader(reader: Reader, request: Request) -> None:
    """Raise Problem unless a read-only token is for the survey that the path of a request names."""
    if not reader.may_read(request.path_params.get("survey_id", "")):
        raise Problem("not-for-token", "the token must be for this survey, got one for others")


async def collector_of(request: Request) -> Collector:
    """Return the collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector


Owner = Annotated[Collector, Depends(collector_of)]


def owner_router(route: type[OwnerRoute], prefix: str = "/v1") -> APIRouter:
    """Return a router for routes of this kind."""
    return APIRouter(
        prefix=prefix,
        tags=["owner"],
        route_class=route,
        # For the documentation only: the route checks the token.
        dependencies=[Depends(HTTPBearer(auto_error=False, description=_HOLDERS))],
        responses=refusals(
            {
                400: "The request cannot be read.",
                401: "The owner's token is needed.",
                403: "The token only reads, or is not for this survey.",
                408: "The request took too long to arrive.",
                413: "The request is too large.",
                422: "The request cannot be met.",
                429: "Too many requests came without the owner's token.",
                503: "The store cannot be reached.",
            }
        ),
    )
