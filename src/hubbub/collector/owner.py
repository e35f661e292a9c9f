"""What the owner may do: create, list, show, close and delete surveys, and ask what the reports say."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hubbub.analysis.decode import answer_question, encode_candidates
from hubbub.collector import documents
from hubbub.collector.documents import AnswerDocument, Candidates, NewSurvey, SurveyList, SurveyStatus
from hubbub.collector.limits import MAX_BATCH_BYTES, check_owner
from hubbub.collector.state import Collector, collector_of, parse_id
from hubbub.errors import ParameterError, UnknownSurvey
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import domain_from_json
from hubbub.model.question import Question
from hubbub.model.survey import Survey
from hubbub.store.store import StoredSurvey
from hubbub.wire.report_batch import HEADER_BYTES
from hubbub.wire.tally_file import encode_tally

_PROBLEM: Final[dict[str, Any]] = {"content": {"application/problem+json": {}}}
REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"description": "The request cannot be read.", **_PROBLEM},
    401: {"description": "The owner's token is needed.", **_PROBLEM},
    413: {"description": "The request is too large.", **_PROBLEM},
    422: {"description": "The request cannot be met.", **_PROBLEM},
    503: {"description": "The store cannot be reached.", **_PROBLEM},
}
UNKNOWN: Final[dict[int | str, dict[str, Any]]] = {404: {"description": "There is no such survey.", **_PROBLEM}}

_bearer = HTTPBearer(auto_error=False, description="The token that the collector showed when it first started.")


def require_owner(
    request: Request, _documented: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Collector:
    """The collector, for its owner only."""
    collector = collector_of(request)
    check_owner(collector.store, request.headers.get("authorization"))
    return collector


Owner = Annotated[Collector, Depends(require_owner)]
Top = Annotated[int, Query(ge=1, le=documents.MAX_TOP, description="At most this many values.")]
Level = Annotated[float, Query(description="The chance, at most, that anything in the answer is wrong.")]

router = APIRouter(prefix="/v1", tags=["owner"], responses=REFUSALS)


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
    response.headers["Location"] = f"/v1/surveys/{survey.survey_id.hex()}"
    return _status(owner, stored)


@router.get("/surveys")
def list_surveys(owner: Owner) -> SurveyList:
    """All surveys, the oldest first."""
    found = []
    for stored in owner.store.all_surveys():
        with suppress(UnknownSurvey):  # deleted a moment ago
            found.append(_status(owner, stored))
    return SurveyList(surveys=found)


@router.get("/surveys/{survey_id}/status", responses=UNKNOWN)
async def show(survey_id: str, owner: Owner) -> SurveyStatus:
    """One survey, with the number of its reports."""
    stored = await owner.find(survey_id)
    return await owner.compute(lambda: _status(owner, stored))


@router.post("/surveys/{survey_id}/close", responses=UNKNOWN)
async def close(survey_id: str, owner: Owner) -> SurveyStatus:
    """Take no more reports. The ids of its reports are dropped; the tally stays."""
    stored = await owner.find(survey_id)
    raw = stored.survey.survey_id
    await owner.compute(lambda: owner.store.close_survey(raw))
    owner.tidy_soon()
    return await owner.compute(lambda: _status(owner, owner.store.survey(raw)))


@router.delete("/surveys/{survey_id}", status_code=204, responses=UNKNOWN)
async def delete(survey_id: str, owner: Owner) -> None:
    """Forget a survey with everything that belongs to it."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: owner.store.delete_survey(raw))
    owner.tidy_soon()


@router.get("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters(survey_id: str, owner: Owner, top: Top = 20, level: Level = 0.05) -> AnswerDocument:
    """The values that stand out, with error bars, from every report that was durable when this was asked."""
    return await _answer(owner, survey_id, Question(top, level))


@router.post("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters_among(survey_id: str, owner: Owner, asked: Candidates) -> AnswerDocument:
    """The same with candidates: values named before anybody looked, which are seen from a smaller count on."""
    question = Question(asked.top, asked.level, asked.candidates, asked.all_candidates)
    return await _answer(owner, survey_id, question)


@router.get(
    "/surveys/{survey_id}/tally",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **UNKNOWN},
)
async def tally(survey_id: str, owner: Owner) -> Response:
    """The sums, as bytes with a checksum; see the wire format."""
    stored = await owner.find(survey_id)
    data = await owner.compute(lambda: encode_tally(owner.store.tally(stored.survey.survey_id)))
    return Response(data, media_type="application/octet-stream")


async def _answer(owner: Collector, survey_id: str, question: Question) -> AnswerDocument:
    stored = await owner.find(survey_id)

    def work() -> AnswerDocument:
        named = encode_candidates(stored.survey.domain, question)
        sums = owner.store.tally(stored.survey.survey_id)
        found = answer_question(stored.survey, stored.mechanism, sums, question, named)
        return documents.answer_document(stored, found)

    return await owner.compute(work)


def _status(owner: Collector, stored: StoredSurvey) -> SurveyStatus:
    survey, now = stored.survey, datetime.now(UTC)
    if stored.closed or (survey.closes and survey.closes <= now):
        state = "closed"
    else:
        state = "not yet open" if survey.opens and now < survey.opens else "open"
    return documents.status_document(stored, state, owner.store.tally(survey.survey_id).count)


def _check_report_size(survey: Survey) -> None:
    size = mechanism_for(survey).report_dtype.itemsize
    if HEADER_BYTES + size > MAX_BATCH_BYTES:
        raise ParameterError(f"a report must have less than {MAX_BATCH_BYTES} bytes to be sent, got {size} bytes")
