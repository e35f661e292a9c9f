"""The route for the public keys of surveys through a relay."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import Collector
from hubbub.collector.uploads import BINARY, PlainRoute
from hubbub.store.sealing_keys import public_half

_FOR_EVERYBODY: Final = {"Cache-Control": "public, max-age=86400, immutable", "Access-Control-Allow-Origin": "*"}


async def get_key(request: Request) -> Response:
    """Return the public key of a hash, which a survey's document names. Whoever asks checks the hash."""
    collector: Collector = request.app.state.collector
    named = request.path_params["key"]
    spelled = re.fullmatch(r"[0-9a-f]{64}", named, re.ASCII)
    found = await asyncio.to_thread(public_half, collector.store.engine, named) if spelled else None
    if found is None:
        raise Problem("not-found", "there is no such key: no open survey names it")
    return Response(found, media_type="application/octet-stream", headers=_FOR_EVERYBODY)


ROUTES: Final = [
    PlainRoute(
        "/v1/keys/{key}",
        get_key,
        methods=["GET"],
        tags=["everybody"],
        summary="Read the public key of a survey through a relay",
        response_description="65 bytes, an uncompressed point of P-256, whose SHA-256 is the name in the address.",
        responses={200: {"content": BINARY}, **refusals({404: "No open survey names this key."})},
        openapi_extra={"parameters": [{"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}]},
    )
]
