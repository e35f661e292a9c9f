"""The route through which the owner merges tallies that were counted elsewhere: from files, or by Spark."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Header, Request, Response
from fastapi.routing import APIRoute

from hubbub.collector.documents import MergedTally
from hubbub.collector.limits import too_large
from hubbub.collector.owner import UNKNOWN, Owner, check_owner
from hubbub.collector.problems import Problem, refusals
from hubbub.errors import WireError
from hubbub.store.imports import merge_tally
from hubbub.wire.tally_file import LARGEST_OVERHEAD, parse_tally

_SECONDS: Final = 600.0
_BINARY: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

Key = Annotated[
    str,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Names this merge: the same tally under the same key is added once, however often it is sent.",
    ),
]


class ImportRoute(APIRoute):
    """A route for the owner, whose body may be as large as a tally of the survey."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the framework's handler behind a check of the token."""
        handle = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            """Check the token before anything is read."""
            await check_owner(request)
            return await handle(request)

        return check_and_handle


router = APIRouter(prefix="/v1", tags=["owner"], route_class=ImportRoute)


@router.post(
    "/surveys/{survey_id}/tallies",
    responses={
        **UNKNOWN,
        **refusals(
            {
                400: "The tally cannot be read.",
                401: "The owner's token is needed.",
                409: "The key was used for another tally.",
                413: "The tally is larger than one of this survey can be.",
                422: "The tally is of another survey, or there is no key.",
                503: "The store cannot be reached.",
            }
        ),
    },
    openapi_extra={"requestBody": {"required": True, "content": _BINARY}},
)
async def merge(survey_id: str, owner: Owner, request: Request, idempotency_key: Key) -> MergedTally:
    """Add a tally to the survey's tally, once for each key. Its reports must not have been sent to this collector."""
    stored = await owner.find(survey_id)
    shape = stored.mechanism.cells_shape
    data = await _read(request, LARGEST_OVERHEAD + 8 * int(np.prod(shape)))
    try:
        tally = parse_tally(data, stored.survey_id, shape)
    except WireError as error:
        raise Problem("bad-request", str(error)) from None
    digest = hashlib.sha256(data).digest()
    merged = await owner.compute(lambda: merge_tally(owner.store, stored.survey_id, idempotency_key, digest, tally))
    return MergedTally(survey_id=stored.survey_id.hex(), reports=tally.count, merged=merged)


async def _read(request: Request, limit: int) -> bytes:
    """Return the body. Raises Problem as soon as it is too large or too slow."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise too_large(limit)
                parts.append(part)
    except TimeoutError:
        raise Problem("too-slow", f"the tally did not arrive within {_SECONDS:g} s; send it again") from None
    return b"".join(parts)
