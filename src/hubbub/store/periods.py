"""The tallies of a survey period by period, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from hubbub.model.tallies import Tallies
from hubbub.model.tally import Tally
from hubbub.store.slices import Range, date_of, day_now, day_of, slice_of
from hubbub.store.store import Store, StoredSurvey


class Periods(NamedTuple):
    """The periods of a survey within a range.

    Attributes
    ----------
    tallies : mapping of days to Tally
        The tally of each period by its first day; an empty one if there are no reports.
    repeats : bool
        Whether each device answers in every period.
    unfinished : bool
        Whether the last period goes on.
    """

    tallies: Mapping[date, Tally]
    repeats: bool
    unfinished: bool


def tallies_of(store: Store, survey_id: bytes) -> Tallies:
    """Return the tallies of a survey by slice, each loaded when it is asked for. Folds pending reports first."""
    stored = store.survey(survey_id)
    starts = [day_of(each.start) for each in store.slices(survey_id)]
    return Tallies(_Tallies(store, survey_id, starts, stored.slice_days))


class _Tallies(Mapping[date, Tally]):
    """Tallies of stretches of so many days. The last one, which may grow, is loaded once."""

    def __init__(self, store: Store, survey_id: bytes, starts: list[int], days: int) -> None:
        self._store, self._survey_id, self._starts, self._days = store, survey_id, starts, days
        self._last: Tally | None = None

    def __getitem__(self, day: date) -> Tally:
        if (start := day_of(day)) not in self._starts:
            raise KeyError(day)
        if start == self._starts[-1] and self._last is not None:
            return self._last
        loaded = self._store.tally(self._survey_id, Range(start, start + self._days))
        self._last = loaded if start == self._starts[-1] else self._last
        return loaded

    def __iter__(self) -> Iterator[date]:
        return map(date_of, self._starts)

    def __len__(self) -> int:
        return len(self._starts)


def periods_between(store: Store, stored: StoredSurvey, asked: Range) -> Periods:
    """Return the periods of a survey that are in a range and have reports. Folds pending reports first.

    They are the periods of a survey that repeats, and otherwise slices. A period that is only partly in the range is
    left out: regular visitors answer first, so a part of it holds other people than the whole.
    """
    every, opens = stored.survey.every, stored.survey.opens
    days = every or stored.slice_days
    first = slice_of(0, days) if every is None or opens is None else day_of(opens.date())
    present = {first + (day_of(each.start) - first) // days * days for each in store.slices(stored.survey_id)}
    starts = [start for start in sorted(present) if asked.has(start) and asked.has(start + days - 1)]
    if not starts:
        starts = [slice_of(day_now(), stored.slice_days) if asked.first is None else asked.first]
    tallies = _Tallies(store, stored.survey_id, starts, days)
    return Periods(tallies, every is not None, starts[-1] + days > day_now())
