"""The routes for the owner: create, list, show, close and delete surveys, and ask which values stand out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.types import Message

from hubbub.analysis.asking import answer_question
from hubbub.analysis.naming import spell_groups, spell_names
from hubbub.analysis.question import MAX_GUESSES, MAX_SLOTS, Question, SurveyNames
from hubbub.analysis.trending import trend_of
from hubbub.collector import documents
from hubbub.collector.bodies import MAX_BATCH_BYTES, MAX_DOCUMENT_BYTES, read_body
from hubbub.collector.documents import (
    AnswerDocument,
    Candidates,
    GroupWords,
    Names,
    NamesOfSurvey,
    NewStatus,
    NewSurvey,
    SliceList,
    SliceStatus,
    SurveyList,
    SurveyStatus,
    TrendDocument,
)
from hubbub.collector.problems import Problem, refusals
from hubbub.collector.state import Collector, parse_id
from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.registry import create_survey, mechanism_for
from hubbub.model.domain import domain_from_json
from hubbub.model.relayed import check_length
from hubbub.model.survey import Survey
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.names import change_names, names_of
from hubbub.store.overview import list_surveys
from hubbub.store.periods import periods_between
from hubbub.store.schema import unknown_survey
from hubbub.store.sealing_keys import new_key
from hubbub.store.slices import SLICE_DAYS, Range, open_now, parse_range
from hubbub.store.upkeep import tally_file
from hubbub.wire.report_batch import HEADER_BYTES

UNKNOWN: Final = refusals({404: "There is no such survey.", 410: "An earlier version made the survey."})


class OwnerRoute(APIRoute):
    """A route for the owner. Strangers are refused before their body is read, and large bodies while they are read.

    With `takes_documents` a body is JSON, which is read before the request is handled.
    """

    takes_documents: bool = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the framework's handler behind checks of the token, of the query and of the request's size."""
        handle = super().get_route_handler()
        asked = (self.dependant, *self.dependant.dependencies)
        known = {field.alias for each in asked for field in each.query_params}

        async def check_and_handle(request: Request) -> Response:
            """Check the request, and then handle it."""
            collector = await collector_of(request)
            try:
                await asyncio.to_thread(collector.owner.check, request.headers.get("authorization"))
            except Problem:
                collector.metrics.owner_refusals.inc()
                raise
            if unknown := [name for name in request.query_params if name not in known]:
                allowed = ", ".join(sorted(known)) or "none"
                raise ParameterError(f"a parameter must be one of this route ({allowed}), got {shown(unknown[0])}")
            given = [name for name, _ in request.query_params.multi_items()]
            if doubled := [name for name in given if given.count(name) > 1]:
                raise ParameterError(f"a parameter must be given once, got {shown(doubled[0])} twice")
            if not self.takes_documents:
                return await handle(request)
            budget = collector.owner_budget
            with budget.room() as reading:
                body = await read_body(request.scope, request.receive, budget, reading, MAX_DOCUMENT_BYTES)

                async def receive() -> Message:
                    """Return the body."""
                    return {"type": "http.request", "body": body, "more_body": False}

                return await handle(Request(request.scope, receive))

        return check_and_handle


async def collector_of(request: Request) -> Collector:
    """Return the collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector


Owner = Annotated[Collector, Depends(collector_of)]
Top = Annotated[int, Query(ge=1, le=documents.MAX_TOP, description="At most this many values.")]
Level = Annotated[float, Query(description="The chance, at most, that anything in the answer is wrong.")]
Slots = Annotated[int, Query(ge=1, le=MAX_SLOTS, description="The number of slots of each person; one was reported.")]
Guesses = Annotated[int, Query(ge=0, le=MAX_GUESSES, description="How many of the next best values to add.")]
Everyone = Annotated[bool, Query(description="A row for every name that stays with the survey.")]
Checked = Annotated[
    Literal["auto", "none"], Query(description="Whether public names and those of the survey are checked by name.")
]
Grouped = Annotated[GroupWords, Query(description="Count together: groups of the survey, also public ones, or none.")]
Share = Annotated[float, Query(ge=0, le=1, description="The share of the people that the mode is about.")]
Mode = Annotated[
    Literal["no-false-positives", "no-false-negatives"],
    Query(description="Values that surely have the share, or all named ones that may have it."),
]

From = Annotated[str | None, Query(alias="from", description="The first day of the first slice: 2026-10-05.")]
To = Annotated[str | None, Query(description="The first day after the last slice.")]
Last = Annotated[str | None, Query(description="Weeks or days up to the end of the slice that goes on: 4w.")]


def asked_range(first: From = None, to: To = None, last: Last = None) -> Callable[[int], Range]:
    """Return what makes the range that a request names, for slices of so many days."""
    return lambda days: parse_range(days, first, to, last)


Asked = Annotated[Callable[[int], Range], Depends(asked_range)]

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
            408: "The request took too long to arrive.",
            413: "The request is too large.",
            422: "The request cannot be met.",
            429: "Too many requests came without the owner's token.",
            503: "The store cannot be reached.",
        }
    ),
)


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
    return NewStatus(**_status(owner, stored.survey_id).model_dump(), sentences=[*sentences, *more])


@router.get("/surveys")
def list_all(owner: Owner) -> SurveyList:
    """List all surveys, the oldest first."""
    now = owner.clock.now()
    return SurveyList(surveys=[documents.status_document(each, now) for each in list_surveys(owner.store.engine)])


@router.get("/surveys/{survey_id}/status", responses=UNKNOWN)
async def show(survey_id: str, owner: Owner) -> SurveyStatus:
    """Show one survey, with the number of its reports."""
    return await asyncio.to_thread(_status, owner, parse_id(survey_id))


@router.post("/surveys/{survey_id}/close", responses=UNKNOWN)
async def close(survey_id: str, owner: Owner) -> SurveyStatus:
    """Take no more reports for a survey. Its report ids are deleted; its tally stays."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: close_survey(owner.store, raw))
    owner.purge_soon()
    return await asyncio.to_thread(_status, owner, raw)


