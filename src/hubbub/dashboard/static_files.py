"""The style sheet, the modules and the icon of the dashboard."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hubbub.collector.problems import Problem

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Return the bytes and the ETag of every file."""
    folder = files("hubbub.dashboard") / "static"
    bodies = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    return {name: (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"') for name, body in bodies.items()}


async def get_file(request: Request) -> Response:
    """Return a file. Browsers cache it, and ask each time whether it has changed."""
    name = request.path_params["name"]
    if name not in _files():
        raise Problem("not-found", "Not Found")
    body, tag = _files()[name]
    headers = {"Cache-Control": "no-cache", "ETag": tag, "X-Content-Type-Options": "nosniff"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


ROUTES: Final = [Route("/dashboard/{name}", get_file, methods=["GET", "HEAD"], include_in_schema=False)]
