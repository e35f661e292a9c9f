"""What a card says of a site: the largest values of each question, and what has changed since the last period."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from hubbub.analysis.answer import Answer
from hubbub.analysis.question import Question
from hubbub.analysis.trend_tables import change
from hubbub.analysis.trending import trend_of
from hubbub.analysis.wording import cells, number, percent, within
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.kept_answers import Answers
from hubbub.store.names import names_of
from hubbub.store.periods import periods_between
from hubbub.store.sites import Site
from hubbub.store.slices import ALL
from hubbub.store.store import StoredSurvey

SHOWN: Final = 3
_REST_SECONDS: Final = 600.0  # between two comparisons of the periods of a survey: each takes a second or more


class _Changes(NamedTuple):
    """What changed in a survey, and when that was computed."""

    made: float
    of_value: dict[str, str]


class SiteCards:
    """The cards of all sites. Answers are those of the pages; changes are kept for ten minutes."""

    def __init__(self, collector: Collector, answers: Answers) -> None:
        self._collector, self._answers = collector, answers
        self._changes: dict[bytes, _Changes] = {}

    async def tops(self, site: Site) -> list[dict[str, Any]]:
        """Return the largest values of each question. Takes a second and more for each if its reports are new."""
        found = []
        for each in site.questions:
            stored = await self._collector.find(each.survey_id.hex())
            facts = {"title": each.title, "id": each.survey_id.hex(), "rows": [], "reports": 0}
            if not (stored.earlier or stored.damage):
                kept = await self._answers.get(stored)
                changes = await self._changes_of(stored) if kept.found.answer.reports else {}
                facts |= {
                    "reports": kept.found.answer.reports,
                    "rows": _largest(kept.found.answer, changes, each.asks == "zone"),
                }
            found.append(facts)
        return found

    async def _changes_of(self, stored: StoredSurvey) -> dict[str, str]:
        """Return what is said of values that changed since the last period, beyond noise; nothing if it has one."""
        if stored.survey.every is None:
            return {}
        known = self._changes.get(stored.survey_id)
        if known is None or time.monotonic() >= known.made + _REST_SECONDS:
            found = await self._collector.compute(lambda: self._compare(stored))
            known = self._changes[stored.survey_id] = _Changes(time.monotonic(), found)
        return known.of_value

    def _compare(self, stored: StoredSurvey) -> dict[str, str]:
        """Compare the periods; takes about a second of a core, and a tenth for each."""
        periods = periods_between(self._collector.store, stored, ALL)
        if len(periods.tallies) < 2:
            return {}
        asked = Question().about(stored.survey.domain, names_of(self._collector.store.engine, stored))
        found = trend_of(stored.mechanism, periods.tallies, asked, periods.repeats, periods.unfinished)
        return {str(each.value): said for each in found.series if (said := change(each))}


def _largest(answer: Answer, changes: dict[str, str], by_group: bool) -> list[dict[str, str]]:
    """Return the largest values that stand out, or the largest groups, with their shares."""
    if by_group and answer.groups:
        return [
            {
                "value": words.visible(group.name),
                "share": percent(within(group) / answer.reports),
                "between": f"{number(group.low)} – {number(group.high)} people",
                "change": "",
            }
            for group in answer.groups[:SHOWN]
        ]
    standing = [hitter for hitter in answer.hitters if hitter.stands_out][:SHOWN]
    return [
        {
            "value": words.visible(hitter.value),
            "share": cells(hitter).share,
            "between": f"{number(hitter.low)} – {number(hitter.high)} people",
            "change": changes.get(str(hitter.value), ""),
        }
        for hitter in standing
    ]
