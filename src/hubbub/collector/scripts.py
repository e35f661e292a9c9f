"""The scripts for web pages: the current version under a fixed name, and every version under its hash."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import logging
import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hubbub.collector.problems import Problem
from hubbub.errors import HubbubError
from hubbub.store.kept_scripts import keep_scripts, kept_script
from hubbub.store.store import Store

NAMES: Final = ("hubbub.js", "hubbub-relay.js", "hubbub-more.js", "hubbub-debug.js", "hubbub-ledger.js", "hubbub.mjs")
_HASHED: Final = re.compile(r"hubbub(-relay|-more|-debug|-ledger)?-[0-9a-f]{16}\.m?js")
_HEADERS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
}
_SHORT: Final = "public, max-age=300"
_FOREVER: Final = "public, max-age=31536000, immutable"
_MOST_REMEMBERED: Final = 64

log = logging.getLogger("hubbub.collector")


class Script(NamedTuple):
    """A script as it is served, plain and in gzip, with the value for a page's `integrity` attribute.

    `hashed_name` has 16 digits of its SHA-256: under this name it never changes.
    """

    hashed_name: str
    integrity: str
    body: bytes
    packed: bytes


@cache
def shipped() -> dict[str, Script]:
    """Return the scripts of this version by name. Reads and packs 20 kB once."""
    folder = files("hubbub.collector") / "static"
    return {name: _describe(name, (folder / name).read_bytes()) for name in NAMES}


def keep(store: Store) -> None:
    """Write the scripts of this version to the store, so that later versions can serve them."""
    try:
        keep_scripts(store.engine, {script.hashed_name: script.body for script in shipped().values()})
    except HubbubError as error:  # the collector can work without this
        log.warning("the scripts of this version could not be kept for later ones: %s", error)


async def get_script(request: Request) -> Response:
    """Return a script of this version. Pages ask for it again after five minutes."""
    return _reply(request, shipped()[request.url.path.rpartition("/")[2]], _SHORT)


async def get_hashed(request: Request) -> Response:
    """Return the script that has this hash, of this version or an older one. It never changes."""
    name = f"hubbub-{request.path_params['rest']}"
    if _HASHED.fullmatch(name) is None:
        raise Problem("not-found", "Not Found")
    script = next((each for each in shipped().values() if each.hashed_name == name), None)
    if script is None:
        remembered: dict[str, Script] = request.app.state.old_scripts
        script = remembered.get(name)
        if script is None:
            body = await asyncio.to_thread(kept_script, request.app.state.collector.store.engine, name)
            if body is None:
                raise Problem("not-found", "there is no script of this hash")
            if len(remembered) >= _MOST_REMEMBERED:
                remembered.clear()
            script = remembered[name] = _describe(name, body)._replace(hashed_name=name)
    return _reply(request, script, _FOREVER)


def _describe(name: str, body: bytes) -> Script:
    """Return a script with everything that its replies need."""
    stem, dot, ending = name.rpartition(".")
    integrity = f"sha384-{base64.b64encode(hashlib.sha384(body).digest()).decode()}"
    hashed_name = f"{stem}-{hashlib.sha256(body).hexdigest()[:16]}{dot}{ending}"
    return Script(hashed_name, integrity, body, gzip.compress(body, 9, mtime=0))


def _reply(request: Request, script: Script, lifetime: str) -> Response:
    """Return the reply with a script, gzipped if the browser accepts that."""
    tag = f'"{script.integrity[7:39]}"'
    headers = {**_HEADERS, "Cache-Control": lifetime, "ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("accept-encoding", "")
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(script.packed if packed else script.body, headers=headers, media_type="text/javascript")


ROUTES: Final = [
    *(Route(f"/{name}", get_script, methods=["GET", "HEAD"], include_in_schema=False) for name in NAMES),
    Route("/hubbub-{rest}", get_hashed, methods=["GET", "HEAD"], include_in_schema=False),
]
