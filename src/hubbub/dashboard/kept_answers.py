"""Answers for pages: computed in the thread for answers, cached until there are new reports, and not too often."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hubbub.analysis.asking import answer_question
from hubbub.analysis.question import Question, SurveyNames
from hubbub.collector.state import Collector
from hubbub.dashboard.meaning import Explained, explain
from hubbub.store.daily import reports_by_day, tally_version
from hubbub.store.names import names_of
from hubbub.store.slices import ALL, Range
from hubbub.store.store import StoredSurvey

TOP: Final = 200
GUESSES: Final = 10
REST: Final = 10.0  # pause after a search, in times its duration: searches take at most a tenth of a core
_MOST_KEPT: Final = 1_000
_GROWN: Final = 2  # no pause if the reports have grown by this factor: that is rare, and owners watch the first minutes


@dataclass(frozen=True, slots=True)
class Kept:
    """A cached answer, and what it was made from.

    Attributes
    ----------
    version : int
        The version of the tally.
    names : SurveyNames
        The names of the survey.
    closed : bool
        Whether the survey was closed then.
    found : Explained
        The answer and its explanation.
    reports : int
        How many reports the survey had then, in all slices.
    seconds : float
        How long the search took.
    made : float
        When it ended, in seconds of the monotonic clock.
    """

    version: int
    names: SurveyNames
    closed: bool
    found: Explained
    reports: int
    seconds: float
    made: float


class Answers:
    """The answers of a collector's surveys.

    A search takes a second or more of a core. It runs in the collector's thread for answers, one at a time, while
    uploads go on.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._kept: dict[tuple[bytes, Range], Kept] = {}
        self._locks: defaultdict[tuple[bytes, Range], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def version(self, stored: StoredSurvey) -> int:
        """Return the version of a survey's tally now."""
        return await asyncio.to_thread(tally_version, self._collector.store.engine, stored.key)

    def latest(self, stored: StoredSurvey, slices: Range = ALL) -> Kept | None:
        """Return the last answer, however old; None if there was none."""
        return self._kept.get((stored.survey_id, slices))

    async def get(self, stored: StoredSurvey, slices: Range = ALL) -> Kept:
        """Return the answer about some slices: the cached one if nothing is new or the last search was a moment ago."""
        key = stored.survey_id, slices
        async with self._locks[key]:  # of several waiting requests, the first one searches for all
            kept = self._kept.get(key)
            version = await self.version(stored)
            names = await asyncio.to_thread(names_of, self._collector.store.engine, stored, slices)
            closed = stored.state(datetime.now(UTC)) == "closed"
            if (
                kept is not None
                and (kept.closed, kept.names) == (closed, names)  # the explanation of a final answer is different
                and (kept.version == version or await self._rests(stored, kept))
            ):
                return kept
            return await self._search(stored, slices, version, names, closed)

    async def _rests(self, stored: StoredSurvey, kept: Kept) -> bool:
        """Return whether it is too early to search again."""
        if kept.closed or time.monotonic() >= kept.made + REST * kept.seconds:
            return False
        return await self._reports(stored) < _GROWN * kept.reports

    async def _reports(self, stored: StoredSurvey) -> int:
        """Return how many reports were folded."""
        days = await asyncio.to_thread(reports_by_day, self._collector.store.engine, stored.key)
        return sum(days.values())

    async def _search(
        self, stored: StoredSurvey, slices: Range, version: int, names: SurveyNames, closed: bool
    ) -> Kept:
        """Search now, and cache the answer."""
        started = time.monotonic()
        found = await self._collector.compute(lambda: self._answer(stored, slices, names, closed))
        ended, reports = time.monotonic(), await self._reports(stored)
        # Reports folded meanwhile have a later version.
        kept = Kept(version, names, closed, found, reports, ended - started, ended)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[stored.survey_id, slices] = kept
        return kept

    def _answer(self, stored: StoredSurvey, slices: Range, names: SurveyNames, closed: bool) -> Explained:
        """Fold, search, and explain the answer. Names of the survey have a row each, unless they are very many."""
        everyone = 0 < len(names.fixed) + len(names.later) <= TOP
        question = Question(TOP, all_candidates=everyone, guesses=GUESSES, groups="auto")
        asked = question.about(stored.survey.domain, names)
        answer = answer_question(stored.mechanism, self._collector.store.tally(stored.survey_id, slices), asked)
        sums = self._collector.store.slices(stored.survey_id) if closed else []
        return Explained(answer, explain(stored, answer, [each.reports for each in sums if each.reports], asked))
