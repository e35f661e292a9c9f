"""Reads requests from a connection: within limits, one reply after the other, and refuses what is no request.

The parser keeps a header field until it has ended, and a queue of requests until they are answered. So it is given a
small piece at a time, and no more while a request waits for the reply to another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from hubbub.collector.problems import Problem, respond

MAX_ADDRESS_BYTES: Final = 8 << 10
"""The most bytes of the address in a request's first line."""

MAX_HEAD_BYTES: Final = 32 << 10
"""The most bytes of the head of a request, from its first line to the empty one."""

MAX_FIELDS: Final = 100
"""The most header fields of a request."""

MAX_FRAME_BYTES: Final = 16 << 10
"""The most bytes of chunk extensions and trailer fields, beyond eight for each byte of the body."""

LINGER_SECONDS: Final = 2.0
"""How long a refused peer has to read why. It may still be sending, and closing at once would cost it the reply."""

_PIECE: Final = 1 << 10  # a few dozen of the smallest requests
_FRAME: Final = 8  # a chunk of a single byte has five more


class FramedProtocol(HttpToolsProtocol):
    """A connection on which heads, trailers and chunk extensions have limits, and replies come in order.

    A request that cannot be read is refused after all requests before it have been answered. A peer that says that it
    will send no more still gets the replies to what it has sent.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rest = bytearray()  # arrived, but not yet parsed
        self._extra = 0  # bytes of this head, or of this body's frame
        self._body_left = 0  # what is missing of a body whose length is known
        self._in_head = False
        self._in_body = False
        self._ended = False  # the peer sends no more
        self._waiting: deque[RequestResponseCycle] = deque()  # requests without a whole reply, the oldest first
        self._refusal: Problem | None = None  # to be sent when all earlier requests have been answered
        self._linger: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell every request that its peer is gone: what is written to a lost connection is an error."""
        if self._linger is not None:
            self._linger.cancel()
        for cycle in self._waiting:
            _abandon(cycle)
        self.pipeline.clear()
        self._rest.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        self._unset_keepalive_if_required()
        if self._refusal is None:
            self._rest += data
            self._read()

    def eof_received(self) -> bool:  # type: ignore[override]  # the base class closes the connection
        """Return whether requests are left to reply to, now that the peer sends no more."""
        self._ended = True
        if not self.pipeline:
            self._drop_unfinished()
        return bool(self._waiting)

    def on_message_begin(self) -> None:
        """Begin to count the head."""
        super().on_message_begin()
        self._in_head, self._extra = True, 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        super().on_url(url)
        if len(self.url) > MAX_ADDRESS_BYTES:
            raise Problem("long-address", f"an address must have at most {MAX_ADDRESS_BYTES} bytes, got more")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header field. Trailer fields, which nobody has asked for, are left out."""
        if not self._in_head:
            return
        if len(self.headers) == MAX_FIELDS:
            raise Problem("large-head", f"a request must have at most {MAX_FIELDS} header fields, got more")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the host, and queue the request. One that offers another protocol will be read once more."""
        if self.parser.should_upgrade():
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() != "1.0"):
            raise Problem("bad-request", f"a request of HTTP/1.1 must have one Host field, got {hosts}")
        lines = len(self.parser.get_method()) + len(self.url) + 14  # as they arrived, with the ends of lines
        if lines + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEAD_BYTES:
            raise _large_head()
        self._in_head, self._in_body, self._extra = False, True, 0
        self._body_left = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        super().on_headers_complete()
        self._waiting.append(self.cycle)
        self.cycle.receive = self._ear(self.cycle)  # type: ignore[method-assign, assignment]

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, which pays for some of its frame."""
        self._extra = max(0, self._extra - (1 + _FRAME) * len(body))
        self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request has arrived."""
        if not self.parser.should_upgrade():
            self._in_body, self._extra, self._body_left = False, 0, 0
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request, with what is left to be parsed, or with a refusal."""
        if self._waiting:
            self._waiting.popleft()
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._refusal is None:
            self._read()
        if not self._waiting and self._refusal is not None:
            self._send(self._refusal)
        elif not self._waiting and self._ended:
            self.transport.close()

    def refuse(self, problem: Problem) -> None:
        """Refuse what is arriving, after the replies to the requests before it; then close the connection."""
        if self._refusal is not None or self.transport.is_closing():
            return
        self.logger.warning("what a peer sent was refused: %s", problem.detail)
        self._refusal = problem
        self._rest.clear()
        is_late = self._in_body and (self.cycle.response_started or self.cycle.response_complete)
        self._drop_unfinished()
        if is_late:  # the reply to this very request is on its way or has been sent
            self.transport.close()
        elif not self._waiting:
            self._send(self._refusal)

    def _read(self) -> None:
        """Parse what has arrived, piece by piece, until a request must wait for another, or one is refused."""
        while self._rest and not self.pipeline and self._refusal is None and not self.transport.is_closing():
            size = max(_PIECE, self._body_left)  # nothing else is in the rest of a body
            piece = bytes(self._rest[:size])
            del self._rest[:size]
            self._extra += len(piece)
            try:
                self._parse(piece)
            except httptools.HttpParserError as error:
                told = error.__context__
                self.refuse(told if isinstance(told, Problem) else Problem("bad-request", "the request is no HTTP/1.1"))
            if self._in_body and self._extra > MAX_FRAME_BYTES:
                sentence = f"chunk extensions and trailers must have at most {MAX_FRAME_BYTES} bytes, got more"
                self.refuse(Problem("bad-request", sentence))
            elif self._extra > MAX_HEAD_BYTES:
                self.refuse(_large_head())
        if self._ended and not self.pipeline:
            self._drop_unfinished()

    def _parse(self, piece: bytes) -> None:
        """Give a piece to the parser. A request that offers another protocol is read once more, without the offer.

        The parser stops after the head of such a request, and would take its body for the next request.
        """
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as offer:
            method = self.parser.get_method()
            if method == b"CONNECT":  # it has no body, but a protocol of its own
                self.refuse(Problem("bad-request", "the collector is no proxy: CONNECT is not served"))
                return
            lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
            lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as in the base class
            self._rest[:0] = piece[offer.args[0] :]
            self.parser.feed_data(b"\r\n".join([*lines, b"", b""]))

    def _drop_unfinished(self) -> None:
        """Forget the request whose body has not arrived completely, if there is one."""
        if self._in_body and self._waiting and self._waiting[-1] is self.cycle and self.cycle.more_body:
            _abandon(self._waiting.pop())
            if self.pipeline and self.pipeline[0][0] is self.cycle:
                self.pipeline.popleft()

    def _send(self, refusal: Problem) -> None:
        """Send a problem, and close the connection when the peer has read it or after a while."""
        reply = respond(refusal)
        fields = [name + b": " + value for name, value in reply.raw_headers]
        head = STATUS_LINE[refusal.status_code] + b"\r\n".join([*fields, b"connection: close", b"", b""])
        self.transport.write(head + bytes(reply.body))
        if self._ended:
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._linger = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _ear(self, cycle: RequestResponseCycle) -> Callable[[], Awaitable[Any]]:
        """Return what gives a request to its application, and then the news that the peer sends no more."""
        is_whole = False

        async def hear() -> Any:
            """Return the next message."""
            nonlocal is_whole
            if is_whole and self._ended:
                return {"type": "http.disconnect"}
            message = await RequestResponseCycle.receive(cycle)
            is_whole = not message.get("more_body", False)
            return message

        return hear


def _large_head() -> Problem:
    """Return the problem that a head has too many bytes."""
    return Problem("large-head", f"a head must have at most {MAX_HEAD_BYTES} bytes, got more")


def _abandon(cycle: RequestResponseCycle) -> None:
    """Tell an application that nobody waits for its reply."""
    cycle.disconnected = True
    cycle.message_event.set()
