"""What a command asks a collector or reads from a file: one request, a survey; and its errors in one sentence."""

from __future__ import annotations

import http.client
import json
import math
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from hubbub.cli.options import env_option
from hubbub.client.transport import NoRedirect
from hubbub.errors import InputError, ParameterError, ServiceError, system_reason

if TYPE_CHECKING:
    from hubbub.model.survey import Survey

_SURVEY_URL: Final = re.compile(r"(https?://[^/?#]+(?:/[^?#]*)?)/v1/surveys/([0-9a-f]{64})/?")
_SECONDS: Final = 120

DEFAULT_SERVER: Final = "http://127.0.0.1:8000"

server_option = env_option("--server", default=DEFAULT_SERVER, metavar="URL", help="The collector's address.")
token_option = env_option("--token", help="The owner's token; better in the environment than here.")
survey_url_option = click.option(
    "--survey", "url", required=True, metavar="URL", help="The survey's address, as `survey new` printed it."
)

survey_source_option = click.option(
    "--survey",
    "source",
    required=True,
    metavar="FILE|URL",
    help="The survey: a file of `survey new --out`, or its address.",
)


class SurveyAddress(NamedTuple):
    """The two parts of a survey's address: the URL of the collector, and the id in hex."""

    server: str
    survey_id: str


def parse_survey_url(url: str) -> SurveyAddress:
    """Split a survey's address into the collector and the id."""
    match = _SURVEY_URL.fullmatch(url.strip())
    if match is None:
        raise ParameterError(f"survey must be an address such as https://HOST/v1/surveys/ID, got survey={url!r}")
    return SurveyAddress(match[1], match[2])


def ask(
    server: str,
    path: str,
    token: str | None = None,
    method: str = "GET",
    body: object = None,
    more_headers: Mapping[str, str] | None = None,
) -> bytes:
    """Send one request to a collector and return the bytes of its reply.

    `path` is the route, from /v1 on. A body of bytes is sent as it is, anything else as JSON. Raises ServiceError if
    the collector refused, and why; or if it could not be reached within 120 seconds.
    """
    if not server.startswith(("http://", "https://")):
        raise ParameterError(f"server must be an address such as https://HOST, got server={server!r}")
    headers = {**(more_headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
    if data is not None:
        headers["Content-Type"] = "application/octet-stream" if data is body else "application/json"
    try:
        request = urllib.request.Request(server.rstrip("/") + path, data, headers, method=method)  # noqa: S310  # http only
        with open_url(request, _SECONDS) as reply:
            answer: bytes = reply.read()
            return answer
    except urllib.error.HTTPError as error:
        raise ServiceError(f"the collector refused ({error.code}): {_detail(error.read())}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ServiceError(f"the collector at {server!r} could not be reached ({reason})") from None


def open_url(request: urllib.request.Request, seconds: float) -> Any:
    """Open a URL and return the reply, as urllib does. The proxy of the environment is used, unless the host is here.

    Redirects are not followed, so that the owner's token goes only to the host that was named.
    """
    here = re.match(r"(localhost|127\.[0-9.]+|\[::1\])(:|$)", request.host or "") is not None
    opener = urllib.request.build_opener(NoRedirect, *([urllib.request.ProxyHandler({})] if here else []))
    return opener.open(request, timeout=seconds)


def ask_json(
    server: str,
    path: str,
    token: str | None = None,
    method: str = "GET",
    body: object = None,
    more_headers: Mapping[str, str] | None = None,
) -> Any:
    """Send one request as `ask` does, and return the JSON of the reply."""
    reply = ask(server, path, token, method, body, more_headers)
    try:
        document = json.loads(reply, parse_constant=_finite, parse_float=_finite)
        json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair could not be printed or written
        return document
    except (ValueError, RecursionError):
        raise ServiceError(f"the server at {server!r} is not a hubbub collector: its reply is not JSON") from None


def _finite(text: str) -> float:
    """Return a number with a fraction or an exponent. Refuse one too large for a float, and NaN, which is no JSON."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def read_survey(source: str, build: bool = True) -> Survey:
    """The survey of a file or an address; its privacy guarantee is recomputed and checked.

    A command that builds no mechanism, since it leaves all work to the collector, need not do that: the collector has
    done it. It saves the time to load all mechanisms.
    """
    if build:
        from hubbub.mechanisms.registry import load_survey
    else:
        from hubbub.model.survey import Survey

        load_survey = Survey.from_json
    if source.startswith(("http://", "https://")):
        address = parse_survey_url(source)
        survey = load_survey(ask(address.server, f"/v1/surveys/{address.survey_id}"))
        if survey.survey_id.hex() != address.survey_id:
            raise ServiceError("the collector sent another survey than the one in the address")
        return survey
    return load_survey(read_bytes(source, "survey"))


def read_bytes(name: str, what: str) -> bytes:
    """The content of a file; `what` is its name in messages."""
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read the {what} {name!r}: {system_reason(error)}") from None


def need_token(token: str | None) -> str:
    """Return the owner's token. Raises ParameterError if there is none."""
    if not token:
        raise ParameterError("the owner's token must be in HUBBUB_TOKEN or --token, got none")
    if not token.isascii() or not token.isprintable():
        raise ParameterError("the owner's token must be plain text, got something else")
    return token


def _detail(body: bytes) -> str:
    """Return the sentence of a problem document."""
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no reason given"
