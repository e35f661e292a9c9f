"""What was found at the end of each slice: candidates for the slices after it.

When a slice has ended, all slices up to it are searched once, and so are the last 1, 2, 4, 8, … of them: what is
common now is seen best in recent weeks, what was always common in all. What stands out is remembered with the slice.
The reports of later slices had no say in that choice. So a remembered name may be tested there as if somebody had named
it in advance; on slices up to its own it may not, and has to be found like any other value.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, insert, select

from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Question
from hubbub.errors import UnknownSurvey
from hubbub.model.domain_base import OTHER
from hubbub.store.names import names_of
from hubbub.store.schema import reading, remembered, slices, surveys, tallies, writing
from hubbub.store.slices import Range, day_now
from hubbub.store.store import Store, StoredSurvey

MOST_REMEMBERED: Final = 1_000
"""The most names that the end of a slice adds."""


class Ended(NamedTuple):
    """A survey, and the first day of its last slice that has ended, which was not searched yet."""

    survey_id: bytes
    slice: int


def ended_slices(store: Store) -> list[Ended]:
    """Return the surveys whose last ended slice has reports and was not searched. Costs one read; reads no tally."""
    before = select(func.max(slices.c.start)).where(slices.c.survey == surveys.c.key).scalar_subquery()
    done = select(func.max(remembered.c.slice)).where(remembered.c.survey == surveys.c.key).scalar_subquery()
    query = (
        select(surveys.c.survey_id, surveys.c.slice_days, tallies.c.slice, tallies.c.report_count, before, done)
        .join(tallies, tallies.c.survey == surveys.c.key)
        .where(surveys.c.damage.is_(None), surveys.c.state.not_in(["earlier", "deleting"]))
        .order_by(surveys.c.key)
    )
    today, found = day_now(), []
    with reading(store.engine) as connection:
        for survey_id, days, newest, reports, last, searched in connection.execute(query):
            ended = newest if reports and newest + days <= today else last
            if ended is not None and (searched is None or searched < ended):
                found.append(Ended(bytes(survey_id), ended))
    return found


def remember(store: Store, ended: Ended) -> None:
    """Search slices of a survey up to one that has ended, and remember what stands out with that slice.

    Takes about a second of a core, and another one when the number of slices doubles. Several collectors may do so at
    the same time: the first result stays.
    """
    try:
        stored = store.survey(ended.survey_id)
    except UnknownSurvey:  # deleted a moment ago
        return
    found: dict[str, None] = {}
    if not stored.survey.domain.is_list:  # all values of a list are counted anyway
        asked = Question(MOST_REMEMBERED, groups="none").about(stored.survey.domain, names_of(store.engine, stored))
        for span in _spans(store, stored, ended.slice):
            answer = answer_question(stored.mechanism, store.tally(ended.survey_id, span), asked)
            found |= dict.fromkeys(str(row.value) for row in answer.hitters if row.stands_out and row.value != OTHER)
    names = json.dumps([*found][:MOST_REMEMBERED], ensure_ascii=False)
    row = {"survey": stored.key, "slice": ended.slice, "names": names}
    with writing(store.engine) as connection:
        # Whoever remembers waits for others who do, and for whoever deletes the survey.
        locked = select(tallies.c.survey).where(tallies.c.survey == stored.key).with_for_update()
        if connection.scalar(locked) is not None and not _is_done(connection, stored.key, ended.slice):
            connection.execute(insert(remembered).values(**row))


def _spans(store: Store, stored: StoredSurvey, last: int) -> list[Range]:
    """Return all slices up to the last one, and the last 1, 2, 4, 8, … of them that have reports."""
    mine = (slices.c.survey == stored.key, slices.c.start < last)
    with reading(store.engine) as connection:
        query = select(slices.c.start).where(*mine).order_by(slices.c.start.desc())
        starts = [last, *connection.scalars(query)]
    until = last + stored.slice_days
    return [Range(None, until), *(Range(starts[(1 << k) - 1], until) for k in range((len(starts) - 1).bit_length()))]


def _is_done(connection: Connection, survey: int, start: int) -> bool:
    """Return whether the end of a slice was searched."""
    mine = (remembered.c.survey == survey, remembered.c.slice == start)
    return connection.scalar(select(remembered.c.slice).where(*mine)) is not None
