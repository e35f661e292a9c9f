"""The relay's application: one route for sealed requests, and two for its operator."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from hubbub.collector.bodies import Budget, read_body
from hubbub.collector.clock import Clock
from hubbub.collector.problems import Problem, problem_of, respond
from hubbub.errors import HubbubError, StoreFull, StoreUnavailable, WireError
from hubbub.relay.keeper import DAY_SECONDS, Keeper
from hubbub.relay.peers import Peers, is_here
from hubbub.relay.sending import Collector
from hubbub.relay.waiting import Leaving, Waiting
from hubbub.sealing.request import REQUEST_BYTES, parse_request

SEALED: Final = "/v1/sealed"
CHECK_SECONDS: Final = 10.0
DAYS: Final = 14
PEER_RATE: Final = 60
_LAST_RETRY: Final = 600.0
_CORS: Final = {"Access-Control-Allow-Origin": "*"}
_PREFLIGHT: Final = {**_CORS, "Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Headers": "Content-Type"}
_TAKEN: Final = Response(b"{}", 202, _CORS, "application/json")
_COUNTED: Final = ("taken", "refused", "releases", "released", "delivered", "dropped_too_old", "dropped_refused")

log = logging.getLogger("hubbub.relay")


class Relay:
    """One relay, as an application of ASGI: it starts and stops with the server.

    Parameters
    ----------
    waiting : Waiting
        The queue. The caller closes it.
    collector : Collector
        Where releases go.
    check_seconds : float
        How often queues are looked at: a crowd that waits is released within so many seconds.
    days : int
        A request that has found no crowd after so many days is dropped.
    peer_rate : int
        The most requests of an address in a minute; 0 is any number.
    """

    def __init__(
        self,
        waiting: Waiting,
        collector: Collector,
        check_seconds: float = CHECK_SECONDS,
        days: int = DAYS,
        peer_rate: int = PEER_RATE,
        clock: Clock | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._waiting, self._collector = waiting, collector
        self._check_seconds, self._days = check_seconds, days
        self._peers, self._clock, self._wall = Peers(peer_rate), clock or Clock(), wall
        self._budget = Budget()
        self._keeper: Keeper | None = None
        self._counts = dict.fromkeys(_COUNTED, 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            response = await self._answer(scope, receive)
        except (HubbubError, Problem) as error:
            self._counts["refused"] += 1
            response = respond(_problem_of(error))
        except ClientDisconnect:
            return
        except Exception as error:
            log.error("a request failed (%s)", type(error).__name__)  # its words could hold the request
            response = respond(Problem("internal", "the relay failed; its log says where"))
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """Return the reply to one request."""
        method, path = scope["method"], scope["path"]
        peer = (scope.get("client") or ("", 0))[0]
        if path == SEALED and method == "POST":
            if not self._peers.allows(peer):
                sentence = "too many requests came from this address; send this again later"
                raise Problem("too-fast", sentence, {"Retry-After": str(60 + secrets.randbelow(60))})
            return await self._take(scope, receive)
        if path == SEALED and method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        if path == "/healthz" and method in ("GET", "HEAD"):
            return PlainTextResponse("ok\n")
        if path == "/metrics" and method in ("GET", "HEAD") and is_here(peer):
            return PlainTextResponse(self._metrics())
        if path == SEALED or path == "/healthz":
            raise Problem("method-not-allowed", f"the method must be one of this address, got {method[:20]}")
        raise Problem("not-found", "there is nothing at this address")

    async def _take(self, scope: Scope, receive: Receive) -> Response:
        """Take one sealed request. The reply comes when it is durable."""
        with self._budget.room() as reading:
            request = await read_body(scope, receive, self._budget, reading, REQUEST_BYTES)
            parse_request(request)  # alone, since those that are stored together are refused together
            assert self._keeper is not None  # noqa: S101  # it starts before the server listens
            await self._keeper.add(request)
        self._counts["taken"] += 1
        return _TAKEN

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start with the server, and stop with it: what was taken is durable, and is released by the next start."""
        await receive()
        self._keeper = Keeper(self._waiting, self._wall)
        tasks = [asyncio.create_task(self._release_forever()), asyncio.create_task(self._send_forever())]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(self._keeper.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def _release_forever(self) -> None:
        """Look again and again for queues in which a crowd waits, and for requests that are too old."""
        assert self._keeper is not None  # noqa: S101
        while True:
            try:
                sizes = await self._keeper.do(Waiting.release)
                self._counts["releases"] += len(sizes)
                self._counts["released"] += sum(sizes)
                moved = self._clock.jump()
                if moved:
                    log.error("the clock jumped by %+.0f s: nothing is dropped within the next hour", moved)
                if self._clock.is_steady():
                    before = int(self._wall() // DAY_SECONDS) - self._days
                    dropped = await self._keeper.do(partial(_drop, before))
                    self._counts["dropped_too_old"] += dropped
                    if dropped:
                        log.warning("%d requests found no crowd within %d days and were dropped", dropped, self._days)
            except HubbubError as error:
                log.warning("releasing failed and will be tried again: %s", error)
            await asyncio.sleep(self._check_seconds)

    async def _send_forever(self) -> None:
        """Send one part after the other; wait longer after each that could not be sent."""
        assert self._keeper is not None  # noqa: S101
        delay = 1.0
        while True:
            wait = self._check_seconds / 10
            try:
                leaving = await self._keeper.do(Waiting.next_part)
                if leaving is not None:
                    sent = await asyncio.to_thread(self._collector.send, leaving.body)
                    if sent.outcome == "later":
                        log.warning("a release was not taken and will be sent again: %s", sent.why)
                        wait = max(sent.seconds, delay * (0.5 + secrets.randbelow(1 << 32) / 2**32))
                        delay = min(2 * delay, _LAST_RETRY)
                    else:
                        delay, wait = 1.0, 0.0
                        name = "delivered" if sent.outcome == "taken" else "dropped_refused"
                        self._counts[name] += leaving.requests
                        if sent.outcome == "refused":
                            log.error("%s: %d requests were dropped", sent.why, leaving.requests)
                        await self._keeper.do(partial(_remove, leaving))
            except HubbubError as error:
                log.warning("sending failed and will be tried again: %s", error)
                wait = delay
            await asyncio.sleep(wait)

    def _metrics(self) -> str:
        """Return counters for Prometheus. They are sums over all surveys and devices."""
        lines = []
        for name, count in self._counts.items():
            lines += [f"# TYPE hubbub_relay_{name}_total counter", f"hubbub_relay_{name}_total {count}"]
        gauges = {"waiting": self._waiting.waiting, "on_their_way": self._waiting.on_their_way}
        for name, count in gauges.items():
            lines += [f"# TYPE hubbub_relay_{name} gauge", f"hubbub_relay_{name} {count}"]
        return "\n".join([*lines, ""])


def _problem_of(error: Exception) -> Problem:
    """Return the problem that tells a peer about an error."""
    if isinstance(error, WireError):
        return Problem("bad-request", str(error))
    if isinstance(error, StoreFull):
        return Problem("busy", "the relay is full; send this again later")
    if isinstance(error, StoreUnavailable):
        return Problem("unavailable", "nothing can be stored now; send this again later")
    return problem_of(error)


def _drop(before: int, waiting: Waiting) -> int:
    """Drop what is too old."""
    return waiting.drop(before)


def _remove(leaving: Leaving, waiting: Waiting) -> None:
    """Forget a part."""
    waiting.remove(leaving)
