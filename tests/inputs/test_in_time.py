"""Values cut into slices of time, and the rehearsal of a survey that is asked again in each."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hubbub import Categories, InputError, ParameterError, Trend, find
from hubbub.cli.main import app
from hubbub.inputs.in_time import cut

MONDAY = date(2026, 10, 5)
DRINKS = (("tea", 3_000, 1_000), ("coffee", 1_000, 3_000))


def column() -> tuple[list[str], list[date]]:
    """Two weeks in which tea and coffee change places, and the Monday of a third."""
    rows = [
        (drink, MONDAY + timedelta(weeks=week, days=k % 7))
        for drink, *held in DRINKS
        for week, count in enumerate(held)
        for k in range(count)
    ]
    rows += [("tea", MONDAY + timedelta(weeks=2))] * 500
    return [drink for drink, _ in rows], [day for _, day in rows]


def test_a_rehearsal_over_time() -> None:
    """Whole weeks are compared, one that has only begun is not; the same seed gives the same trend."""
    values, times = column()
    found = find(values, 4, times=times, seed=1)
    assert isinstance(found, Trend)
    assert [(each.start, each.reports, each.whole) for each in found.periods] == [
        (MONDAY, 4_000, True),
        (MONDAY + timedelta(7), 4_000, True),
        (MONDAY + timedelta(14), 500, False),
    ]
    assert {each.value: each.change for each in found.series} == {"tea": "falling", "coffee": "rising"}
    assert found.answer.reports == 8_500
    again = find(values, 4, times=np.array(times, "datetime64[D]"), seed=1)
    assert again == found
    days = find(values, 4, Categories(["tea", "coffee"]), times=times, slice="day", seed=1)
    assert len(days.periods) == 15
    assert all(each.whole for each in days.periods)


def test_a_first_week_that_was_cut_is_not_compared() -> None:
    """The rows begin on a Wednesday: regular visitors may have come before."""
    values, times = column()
    late = [row for row, day in enumerate(times) if day >= MONDAY + timedelta(2)]
    found = find([values[row] for row in late], 4, times=[times[row] for row in late], seed=1)
    assert [each.whole for each in found.periods] == [False, True, False]
    assert "2026-10-05, in part" in repr(found)
    assert "2026-10-19, so far" in repr(found)
    assert not any(each.change for each in found.series)


def test_times_and_persons() -> None:
    """Times of any zone are of their day in UTC; a person has one value in each slice; what is missing is counted."""
    east = timezone(timedelta(hours=9))
    times = [
        "2026-10-05T00:00:00Z",
        datetime(2026, 10, 5, 8, tzinfo=east).isoformat(),  # still Sunday in UTC
        "2026-10-11 23:59:59",
        "2026-10-12",
        None,
        "2026-10-12",
        "2026-10-12",
    ]
    timed = cut(["a", "b", "c", "d", "e", None, "f"], times, None, 7, 1)
    sunday = MONDAY - timedelta(7)
    assert timed.slices == {sunday: ["b"], MONDAY: ["a", "c"], MONDAY + timedelta(7): ["d", "f"]}
    assert (timed.missing, timed.partial) == (2, frozenset({sunday, MONDAY + timedelta(7)}))
    persons = ["x", "x", "x", "x", "x", "x", None]
    timed = cut(["a", "b", "c", "d", "e", None, "f"], times, persons, 7, 1)
    assert {start: len(held) for start, held in timed.slices.items()} == {
        sunday: 1,
        MONDAY: 1,
        MONDAY + timedelta(7): 1,
    }
    assert (timed.missing, timed.over) == (3, 1)
    assert datetime.now(UTC).date() in cut(["a"], [datetime.now(UTC).date().isoformat()], None, 1, 1).slices


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"times": ["2026-10-05"]}, "times must be as many as values, got 1 and 2"),
        ({"times": ["2026-10-05", "2026-10-05"], "persons": ["x"]}, "persons must be as many as values"),
        ({"times": ["2026-10-05", "secret"]}, "a time must be a date or time in ISO form"),
        ({"times": [1_790_000_000, 3]}, "got something else in row 1"),
        ({"times": [None, None]}, "got none, and 2 missing"),
        ({"times": ["2026-10-05", "0001-01-01T00:00:00+14:00"]}, "got something else in row 2"),
        ({"times": "2026-10-05"}, "must be a list"),
    ],
)
def test_what_are_no_times(given: dict[str, object], rule: str) -> None:
    """A sentence with the row, and never what is in it."""
    with pytest.raises(InputError, match=rule) as caught:
        find(["a", "b"], **given)  # type: ignore[call-overload]
    assert "secret" not in str(caught.value)


def test_options_that_do_not_go_together() -> None:
    """Slices are weeks or days, and a trend has neither guesses nor slots."""
    values, times = column()
    for given in ({"slice": "month"}, {"guesses": 3}, {"values_per_person": 2, "persons": values}):
        with pytest.raises(ParameterError):
            find(values, times=times, **given)  # type: ignore[call-overload]


def test_a_file_over_time(tmp_path: Path) -> None:
    """`hubbub find --time` prints the trend of a file, as a table and as JSON."""
    values, times = column()
    file = tmp_path / "drinks.csv"
    rows = [f"{value},{time}" for value, time in zip(values, times, strict=True)]
    file.write_text("\n".join(["drink,day", *rows]) + "\n")
    asked = ["find", str(file), "--column", "drink", "--time", "day", "--epsilon", "4", "--seed", "1"]
    run, csv = CliRunner().invoke, tmp_path / "trend.csv"
    shown = " ".join(run(app, asked).output.split())
    assert "8,500 reports in 3 periods from 2026-10-05 on" in shown
    assert "coffee is rising" in shown
    by_day = ("--slice", "day", "--domain", "choices:tea,coffee")
    document = json.loads(run(app, [*asked, *by_day, "--json", "--csv", str(csv)]).stdout)
    assert (len(document["periods"]), document["survey"]["name"]) == (15, "find")
    assert len(csv.read_text().splitlines()) == 1 + 15 * 2
    for wrong in (("--truth",), ("--slice", "year"), ("--post", "clip")):
        assert run(app, [*asked, *wrong]).exit_code == 2
    missing = run(app, ["find", str(file), "--column", "drink", "--time", "hour"])
    assert (missing.exit_code, "hour" in missing.output) == (2, True)
