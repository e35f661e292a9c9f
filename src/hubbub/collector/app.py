"""The application: its routes, its errors, and what starts and stops with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hubbub.collector import owner, uploads
from hubbub.collector.metrics import CONTENT_TYPE
from hubbub.collector.problems import handle, handle_invalid, refusals
from hubbub.collector.state import Collector
from hubbub.errors import HubbubError

_DESCRIPTION: Final = (
    "Reports over HTTP, sums on disk. Errors are RFC 9457 problem documents. "
    "No address, user agent or time of a single report is stored or logged."
)


def create_app(collector: Collector) -> FastAPI:
    """Return the application of a collector. It starts and stops the collector."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        """Start the collector with the server, and stop it with the server."""
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
    for kind in (HTTPException, HubbubError, Exception):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(RequestValidationError, handle_invalid)
    app.router.routes.extend(uploads.ROUTES)
    app.include_router(owner.router)
    text: dict[str, Any] = {"tags": ["operations"], "response_class": PlainTextResponse}
    app.add_api_route("/healthz", healthz, **text)
    app.add_api_route("/readyz", readyz, **text, responses=refusals({503: "Nothing can be stored now."}))
    app.add_api_route("/metrics", metrics, **text)
    return app


def healthz() -> Response:
    """Say that the process answers."""
    return PlainTextResponse("ok\n")


def readyz(request: Request) -> Response:
    """Say whether a report could be made durable now."""
    request.app.state.collector.check_ready()
    return PlainTextResponse("ready\n")


def metrics(request: Request) -> Response:
    """Return counters for Prometheus: the sums over all workers of this collector."""
    return Response(request.app.state.collector.metrics.render(), media_type=CONTENT_TYPE)
