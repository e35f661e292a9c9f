"""How much a collector takes in: bytes of one request, and bytes of all requests at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hubbub.collector.problems import Problem, problem_of, respond
from hubbub.errors import HubbubError
from hubbub.store.store import Store

MAX_BATCH_BYTES: Final = 1 << 20
MAX_DOCUMENT_BYTES: Final = 8 << 20
MAX_WAITING_BYTES: Final = 64 << 20
UPLOAD_SECONDS: Final = 30.0
_DOCUMENT_ROUTES: Final = re.compile(r"/v1/surveys(/[^/]+/hitters)?")


class Budget:
    """The bounded queue: bytes of uploads that are read or wait to be durable, of all connections together."""

    def __init__(self, limit: int = MAX_WAITING_BYTES, seconds: float = UPLOAD_SECONDS) -> None:
        self.limit = limit
        self.seconds = seconds
        self.waiting = 0

    @contextmanager
    def room(self) -> Iterator[list[int]]:
        """Room for one upload; what is appended to the list is counted until the upload is done."""
        taken: list[int] = []
        try:
            yield taken
        finally:
            self.waiting -= sum(taken)

    def take(self, taken: list[int], size: int) -> None:
        """Count some more bytes, or refuse."""
        if self.waiting + size > self.limit:
            raise Problem("busy", f"at most {self.limit} bytes may wait, got more")
        self.waiting += size
        taken.append(size)


async def read_batch(request: Request, budget: Budget, taken: list[int], limit: int = MAX_BATCH_BYTES) -> bytes:
    """The body of an upload, refused as soon as it is too large or too slow: what it takes is not there for others."""
    try:
        async with asyncio.timeout(budget.seconds):
            return await _read(request, budget, taken, limit)
    except TimeoutError:
        sentence = f"an upload must arrive within {budget.seconds:g} s, got one that took longer"
        raise Problem("too-slow", sentence, {"Connection": "close"}) from None


async def _read(request: Request, budget: Budget, taken: list[int], limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        budget.take(taken, len(part))
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class LimitDocuments:
    """Refuse documents of strangers and those that are too large, before anybody reads them."""

    def __init__(self, app: ASGIApp, limit: int = MAX_DOCUMENT_BYTES) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is received; the framework would read and parse a document before it asks who sent it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        collector: Any = scope["app"].state.collector
        is_document = scope["method"] == "POST" and _DOCUMENT_ROUTES.fullmatch(scope["path"]) is not None
        if is_document:
            try:
                await asyncio.to_thread(check_owner, collector.store, Headers(scope=scope).get("authorization"))
            except (HubbubError, Problem) as error:
                await respond(problem_of(error))(scope, receive, send)
                return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.limit:
                raise _too_large(self.limit)
            if is_document:
                collector.budget.take(taken, len(message.get("body", b"")))
            return message

        with collector.budget.room() as taken:
            await self.app(scope, counted, send)


def check_owner(store: Store, authorization: str | None) -> None:
    """Raise unless the header holds the owner's token."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not store.is_owner(token.strip()):
        raise Problem(
            "unauthorized", "the owner's token must be given, got none or another", {"WWW-Authenticate": "Bearer"}
        )


def _too_large(limit: int) -> Problem:
    return Problem("too-large", f"a body must have at most {limit} bytes, got more")
