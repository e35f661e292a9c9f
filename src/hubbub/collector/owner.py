"""The routes for the owner alone: create, list, close and delete surveys, name values, and read the sums."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import Response

from hubbub.analysis.naming import spell_groups, spell_names
from hubbub.analysis.question import Question, SurveyNames
from hubbub.collector import documents
from hubbub.collector.bodies import MAX_BATCH_BYTES
from hubbub.collector.documents import (
    AnswerDocument,
    Candidates,
    Names,
    NamesOfSurvey,
    NewStatus,
    NewSurvey,
    SurveyList,
    SurveyStatus,
)
from hubbub.collector.owner_route import UNKNOWN, Owner, OwnerRoute, owner_router
from hubbub.collector.reading import Asked, answer_of, status_of
from hubbub.collector.state import parse_id
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import domain_from_json
from hubbub.model.relayed import check_length
from hubbub.model.survey import Survey
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.names import change_names
from hubbub.store.overview import list_surveys
from hubbub.store.sealing_keys import new_key
from hubbub.store.slices import SLICE_DAYS, open_now
from hubbub.store.upkeep import tally_file
from hubbub.wire.report_batch import HEADER_BYTES

router = owner_router(OwnerRoute)


@router.post("/surveys", status_code=201)
def create(new: NewSurvey, owner: Owner, response: Response) -> NewStatus:
    """Create a survey. Its parameters are derived here; its public seed is drawn from the operating system."""
    opens = open_now(new.every) if new.every and new.opens is None else new.opens
    private, sealed = (None, dict[str, Any]()) if new.relay is None else new_key(new.relay.crowd)
    survey = create_survey(
        new.name,
        domain_from_json(new.domain),
        new.epsilon,
        new.delta,
        new.mechanism,
        new.options,
        new.expected_reports,
        opens,
        new.closes,
        every=new.every,
        **sealed,
        public_seed=None if new.public_seed is None else bytes.fromhex(new.public_seed),
    )
    if survey.closes is not None and survey.closes <= owner.clock.now():
        raise ParameterError(f"closes must be in the future, got closes={new.closes}")
    if survey.through is not None:
        check_length(owner.clock.now(), survey.closes)
    _check_report_size(survey)
    names, sentences = spell_names(survey.domain, new.names)
    groups, more = spell_groups(survey.domain, new.groups)
    own = SurveyNames(names, groups=groups)
    stored = owner.store.add_survey(survey, new.origins, SLICE_DAYS[new.slice], own, private=private)
    response.headers["Location"] = f"/v1/surveys/{stored.survey_id.hex()}"
    return NewStatus(**status_of(owner, stored.survey_id).model_dump(), sentences=[*sentences, *more])


@router.get("/surveys")
def list_all(owner: Owner) -> SurveyList:
    """List all surveys, the oldest first."""
    now = owner.clock.now()
    return SurveyList(surveys=[documents.status_document(each, now) for each in list_surveys(owner.store.engine)])


@router.post("/surveys/{survey_id}/close", responses=UNKNOWN)
async def close(survey_id: str, owner: Owner) -> SurveyStatus:
    """Take no more reports for a survey. Its report ids are deleted; its tally stays."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: close_survey(owner.store, raw))
    owner.purge_soon()
    return await asyncio.to_thread(status_of, owner, raw)


@router.delete("/surveys/{survey_id}", status_code=204, responses=UNKNOWN)
async def delete(survey_id: str, owner: Owner) -> None:
    """Delete a survey with everything that belongs to it."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: delete_survey(owner.store, raw))
    owner.purge_soon()


@router.post("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters_among(survey_id: str, owner: Owner, named: Candidates, asked: Asked) -> AnswerDocument:
    """Like the GET, with candidates or groups.

    Candidates are values that were named in advance: they stand out from a smaller count on. The values of a group are
    counted together.
    """
    if named.candidates is None and isinstance(named.groups, str):
        raise ParameterError("a question must have candidates or groups of its own, got neither")
    return await answer_of(owner, survey_id, Question(**dict(named)), asked)


@router.put("/surveys/{survey_id}/names", responses=UNKNOWN)
async def replace_names(survey_id: str, owner: Owner, given: Names) -> NamesOfSurvey:
    """Replace the names or the groups of a survey. Names fixed before its first report stay, and so do its groups then.

    Names fixed before the first report are found from a smaller count on. Later ones must stand out as if nobody had
    named them.
    """
    stored = await owner.find(survey_id)
    names, sentences = await asyncio.to_thread(change_names, owner.store.engine, stored, given.names, given.groups)
    return documents.names_document(stored, names, sentences)


@router.get(
    "/surveys/{survey_id}/tally",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **UNKNOWN},
)
async def tally(survey_id: str, owner: Owner, asked: Asked) -> Response:
    """Return the sums, as bytes with a checksum; see the page about the wire format."""
    stored = await owner.find(survey_id)
    slices = asked(stored)
    data = await owner.compute(lambda: tally_file(owner.store, stored.survey_id, slices))
    return Response(data, media_type="application/octet-stream")


def _check_report_size(survey: Survey) -> None:
    """Raise ParameterError if one report of the survey is too large for an upload."""
    size = mechanism_for(survey).report_dtype.itemsize
    if HEADER_BYTES + size > MAX_BATCH_BYTES:
        raise ParameterError(f"a report must have less than {MAX_BATCH_BYTES} bytes to be sent, got {size} bytes")
