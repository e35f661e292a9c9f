"""The routes for the owner: create, list, show, close and delete surveys, and ask which values stand out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.types import Message

from hubbub.analysis.answers import answer_question, encode_candidates
from hubbub.collector import documents
from hubbub.collector.documents import AnswerDocument, Candidates, NewSurvey, SurveyList, SurveyStatus
from hubbub.collector.limits import MAX_BATCH_BYTES, MAX_DOCUMENT_BYTES, too_large
from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import Collector, parse_id
from hubbub.errors import ParameterError, UnknownSurvey
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import domain_from_json
from hubbub.model.question import Question
from hubbub.model.survey import Survey
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.store import StoredSurvey
from hubbub.store.tokens import is_owner
from hubbub.wire.report_batch import HEADER_BYTES
from hubbub.wire.tally_file import encode_tally

UNKNOWN: Final = refusals({404: "There is no such survey."})


class OwnerRoute(APIRoute):
    """A route for the owner. Strangers are refused before their request is read, and large requests while they are."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the framework's handler behind a check of the token and of the request's size."""
        handle = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            """Check the token and then handle the request, whose body is counted."""
            collector: Collector = request.app.state.collector
            await asyncio.to_thread(_check_owner, collector, request.headers.get("authorization"))
            with collector.budget.room() as taken:

                async def receive() -> Message:
                    """Return the next part of the body, unless it is too much."""
                    message = await request.receive()
                    collector.budget.take(taken, len(message.get("body", b"")))
                    if sum(taken) > MAX_DOCUMENT_BYTES:
                        raise too_large(MAX_DOCUMENT_BYTES)
                    return message

                return await handle(Request(request.scope, receive))

        return check_and_handle


async def collector_of(request: Request) -> Collector:
    """Return the collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector


Owner = Annotated[Collector, Depends(collector_of)]
Top = Annotated[int, Query(ge=1, le=documents.MAX_TOP, description="At most this many values.")]
Level = Annotated[float, Query(description="The chance, at most, that anything in the answer is wrong.")]

router = APIRouter(
    prefix="/v1",
    tags=["owner"],
    route_class=OwnerRoute,
    # For the documentation only: OwnerRoute checks the token.
    dependencies=[
        Depends(HTTPBearer(auto_error=False, description="The token that the collector showed when it first started."))
    ],
    responses=refusals(
        {
            400: "The request cannot be read.",
            401: "The owner's token is needed.",
            413: "The request is too large.",
            422: "The request cannot be met.",
            503: "The store cannot be reached.",
        }
    ),
)


@router.post("/surveys", status_code=201)
def create(new: NewSurvey, owner: Owner, response: Response) -> SurveyStatus:
    """Create a survey. Its parameters are derived here; its public seed is drawn from the operating system."""
    survey = create_survey(
        new.name,
        domain_from_json(new.domain),
        new.epsilon,
        new.delta,
        new.mechanism,
        new.options,
        new.expected_reports,
        new.opens,
        new.closes,
        public_seed=None if new.public_seed is None else bytes.fromhex(new.public_seed),
    )
    _check_report_size(survey)
    stored = owner.store.add_survey(survey, new.origins)
    response.headers["Location"] = f"/v1/surveys/{stored.survey_id.hex()}"
    return _status(owner, stored)


@router.get("/surveys")
def list_surveys(owner: Owner) -> SurveyList:
    """List all surveys, the oldest first."""
    found = []
    for stored in owner.store.all_surveys():
        with suppress(UnknownSurvey):  # deleted a moment ago
            found.append(_status(owner, stored))
    return SurveyList(surveys=found)


@router.get("/surveys/{survey_id}/status", responses=UNKNOWN)
async def show(survey_id: str, owner: Owner) -> SurveyStatus:
    """Show one survey, with the number of its reports."""
    stored = await owner.find(survey_id)
    return await owner.compute(lambda: _status(owner, stored))


@router.post("/surveys/{survey_id}/close", responses=UNKNOWN)
async def close(survey_id: str, owner: Owner) -> SurveyStatus:
    """Take no more reports for a survey. Its report ids are deleted; its tally stays."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: close_survey(owner.store, raw))
    owner.purge_soon()
    return await owner.compute(lambda: _status(owner, owner.store.survey(raw)))


@router.delete("/surveys/{survey_id}", status_code=204, responses=UNKNOWN)
async def delete(survey_id: str, owner: Owner) -> None:
    """Delete a survey with everything that belongs to it."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: delete_survey(owner.store, raw))
    owner.purge_soon()


@router.get("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters(
    survey_id: str, owner: Owner, top: Top = 20, level: Level = 0.05, hitters_only: bool = False
) -> AnswerDocument:
    """Return the values that stand out, with error bars, from all reports that were durable when this was asked.

    If the domain is a list, return all of its values, unless `hitters_only` is true.
    """
    return await _answer(owner, survey_id, Question(top, level, hitters_only=hitters_only))


@router.post("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters_among(survey_id: str, owner: Owner, asked: Candidates) -> AnswerDocument:
    """Do the same with candidates: values that were named in advance stand out from a smaller count on."""
    question = Question(asked.top, asked.level, asked.candidates, asked.all_candidates)
    return await _answer(owner, survey_id, question)


@router.get(
    "/surveys/{survey_id}/tally",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **UNKNOWN},
)
async def tally(survey_id: str, owner: Owner) -> Response:
    """Return the sums, as bytes with a checksum; see the page about the wire format."""
    stored = await owner.find(survey_id)
    data = await owner.compute(lambda: encode_tally(owner.store.tally(stored.survey_id)))
    return Response(data, media_type="application/octet-stream")


async def _answer(owner: Collector, survey_id: str, question: Question) -> AnswerDocument:
    """Compute an answer in the thread for answers; return it as a JSON document."""
    stored = await owner.find(survey_id)

    def work() -> AnswerDocument:
        """Fold, search and convert the answer; takes about a second of a core."""
        named = encode_candidates(stored.survey.domain, question)
        sums = owner.store.tally(stored.survey_id)
        found = answer_question(stored.survey, stored.mechanism, sums, question, named)
        return documents.answer_document(stored, found)

    return await owner.compute(work)


def _status(owner: Collector, stored: StoredSurvey) -> SurveyStatus:
    """Fold a survey's pending reports, and return the survey as its owner sees it."""
    return documents.status_document(stored, owner.store.tally(stored.survey_id).count)


def _check_owner(collector: Collector, authorization: str | None) -> None:
    """Raise Problem unless the header holds the owner's token."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not is_owner(collector.store.engine, token.strip()):
        sentence = "the request must have the owner's token, got none or another"
        raise Problem("unauthorized", sentence, {"WWW-Authenticate": "Bearer"})


def _check_report_size(survey: Survey) -> None:
    """Raise ParameterError if one report of the survey is too large for an upload."""
    size = mechanism_for(survey).report_dtype.itemsize
    if HEADER_BYTES + size > MAX_BATCH_BYTES:
        raise ParameterError(f"a report must have less than {MAX_BATCH_BYTES} bytes to be sent, got {size} bytes")
