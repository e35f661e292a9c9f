"""The application: routes, problems, and what starts and stops with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hubbub.collector import owner, uploads
from hubbub.collector.limits import LimitDocuments
from hubbub.collector.metrics import CONTENT_TYPE
from hubbub.collector.problems import handle, handle_invalid
from hubbub.collector.state import Collector, collector_of
from hubbub.errors import HubbubError

_DESCRIPTION: Final = (
    "Reports over HTTP, sums on disk. Errors are RFC 9457 problem documents. "
    "No address, user agent or time of a single report is stored or logged."
)


def create_app(collector: Collector) -> FastAPI:
    """The application of one collector, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        collector.start()
        try:
            yield
        finally:
            await asyncio.to_thread(collector.stop)

    app = FastAPI(
        title="hubbub collector",
        version=version("hubbub"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.collector = collector
    app.add_middleware(LimitDocuments)
    for kind in (HTTPException, HubbubError, Exception):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(RequestValidationError, handle_invalid)
    app.include_router(owner.router)
    app.router.routes.extend(uploads.ROUTES)
    app.add_api_route("/healthz", healthz, tags=["operations"], response_class=PlainTextResponse)
    app.add_api_route(
        "/readyz", readyz, tags=["operations"], response_class=PlainTextResponse, responses={503: owner.REFUSALS[503]}
    )
    app.add_api_route("/metrics", metrics, tags=["operations"], response_class=PlainTextResponse)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # as the framework documents it
    return app


def healthz() -> Response:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


def readyz(request: Request) -> Response:
    """Whether a report could be made durable now."""
    collector_of(request).check_ready()
    return PlainTextResponse("ready\n")


def metrics(request: Request) -> Response:
    """Counters of this process, for Prometheus."""
    return Response(collector_of(request).metrics.render(), media_type=CONTENT_TYPE)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document of the framework, and the plain routes, which it does not know."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=_DESCRIPTION, routes=app.routes)
        place = {"name": "survey_id", "in": "path", "required": True, "schema": {"type": "string"}}
        problem: dict[str, Any] = {"content": {"application/problem+json": {}}}
        survey_path = document["paths"].setdefault("/v1/surveys/{survey_id}", {})
        survey_path["get"] = {
            "tags": ["everybody"],
            "summary": "The canonical JSON of a survey",
            "parameters": [place],
            "responses": {
                "200": {
                    "description": "The survey; its id is the SHA-256 of these bytes.",
                    "content": {"application/json": {}},
                },
                "403": {"description": "Pages of this origin may not report.", **problem},
                "404": {"description": "There is no such survey.", **problem},
                "503": {"description": "The store cannot be reached.", **problem},
            },
        }
        counts = {"type": "integer", "minimum": 0}
        statuses = {"type": "array", "items": {"enum": ["accepted", "duplicate", "invalid"]}}
        reply = {
            "type": "object",
            "required": ["accepted", "duplicate", "invalid", "statuses"],
            "properties": {"accepted": counts, "duplicate": counts, "invalid": counts, "statuses": statuses},
        }
        refusals = {
            "400": "The batch cannot be read.",
            "403": "Pages of this origin may not report.",
            "404": "There is no such survey.",
            "408": "The batch took too long to arrive.",
            "409": "The survey is not yet open.",
            "410": "The survey is closed.",
            "413": "The batch is too large.",
            "422": "The batch is for another survey, or no report in it is valid.",
            "503": "Nothing can be stored now: try again after Retry-After seconds.",
        }
        document["paths"]["/v1/surveys/{survey_id}/reports"] = {
            "post": {
                "tags": ["everybody"],
                "summary": "Send reports; the reply comes when they are durable",
                "parameters": [place],
                "requestBody": {
                    "required": True,
                    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                },
                "responses": {
                    "200": {
                        "description": "A status for each report.",
                        "content": {"application/json": {"schema": reply}},
                    },
                    **{status: {"description": text, **problem} for status, text in refusals.items()},
                },
            }
        }
        app.openapi_schema = document
    return app.openapi_schema
