"""People's values cut into slices of time, for rehearsals of a survey that repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

from hubbub.errors import InputError, ParameterError, shown
from hubbub.inputs.crowd import Crowd
from hubbub.inputs.owners import choose_rows
from hubbub.model.plain import Value

SLICES: Final = {"week": 7, "day": 1}
"""The lengths of slices, in days. Weeks begin on Monday; days are those of UTC."""


class Timed(NamedTuple):
    """Values by slice of time.

    Attributes
    ----------
    slices : dict of days to lists of values
        Those of each slice, by its first day, in order.
    partial : frozenset of days
        The slices, the first or the last, that the rows do not cover from their first day to their last.
    missing : int
        Rows without a value, a time or a person.
    over : int
        People with several different values in a slice, of which one was chosen.
    """

    slices: dict[date, list[Value]]
    partial: frozenset[date]
    missing: int
    over: int

    def crowd(self) -> Crowd:
        """All who answer, slice after slice, as one crowd."""
        everything = [value for held in self.slices.values() for value in held]

        def read(size: int) -> Iterator[Sequence[Value]]:
            """Yield parts of the values."""
            return (everything[start : start + size] for start in range(0, len(everything), size))

        return Crowd(len(everything), self.missing, read, None, self.over)


def slice_days(name: str) -> int:
    """The days of a slice. Raises ParameterError unless it is "week" or "day"."""
    if not isinstance(name, str) or name not in SLICES:
        raise ParameterError(f"slice must be week or day, got slice={shown(name)}")
    return SLICES[name]


def cut(
    values: Sequence[Value | None],
    times: Sequence[Value | None],
    persons: Sequence[Value | None] | None,
    days: int,
    seed: int | None,
) -> Timed:
    """The values of each slice of so many days. With persons, each has one value in a slice, drawn at random."""
    for name, column in (("times", times), ("persons", persons)):
        if column is not None and len(column) != len(values):
            raise InputError(f"{name} must be as many as values, got {len(column):,} and {len(values):,}")
    held = [None if time is None else _day(row, time) for row, time in enumerate(times, 1)]
    starts = [None if day is None else day - timedelta(days=day.weekday() % days) for day in held]
    if persons is None:
        rows: Sequence[int] = [row for row, value in enumerate(values) if value is not None and starts[row] is not None]
        missing, over = len(values) - len(rows), 0
    else:
        people = (
            (None if start is None or person in (None, "") else (person, start))
            for person, start in zip(persons, starts, strict=True)
        )
        rows, missing, over = choose_rows(zip(people, values, strict=True), seed)
    if not rows:
        nobody = f"none, and {missing:,} missing" if missing else "none"
        raise InputError(f"values must hold at least one person's value with its time, got {nobody}")
    found = defaultdict[date, list[Value]](list)
    for row in rows:
        if (start := starts[row]) is not None and (value := values[row]) is not None:
            found[start].append(value)
    slices = dict(sorted(found.items()))
    covered = [day for day in held if day is not None]
    whole = min(covered), max(covered) + timedelta(days=1)
    partial = frozenset(start for start in slices if start < whole[0] or start + timedelta(days=days) > whole[1])
    return Timed(slices, partial, missing, over)


def _day(row: int, time: Value) -> date:
    """The day of a time in ISO form, in UTC; a time without a zone is in UTC. The error does not show it."""
    try:
        moment = datetime.fromisoformat(str(time).strip()) if isinstance(time, str) else None
        if moment is not None:
            return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    except (ValueError, OverflowError):
        pass
    rule = "a time must be a date or time in ISO form, such as 2026-10-05 or 2026-10-05T12:00:00Z"
    raise InputError(f"{rule}, got something else in row {row:,}")
