"""Folding: pending reports are added to their tally and erased, in one transaction.

Nothing is locked while the sums are computed. Each fold raises the version of the tally. A fold that finds a newer
version than it started from discards its work and starts over. So any number of collectors may fold at the same time.

A transaction costs about the same for one small survey as for hundreds, and uploads wait for it. So `fold_together`
folds many of them in one. The tally of a large survey takes longer to write than that: `fold` folds it alone.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
from sqlalchemy import Engine, Table, bindparam, delete, func, select, text, update

from hubbub.errors import HubbubError, StoreDamaged, StoreUnavailable
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.store.daily import add_to_days
from hubbub.store.schema import (
    PAGE_BYTES,
    available,
    pending,
    reading,
    report_ids,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.wire.tally_file import encode_tally, parse_tally

_ROWS_AT_ONCE: Final = 500
STEP_BYTES: Final = 8 << 20
"""About how many bytes one transaction of folding, purging or shrinking changes, not counting the tally."""

LARGE_CELLS: Final = 1 << 17
"""A survey with more cells is folded alone."""

CELLS_TOGETHER: Final = 1 << 19
"""The most cells of surveys that are folded together; each takes 48 bytes of memory."""

_ROWS_TOGETHER: Final = 10_000
_BYTES_OF_A_ROW: Final = 32  # what a row takes besides its reports
_CONFLICTS: Final = 100
_MOST_PAGES: Final = 1000
_NEW_TALLY: Final = (
    update(tallies)
    .where(tallies.c.survey == bindparam("of"), tallies.c.version == bindparam("seen"))
    .values(version=bindparam("new"), tally=bindparam("bytes"), report_count=bindparam("reports"))
)
_ERASE: Final = delete(pending).where(pending.c.key.between(bindparam("first"), bindparam("last")))


class Folder(NamedTuple):
    """What is needed to fold the reports of a survey: its id and its mechanism."""

    survey_id: bytes
    accumulator: Accumulator


class Group(NamedTuple):
    """Surveys to fold together, by their keys: their rows whose keys are above `after` and at most `last`."""

    folders: dict[int, Folder]
    after: int
    last: int


class Change(NamedTuple):
    """The new tally of a survey, made from the one of `version`, and how many reports were added to it."""

    survey: int
    version: int
    tally: Tally
    added: int


class _Rows(NamedTuple):
    """Pending rows that come one after the other: the key of the last one, and the ids of their surveys by key."""

    last: int
    surveys: dict[int, bytes]


class _Outdated(Exception):
    """Somebody else has changed one of the tallies. The transaction is rolled back."""


def fold(
    engine: Engine,
    survey: int,
    survey_id: bytes,
    accumulator: Accumulator,
    step_bytes: int = STEP_BYTES,
    require_room: Callable[[int], None] = lambda _: None,
) -> tuple[Tally, bool]:
    """Add all reports that were durable when this was called to the tally, and erase them.

    Parameters
    ----------
    engine : Engine
        The database.
    survey : int
        The survey's key in the database.
    survey_id : bytes
        The survey's id, which is part of the tally.
    accumulator : Accumulator
        The survey's mechanism.
    step_bytes : int
        About how many bytes of reports one transaction erases. It erases 500 rows at most.
    require_room : callable
        Called before each of these transactions with `step_bytes`; raises if there is no room for so much.

    Returns
    -------
    Tally
        The new tally.
    bool
        Whether reports were erased, so that `Store.remove_erased` has something to do.
    """
    last: int | None = None
    conflicts, erased = 0, False
    while conflicts < _CONFLICTS:
        with reading(engine) as connection:
            row = connection.execute(select(tallies).where(tallies.c.survey == survey)).one_or_none()
            if row is None:
                raise unknown_survey(survey_id)
            # Read in the same snapshot as the tally, so that a report is in exactly one of the two.
            if last is None:
                last = connection.scalar(select(func.max(pending.c.key)).where(pending.c.survey == survey)) or 0
            mine = select(pending.c.key, func.length(pending.c.reports)).where(pending.c.survey == survey)
            query = mine.where(pending.c.key <= last).order_by(pending.c.key).limit(_ROWS_AT_ONCE)
            rows = connection.execute(query).all()
            sizes = accumulate(length for _, length in rows)
            keys = [key for (key, _), size in zip(rows, sizes, strict=True) if size <= step_bytes]
            keys = keys or [key for key, _ in rows[:1]]  # one row at least, even if it has more bytes
            parts = connection.scalars(select(pending.c.reports).where(pending.c.key.in_(keys))).all() if keys else []
        tally = _added(row.tally, Folder(survey_id, accumulator), parts)
        if not keys:
            return tally, erased
        require_room(step_bytes)
        added = sum(map(len, parts)) // accumulator.report_dtype.itemsize
        if len(parts) == len(keys) and replace_tally(engine, survey, row.version, tally, keys, added):
            erased = True
            if len(keys) == len(rows) < _ROWS_AT_ONCE:  # nothing is left: the tally need not be read again
                return tally, erased
        else:
            conflicts += 1
    raise _too_many_conflicts()


def _added(stored: bytes, folder: Folder, parts: Sequence[bytes]) -> Tally:
    """Return a stored tally with pending reports added. Raises StoreDamaged if it or they are not what was written."""
    survey_id, accumulator = folder
    try:
        tally = parse_tally(stored, survey_id, accumulator.cells_shape)
    except HubbubError as error:
        raise StoreDamaged(f"the stored tally of survey {survey_id.hex()[:8]} is damaged: {error}") from None
    if not parts:
        return tally
    if any(len(part) % accumulator.report_dtype.itemsize for part in parts):
        raise StoreDamaged(f"the pending reports of survey {survey_id.hex()[:8]} are damaged: some are cut short")
    reports = np.frombuffer(b"".join(parts), accumulator.report_dtype)
    accumulator.accumulate(tally.cells, reports)
    return Tally(survey_id, tally.count + len(reports), tally.cells)


def groups(
    engine: Engine,
    step_bytes: int,
    mechanism: Callable[[int, bytes], Accumulator | None],
    found: set[bytes],
) -> Iterator[Group | bytes]:
    """Yield what is to be folded: groups, until all rows that were there at the start have been seen, then the others.

    The others are the ids of surveys that must be folded alone: large ones, and those whose mechanism is not at hand.

    Parameters
    ----------
    engine : Engine
        The database.
    step_bytes : int
        About how many bytes of rows one transaction erases. It erases 10,000 rows at most.
    mechanism : callable
        Returns the mechanism of a survey, given by its key and its id, if it is at hand.
    found : set
        The ids of all surveys that have pending reports are added to it, except damaged ones.
    """
    after, alone = 0, set[bytes]()
    with reading(engine) as connection:
        last = connection.scalar(select(func.max(pending.c.key))) or 0
    while (rows := _next_rows(engine, after, last, step_bytes)) is not None:
        group: dict[int, Folder] = {}
        cells = 0
        for survey, survey_id in rows.surveys.items():
            found.add(survey_id)
            accumulator = mechanism(survey, survey_id)
            size = LARGE_CELLS + 1 if accumulator is None else math.prod(accumulator.cells_shape)
            if accumulator is None or size > LARGE_CELLS:
                alone.add(survey_id)
                continue
            if cells + size > CELLS_TOGETHER:
                yield Group(group, after, rows.last)
                group, cells = {}, 0
            group[survey] = Folder(survey_id, accumulator)
            cells += size
        if group:
            yield Group(group, after, rows.last)
        after = rows.last
    yield from sorted(alone)


def _next_rows(engine: Engine, after: int, last: int, step_bytes: int) -> _Rows | None:
    """Return the next pending rows after a key, up to `last`; None if there are no more."""
    columns = (pending.c.key, pending.c.survey, func.length(pending.c.reports), surveys.c.survey_id)
    mine = select(*columns).join(surveys, surveys.c.key == pending.c.survey).where(surveys.c.damage.is_(None))
    query = mine.where(pending.c.key > after, pending.c.key <= last).order_by(pending.c.key).limit(_ROWS_TOGETHER)
    with reading(engine) as connection:
        rows = connection.execute(query).all()
    found, size = dict[int, bytes](), 0
    for key, survey, length, survey_id in rows:
        size += length + _BYTES_OF_A_ROW
        if found and size > step_bytes:
            break
        after, found[survey] = key, survey_id
    return _Rows(after, {survey: bytes(survey_id) for survey, survey_id in found.items()}) if found else None


def fold_together(engine: Engine, group: Group) -> bool:
    """Fold the rows of a group in one transaction. A survey that has been deleted is skipped.

    Returns whether reports were erased, so that `Store.remove_erased` has something to do.

    Raises
    ------
    StoreDamaged
        One of the surveys is damaged, and nothing was changed. `fold` folds the others.
    """
    folders, after, last = group
    for _ in range(_CONFLICTS):
        with reading(engine) as connection:
            chosen = pending.c.survey.in_(list(folders)), pending.c.key > after, pending.c.key <= last
            query = select(pending.c.key, pending.c.survey, pending.c.reports).where(*chosen).order_by(pending.c.key)
            rows = connection.execute(query).all()
            if not rows:
                return False
            # Read in the same snapshot, so that a report is in exactly one of the two.
            found = connection.execute(select(tallies).where(tallies.c.survey.in_({row.survey for row in rows}))).all()
        parts: dict[int, list[bytes]] = defaultdict(list)
        for row in rows:
            parts[row.survey].append(row.reports)
        changes = []
        for old in sorted(found, key=lambda old: old.survey):  # so that two collectors cannot wait for each other
            folder = folders[old.survey]
            added = sum(map(len, parts[old.survey])) // folder.accumulator.report_dtype.itemsize
            changes.append(Change(old.survey, old.version, _added(old.tally, folder, parts[old.survey]), added))
        there = {change.survey for change in changes}
        if replace_tallies(engine, changes, [row.key for row in rows if row.survey in there]):
            return True
    raise _too_many_conflicts()


def _too_many_conflicts() -> StoreUnavailable:
    """Return the error to raise when a fold has started over too often."""
    return StoreUnavailable(f"folding failed {_CONFLICTS} times, because other collectors folded at the same moment")


def replace_tally(engine: Engine, survey: int, version: int, tally: Tally, folded: list[int], added: int = 0) -> bool:
    """Like `replace_tallies`, for one survey."""
    return replace_tallies(engine, [Change(survey, version, tally, added)], folded)


def replace_tallies(engine: Engine, changes: Sequence[Change], folded: Sequence[int]) -> bool:
    """Write tallies, erase the folded rows, and add to the reports of the day, in one transaction.

    Returns False, and changes nothing, if one of the versions is not the newest.
    """
    if not changes:
        return True
    new = [
        {"of": survey, "seen": version, "new": version + 1, "bytes": encode_tally(tally), "reports": tally.count}
        for survey, version, tally, _ in changes
    ]
    try:
        with writing(engine) as connection:
            if connection.execute(_NEW_TALLY, new).rowcount != len(changes):
                raise _Outdated
            erased = connection.execute(_ERASE, _runs(folded)).rowcount if folded else 0
            if erased != len(folded):
                sentence = f"a fold was undone: it added {len(folded)} rows, but only {erased} could be erased"
                raise StoreUnavailable(sentence)
            add_to_days(connection, {change.survey: change.added for change in changes})
    except _Outdated:
        return False
    return True


def _runs(keys: Sequence[int]) -> list[dict[str, int]]:
    """Return the first and the last of each run of keys without a gap: a statement for each erases exactly these."""
    ordered = np.sort(np.array(keys, np.int64))
    parts = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
    return [{"first": int(part[0]), "last": int(part[-1])} for part in parts]


def shrink(engine: Engine, deadline: float, step_bytes: int = STEP_BYTES) -> bool:
    """Return unused pages of SQLite's file to the disk: one step at least, then on until `deadline`.

    The deadline is in seconds of the monotonic clock. Returns False if it came before all pages were returned.
    """
    if engine.dialect.name != "sqlite":
        return True
    pages = max(1, min(_MOST_PAGES, step_bytes // PAGE_BYTES))
    with available():
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            while True:
                cursor.execute("PRAGMA freelist_count")
                before = (cursor.fetchone() or (0,))[0]
                # As a script: otherwise the driver stops after the first page, and each page would be a commit.
                cursor.executescript(f"PRAGMA incremental_vacuum({pages})")
                cursor.execute("PRAGMA freelist_count")
                after = (cursor.fetchone() or (0,))[0]
                if after == 0 or after >= before:
                    return True
                if time.monotonic() >= deadline:
                    return False
        finally:
            connection.close()


def vacuum_ids(engine: Engine) -> None:
    """Remove deleted report ids from the files of PostgreSQL. For SQLite `Store.remove_erased` does so."""
    if engine.dialect.name != "sqlite":
        with available():
            vacuum(engine, report_ids)


def vacuum(engine: Engine, table: Table) -> None:
    """Vacuum one table of PostgreSQL, which works outside a transaction only."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
        plain.execute(text(f"VACUUM {table.name}"))
