"""Tallies side by side in time: any range adds up, periods are sums of slices, and nothing is read too early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import numpy as np
import pytest

from hubbub import Integers, ParameterError, Tallies, Tally, create_survey

FIRST = date(2026, 10, 5)  # a Monday


def tally(number: int, day: date | None = None) -> Tally:
    """A tally of so many reports."""
    return Tally(bytes(32), number, np.array([number, 1]), day)


def week(number: int) -> date:
    """The first day of a week."""
    return FIRST + timedelta(weeks=number)


class Watched(Mapping[str, Tally]):
    """Six weeks of 1, 2, 4, … reports; notes which are read."""

    def __init__(self) -> None:
        self.read = list[str]()

    def __getitem__(self, day: str) -> Tally:
        self.read.append(day)
        return tally(1 << (date.fromisoformat(day) - FIRST).days // 7)

    def __iter__(self) -> Iterator[str]:
        return (str(week(number)) for number in (3, 1, 0, 2, 5, 4))

    def __len__(self) -> int:
        return 6


def test_any_range_adds_up() -> None:
    """`between` has the slices from a day on and before another; they are read once, when the sum is asked for."""
    source = Watched()
    tallies = Tallies(source)
    assert [*tallies] == [week(number) for number in range(6)]
    some = tallies.between(str(week(1)), week(4))
    assert ([*some], source.read) == ([week(1), week(2), week(3)], [])
    total = some.total
    assert (total.count, total.cells.tolist(), len(source.read)) == (14, [14, 3], 3)
    assert tallies.between().total.count == 63
    assert tallies.between(until=week(1)).total.count == 1
    assert tallies.between(first=week(1)).between(until=week(2)).total.count == 2
    assert len(tallies.between(week(9))) == 0
    assert repr(some) == "Tallies of 3 slices, 2026-10-12 to 2026-10-26"
    assert repr(Tallies({})) == "Tallies of 0 slices"


def test_periods_are_sums_of_slices() -> None:
    """Also where the first days of a range belong to a period that began before, or the survey opened later."""
    source = Watched()
    month = create_survey("m", Integers(8), 1, every=14, opens="2026-10-12T00:00:00Z", public_seed=bytes(32))
    periods = Tallies(source).by_period(month)
    assert source.read == []
    assert {day: periods[day].count for day in periods} == {week(-1): 1, week(1): 6, week(3): 24, week(5): 32}
    once = create_survey("once", Integers(8), 2, public_seed=bytes(32))
    assert [*Tallies(source).by_period(once)] == [week(number) for number in range(6)]


def test_tallies_that_name_their_day() -> None:
    """Those of one day are added up; a sum of different days names none."""
    tallies = Tallies([tally(1, week(1)), tally(2, week(0)), tally(4, week(1))])
    assert {day: each.count for day, each in tallies.items()} == {week(0): 2, week(1): 5}
    assert tallies[week(1)].day == week(1)
    assert tallies.total.day is None
    assert tally(1, week(1)) != tally(1)


def test_what_is_no_such_thing_is_refused() -> None:
    """Each with the rule, the name and what was given."""
    for given, said in (
        ([tally(1)], "a tally must name the day of its slice"),
        ({"soon": tally(1)}, "the day of a tally must be a date such as 2026-10-05, got 'soon'"),
        ({"2026-10-05": tally(1), FIRST: tally(1)}, "each be of another day, got 2 of 1 days"),
        (7, "a mapping of days or a list, got int"),
        ([7], "a list of tallies, got int"),
    ):
        with pytest.raises(ParameterError, match=said):
            Tallies(given)  # type: ignore[arg-type]
    tallies = Tallies(Watched())
    with pytest.raises(ParameterError, match="until must be after first"):
        tallies.between(week(1), week(1))
    with pytest.raises(ParameterError, match="first must be a date such as 2026-10-05, got"):
        tallies.between(20261005.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at least one, got none"):
        _ = Tallies({}).total
