"""The routes that only read: the owner may use them, and read-only tokens for the surveys that they are for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Response

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import MAX_GUESSES, MAX_SLOTS, Question
from hubbub.analysis.tables import as_csv
from hubbub.analysis.trending import trend_of
from hubbub.collector import documents
from hubbub.collector.documents import (
    AnswerDocument,
    GroupWords,
    NamesOfSurvey,
    SliceList,
    SliceStatus,
    SurveyStatus,
    TrendDocument,
)
from hubbub.collector.owner_route import UNKNOWN, Owner, ReadRoute, owner_router
from hubbub.collector.relay_figures import relay_figures
from hubbub.collector.state import Collector, parse_id
from hubbub.store.names import names_of
from hubbub.store.overview import list_surveys
from hubbub.store.periods import periods_between
from hubbub.store.readers import Reader
from hubbub.store.schema import unknown_survey
from hubbub.store.slices import Range, Slice, day_of, parse_range
from hubbub.store.store import StoredSurvey

Top = Annotated[int, Query(ge=1, le=documents.MAX_TOP, description="At most this many values.")]
Level = Annotated[float, Query(description="The chance, at most, that anything in the answer is wrong.")]
Slots = Annotated[int, Query(ge=1, le=MAX_SLOTS, description="The number of slots of each person; one was reported.")]
Guesses = Annotated[int, Query(ge=0, le=MAX_GUESSES, description="How many of the next best values to add.")]
Everyone = Annotated[bool, Query(description="A row for every name that stays with the survey.")]
Checked = Annotated[
    Literal["auto", "none"], Query(description="Whether public names and those of the survey are checked by name.")
]
Grouped = Annotated[GroupWords, Query(description="Count together: groups of the survey, also public ones, or none.")]
Forged = Annotated[int, Query(ge=0, lt=1 << 53, description="Suppose that so many of the reports are forged.")]
Share = Annotated[float, Query(ge=0, le=1, description="The share of the people that the mode is about.")]
Mode = Annotated[
    Literal["no-false-positives", "no-false-negatives"],
    Query(description="Values that surely have the share, or all named ones that may have it."),
]

From = Annotated[str | None, Query(alias="from", description="The first day of the first slice: 2026-10-05.")]
To = Annotated[str | None, Query(description="The first day after the last slice.")]
Last = Annotated[str | None, Query(description="Weeks or days up to the end of the slice that goes on: 4w.")]


def asked_range(
    request: Request, first: From = None, to: To = None, last: Last = None
) -> Callable[[StoredSurvey], Range]:
    """Return what makes the range that a request names; a read-only token sees slices that have ended, unless live."""
    collector: Collector = request.app.state.collector
    reader: Reader | None = request.state.reader
    return lambda stored: range_for(reader, stored, collector.clock.now(), (first, to, last))


def range_for(
    reader: Reader | None, stored: StoredSurvey, now: datetime, asked: tuple[str | None, str | None, str | None]
) -> Range:
    """Return the range that `from`, `to` and `last` name, without what a reader may not see. None is the owner."""
    ended = None if reader is None or reader.live else stored.ended(now)
    return parse_range(stored.slice_days, *asked, ended)


Asked = Annotated[Callable[[StoredSurvey], Range], Depends(asked_range)]

router = owner_router(ReadRoute)


@router.get("/surveys/{survey_id}/status", responses=UNKNOWN)
async def show(survey_id: str, owner: Owner, request: Request) -> SurveyStatus:
    """Show one survey, with the number of its reports; to a read-only token, with those of slices that have ended."""
    status = await asyncio.to_thread(status_of, owner, parse_id(survey_id))
    reader: Reader | None = request.state.reader
    if reader is None or reader.live:
        return status
    seen = await seen_slices(owner, survey_id, reader)
    return status.model_copy(update={"reports": sum(each.reports for each in seen)})


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
    forged: Forged = 0,
) -> AnswerDocument:
    """Return the values that stand out, with error bars, from all reports that were durable when this was asked.

    If the domain is a list, return all of its values, unless `hitters_only` is true. If each person reported one of
    several slots, `values_per_person` is their number, and counts are of people who have the value in any slot. With
    `from`, `to` or `last`, only the reports of these slices of time count.
    """
    everyone = (all_candidates, hitters_only, values_per_person)
    question = Question(top, level, None, *everyone, names, guesses, groups, mode, share, forged)
    return await answer_of(owner, survey_id, question, asked)


@router.get(
    "/surveys/{survey_id}/hitters.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}, **UNKNOWN},
)
async def hitters_csv(survey_id: str, owner: Owner, asked: Asked, top: Top = 200) -> Response:
    """Return the values that stand out as a table for spreadsheets, in UTF-8."""
    _, answer, _ = await find_answer(owner, survey_id, Question(top), asked)
    return Response(as_csv(answer).encode("utf-8-sig", "replace"), media_type="text/csv; charset=utf-8")


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
    slices = asked(stored)
    question = Question(top, level, None, all_candidates, hitters_only, values_per_person, names)

    def work() -> TrendDocument:
        """Fold, search, and count in each slice; takes about a second, and a tenth for each slice."""
        about = question.about(stored.survey.domain, names_of(owner.store.engine, stored, slices))
        periods = periods_between(owner.store, stored, slices)
        found = trend_of(stored.mechanism, periods.tallies, about, periods.repeats, periods.unfinished)
        return documents.trend_document(stored, found, slices.words)

    return await owner.compute(work)


@router.get("/surveys/{survey_id}/slices", responses=UNKNOWN)
async def list_slices(survey_id: str, owner: Owner, request: Request) -> SliceList:
    """List the slices of time that have reports."""
    found = await seen_slices(owner, survey_id, request.state.reader)
    return SliceList(slices=[SliceStatus(**each._asdict()) for each in found])


@router.get("/surveys/{survey_id}/names", responses=UNKNOWN)
async def show_names(survey_id: str, owner: Owner) -> NamesOfSurvey:
    """Return the names and groups that stay with a survey."""
    stored = await owner.find(survey_id)
    return documents.names_document(stored, await asyncio.to_thread(names_of, owner.store.engine, stored))


async def seen_slices(owner: Collector, survey_id: str, reader: Reader | None) -> list[Slice]:
    """Return the slices of a survey that have reports, and that a reader may see. None is the owner."""
    stored = await owner.find(survey_id)
    seen = range_for(reader, stored, owner.clock.now(), (None, None, None))
    found = await owner.compute(lambda: owner.store.slices(stored.survey_id))
    return [each for each in found if seen.has(day_of(each.start))]


async def find_answer(
    owner: Collector, survey_id: str, question: Question, asked_range: Callable[[StoredSurvey], Range]
) -> tuple[StoredSurvey, Answer, Range]:
    """Compute an answer in the thread for answers; return it with its survey and its range."""
    stored = await owner.find(survey_id)
    slices = asked_range(stored)

    def work() -> Answer:
        """Fold and search; takes about a second of a core."""
        asked = question.about(stored.survey.domain, names_of(owner.store.engine, stored, slices))
        return answer_question(stored.mechanism, owner.store.tally(stored.survey_id, slices), asked)

    return stored, await owner.compute(work), slices


async def answer_of(
    owner: Collector, survey_id: str, question: Question, asked_range: Callable[[StoredSurvey], Range]
) -> AnswerDocument:
    """Compute an answer; return it as a JSON document."""
    stored, found, slices = await find_answer(owner, survey_id, question, asked_range)
    return documents.answer_document(stored, found, slices.words)


def status_of(owner: Collector, survey_id: bytes) -> SurveyStatus:
    """Return the survey as its owner sees it."""
    found = list_surveys(owner.store.engine, survey_id)
    if not found:
        raise unknown_survey(survey_id)
    figures = None
    if found[0].crowd is not None and not found[0].damage:
        figures = relay_figures(owner.store, owner.store.survey(survey_id))
    return documents.status_document(found[0], owner.clock.now(), figures)
