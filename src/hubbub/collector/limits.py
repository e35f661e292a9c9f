"""Limits of a collector: bytes of one request and of all together, and failed attempts to authenticate as the owner."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from hubbub.collector.problems import Problem
from hubbub.store.tokens import is_token

MAX_BATCH_BYTES: Final = 1 << 20
MAX_DOCUMENT_BYTES: Final = 8 << 20
MAX_WAITING_BYTES: Final = 64 << 20
UPLOAD_SECONDS: Final = 30.0
COMMIT_SECONDS: Final = 5.0
MOST_FAILURES: Final = 20
HASH_SECONDS: Final = 1.0
_TOO_SLOW: Final = "the upload is too slow"


class Budget:
    """Bounds the bytes of all requests that are being read or are not yet durable.

    Parameters
    ----------
    limit : int
        The most bytes, over all connections.
    seconds : float
        How long a single upload may take to arrive.
    commit_seconds : float
        How long an upload that has arrived may wait until it is durable. Clients give up after 10 seconds, so later
        work would be wasted.

    Attributes
    ----------
    waiting : int
        The bytes in use now.
    """

    def __init__(
        self,
        limit: int = MAX_WAITING_BYTES,
        seconds: float = UPLOAD_SECONDS,
        commit_seconds: float = COMMIT_SECONDS,
    ) -> None:
        self.limit = limit
        self.seconds = seconds
        self.commit_seconds = commit_seconds
        self.waiting = 0

    @contextmanager
    def room(self) -> Iterator[list[int]]:
        """Yield an empty list, in which `take` notes what one request uses. At the end these bytes are free again."""
        taken: list[int] = []
        try:
            yield taken
        finally:
            self.waiting -= sum(taken)

    def take(self, taken: list[int], size: int) -> None:
        """Use `size` more bytes and note them in `taken`. Raises Problem if that is above the limit."""
        if self.waiting + size > self.limit:
            raise Problem("busy", f"more than {self.limit} bytes of uploads are waiting; send this again later")
        self.waiting += size
        taken.append(size)


class OwnerCheck:
    """Checks the owner's token. While many wrong tokens come, the stored hash is read at most once a second.

    Parameters
    ----------
    stored_hash : callable
        Returns the hash of the owner's token, or None.
    """

    def __init__(self, stored_hash: Callable[[], str | None]) -> None:
        self._stored_hash = stored_hash
        self._lock = threading.Lock()
        self._known: tuple[float, str | None] = (-1.0, None)
        self._failures: deque[float] = deque(maxlen=MOST_FAILURES)

    def check(self, authorization: str | None) -> None:
        """Raise Problem unless the header has the owner's token. Many wrong ones in a minute get 429."""
        scheme, _, token = (authorization or "").partition(" ")
        with self._lock:
            now = time.monotonic()
            too_many = len(self._failures) == MOST_FAILURES and now - self._failures[0] < 60
            if not too_many or now >= self._known[0]:
                self._known = now + HASH_SECONDS, self._stored_hash()
            if scheme.lower() == "bearer" and is_token(self._known[1], token.strip()):
                return
            self._failures.append(now)
        if too_many:
            sentence = "too many requests came without the owner's token"
            raise Problem("too-many-attempts", sentence, {"Retry-After": "60"})
        sentence = "the request must have the owner's token, got none or another"
        raise Problem("unauthorized", sentence, {"WWW-Authenticate": "Bearer"})


async def read_batch(scope: Scope, receive: Receive, budget: Budget, taken: list[int]) -> bytes:
    """Return the body of an upload. Raises Problem as soon as it is too large or too slow."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > MAX_BATCH_BYTES:
        raise too_large(MAX_BATCH_BYTES)
    parts, size, more = [], 0, True
    # Like asyncio.timeout, at a tenth of its cost: nearly always the whole body has arrived already.
    task = asyncio.current_task()
    timer = None if task is None else asyncio.get_running_loop().call_later(budget.seconds, task.cancel, _TOO_SLOW)
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > MAX_BATCH_BYTES:
                raise too_large(MAX_BATCH_BYTES)
            if part:
                budget.take(taken, len(part))
                parts.append(part)
    except asyncio.CancelledError as error:
        if task is None or error.args != (_TOO_SLOW,):
            raise
        task.uncancel()  # a slow upload takes memory from others
        sentence = f"the upload did not arrive within {budget.seconds:g} s; send it again"
        raise Problem("too-slow", sentence, {"Connection": "close"}) from None
    finally:
        if timer is not None:
            timer.cancel()
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(limit: int) -> Problem:
    """Return the problem that a body has more bytes than `limit`."""
    return Problem("too-large", f"a body must have at most {limit} bytes, got more")
