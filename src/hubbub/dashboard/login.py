"""Logging in with a code that works once or with a read-only token, and logging out."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hubbub.collector.bodies import MAX_CODE_BYTES, read_body
from hubbub.collector.problems import Problem
from hubbub.collector.state import Collector
from hubbub.dashboard.access import (
    check_origin,
    for_everybody,
    forget_session,
    has_session,
    origin_of,
    reader_of,
    session_key,
    set_session,
)
from hubbub.dashboard.rendering import HEADERS, show_kept
from hubbub.store.keys import end_session, open_reading, open_session

_MOST_BYTES: Final = 1024


async def show_login(request: Request) -> Response:
    """Show the page that reads the code from the address. The code is in its fragment, which no server sees."""
    return await show_kept(request, "login.html", (), lambda: {"owner": False})


async def log_in(request: Request) -> Response:
    """Open a session for a code, or one that only reads for a read-only token, which works again and again.

    Wrong codes are not limited: a code has 192 random bits, so nobody guesses one, and a limit would let strangers lock
    the owner out. Behind a proxy they even have the same address.
    """
    check_origin(request)
    collector: Collector = request.app.state.collector
    budget = collector.login_budget
    with budget.room() as reading:
        code = _code_of(await read_body(request.scope, request.receive, budget, reading, MAX_CODE_BYTES))
    engine = collector.store.engine
    key = await asyncio.to_thread(lambda: open_session(engine, code) or open_reading(engine, code))
    if key is None:
        collector.metrics.owner_refusals.inc()
        raise Problem("wrong-code", "the code is wrong, used or older than 15 minutes; `hubbub login` makes another")
    response = Response(status_code=204, headers=HEADERS)
    set_session(request, response, key, origin_of(request) or "")
    return response


async def log_out(request: Request) -> Response:
    """End the session."""
    check_origin(request)
    key = session_key(request)
    if key is not None:
        await asyncio.to_thread(end_session, request.app.state.collector.store.engine, key)
    response = RedirectResponse("/login", 303, HEADERS)
    forget_session(request, response)
    return response


async def show_session(request: Request) -> Response:
    """Say whether there is a session. A browser sends its cookie only with requests of our own pages."""
    is_open = await has_session(request) or await reader_of(request) is not None
    return Response(status_code=204 if is_open else 401, headers=HEADERS)


def _code_of(body: bytes) -> str:
    """Return the code that a request has. Raises Problem if it has none; a long body is not even parsed."""
    try:
        code = json.loads(body)["code"] if len(body) <= _MOST_BYTES else None
    except (ValueError, KeyError, TypeError, RecursionError):
        code = None
    if not isinstance(code, str):
        raise Problem("bad-request", "a login must be a JSON object with a code, got something else")
    return code


ROUTES: Final = [
    Route("/login", for_everybody(show_login), methods=["GET"], include_in_schema=False),
    Route("/login", for_everybody(log_in), methods=["POST"], include_in_schema=False),
    Route("/logout", for_everybody(log_out), methods=["POST"], include_in_schema=False),
    Route("/session", for_everybody(show_session), methods=["GET"], include_in_schema=False),
]
