"""The names that stay with a survey, and which of them were chosen before the first report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, delete, insert, select

from hubbub.analysis.naming import check_number, spell_names
from hubbub.analysis.question import NO_NAMES, SurveyNames
from hubbub.store.schema import names, pending, reading, remembered, tallies, unknown_survey, writing
from hubbub.store.slices import ALL, Range

if TYPE_CHECKING:
    from hubbub.store.store import StoredSurvey


def names_of(engine: Engine, stored: StoredSurvey, asked: Range = ALL) -> SurveyNames:
    """Return the names of a survey, with those that were found before the slices that are asked about. Costs two reads.

    A name that was remembered with a slice is a candidate for later slices only: on its own slice and earlier ones it
    was chosen by looking. So none is if the range has no beginning.
    """
    with reading(engine) as connection:
        names = _read(connection, stored.key)
        if asked.first is None:
            return names
        mine = (remembered.c.survey == stored.key, remembered.c.slice < asked.first)
        rows = connection.scalars(select(remembered.c.names).where(*mine).order_by(remembered.c.slice))
        return names._replace(found=tuple(dict.fromkeys(name for row in rows for name in json.loads(row))))


def change_names(engine: Engine, stored: StoredSurvey, given: Iterable[object]) -> tuple[SurveyNames, tuple[str, ...]]:
    """Replace the names of a survey; return all its names now, and sentences about what became of the given ones.

    Names that were fixed before the first report stay: whoever could drop some of them after looking would choose the
    others by what the reports say.
    """
    chosen, said = spell_names(stored.survey.domain, given)
    now = SurveyNames(chosen)
    with writing(engine) as connection:
        # Whoever changes names waits for others who do, and for a fold.
        locked = select(tallies.c.report_count).where(tallies.c.survey == stored.key).with_for_update()
        if (reports := connection.scalar(locked)) is None:
            raise unknown_survey(stored.survey_id)
        waiting = select(pending.c.key).where(pending.c.survey == stored.key).limit(1)
        if reports or connection.scalar(waiting) is not None:
            fixed = _read(connection, stored.key).fixed
            now = SurveyNames(fixed, tuple(name for name in chosen if name not in set(fixed)))
            check_number(len(fixed) + len(now.later))
            if left_out := len(set(fixed).difference(chosen)):
                said = (*said, f"{left_out:,} more stay, since they were fixed before the first report.")
        connection.execute(delete(names).where(names.c.survey == stored.key))
        add_names(connection, stored.key, now)
    return now, said


def add_names(connection: Connection, survey: int, now: SurveyNames) -> None:
    """Write the names of a survey that has none, by its key. The transaction is the caller's."""
    if any(now):
        own = {"fixed": now.fixed, "later": now.later}
        connection.execute(insert(names).values(survey=survey, names=json.dumps(own, ensure_ascii=False)))


def _read(connection: Connection, survey: int) -> SurveyNames:
    """Return the names of the survey with this key."""
    text = connection.scalar(select(names.c.names).where(names.c.survey == survey))
    return NO_NAMES if text is None else SurveyNames(**{kind: tuple(each) for kind, each in json.loads(text).items()})
