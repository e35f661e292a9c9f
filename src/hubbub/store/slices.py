"""Slices of time: the tally of a survey is a sum over weeks or days, and any range of them can be asked for.

A report belongs to the slice in which it was made durable; nothing finer is stored. `tallies` has the sum of all
slices, and the start of the newest one. The slices before it are in `slices`, one packed tally each. So the newest
slice is what is left of the sum without the others: a fold costs no more than without slices, and sums always agree.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select

from hubbub.errors import ParameterError, StoreDamaged
from hubbub.model.tally import Cells, Tally
from hubbub.store.schema import slices, tallies, unknown_survey
from hubbub.wire.tally_file import parse_tally

SLICE_DAYS: Final = {"week": 7, "day": 1}
"""The lengths that a slice may have. A week begins on Monday, in UTC."""

_FIRST_MONDAY: Final = 4  # the day number of 1970-01-05
_EPOCH: Final = date(1970, 1, 1)
_CHECKSUM_BYTES: Final = 32


class Slice(NamedTuple):
    """One slice of a survey.

    Attributes
    ----------
    start, end : date
        Its first day, and the first day after it, in UTC.
    reports : int
        How many reports are in its tally.
    open : bool
        Whether it goes on.
    changed : bool
        Whether reports were added after it had ended: a clock was wrong, or the owner merged a tally into it.
    """

    start: date
    end: date
    reports: int
    open: bool
    changed: bool


class Range(NamedTuple):
    """Slices from a day on, and before another one, as day numbers since 1970; None is no bound."""

    first: int | None = None
    until: int | None = None

    def has(self, start: int) -> bool:
        """Return whether the slice that begins on this day is in the range."""
        return (self.first is None or self.first <= start) and (self.until is None or start < self.until)

    @property
    def words(self) -> str:
        """The range as people read it, with its last day; empty for all slices.

        >>> Range(20731).words, Range(None, 20738).words, Range(20731, 20738).words
        ('from 2026-10-05 on', 'until 2026-10-11', '2026-10-05 to 2026-10-11')
        """
        last = None if self.until is None else date_of(self.until - 1)
        if self.first is None:
            return "" if last is None else f"until {last}"
        return f"from {date_of(self.first)} on" if last is None else f"{date_of(self.first)} to {last}"


ALL: Final = Range()
"""All slices."""


_clock: Callable[[], float] | None = None


def set_clock(clock: Callable[[], float] | None) -> None:
    """Let slices follow another clock, in seconds since 1970: for demos in which weeks go by. None is the real one."""
    global _clock
    _clock = clock


def day_now() -> int:
    """Return the number of today since 1970, in UTC."""
    return int(time.time() if _clock is None else _clock()) // 86_400


def slice_of(day: int, days: int) -> int:
    """Return the first day of the slice that a day is in.

    >>> slice_of(4, 7), slice_of(10, 7), slice_of(11, 7), slice_of(11, 1)
    (4, 4, 11, 11)
    """
    return day - (day - _FIRST_MONDAY) % days


def open_now(every: int) -> str:
    """Return when a survey that repeats opens, if it is to open now: its first period begins with today's slice."""
    return f"{date_of(slice_of(day_now(), 7 if every % 7 == 0 else 1))}T00:00:00Z"


def date_of(day: int) -> date:
    """Return the date of a day number."""
    return _EPOCH + timedelta(days=day)


def day_of(day: date) -> int:
    """Return the number of a date since 1970."""
    return (day - _EPOCH).days


def parse_range(days: int, first: str | None, until: str | None, last: str | None, ended: int | None = None) -> Range:
    """Return the range that `from`, `to` and `last` name, for slices of so many days.

    Parameters
    ----------
    days : int
        The days of a slice.
    first, until : str, optional
        Dates such as 2026-10-05: the first day of the first slice, and the first day after the last one.
    last : str, optional
        A length such as 4w or 10d: this many days up to the end of the slice that goes on now.
    ended : int, optional
        The day before which all slices have ended, for somebody who sees no other: nothing after it is in the range.

    Raises
    ------
    ParameterError
        A text is no date or length, or a date is within a slice.
    """
    if last is None:
        bounds = Range(_boundary("from", first, days), _boundary("to", until, days))
        if bounds.first is not None and bounds.until is not None and bounds.first >= bounds.until:
            raise ParameterError(f"to must be after from, got from={first} and to={until}")
        if ended is None:
            return bounds
        if bounds.first is not None and bounds.first >= ended:
            raise ParameterError(f"from must be before {date_of(ended)}, when the last slice ended, got from={first}")
        return Range(bounds.first, ended if bounds.until is None else min(bounds.until, ended))
    if first is not None or until is not None:
        raise ParameterError(f"last must come without from and to, got last={last}")
    number, unit = last[:-1], {"w": 7, "d": 1}.get(last[-1:], 0)
    if not (unit and number.isascii() and number.isdigit() and 1 <= len(number) <= 4 and int(number)):
        raise ParameterError(f"last must be a number of weeks or days such as 4w or 10d, got last={last[:40]!r}")
    if int(number) * unit % days:
        raise ParameterError(f"last must be whole slices of {days} days, got last={last}")
    if ended is not None:
        return Range(ended - int(number) * unit, ended)
    return Range(slice_of(day_now(), days) + days - int(number) * unit)


def parse_day(name: str, text: str) -> int:
    """Return the number of a day since 1970 that is given as 2026-10-05. Raises ParameterError, with the name."""
    try:
        return day_of(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date())
    except ValueError:
        raise ParameterError(f"{name} must be a date such as 2026-10-05, got {name}={text[:40]!r}") from None


