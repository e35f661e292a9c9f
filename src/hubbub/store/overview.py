"""The list of all surveys, without reading any document or tally."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, func, select

from hubbub.store.schema import pending, questions, reading, surveys, tallies
from hubbub.store.store import SurveyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSurvey(SurveyRow):
    """One survey in a list.

    Texts are as in its document; empty if it could not be read when the survey was stored. `created` is in UTC; None
    for a survey from before version 2 of the tables. `reports` includes the `pending` ones, which are not yet folded.
    `every` is the days of a period, if it repeats, and `crowd` that of a survey through a relay.
    """

    name: str
    mechanism: str
    epsilon: str
    delta: str
    created: datetime | None
    expected_reports: int
    reports: int
    pending: int
    every: int | None
    crowd: int | None


def list_surveys(
    engine: Engine, survey_id: bytes | None = None, newest: tuple[int, int] | None = None, alone: bool = False
) -> list[ListedSurvey]:
    """Return all surveys, the oldest first, or that of an id. Costs one query and a few µs per survey in the list.

    `newest` returns the newest first: it leaves out so many, and returns at most so many. With `alone`, questions of
    sites are left out.
    """
    waiting = select(pending.c.survey, func.sum(pending.c.report_count).label("waiting")).group_by(pending.c.survey)
    not_folded = waiting.subquery()
    of_lists = ("key", "survey_id", "summary", "origins", "state", "created", "damage", "slice_days")
    columns = [surveys.c[name] for name in of_lists]
    shown = (
        select(*columns, tallies.c.report_count.label("folded"), not_folded.c.waiting)
        .outerjoin(tallies, tallies.c.survey == surveys.c.key)
        .outerjoin(not_folded, not_folded.c.survey == surveys.c.key)
        .where(_SHOWN)
        .order_by(surveys.c.key if newest is None else surveys.c.key.desc())
    )
    if survey_id is not None:
        shown = shown.where(surveys.c.survey_id == survey_id)
    if alone:
        shown = shown.where(_ALONE)
    if newest is not None:
        shown = shown.offset(newest[0]).limit(newest[1])
    with reading(engine) as connection:
        rows = connection.execute(shown).all()
    found = []
    for row in rows:
        facts = json.loads(row.summary)
        found.append(
            ListedSurvey(
                key=row.key,
                survey_id=bytes(row.survey_id),
                name=facts.get("name", ""),
                mechanism=facts.get("mechanism", ""),
                epsilon=facts.get("epsilon", "0"),
                delta=facts.get("delta", "0"),
                opens=parse_time(facts.get("opens")),
                closes=parse_time(facts.get("closes")),
                created=None if row.created is None else datetime.fromtimestamp(row.created, UTC),
                expected_reports=facts.get("expected_reports", 0),
                reports=(row.folded or 0) + int(row.waiting or 0),
                pending=int(row.waiting or 0),
                every=facts.get("every"),
                crowd=facts.get("crowd"),
                origins=tuple(json.loads(row.origins)),
                closed=row.state != "open",
                damage=row.damage or ("" if facts else "its document could not be read"),
                earlier=row.state == "earlier",
                slice_days=row.slice_days,
            )
        )
    return found


def count_surveys(engine: Engine) -> int:
    """Return how many surveys there are that are no questions of sites. Costs one query."""
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).select_from(surveys).where(_SHOWN, _ALONE)) or 0


_ALONE = surveys.c.key.not_in(select(questions.c.survey))
_SHOWN = surveys.c.state != "deleting"


def parse_time(text: str | None) -> datetime | None:
    """Parse a time of a summary."""
    return None if text is None else datetime.fromisoformat(text)
