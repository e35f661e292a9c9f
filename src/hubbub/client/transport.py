"""One exchange with a collector over HTTP: bounded in size and time, and without redirects."""

from __future__ import annotations

import functools
import http.client
import json
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from typing import Any, Final

from .checks import ClientError

_MAX_REPLY: Final = 4 << 20  # bytes; the longest is a survey with a list of names
_MAX_RETRY_AFTER: Final = 3600.0
_LATER: Final = (408, 425, 429)


class TryLater(Exception):
    """The exchange failed, and the same bytes may be sent again after `seconds` at least."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.seconds = seconds


class Refused(ClientError):
    """The collector refused, and will not accept the same bytes later either."""


class Missing(Refused):
    """The collector says that the survey does not exist or is closed. This may be an operator's mistake."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as an error: a request goes to the host that was named, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, which means: do not follow."""


@functools.cache  # made at the first use, since it reads the certificates of the system
def _opener() -> urllib.request.OpenerDirector:
    """Return the opener of URLs: it uses the proxy of the environment, and follows no redirects."""
    return urllib.request.build_opener(NoRedirect)


def exchange(url: str, body: bytes | None, timeout: float, wanted: int = 200) -> bytes:
    """Send a GET, or a POST if there is a body, and return the body of a reply with the wanted status.

    Gives up when nothing arrives for `timeout` seconds, or when the body takes longer than that.

    Raises
    ------
    TryLater
        No reply, half a reply, a redirect, an error of the server, a reply with Retry-After, or one that does not come
        from a collector, such as the sign-in page of a network.
    Refused
        The reply is a problem document with a status of 4xx.
    """
    headers = {"User-Agent": "hubbub-client", "Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/octet-stream"
    request = urllib.request.Request(url, body, headers)  # noqa: S310  # http and https only: ledger.SURVEY_URL
    try:
        with _opener().open(request, timeout=timeout) as reply:
            if reply.status == 204:
                raise TryLater(
                    "the collector takes no reports to the survey now: it is closed, deleted or not yet open"
                )
            if reply.status != wanted:
                raise TryLater(f"the collector answered {reply.status}")
            return _read(reply, timeout)
    except urllib.error.HTTPError as error:
        with error:
            raise _judge(error, timeout) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TryLater(f"the collector could not be reached ({type(error).__name__})") from None


def _read(reply: Any, timeout: float) -> bytes:
    """Return the body of a reply. Raises TryLater if it is longer than 4 MiB, too slow or incomplete."""
    deadline, data = time.monotonic() + timeout, b""
    while part := reply.read1(1 << 16):
        data += part
        if len(data) > _MAX_REPLY or time.monotonic() > deadline:
            raise TryLater("the collector's reply was too long or too slow")
    if reply.length:  # read1 does not raise an error if the connection broke
        raise TryLater("the collector's reply was cut short")
    return data


def _judge(error: urllib.error.HTTPError, timeout: float) -> Exception:
    """Return what a reply with an error status means: Refused if it is final, else TryLater."""
    wait = error.headers.get("Retry-After")
    is_problem = error.headers.get_content_type() == "application/problem+json"
    answered = f"{_title(error, timeout) if is_problem else 'not from a collector'} ({error.code})"
    if wait is None and is_problem and 400 <= error.code < 500 and error.code not in _LATER:
        kind = Missing if error.code in (404, 410) else Refused
        return kind(f"the collector refused the request: {answered}")
    return TryLater(f"the collector answered: {answered}", seconds_of(wait))


def seconds_of(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header, a number or a date; at most an hour, and 0 for anything else.

    >>> seconds_of(" 30 "), seconds_of("9" * 30), seconds_of("soon"), seconds_of("Wed, 01 Jan 2020 00:00:00 GMT")
    (30.0, 3600.0, 0.0, 0.0)
    """
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), _MAX_RETRY_AFTER) if len(text) < 10 else _MAX_RETRY_AFTER
    try:
        wait = parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError, OSError):
        return 0.0
    return min(max(wait, 0.0), _MAX_RETRY_AFTER)


def _title(error: urllib.error.HTTPError, timeout: float) -> str:
    """Return the title of a problem document, without characters that could disturb a terminal."""
    try:
        title = json.loads(_read(error, timeout))["title"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError, TryLater):
        title = None
    shown = "".join(c for c in title if c.isprintable())[:80] if isinstance(title, str) else ""
    return shown or "no reason given"