def _boundary(name: str, text: str | None, days: int) -> int | None:
    """Return the day number of a date at which a slice begins."""
    if text is None:
        return None
    day = parse_day(name, text)
    if (start := slice_of(day, days)) != day:
        near = f"{date_of(start)} or {date_of(start + days)}"
        raise ParameterError(f"{name} must be the first day of a slice, a Monday, got {name}={text}; take {near}")
    return day


def pack(tally: Tally) -> bytes:
    """Return a tally in few bytes, with a checksum: where its cells are not 0, as gaps, and what they are."""
    cells = tally.cells.reshape(-1)
    places = np.flatnonzero(cells)
    gaps = np.diff(places, prepend=-1).astype("<u8")
    values = cells[places]
    values = ((values << 1) ^ (values >> 63)).view("<u8")  # small numbers of either sign become small ones
    header = tally.survey_id + tally.count.to_bytes(8, "little") + len(places).to_bytes(8, "little")
    # All first bytes, then all second ones, …: nearly all but the first are 0.
    packed = zlib.compress(header + b"".join(_planes(each) for each in (gaps, values)))
    return packed + hashlib.sha256(packed).digest()


def _planes(numbers: NDArray[Any]) -> bytes:
    """Return the bytes of 64-bit numbers, those of the lowest places first."""
    return numbers.view(np.uint8).reshape(-1, 8).T.tobytes()


def unpack(data: bytes, survey_id: bytes, shape: tuple[int, ...]) -> Tally:
    """Return a packed tally, checked to the last bit. Raises StoreDamaged."""
    packed, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    body = zlib.decompress(packed) if hashlib.sha256(packed).digest() == checksum else b""
    if body[:32] != survey_id:
        raise StoreDamaged(f"a stored slice of survey {survey_id.hex()[:8]} is damaged")
    some = int.from_bytes(body[40:48], "little")
    gaps, values = np.frombuffer(body, np.uint8, offset=48).reshape(2, 8, some).transpose(0, 2, 1).copy().view("<u8")
    cells: Cells = np.zeros(shape, np.int64)
    signed = (values.reshape(-1) >> np.uint64(1)) ^ -(values.reshape(-1) & np.uint64(1))
    cells.reshape(-1)[np.cumsum(gaps.reshape(-1).astype(np.int64)) - 1] = signed.view(np.int64)
    return Tally(survey_id, int.from_bytes(body[32:40], "little"), cells)


def list_slices(connection: Connection, survey: int, days: int) -> list[Slice]:
    """Return the slices of a survey that have reports, in their order. Reads no tally."""
    today = day_now()
    newest = connection.execute(select(tallies.c.slice, tallies.c.report_count).where(tallies.c.survey == survey)).one()
    columns = (slices.c.start, slices.c.report_count, slices.c.changed)
    ended = connection.execute(select(*columns).where(slices.c.survey == survey).order_by(slices.c.start)).all()
    left = newest.report_count - sum(row.report_count for row in ended)
    rows = [*((row.start, row.report_count, bool(row.changed)) for row in ended), (newest.slice, left, False)]
    return [
        Slice(date_of(start), date_of(start + days), reports, start + days > today, changed)
        for start, reports, changed in rows
        if reports
    ]


def sum_between(connection: Connection, survey: int, survey_id: bytes, shape: tuple[int, ...], asked: Range) -> Tally:
    """Return the sum of the slices in a range. Reads the packed tallies on one side of it, one after the other."""
    row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
    if row is None:
        raise unknown_survey(survey_id)
    starts = connection.scalars(select(slices.c.start).where(slices.c.survey == survey)).all()
    # With the newest slice: the sum of all without those that are not asked for.
    with_newest = asked.has(row.slice)
    total = parse_tally(row.tally, survey_id, shape) if with_newest else Tally(survey_id, 0, np.zeros(shape, np.int64))
    read = [start for start in starts if asked.has(start) != with_newest]
    return _added(total, _stored(connection, survey, survey_id, shape, read), -1 if with_newest else 1)


def write_slice(survey: int, start: int, tally: Tally, changed: bool, connection: Connection) -> None:
    """Write the tally of a slice in place of the one that it had."""
    connection.execute(delete(slices).where(slices.c.survey == survey, slices.c.start == start))
    row = {"survey": survey, "start": start, "report_count": tally.count, "changed": changed, "tally": pack(tally)}
    connection.execute(insert(slices).values(**row))


def newest_slice(connection: Connection, survey: int, total: Tally) -> Tally:
    """Return what is left of the sum of all slices without those that have ended."""
    starts = connection.scalars(select(slices.c.start).where(slices.c.survey == survey)).all()
    copied = Tally(total.survey_id, total.count, total.cells.copy())
    return _added(copied, _stored(connection, survey, total.survey_id, total.cells.shape, starts), -1)


def _added(total: Tally, parts: Iterable[Tally], sign: int) -> Tally:
    """Add or subtract tallies, in the cells of the first."""
    count = total.count
    for part in parts:
        np.add(total.cells, sign * part.cells, out=total.cells)
        count += sign * part.count
    return Tally(total.survey_id, count, total.cells)


def _stored(
    connection: Connection, survey: int, survey_id: bytes, shape: tuple[int, ...], starts: Iterable[int]
) -> Iterable[Tally]:
    """Yield the tallies of slices, one at a time."""
    for start in starts:
        mine = (slices.c.survey == survey, slices.c.start == start)
        yield unpack(bytes(connection.execute(select(slices.c.tally).where(*mine)).scalar_one()), survey_id, shape)
