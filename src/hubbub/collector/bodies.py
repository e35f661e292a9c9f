"""Reads the bodies of requests, within limits on the bytes of each and of all together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from hubbub.collector.problems import Problem

MAX_BATCH_BYTES: Final = 1 << 20
MAX_DOCUMENT_BYTES: Final = 8 << 20
MAX_WAITING_BYTES: Final = 64 << 20
UPLOAD_SECONDS: Final = 30.0
COMMIT_SECONDS: Final = 5.0
PROGRESS_BYTES: Final = 4096
"""A peer that sends fewer bytes at a time than this makes no progress: it may be dripping to keep its place."""

MAX_OWNER_BYTES: Final = 32 << 20
MAX_LOGIN_BYTES: Final = 1 << 20
MAX_CODE_BYTES: Final = 4 << 10
_TOO_SLOW: Final = "the upload is too slow"
_CROWDED: Final = "the room was needed"


class Reading:
    """What one request holds of a budget: its bytes, and the task that reads it and can be made to give its room."""

    def __init__(self) -> None:
        self.held = 0
        self._since = time.monotonic()
        self._recent = 0
        self.task: asyncio.Task[Any] | None = None

    def add(self, size: int) -> None:
        """Hold more bytes. Only a whole `PROGRESS_BYTES` is progress: a peer that drips makes none."""
        self.held += size
        self._recent += size
        if self._recent >= PROGRESS_BYTES:
            self._since, self._recent = time.monotonic(), 0

    def idle_cost(self, now: float) -> float:
        """Return bytes times seconds: how much it holds, and for how long it has made no progress."""
        return self.held * (now - self._since)


class Budget:
    """Bounds the bytes of all requests that are being read or are not yet durable.

    If there is no room for more, the unfinished requests that cost most make room: those that hold much, and have made
    no progress for long.

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
        self._unfinished: set[Reading] = set()

    @property
    def unfinished(self) -> int:
        """The bytes of requests that have not arrived completely."""
        return sum([reading.held for reading in tuple(self._unfinished)])

    @contextmanager
    def room(self) -> Iterator[Reading]:
        """Yield a `Reading` for one request. At the end its bytes are free again."""
        reading = Reading()
        try:
            yield reading
        finally:
            self.free(reading)

    def free(self, reading: Reading) -> None:
        """Free the bytes of a request."""
        self._unfinished.discard(reading)
        self.waiting -= reading.held
        reading.held = 0

    def begin(self, reading: Reading) -> None:
        """Note that the task that runs now is reading a request, which others may crowd out until `finish`."""
        reading.task = asyncio.current_task()
        self._unfinished.add(reading)

    def finish(self, reading: Reading) -> None:
        """Note that a request has arrived."""
        self._unfinished.discard(reading)

    def take(self, reading: Reading, size: int) -> None:
        """Use `size` more bytes for a request. Raises Problem if there is no room, even if others give theirs up."""
        if self.waiting + size > self.limit:
            self._make_room(reading, size)
        self.waiting += size
        reading.add(size)

    def check(self) -> None:
        """Raise Problem if there is hardly any room even if all unfinished requests give theirs up."""
        if self.waiting - self.unfinished >= self.limit - self.limit // 64:
            raise self._busy()

    def _make_room(self, reading: Reading, size: int) -> None:
        """Crowd out unfinished requests, some more than is needed; raise Problem if the one in need is among them."""
        now = time.monotonic()
        enough = self.limit - self.limit // 16
        for each in sorted(self._unfinished, key=lambda each: each.idle_cost(now), reverse=True):
            if self.waiting + size <= enough:
                return
            if each is reading:
                break
            if each.task is not None:
                each.task.cancel(_CROWDED)
            self.free(each)
        if self.waiting + size > self.limit:
            raise self._busy() if self.waiting - self.unfinished + size > self.limit else _crowded_out()

    def _busy(self) -> Problem:
        """Return the problem that there is no room."""
        return Problem("busy", f"more than {self.limit} bytes of uploads are waiting; send this again later")


async def read_body(
    scope: Scope, receive: Receive, budget: Budget, reading: Reading, limit: int = MAX_BATCH_BYTES
) -> bytes:
    """Return the body of a request. Raises Problem as soon as it is too large, too slow or crowded out."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    parts, size, more = [], 0, True
    budget.begin(reading)
    task = reading.task
    # Like asyncio.timeout, at a tenth of its cost: nearly always the whole body has arrived already.
    timer = None if task is None else asyncio.get_running_loop().call_later(budget.seconds, task.cancel, _TOO_SLOW)
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            if part:
                budget.take(reading, len(part))
                parts.append(part)
    except asyncio.CancelledError as error:
        if task is None or error.args not in ((_TOO_SLOW,), (_CROWDED,)):
            raise
        task.uncancel()
        if error.args == (_CROWDED,):
            raise _crowded_out() from None
        sentence = f"the request did not arrive within {budget.seconds:g} s; send it again"
        raise Problem("too-slow", sentence, {"Connection": "close"}) from None
    finally:
        budget.finish(reading)
        if timer is not None:
            timer.cancel()
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _crowded_out() -> Problem:
    """Return the problem that an unfinished request must make room."""
    sentence = "the upload stopped, and others needed its room; send it again later"
    return Problem("crowded-out", sentence, {"Connection": "close"})


def _too_large(limit: int) -> Problem:
    """Return the problem that a body has more bytes than `limit`."""
    return Problem("too-large", f"a body must have at most {limit} bytes, got more")
