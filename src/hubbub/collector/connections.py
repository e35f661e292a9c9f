"""Closes silent and slow connections in time, so that they never keep others out."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from typing import Any, Final

import httptools
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hubbub.collector.problems import EVERY_PAGE, RETRY_SECONDS, TITLES

HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take to arrive, on a new or a reused connection."""

READ_SECONDS: Final = 30.0
"""How long a peer may read nothing of a reply that is waiting for it."""

IDLE_SECONDS: Final = 15
"""How long a connection stays open after a reply."""

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


class WatchedProtocol(HttpToolsProtocol):
    """A connection with a time limit for the head of a request; the number of connections is limited, too.

    If there are too many, the silent connection that has begun no request for longest is closed; one whose request has
    not arrived completely counts as silent. If none is silent, uploads are refused with 503, and other requests are
    still served on a few more connections. A peer that does not read its reply is cut off.

    Attributes
    ----------
    most : int
        The most connections. Subclasses set it.
    head_seconds, read_seconds : float
        See `HEAD_SECONDS` and `READ_SECONDS`.
    """

    most: int = _MOST_CONNECTIONS
    head_seconds: float = HEAD_SECONDS
    read_seconds: float = READ_SECONDS
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _heard_at: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Start the timer for the first head; close a silent connection if there are too many."""
        super().connection_made(transport)
        self._heard_at = self.loop.time()
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)
        if len(self.connections) > self.most and (others := self._others()):
            silent = [each for each in others if each._is_silent()]
            if silent and len(others) >= self.most:
                min(silent, key=lambda each: each._heard_at).transport.abort()
            elif len(others) >= self.most + _HEADROOM:
                transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived. A request that offers another protocol is read once more, without the offer.

        The parser stops after the head of such a request, and would take its body for the next request.
        """
        self._unset_keepalive_if_required()
        while True:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                method = self.parser.get_method()
                lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
                lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
                data = b"\r\n".join([*lines, b"", data[offer.args[0] :]])
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as in the base class
                is_readable = method != b"CONNECT"  # which has no body, but a protocol of its own
            except httptools.HttpParserError:
                is_readable = False
            if not is_readable:
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("Invalid HTTP request received.")
                return

    def on_message_begin(self) -> None:
        """Start the timer for the head of the next request."""
        super().on_message_begin()
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def on_headers_complete(self) -> None:
        """Stop the timer, and serve the request."""
        if self.parser.should_upgrade():
            return  # it is read once more
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        self._heard_at = self.loop.time()
        crowded = len(self.connections) > self.most and len(self._others()) >= self.most
        is_upload = crowded and self.url.partition(b"?")[0].endswith(b"/reports")
        self.app = refuse_as_busy if is_upload else self.config.loaded_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request has arrived."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

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

    def send_400_response(self, msg: str) -> None:
        """Reply to what is no HTTP with a problem document, and close the connection."""
        body = _problem("bad-request", f"{msg[:1].lower()}{msg[1:].rstrip('.')}")
        head = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head.encode() + body)
        self.transport.close()

    def _others(self) -> list[WatchedProtocol]:
        """Return the other connections that are not about to end."""
        others: list[Any] = [each for each in self.connections if each is not self]
        return [each for each in others if not each.transport.is_closing()]

    def _is_silent(self) -> bool:
        """Return whether the connection is waiting for the peer to send something."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _give_up(self) -> None:
        """Close the connection; if a reply is in progress, a while later."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
        else:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)


def protocol_of(
    most: int, head_seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS
) -> type[WatchedProtocol]:
    """Return the protocol with these limits."""
    limits = {"most": most, "head_seconds": head_seconds, "read_seconds": read_seconds}
    return type("LimitedProtocol", (WatchedProtocol,), limits)


def _problem(kind: str, detail: str) -> bytes:
    """Return a problem document, outside of the application."""
    status, title = TITLES[kind]
    return json.dumps(
        {"type": f"urn:hubbub:problem:{kind}", "title": title, "status": status, "detail": detail}
    ).encode()


async def refuse_as_busy(scope: Scope, _receive: Receive, send: Send) -> None:
    """Reply with 503: the application for uploads when there are too many connections."""
    del scope
    body = _problem("busy", "too many devices are sending; send this again later")
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(random.randint(*RETRY_SECONDS)).encode()),
        (b"connection", b"close"),
        *((name.lower().encode(), value.encode()) for name, value in EVERY_PAGE.items()),
    ]
    await send({"type": "http.response.start", "status": TITLES["busy"][0], "headers": headers})
    await send({"type": "http.response.body", "body": body})