@router.delete("/surveys/{survey_id}", status_code=204, responses=UNKNOWN)
async def delete(survey_id: str, owner: Owner) -> None:
    """Delete a survey with everything that belongs to it."""
    raw = parse_id(survey_id)
    await owner.compute(lambda: delete_survey(owner.store, raw))
    owner.purge_soon()


@router.get("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters(
    survey_id: str,
    owner: Owner,
    asked: Asked,
    top: Top = 20,
    level: Level = 0.05,
    hitters_only: bool = False,
    values_per_person: Slots = 1,
    names: Checked = "auto",
    all_candidates: Everyone = False,
    guesses: Guesses = 0,
    groups: Grouped = "own",
    mode: Mode = "no-false-positives",
    share: Share = 0.0,
) -> AnswerDocument:
    """Return the values that stand out, with error bars, from all reports that were durable when this was asked.

    If the domain is a list, return all of its values, unless `hitters_only` is true. If each person reported one of
    several slots, `values_per_person` is their number, and counts are of people who have the value in any slot. With
    `from`, `to` or `last`, only the reports of these slices of time count.
    """
    everyone = (all_candidates, hitters_only, values_per_person)
    question = Question(top, level, None, *everyone, names, guesses, groups, mode, share)
    return await _answer(owner, survey_id, question, asked)


@router.post("/surveys/{survey_id}/hitters", responses=UNKNOWN)
async def hitters_among(survey_id: str, owner: Owner, named: Candidates, asked: Asked) -> AnswerDocument:
    """Like the GET, with candidates or groups.

    Candidates are values that were named in advance: they stand out from a smaller count on. The values of a group are
    counted together.
    """
    if named.candidates is None and isinstance(named.groups, str):
        raise ParameterError("a question must have candidates or groups of its own, got neither")
    return await _answer(owner, survey_id, Question(**dict(named)), asked)


@router.get("/surveys/{survey_id}/trend", responses=UNKNOWN)
async def trend(
    survey_id: str,
    owner: Owner,
    asked: Asked,
    top: Top = 20,
    level: Level = 0.05,
    hitters_only: bool = False,
    values_per_person: Slots = 1,
    names: Checked = "auto",
    all_candidates: Everyone = False,
) -> TrendDocument:
    """Return the values that stand out in all of a time, with a count and an interval for each slice of it.

    All intervals hold together. Nothing is called rising or falling in a survey that each device answers once.
    """
    stored = await owner.find(survey_id)
    slices = asked(stored.slice_days)
    question = Question(top, level, None, all_candidates, hitters_only, values_per_person, names)

    def work() -> TrendDocument:
        """Fold, search, and count in each slice; takes about a second, and a tenth for each slice."""
        about = question.about(stored.survey.domain, names_of(owner.store.engine, stored, slices))
        periods = periods_between(owner.store, stored, slices)
        found = trend_of(stored.mechanism, periods.tallies, about, periods.repeats, periods.unfinished)
        return documents.trend_document(stored, found, slices.words)

    return await owner.compute(work)


@router.get("/surveys/{survey_id}/slices", responses=UNKNOWN)
async def list_slices(survey_id: str, owner: Owner) -> SliceList:
    """List the slices of time that have reports."""
    stored = await owner.find(survey_id)
    found = await owner.compute(lambda: owner.store.slices(stored.survey_id))
    return SliceList(slices=[SliceStatus(**each._asdict()) for each in found])


@router.get("/surveys/{survey_id}/names", responses=UNKNOWN)
async def show_names(survey_id: str, owner: Owner) -> NamesOfSurvey:
    """Return the names and groups that stay with a survey."""
    stored = await owner.find(survey_id)
    return documents.names_document(stored, await asyncio.to_thread(names_of, owner.store.engine, stored))


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
    slices = asked(stored.slice_days)
    data = await owner.compute(lambda: tally_file(owner.store, stored.survey_id, slices))
    return Response(data, media_type="application/octet-stream")


async def _answer(
    owner: Collector, survey_id: str, question: Question, asked_range: Callable[[int], Range]
) -> AnswerDocument:
    """Compute an answer in the thread for answers; return it as a JSON document."""
    stored = await owner.find(survey_id)
    slices = asked_range(stored.slice_days)

    def work() -> AnswerDocument:
        """Fold, search and convert the answer; takes about a second of a core."""
        asked = question.about(stored.survey.domain, names_of(owner.store.engine, stored, slices))
        sums = owner.store.tally(stored.survey_id, slices)
        found = answer_question(stored.mechanism, sums, asked)
        return documents.answer_document(stored, found, slices.words)

    return await owner.compute(work)


def _status(owner: Collector, survey_id: bytes) -> SurveyStatus:
    """Return the survey as its owner sees it."""
    found = list_surveys(owner.store.engine, survey_id)
    if not found:
        raise unknown_survey(survey_id)
    return documents.status_document(found[0], owner.clock.now())


def _check_report_size(survey: Survey) -> None:
    """Raise ParameterError if one report of the survey is too large for an upload."""
    size = mechanism_for(survey).report_dtype.itemsize
    if HEADER_BYTES + size > MAX_BATCH_BYTES:
        raise ParameterError(f"a report must have less than {MAX_BATCH_BYTES} bytes to be sent, got {size} bytes")
