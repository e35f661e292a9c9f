"""Closes silent and slow connections in time, so that they never keep others out or hold up a restart."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from hubbub.collector.bodies import PROGRESS_BYTES
from hubbub.collector.framing import FramedProtocol
from hubbub.collector.problems import Problem, respond

HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take to arrive, on a new or a reused connection."""

READ_SECONDS: Final = 30.0
"""How long a peer may read nothing of a reply that is waiting for it."""

IDLE_SECONDS: Final = 15
"""How long a connection stays open after a reply."""

LEAVE_SECONDS: Final = 1.0
"""How long a silent connection stays open when the server ends: a request may be on its way."""

FINISH_SECONDS: Final = 3.0
"""How long a request that has begun may take to arrive, and its reply to be read, when the server ends."""

_OTHER_FILES: Final = 96  # descriptors for the database, logs, the owner and health checks
_HEADROOM: Final = 32
_MOST_CONNECTIONS: Final = 10_000


def most_connections() -> int:
    """Return how many connections this process may have, after raising its limit of open files as far as it may."""
    if sys.platform == "win32":
        return 400
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(16, allowed - _OTHER_FILES)


class WatchedProtocol(FramedProtocol):
    """A connection with a time limit for the head of a request; the number of connections is limited, too.

    If there are too many, the silent connection that has made no progress for longest is closed; one whose request has
    not arrived completely counts as silent. If none is silent, uploads are refused with 503, and other requests are
    still served on a few more connections. A peer that does not read its reply is cut off.

    Attributes
    ----------
    most : int
        The most connections. Subclasses set it.
    head_seconds, read_seconds : float
        See `HEAD_SECONDS` and `READ_SECONDS`.
    is_leaving : bool
        Whether the server ends. It sets this for all of its connections.
    """

    most: int = _MOST_CONNECTIONS
    head_seconds: float = HEAD_SECONDS
    read_seconds: float = READ_SECONDS
    is_leaving: bool = False
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _leave_timer: asyncio.TimerHandle | None = None
    _heard_at: float = 0.0
    _heard_bytes: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Start the timer for the first head; close a silent connection if there are too many."""
        super().connection_made(transport)
        self._heard_at = self.loop.time()
        self._wait_for_a_head()
        if self.is_leaving:
            self.shutdown()
        if len(self.connections) > self.most and (others := self._others()):
            silent = [each for each in others if each._is_silent()]
            if silent and len(others) >= self.most:
                min(silent, key=lambda each: each._heard_at).transport.abort()
            elif len(others) >= self.most + _HEADROOM:
                transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for timer in (self._head_timer, self._read_timer, self._leave_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived; the rest of a body that nobody wants, too, must end in time."""
        super().data_received(data)
        if not self._waiting:
            self._wait_for_a_head()

    def on_message_begin(self) -> None:
        """Start the timer for the head of the next request."""
        super().on_message_begin()
        self._wait_for_a_head()

    def on_headers_complete(self) -> None:
        """Stop the timer, and serve the request."""
        self._heard_at, self._heard_bytes = self.loop.time(), 0
        crowded = len(self.connections) > self.most and len(self._others()) >= self.most
        is_upload = crowded and self.url.partition(b"?")[0].endswith(b"/reports")
        self.app = refuse_as_busy if is_upload else self.config.loaded_app
        super().on_headers_complete()
        if not self._in_head:
            self._stop_waiting_for_a_head()
            if self._leave_timer is not None:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Note that the peer makes progress."""
        self._heard_bytes += len(body)
        if self._heard_bytes >= PROGRESS_BYTES:
            self._heard_at, self._heard_bytes = self.loop.time(), 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop the timer, if it was for the rest of a body that nobody wants."""
        super().on_message_complete()
        if not self._in_head:
            self._stop_waiting_for_a_head()

    def pause_writing(self) -> None:
        """Start the timer for the peer to read what is waiting for it."""
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the peer is reading."""
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
        super().resume_writing()

    def shutdown(self) -> None:
        """Reply to what has been sent, and close the connection. A slow or silent peer has a moment left.

        A new connection may have a request on its way, which would be lost if the connection were closed at once.
        """
        if self._waiting:
            self._waiting[-1].keep_alive = False
        seconds = FINISH_SECONDS if self._waiting else LEAVE_SECONDS
        self._leave_timer = self.loop.call_later(seconds, self._leave)

    def _leave(self) -> None:
        """Close the connection, unless the server itself is what the peer waits for."""
        if self._in_body and self._waiting:
            self.refuse(Problem("busy", "the collector ends or restarts; send this again"))
        elif not self._waiting:
            self.transport.close()
        elif self.flow.write_paused:
            self.transport.abort()
        else:
            self._leave_timer = self.loop.call_later(FINISH_SECONDS, self._leave)

    def _others(self) -> list[WatchedProtocol]:
        """Return the other connections that are not about to end."""
        others: list[Any] = [each for each in self.connections if each is not self]
        return [each for each in others if not each.transport.is_closing()]

    def _is_silent(self) -> bool:
        """Return whether the connection is waiting for the peer to send something."""
        return not self._waiting or self._in_body

    def _wait_for_a_head(self) -> None:
        """Start the timer for heads, if it does not run."""
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting_for_a_head(self) -> None:
        """Stop the timer for heads, and for the rest of bodies that nobody wants."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        """Close the connection; if a reply is in progress, a while later."""
        if not self._waiting:
            self.transport.abort()
        else:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)


def protocol_of(
    most: int, head_seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS
) -> type[WatchedProtocol]:
    """Return the protocol with these limits."""
    limits = {"most": most, "head_seconds": head_seconds, "read_seconds": read_seconds}
    return type("LimitedProtocol", (WatchedProtocol,), limits)


async def refuse_as_busy(scope: Scope, receive: Receive, send: Send) -> None:
    """Reply with 503: the application for uploads when there are too many connections."""
    problem = Problem("busy", "too many devices are sending; send this again later", {"Connection": "close"})
    await respond(problem)(scope, receive, send)
