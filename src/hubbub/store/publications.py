"""Answers for everybody: at the end of each slice the answer about all slices that have ended is computed and stored.

Dates are fixed: a new answer comes when a slice has ended, and when a survey that does not repeat is closed. Whoever
compares two answers learns something about the reports that came between them: these are all reports of a slice.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Engine, func, insert, or_, select

from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Question
from hubbub.errors import UnknownSurvey
from hubbub.store.names import names_of
from hubbub.store.schema import reading, slices, surveys, tallies, writing
from hubbub.store.showing_tables import pages, published
from hubbub.store.slices import Range, slice_of
from hubbub.store.store import Store

TOP: Final = 50
_OVER_SECONDS: Final = 3_600
"""How long the time of a survey must be over before its last answer: a clock that is wrong for a moment counts not."""


class Due(NamedTuple):
    """A survey of which an answer is to be shown, about all slices before a day; whether it is closed."""

    survey_id: bytes
    until: int
    final: bool


class Publication(NamedTuple):
    """An answer that was made for everybody.

    Attributes
    ----------
    until : int
        The first day after its last slice, since 1970.
    made : int
        When it was computed, in seconds since 1970.
    final : bool
        Whether the survey was closed.
    answer : Answer
        The answer, with values that may have to be withheld.
    """

    until: int
    made: int
    final: bool
    answer: Answer


def due(store: Store, now: datetime) -> list[Due]:
    """Return the surveys of which a new answer is to be shown or sent. Costs one read; reads no tally."""
    before = select(func.max(slices.c.start)).where(slices.c.survey == surveys.c.key).scalar_subquery()
    done = select(func.max(published.c.until)).where(published.c.survey == surveys.c.key).scalar_subquery()
    facts = (surveys.c.survey_id, surveys.c.slice_days, surveys.c.state, surveys.c.over_since, surveys.c.summary)
    query = (
        select(*facts, tallies.c.slice, tallies.c.report_count, before.label("before"), done.label("done"))
        .join(tallies, tallies.c.survey == surveys.c.key)
        .join(pages, pages.c.survey == surveys.c.key)
        .where(or_(pages.c.shown == 1, pages.c.webhook.is_not(None)))
        .where(surveys.c.damage.is_(None), surveys.c.state.not_in(["earlier", "deleting"]))
        .order_by(surveys.c.key)
    )
    seconds, found = int(now.timestamp()), []
    with reading(store.engine) as connection:
        rows = connection.execute(query).all()
    for row in rows:
        repeats = json.loads(row.summary).get("every") is not None
        over = row.state != "open" or (row.over_since is not None and row.over_since + _OVER_SECONDS <= seconds)
        final = over and not repeats
        has_ended = final or row.slice + row.slice_days <= slice_of(seconds // 86_400, row.slice_days)
        ended = row.slice if row.report_count and has_ended else row.before
        if ended is not None and (row.done is None or row.done < ended + row.slice_days):
            found.append(Due(bytes(row.survey_id), ended + row.slice_days, final))
    return found


def publish(store: Store, wanted: Due, now: datetime) -> None:
    """Compute the answer about all slices before a day, and store it. Takes about a second of a core.

    Several collectors may do so at the same time: the first result stays.
    """
    try:
        stored = store.survey(wanted.survey_id)
    except UnknownSurvey:  # deleted a moment ago
        return
    asked = Question(TOP).about(stored.survey.domain, names_of(store.engine, stored))
    sums = store.tally(wanted.survey_id, Range(None, wanted.until))
    answer = answer_question(stored.mechanism, sums, asked)
    text = json.dumps(answer.to_document(), ensure_ascii=False)
    made = int(now.timestamp())
    with writing(store.engine) as connection:
        locked = select(tallies.c.survey).where(tallies.c.survey == stored.key).with_for_update()
        mine = (published.c.survey == stored.key, published.c.until == wanted.until)
        if connection.scalar(locked) is None or connection.scalar(select(published.c.until).where(*mine)) is not None:
            return
        hook = connection.scalar(select(pages.c.webhook).where(pages.c.survey == stored.key))
        row = {"survey": stored.key, "until": wanted.until, "made": made, "final": int(wanted.final), "answer": text}
        connection.execute(insert(published).values(**row, tries=0, next_try=None if hook is None else made))


def latest(engine: Engine, survey: int, most: int = 1) -> list[Publication]:
    """Return the last answers that were made for everybody, the newest first. Costs one short read."""
    query = select(published).where(published.c.survey == survey).order_by(published.c.until.desc()).limit(most)
    with reading(engine) as connection:
        rows = connection.execute(query).all()
    return [
        Publication(row.until, row.made, bool(row.final), Answer.from_document(json.loads(row.answer))) for row in rows
    ]
