"""Limits on the reports of a survey: in all, as a multiple of what its owner expects, and in a second.

Reports are anonymous, and anybody can make them up. Far more of them than expected are a sign of that: then the owner
is told, and later they are refused. A refused device keeps its report, and sends it again later.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hubbub.collector.problems import RETRY_SECONDS, Problem
from hubbub.model.survey import Survey
from hubbub.store.daily import reports_by_day
from hubbub.store.overview import ListedSurvey
from hubbub.store.store import Store, StoredSurvey

NOTICE_TIMES: Final = 3
"""From so many times the expected reports on, the dashboard and a metric say so."""

MOST_TIMES: Final = 20
"""From so many times the expected reports on, reports are refused, unless the operator chose another number."""

BURST_SECONDS: Final = 10
"""A survey that was quiet may take the reports of so many seconds at once."""

_WAIT_SECONDS: Final = (1800, 3600)  # how long a device waits when there are too many: clients wait no longer than that
_COUNTED_SECONDS: Final = 5.0


@dataclass(slots=True)
class _Known:
    """What is known about the reports of one survey: how many came, as far as this process knows, and are being stored.

    `until` is when to ask the database again. `room` is how many more may come, as computed at `since`. Both times are
    in seconds of the clock.
    """

    count: int
    coming: int
    until: float
    room: float
    since: float


def is_above(reports: int, expected: int) -> bool:
    """Return whether a survey got so many more reports than expected that its owner should know.

    >>> is_above(299, 100), is_above(300, 100)
    (False, True)
    """
    return reports >= NOTICE_TIMES * expected > 0


def expected_so_far(survey: Survey | ListedSurvey, now: datetime | None = None) -> int:
    """Return how many reports a survey expects by now: if it repeats, as many in each period that has begun."""
    if survey.every is None or survey.opens is None:
        return survey.expected_reports
    passed = (datetime.now(UTC) if now is None else now) - survey.opens
    return survey.expected_reports * max(1, passed.days // survey.every + 1)


class Rates:
    """Decides whether a survey takes more reports. Costs a look-up for each upload, and one read every 5 seconds.

    Each process counts its own reports at once, and those of others when it reads the database again.

    Parameters
    ----------
    times : int
        Reports are refused from so many times the expected number on; 0 is never.
    per_second : int
        The most reports of a survey in a second, over ten seconds, in this process; 0 is any number.
    clock : callable
        Returns seconds that never go back; tests bring their own.

    Attributes
    ----------
    times : int
        As given.
    """

    def __init__(
        self, times: int = MOST_TIMES, per_second: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.times, self._per_second, self._clock = times, per_second, clock
        self._known: dict[int, _Known] = {}

    async def check(self, store: Store, stored: StoredSurvey) -> None:
        """Raise Problem if the survey takes no report at all now, before one is read."""
        now = self._clock()
        known = self._known.get(stored.key)
        if known is None or now >= known.until:
            known = await self._count(store, stored.key, now)
        self._require_room(stored, known, 1)

    def reserve(self, stored: StoredSurvey, reports: int) -> None:
        """Take the room of so many valid reports, until `settle`. Raises Problem if the survey has not as much."""
        if (known := self._known.get(stored.key)) is not None:
            self._require_room(stored, known, reports)
            known.coming += reports
            known.room -= reports

    def settle(self, stored: StoredSurvey, reserved: int, accepted: int) -> None:
        """Note how many of them were new and are stored. Others take no room: anybody could send them again."""
        if (known := self._known.get(stored.key)) is not None:
            known.coming -= reserved
            known.count += accepted
            known.room += reserved - accepted

    def _require_room(self, stored: StoredSurvey, known: _Known, reports: int) -> None:
        if self.times and known.count + known.coming + reports > self.times * expected_so_far(stored.survey):
            sentence = f"the survey has {self.times} times the reports that were expected; send this again later"
            raise Problem("too-many-reports", sentence, {"Retry-After": str(random.randint(*_WAIT_SECONDS))})
        if not self._per_second:
            return
        now, most = self._clock(), self._per_second * BURST_SECONDS
        known.room = min(most, known.room + (now - known.since) * self._per_second)
        known.since = now
        if reports > most:
            raise Problem("too-large", f"a batch of this survey must have at most {most} reports, got {reports}")
        if known.room < reports:
            wait = max(math.ceil((reports - known.room) / self._per_second), random.randint(*RETRY_SECONDS))
            sentence = f"the survey takes {self._per_second} reports a second; send this again later"
            raise Problem("too-fast", sentence, {"Retry-After": str(wait)})

    async def _count(self, store: Store, key: int, now: float) -> _Known:
        """Read from the database how many reports came. Meanwhile other uploads use the old number, if there is one."""
        if (known := self._known.get(key)) is not None:
            known.until = now + _COUNTED_SECONDS
        days = await asyncio.to_thread(reports_by_day, store.engine, key)
        most = float(self._per_second * BURST_SECONDS)
        known = self._known.setdefault(key, _Known(0, 0, now + _COUNTED_SECONDS, most, now))
        known.count = max(known.count, sum(days.values()))
        return known
