"""The application: its routes, its errors, and what starts and stops with it."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from hubbub.collector import (
    gateway,
    key_route,
    merge_route,
    owner,
    published,
    reading,
    scripts,
    sites,
    tokens,
    uploads,
)
from hubbub.collector.api_page import show_api, show_document
from hubbub.collector.kept_bytes import KeptBytes
from hubbub.collector.metrics import CONTENT_TYPE
from hubbub.collector.problems import handle, handle_invalid, problem_of, refusals, respond
from hubbub.collector.state import Collector
from hubbub.errors import HubbubError

log = logging.getLogger("hubbub.collector")

_UPLOAD: Final = re.compile("/v1/surveys/([^/]*)/reports")
_DESCRIPTION: Final = (
    "Reports over HTTP, sums on disk. Errors are RFC 9457 problem documents. "
    "No address, user agent or time of a single report is stored or logged."
)


class Application(FastAPI):
    """The framework's application, except that uploads bypass its layers: they are many, and the layers are slow.

    The framework knows the route of uploads for its documentation, and to refuse other methods.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        method = scope["method"] if scope["type"] == "http" else ""
        if method == "HEAD":
            scope = {**scope, "method": "GET"}  # the server knows that it was HEAD, and leaves the body out
        upload = _UPLOAD.fullmatch(scope["path"]) if method == "POST" else None
        if upload is None:
            with suppress(ClientDisconnect):  # nobody is left to reply to
                await super().__call__(scope, receive, send)
            return
        scope["app"], scope["path_params"] = self, {"survey_id": upload[1]}
        try:
            response = await uploads.take(Request(scope, receive))
        except Exception as error:
            log.exception("an upload failed")
            response = respond(problem_of(error))
        await response(scope, receive, send)


def create_app(collector: Collector) -> FastAPI:
    """Return the application of a collector. It starts and stops the collector."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        """Start the collector with the server, and stop it with the server."""
        collector.start()
        await asyncio.to_thread(scripts.keep, collector.store)
        gc.collect()
        collector.freeze()
        try:
            yield
        finally:
            await asyncio.to_thread(collector.stop)

    app = Application(
        title="hubbub collector",
        version=version("hubbub"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # the framework's pages are loaded from a third party
        redoc_url=None,
        openapi_url=None,  # the framework writes the document anew for each request
        redirect_slashes=False,  # behind a proxy it would lead from https to http, with the owner's token
    )
    app.state.collector = collector
    app.state.old_scripts = {}
    app.state.kept = KeptBytes()
    app.state.shown = published.ShownSurveys(collector)
    for kind in (HTTPException, HubbubError, Exception):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(RequestValidationError, handle_invalid)
    plain = (uploads, key_route, gateway, published, sites, scripts)
    app.router.routes.extend(route for each in plain for route in each.ROUTES)
    app.add_route("/docs", show_api, include_in_schema=False)
    app.add_route("/openapi.json", show_document, include_in_schema=False)
    for each in (owner, reading, tokens):
        app.include_router(each.router)
    app.include_router(published.owners)
    app.include_router(merge_route.router)
    app.include_router(sites.router)
    text: dict[str, Any] = {"tags": ["operations"], "response_class": PlainTextResponse}
    app.add_api_route("/healthz", healthz, **text)
    app.add_api_route("/readyz", readyz, **text, responses=refusals({503: "Nothing can be stored now."}))
    app.add_api_route("/metrics", metrics, **text)
    return app


async def healthz() -> Response:
    """Say that the process is alive. Needs no thread, so that it replies even if all threads are busy."""
    return PlainTextResponse("ok\n")


def readyz(request: Request) -> Response:
    """Say whether a report could be made durable now."""
    request.app.state.collector.check_ready()
    return PlainTextResponse("ready\n")


def metrics(request: Request) -> Response:
    """Return counters for Prometheus: the sums over all workers of this collector."""
    collector: Collector = request.app.state.collector
    collector.measure()
    return Response(collector.metrics.render(collector.store), media_type=CONTENT_TYPE)
