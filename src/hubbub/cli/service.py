"""Talking to a collector from the command line: one request at a time, errors in one sentence."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from typing import Annotated, Any, Final, NamedTuple

import typer

from hubbub.errors import ParameterError, ServiceError

_SURVEY_URL: Final = re.compile(r"(https?://[^/?#]+(?:/[^?#]*)?)/v1/surveys/([0-9a-f]{64})/?")
_SECONDS: Final = 120

Server = Annotated[str, typer.Option(envvar="HUBBUB_SERVER", metavar="URL", help="Where the collector is.")]
Token = Annotated[
    str | None, typer.Option(envvar="HUBBUB_TOKEN", help="The owner's token; better in the environment than here.")
]
SurveyURL = Annotated[
    str, typer.Option("--survey", metavar="URL", help="The survey's address, as `survey new` printed it.")
]


class SurveyAddress(NamedTuple):
    """A survey's address, in its two parts."""

    server: str
    survey_id: str


def parse_survey_url(url: str) -> SurveyAddress:
    """The collector and the id that a survey's address names."""
    match = _SURVEY_URL.fullmatch(url.strip())
    if match is None:
        raise ParameterError(f"survey must be an address such as https://HOST/v1/surveys/ID, got survey={url!r}")
    return SurveyAddress(match[1], match[2])


def ask(server: str, path: str, token: str | None = None, method: str = "GET", body: object = None) -> bytes:
    """The reply of a collector, or a ServiceError that says what it said."""
    if not server.startswith(("http://", "https://")):
        raise ParameterError(f"server must be an address such as https://HOST, got server={server!r}")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = None
    if body is not None:
        data = json.dumps(body, allow_nan=False).encode()
        headers["Content-Type"] = "application/json"
    try:
        request = urllib.request.Request(server.rstrip("/") + path, data, headers, method=method)  # noqa: S310  # http only
        with _opener(request.host).open(request, timeout=_SECONDS) as reply:
            answer: bytes = reply.read()
            return answer
    except urllib.error.HTTPError as error:
        raise ServiceError(f"the collector refuses ({error.code}): {_detail(error.read())}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ServiceError(f"the collector must be reachable, got {server!r} ({reason})") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The owner's token goes to the host that was named, or nowhere."""

    def redirect_request(self, *_: Any) -> None:
        """None: do not follow."""


def _opener(host: str | None) -> urllib.request.OpenerDirector:
    """Through the proxy that the environment names, but not to this machine itself."""
    here = re.match(r"(localhost|127\.[0-9.]+|\[::1\])(:|$)", host or "") is not None
    return urllib.request.build_opener(_NoRedirect, *([urllib.request.ProxyHandler({})] if here else []))


def ask_json(server: str, path: str, token: str | None = None, method: str = "GET", body: object = None) -> Any:
    """The reply of a collector as JSON."""
    reply = ask(server, path, token, method, body)
    try:
        return json.loads(reply)
    except ValueError:
        raise ServiceError(f"the server must be a hubbub collector, got another at {server!r}") from None


def need_token(token: str | None) -> str:
    """The owner's token, which must be there."""
    if not token:
        raise ParameterError("the owner's token must be in HUBBUB_TOKEN or --token, got none")
    if not token.isascii() or not token.isprintable():
        raise ParameterError("the owner's token must be plain text, got something else")
    return token


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return "no reason given"
