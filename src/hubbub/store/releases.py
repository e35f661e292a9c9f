"""Releases: what came from a relay together. The smallest of them says among how many each report is hidden."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Engine, func, select

from hubbub.store.schema import reading, releases


class Released(NamedTuple):
    """The complete releases of a survey that brought something: how many, and the fewest new reports in one."""

    number: int
    smallest: int


def released(engine: Engine, survey: int) -> Released:
    """Return what is known of the releases of a survey, given by its key. Costs reading a row for each part.

    A release counts when all of its parts are stored, and by the reports that were new: it hides nobody among garbage,
    or among reports that were known before.
    """
    parts = func.min(releases.c.parts)
    one = (
        select(func.sum(releases.c.reports).label("reports"))
        .where(releases.c.survey == survey)
        .group_by(releases.c.release)
        .having(func.count() == parts, parts == func.max(releases.c.parts), func.sum(releases.c.reports) > 0)
        .subquery()
    )
    with reading(engine) as connection:
        number, smallest = connection.execute(select(func.count(), func.min(one.c.reports)).select_from(one)).one()
    return Released(int(number), int(smallest or 0))
