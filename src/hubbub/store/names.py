"""The names and groups that stay with a survey, and which names were chosen before the first report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, delete, insert, select

from hubbub.analysis.naming import check_number, spell_groups, spell_names
from hubbub.analysis.question import NO_NAMES, SurveyNames
from hubbub.errors import ParameterError
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


def change_names(
    engine: Engine,
    stored: StoredSurvey,
    given: Iterable[object] | None = None,
    groups: Mapping[str, Iterable[object]] | None = None,
) -> tuple[SurveyNames, tuple[str, ...]]:
    """Replace the names of a survey, or its groups; return all now, and sentences about what became of the given ones.

    None leaves what there is. Names that were fixed before the first report stay: whoever could drop some of them after
    looking would choose the others by what the reports say. Groups cannot change after it, for the same reason: then a
    ParameterError.
    """
    chosen, said = ((), ()) if given is None else spell_names(stored.survey.domain, given)
    together, more = ((), ()) if groups is None else spell_groups(stored.survey.domain, groups)
    with writing(engine) as connection:
        # Whoever changes names waits for others who do, and for a fold.
        locked = select(tallies.c.report_count).where(tallies.c.survey == stored.key).with_for_update()
        if (reports := connection.scalar(locked)) is None:
            raise unknown_survey(stored.survey_id)
        waiting = select(pending.c.key).where(pending.c.survey == stored.key).limit(1)
        has_reports = bool(reports) or connection.scalar(waiting) is not None
        now = before = _read(connection, stored.key)
        if groups is not None and together != before.groups:
            if has_reports:
                raise ParameterError("groups must be fixed before the first report, got other ones after it")
            now = now._replace(groups=together)
        if given is not None and has_reports:
            now = now._replace(later=tuple(name for name in chosen if name not in set(before.fixed)))
            check_number(len(now.fixed) + len(now.later))
            if left_out := len(set(before.fixed).difference(chosen)):
                said = (*said, f"{left_out:,} more stay, since they were fixed before the first report.")
        elif given is not None:
            now = now._replace(fixed=chosen)
        connection.execute(delete(names).where(names.c.survey == stored.key))
        add_names(connection, stored.key, now)
    return now, (*said, *more)


def add_names(connection: Connection, survey: int, now: SurveyNames) -> None:
    """Write the names of a survey that has none, by its key. The transaction is the caller's."""
    if any(now):
        own = {"fixed": now.fixed, "later": now.later, "groups": now.groups}
        own = {kind: each for kind, each in own.items() if each}
        connection.execute(insert(names).values(survey=survey, names=json.dumps(own, ensure_ascii=False)))


def _read(connection: Connection, survey: int) -> SurveyNames:
    """Return the names of the survey with this key."""
    text = connection.scalar(select(names.c.names).where(names.c.survey == survey))
    if text is None:
        return NO_NAMES
    own = json.loads(text)
    groups = tuple((name, tuple(values)) for name, values in own.get("groups", ()))
    return SurveyNames(tuple(own.get("fixed", ())), tuple(own.get("later", ())), groups=groups)
