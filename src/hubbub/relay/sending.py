"""Sends releases to the collector: each part until it is taken, or refused for good."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from hubbub.client.transport import NoRedirect, seconds_of
from hubbub.errors import ParameterError

_SECONDS: Final = 60.0
_FOR_GOOD: Final = (400, 413, 422)
_MOST_REPLY: Final = 64 << 10
Outcome: TypeAlias = Literal["taken", "refused", "later"]


class Sent(NamedTuple):
    """What became of a part; if it was not taken, why, and for how many seconds the collector asks to wait."""

    outcome: Outcome
    why: str = ""
    seconds: float = 0.0


class Collector:
    """The collector that a relay sends to. Redirects are not followed: the token goes to the host that was named.

    Its address must be https, unless it is on this machine.
    """

    def __init__(self, url: str, token: str, seconds: float = _SECONDS) -> None:
        parts = urlsplit(url)
        is_here = re.fullmatch(r"localhost|127\.[0-9.]+|::1", parts.hostname or "") is not None
        spelled = parts.scheme == "https" or (parts.scheme == "http" and is_here)
        if not spelled or not parts.hostname or parts.query or parts.fragment or parts.username is not None:
            raise ParameterError(f"to must be an address such as https://collector.example, got to={url!r}")
        if not re.fullmatch(r"[!-~]{1,1000}", token):
            raise ParameterError("the relay's token must be plain text without blanks, got something else")
        self._url, self._token, self._seconds = f"{url.rstrip('/')}/v1/releases", token, seconds
        # A proxy of the environment could not reach this machine.
        direct = [urllib.request.ProxyHandler({})] if is_here else []
        self._opener = urllib.request.build_opener(NoRedirect, *direct)

    def send(self, body: bytes) -> Sent:
        """Send one part. Blocks for as long as the collector is silent, at most a minute."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/octet-stream"}
        request = urllib.request.Request(self._url, body, {**headers, "User-Agent": "hubbub-relay"})  # noqa: S310  # http only
        try:
            with self._opener.open(request, timeout=self._seconds) as reply:
                if reply.status == 200 and reply.read(_MOST_REPLY).startswith(b'{"accepted":'):
                    return Sent("taken")
                return Sent("later", "the reply did not come from a collector")
        except urllib.error.HTTPError as error:
            with error:
                is_problem = error.headers.get_content_type() == "application/problem+json"
                if error.code in _FOR_GOOD and is_problem:
                    return Sent("refused", f"the collector refused a release ({error.code})")
                wait = seconds_of(error.headers.get("Retry-After"))
                return Sent("later", f"the collector answered {error.code}", wait)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return Sent("later", f"the collector could not be reached ({type(error).__name__})")
