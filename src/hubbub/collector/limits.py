"""How much a collector takes in: the bytes of one request, and the bytes of all requests together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.requests import Request

from hubbub.collector.problems import Problem

MAX_BATCH_BYTES: Final = 1 << 20
MAX_DOCUMENT_BYTES: Final = 8 << 20
MAX_WAITING_BYTES: Final = 64 << 20
UPLOAD_SECONDS: Final = 30.0


class Budget:
    """Bounds the bytes of all requests that are being read or are not yet durable.

    Parameters
    ----------
    limit : int
        The most bytes, over all connections.
    seconds : float
        How long a single upload may take to arrive.

    Attributes
    ----------
    waiting : int
        The bytes in use now.
    on_change : callable
        Is called with `waiting` whenever it has changed.
    """

    def __init__(self, limit: int = MAX_WAITING_BYTES, seconds: float = UPLOAD_SECONDS) -> None:
        self.limit = limit
        self.seconds = seconds
        self.waiting = 0
        self.on_change: Callable[[float], None] = lambda _: None

    @contextmanager
    def room(self) -> Iterator[list[int]]:
        """Yield an empty list, in which `take` notes what one request uses. At the end these bytes are free again."""
        taken: list[int] = []
        try:
            yield taken
        finally:
            self.waiting -= sum(taken)
            self.on_change(self.waiting)

    def take(self, taken: list[int], size: int) -> None:
        """Use `size` more bytes and note them in `taken`. Raises Problem if that is above the limit."""
        if self.waiting + size > self.limit:
            raise Problem("busy", f"more than {self.limit} bytes of uploads are waiting; send this again later")
        self.waiting += size
        taken.append(size)
        self.on_change(self.waiting)


async def read_batch(request: Request, budget: Budget, taken: list[int]) -> bytes:
    """Return the body of an upload. Raises Problem as soon as it is too large or too slow."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > MAX_BATCH_BYTES:
        raise too_large(MAX_BATCH_BYTES)
    parts, size = [], 0
    try:
        async with asyncio.timeout(budget.seconds):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BATCH_BYTES:
                    raise too_large(MAX_BATCH_BYTES)
                if part:
                    budget.take(taken, len(part))
                    parts.append(part)
    except TimeoutError:  # a slow upload takes room from others
        sentence = f"the upload did not arrive within {budget.seconds:g} s; send it again"
        raise Problem("too-slow", sentence, {"Connection": "close"}) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(limit: int) -> Problem:
    """Return the problem that a body has more bytes than `limit`."""
    return Problem("too-large", f"a body must have at most {limit} bytes, got more")
