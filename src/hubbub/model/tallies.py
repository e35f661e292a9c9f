"""Tallies of one survey, side by side in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from hubbub.errors import ParameterError, shown
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally


class Tallies(Mapping[date, Tally]):
    """The tallies of a survey by slice of time: a mapping from the first day of each slice to its tally, in order.

    Slices have the same parameters, so any of them add up exactly.

    Parameters
    ----------
    tallies : mapping, or iterable of Tally
        A mapping from days, dates or texts such as "2026-10-05", to tallies; it is asked for a tally when that is
        needed, so it may load them then. Or tallies that name their `day`; those of the same day are added up.

    Examples
    --------
    >>> import numpy as np
    >>> weeks = ["2026-10-05", "2026-10-12", "2026-10-19"]
    >>> tallies = Tallies({week: Tally(bytes(32), 1, np.array([k])) for k, week in enumerate(weeks)})
    >>> tallies.between("2026-10-12").total.cells.tolist()
    [3]
    """

    def __init__(self, tallies: Mapping[Any, Tally] | Iterable[Tally]) -> None:
        if isinstance(tallies, Mapping):
            self._source: Mapping[Any, Tally] = tallies
        elif isinstance(tallies, Iterable):
            self._source = _by_day(tallies)
        else:
            raise ParameterError(f"tallies must be a mapping of days or a list, got {type(tallies).__name__}")
        keys = {to_day("the day of a tally", key): key for key in self._source}
        if len(keys) < len(self._source):
            raise ParameterError(f"tallies must each be of another day, got {len(self._source)} of {len(keys)} days")
        self._keys = dict(sorted(keys.items()))

    def __getitem__(self, day: date) -> Tally:
        return self._source[self._keys[day]]

    def __iter__(self) -> Iterator[date]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        days = [*self._keys]
        return f"Tallies of {len(days)} slices" + (f", {days[0]} to {days[-1]}" if days else "")

    def between(self, first: date | str | None = None, until: date | str | None = None) -> Tallies:
        """The tallies of slices from a day on and before another; None is no bound. None of them is read."""
        low = None if first is None else to_day("first", first)
        high = None if until is None else to_day("until", until)
        if low is not None and high is not None and low >= high:
            raise ParameterError(f"until must be after first, got first={low} and until={high}")
        inside = (day for day in self._keys if (low is None or low <= day) and (high is None or day < high))
        return _Part(self, {day: (day,) for day in inside})

    def by_period(self, survey: Survey) -> Tallies:
        """The tallies of the periods of a survey that repeats, each the sum of its slices, by its first day.

        Those of a survey that does not repeat are slices as they are. None of them is read.
        """
        if survey.every is None or survey.opens is None:
            return self
        opened, periods = survey.opens.date(), dict[date, tuple[date, ...]]()
        for day in self._keys:
            start = opened + timedelta(days=(day - opened).days // survey.every * survey.every)
            periods[start] = (*periods.get(start, ()), day)
        return _Part(self, periods)

    @property
    def total(self) -> Tally:
        """The sum of all slices, read one at a time. Raises ParameterError if there are none."""
        if not self._keys:
            raise ParameterError("tallies to add up must be at least one, got none")
        return _sum(self, self._keys)


class _Part(Tallies):
    """Sums of the slices of others, by day, each made when it is asked for."""

    def __init__(self, whole: Tallies, parts: Mapping[date, tuple[date, ...]]) -> None:
        self._whole, self._parts = whole, parts
        super().__init__(dict.fromkeys(parts))  # type: ignore[arg-type]  # only its days are used

    def __getitem__(self, day: date) -> Tally:
        return _sum(self._whole, self._parts[day])


def _sum(tallies: Mapping[date, Tally], days: Iterable[date]) -> Tally:
    """The sum of some slices, at least one."""
    first, *rest = days
    total = tallies[first]
    for day in rest:
        total = total + tallies[day]
    return total


def _by_day(tallies: Iterable[Tally]) -> dict[date, Tally]:
    """Tallies by the day that each names; those of the same day are added up."""
    found: dict[date, Tally] = {}
    for tally in tallies:
        if not isinstance(tally, Tally):
            raise ParameterError(f"tallies must be a mapping of days or a list of tallies, got {type(tally).__name__}")
        if tally.day is None:
            raise ParameterError("a tally must name the day of its slice, or be given with it, got one without a day")
        found[tally.day] = found[tally.day] + tally if tally.day in found else tally
    return found


def to_slice_day(name: str, given: object) -> date:
    """A day that a tally may name: as `to_day`, and from 1970 on."""
    day = to_day(name, given)
    if day < date(1970, 1, 1):
        raise ParameterError(f"{name} must be from 1970 on, got {day}")
    return day


def to_day(name: str, given: object) -> date:
    """A day that is given as a date or as a text such as 2026-10-05. Raises ParameterError, with the name."""
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        day = None
    if type(day) is not date:
        raise ParameterError(f"{name} must be a date such as 2026-10-05, got {shown(given)}")
    return day
