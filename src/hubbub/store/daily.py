"""The number of reports folded on each day. The store keeps no other times of reports."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Engine, func, select, text

from hubbub.store.schema import daily, reading, tallies

_DAY_SECONDS: Final = 86_400
_ADD: Final = text(
    f"INSERT INTO {daily.name} (survey, day, reports) VALUES (:survey, :day, :added) "  # noqa: S608  # our own name
    f"ON CONFLICT (survey, day) DO UPDATE SET reports = {daily.name}.reports + excluded.reports"
)


def add_to_day(connection: Connection, survey: int, added: int) -> None:
    """Count reports of a survey as those of today, in UTC. The transaction is the caller's."""
    if added:
        connection.execute(_ADD, {"survey": survey, "day": int(time.time()) // _DAY_SECONDS, "added": added})


def reports_by_day(engine: Engine, survey: int) -> dict[int, int]:
    """Return how many reports of a survey were folded on each day, by the day's number since 1970. Costs one read."""
    query = select(daily.c.day, daily.c.reports).where(daily.c.survey == survey).order_by(daily.c.day)
    with reading(engine) as connection:
        return {row.day: row.reports for row in connection.execute(query)}


def all_by_day(engine: Engine, chosen: Sequence[int], first_day: int) -> dict[int, dict[int, int]]:
    """Like `reports_by_day`, for several surveys at once, from a day on: by survey, then by day. Costs one read."""
    query = select(daily).where(daily.c.survey.in_(chosen), daily.c.day >= first_day)
    found: dict[int, dict[int, int]] = {}
    with reading(engine) as connection:
        for row in connection.execute(query):
            found.setdefault(row.survey, {})[row.day] = row.reports
    return found


def uploads_by_survey(engine: Engine) -> dict[int, int]:
    """Return how many reports of each survey were folded, without merged tallies. Costs one read."""
    query = select(daily.c.survey, func.sum(daily.c.reports)).group_by(daily.c.survey)
    with reading(engine) as connection:
        return {survey: int(reports) for survey, reports in connection.execute(query)}


def tally_version(engine: Engine, survey: int) -> int:
    """Return a number that rises whenever the tally of a survey changes; -1 if it has none. Reads no tally."""
    query = select(tallies.c.version).where(tallies.c.survey == survey)
    with reading(engine) as connection:
        version = connection.scalar(query)
    return -1 if version is None else version
