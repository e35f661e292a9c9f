"""`hubbub doctor`: checks that a collector works, and that devices can reach it."""

from __future__ import annotations

import hashlib
import http.client
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import click

from hubbub.cli.common import plural, print_json, print_table
from hubbub.cli.options import database_option, json_option
from hubbub.cli.service import open_url, parse_survey_url
from hubbub.errors import ServiceError

if TYPE_CHECKING:
    from hubbub.store.inspection import Finding

_MOST_SECONDS_OFF: Final = 60
_ORIGIN: Final = "https://doctor.invalid"


@click.command
@database_option
@click.option(
    "--survey", metavar="URL", help="A survey's public address: fetch it as a device would, from this machine."
)
@json_option
def doctor(db: str, survey: str | None, as_json: bool) -> None:
    """Check the database, the disk and the clock, and a survey from outside; say what to do. Changes nothing.

    \b
    hubbub doctor --db surveys.db
    hubbub doctor --survey https://collector.example/v1/surveys/ID
    """  # noqa: D301
    from hubbub.store.inspection import inspect_store

    found = [*inspect_store(db), *_look_at_clock(), *(_look_from_outside(survey) if survey else [])]
    wrong = sum(each.verdict == "wrong" for each in found)
    if as_json:
        print_json({"findings": [each._asdict() for each in found], "wrong": wrong})
    else:
        rows = [[each.verdict, each.about, each.sentence] for each in found]
        print_table("hubbub doctor", [("", "left"), ("what", "left"), ("finding, and what to do", "left")], rows)
    if wrong:
        raise ServiceError(f"{plural(wrong, 'problem')} found: see above")


def _look_at_clock() -> Iterator[Finding]:
    """Yield whether a time server keeps the clock of this machine right, as far as the system knows."""
    from hubbub.store.inspection import Finding

    program = shutil.which("timedatectl")
    said = ""
    if program is not None:
        command = [program, "show", "--property=NTPSynchronized", "--value"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()  # noqa: S603
    now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    if said == "no":
        yield Finding("look", "clock", f"it is {now} UTC here, and no time server keeps it right: set one up")
    elif said == "yes":
        yield Finding("ok", "clock", f"it is {now} UTC, kept right by a time server")
    else:
        yield Finding("ok", "clock", f"it is {now} UTC here; make sure that a time server keeps it right")


def _look_from_outside(url: str) -> Iterator[Finding]:
    """Yield findings of a device that uses a survey's address."""
    from hubbub.store.inspection import Finding

    address = parse_survey_url(url)
    if address.server.startswith("https://"):
        yield Finding("ok", "TLS", "the address is https")
    else:
        yield Finding("look", "TLS", "the address is plain http: put a proxy with a certificate in front")
    public = f"{address.server}/v1/surveys/{address.survey_id}"
    status, headers, body = _fetch(public, {})
    if status != 200:
        yield Finding(
            "wrong", "survey", f"{_told(status, body)}: is this the right address, and does the proxy pass it on?"
        )
        return
    if hashlib.sha256(body).hexdigest() != address.survey_id:
        yield Finding("wrong", "survey", "the reply is not this survey: does something in between change it?")
        return
    yield Finding("ok", "survey", f"it is served, {plural(len(body), 'byte')}")
    status, shown, _ = _fetch(public, {"Origin": _ORIGIN})
    if not shown.get("access-control-allow-origin"):
        yield Finding("look", "web pages", "no CORS header came for a page: does the proxy remove it?")
    elif status == 403:
        yield Finding(
            "ok", "web pages", "the headers that browsers need arrive; only pages of its own sites may report"
        )
    else:
        yield Finding("ok", "web pages", "the headers that browsers need arrive")
    moved = abs(
        (parsedate_to_datetime(headers["date"]).timestamp() if "date" in headers else time.time()) - time.time()
    )
    if moved > _MOST_SECONDS_OFF:
        yield Finding("wrong", "clocks", f"the server's clock and this one differ by {moved:.0f} s: set both")
    else:
        yield Finding("ok", "clocks", "the server's clock agrees with this one")
    empty = bytes([1]) + bytes.fromhex(address.survey_id)  # a batch without reports: nothing is stored
    status, _, body = _fetch(f"{public}/reports", {}, empty)
    if status == 200:
        yield Finding("ok", "uploads", "an empty batch was acknowledged")
    else:
        yield Finding(
            "wrong" if status != 410 else "look", "uploads", f"an empty batch was refused: {_told(status, body)}"
        )
    status, _, body = _fetch(f"{address.server}/metrics", {})
    if status == 200 and b"hubbub_" in body:
        yield Finding("look", "metrics", "anybody can read /metrics: let the proxy answer 404, as in deploy/")
    else:
        yield Finding("ok", "metrics", "strangers cannot read /metrics")


def _fetch(url: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers in lower case, and body of a reply; status 0 and the reason if there is none."""
    request = urllib.request.Request(url, body, headers)  # noqa: S310  # http only: parse_survey_url
    try:
        with open_url(request, 15) as reply:
            return reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, {}, str(getattr(error, "reason", error)).encode()


def _told(status: int, body: bytes) -> str:
    """Return the reason of a refusal."""
    if status == 0:
        return f"it cannot be reached ({body.decode(errors='replace')[:100]})"
    try:
        document: dict[str, Any] = json.loads(body)
        return f"{status}, {str(document['detail'])[:100]}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"{status}, and not from a collector"
