"""The route through which the owner merges tallies that were counted elsewhere: from files, or by Spark."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import numpy as np
from fastapi import APIRouter, Header, Query, Request

from hubbub.collector.bodies import Budget, Reading, read_body
from hubbub.collector.documents import MergedTally
from hubbub.collector.owner_route import UNKNOWN, Owner, OwnerRoute
from hubbub.collector.problems import Problem, refusals
from hubbub.errors import ParameterError, WireError
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.slices import date_of, day_now, day_of, parse_day
from hubbub.wire.tally_file import LARGEST_OVERHEAD, parse_tally

_SECONDS: Final = 600.0
_BINARY: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

Day = Annotated[str | None, Query(description="A day of the slice of time that the reports are of: 2026-10-05.")]
Key = Annotated[
    str,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Names this merge: the same tally under the same key is added once, however often it is sent.",
    ),
]


class MergeRoute(OwnerRoute):
    """A route for the owner, whose body may be as large as a tally of the survey: `merge` reads it."""

    takes_documents = False


router = APIRouter(prefix="/v1", tags=["owner"], route_class=MergeRoute)


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
async def merge(survey_id: str, owner: Owner, request: Request, idempotency_key: Key, day: Day = None) -> MergedTally:
    """Add a tally to the survey's tally, once for each key. Its reports must not have been sent to this collector.

    They belong to the slice of `day`; without it to the one that the tally names, or to that of today.
    """
    stored = await owner.find(survey_id)
    number = None if day is None else parse_day("day", day)
    shape = stored.mechanism.cells_shape
    limit = LARGEST_OVERHEAD + 8 * int(np.prod(shape))
    data = await read_body(request.scope, request.receive, Budget(limit, _SECONDS), Reading(), limit)
    try:
        tally = parse_tally(data, stored.survey_id, shape)
    except WireError as error:
        raise Problem("bad-request", str(error)) from None
    number = day_of(tally.day) if number is None and tally.day is not None else number
    if number is not None and not 0 <= number <= day_now():
        raise ParameterError(f"day must be from 1970 on and not in the future, got day={date_of(number)}")
    digest = hashlib.sha256(data).digest()
    merged = await owner.compute(
        lambda: merge_tally(owner.store, stored.survey_id, idempotency_key, digest, tally, number)
    )
    return MergedTally(survey_id=stored.survey_id.hex(), reports=tally.count, merged=merged)
