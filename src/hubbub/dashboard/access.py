"""Who may see the dashboard: a session in a cookie is needed, and changes must come from the dashboard's own pages.

A session that a read-only token opened sees the pages below /read, and no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hubbub.collector.owner_route import check_reader
from hubbub.collector.problems import Problem, problem_of, respond
from hubbub.dashboard.rendering import render
from hubbub.errors import HubbubError
from hubbub.store.keys import SESSION_SECONDS, is_session, session_reader
from hubbub.store.readers import Reader

_SAFE: Final = ("GET", "HEAD")

Page: TypeAlias = Callable[[Request], Awaitable[Response]]


def for_owner(page: Page) -> Page:
    """Return the page behind a check of the session; a visitor without a session is sent to the login page."""

    async def checked(request: Request) -> Response:
        """Check the origin and the session, and then show the page."""
        check_origin(request)
        if not await has_session(request):
            if await reader_of(request) is not None:
                if request.url.path == "/" and wants_html(request):
                    return RedirectResponse("/read", 303)
                raise Problem("read-only", "this is for the owner, and this session only reads answers")
            return _ask_to_log_in(request)
        return await page(request)

    return for_everybody(checked)


def for_readers(page: Page) -> Page:
    """Return the page behind a check that the session reads, and reads the survey of the address, if there is one.

    Only GET: what a page for readers changes would be changed by readers.
    """

    async def checked(request: Request) -> Response:
        """Check the session and the survey, and then show the page."""
        reader = await reader_of(request)
        if reader is None:
            return _ask_to_log_in(request)
        if "survey_id" in request.path_params:
            check_reader(reader, request)
        request.state.reader = reader
        return await page(request)

    return for_everybody(checked)


def _ask_to_log_in(request: Request) -> Response:
    """Return the way to the login page, for people. Raises Problem for scripts."""
    if request.method in _SAFE and wants_html(request):
        return RedirectResponse("/login", 303)
    raise Problem("unauthorized", "log in first: `hubbub login` prints a link")


def for_everybody(page: Page) -> Page:
    """Return the page with its errors as pages of the dashboard, or as problem documents for scripts."""

    async def answered(request: Request) -> Response:
        """Show the page, or the error."""
        try:
            return await page(request)
        except (HubbubError, HTTPException) as error:
            problem = problem_of(error)
            if not wants_html(request):
                return respond(problem)
            return render(request, "problem.html", {"problem": problem}, problem.status_code)

    return answered


def check_origin(request: Request) -> None:
    """Raise Problem if a page of another origin makes a request that changes something."""
    if request.method not in _SAFE and origin_of(request) is None:
        raise Problem("foreign-page", "this must come from a page of the dashboard itself")


def origin_of(request: Request) -> str | None:
    """Return the origin of a request if it is the server's own, else None.

    A proxy in front of the server may speak TLS when the server does not. So the scheme that the browser states is
    accepted, and the host must be that of the request.
    """
    origin = request.headers.get("origin", "")
    scheme, _, host = origin.partition("://")
    return origin if scheme in ("http", "https") and host == request.headers.get("host") else None


def cookie_name(request: Request, secure: bool) -> str:
    """Return the name of the session's cookie.

    Under https its prefix keeps other hosts from setting it. Cookies are shared between ports, so without TLS the name
    contains the port: two collectors on one machine do not log each other out.
    """
    return "__Host-hubbub" if secure else f"hubbub-{request.url.port or 80}"


def session_key(request: Request) -> str | None:
    """Return the key of the session that a request names, if it names one."""
    return next(
        (key for secure in (True, False) if (key := request.cookies.get(cookie_name(request, secure)))),
        None,
    )


async def has_session(request: Request) -> bool:
    """Return whether the request is the owner's."""
    key = session_key(request)
    return key is not None and await asyncio.to_thread(is_session, request.app.state.collector.store.engine, key)


async def reader_of(request: Request) -> Reader | None:
    """Return who reads in the session of a request; None if there is no session, or it is the owner's."""
    key = session_key(request)
    engine = request.app.state.collector.store.engine
    return None if key is None else await asyncio.to_thread(session_reader, engine, key)


def base_url(request: Request) -> str:
    """Return the address at which the owner sees this server; the session's cookie tells whether it is https."""
    secure = cookie_name(request, True) in request.cookies or request.url.scheme == "https"
    return f"{'https' if secure else 'http'}://{request.headers.get('host', 'localhost')}"


def set_session(request: Request, response: Response, key: str, origin: str) -> None:
    """Give the browser the session's cookie, for the time that the session lasts."""
    secure = origin.startswith("https://")
    response.set_cookie(
        cookie_name(request, secure),
        key,
        max_age=SESSION_SECONDS,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def forget_session(request: Request, response: Response) -> None:
    """Take the session's cookie away from the browser."""
    for secure in (True, False):
        response.delete_cookie(cookie_name(request, secure), path="/", secure=secure, httponly=True, samesite="strict")


def wants_html(request: Request) -> bool:
    """Return whether a browser asks for a page, and not one of the dashboard's scripts for data."""
    return "text/html" in request.headers.get("accept", "")
