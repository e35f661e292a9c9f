"""Appending reports: when it returns they are durable, and each id is taken once."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DBAPIError

from hubbub.errors import StoreError, StoreUnavailable, SurveyClosed, UnknownSurvey
from hubbub.model.mechanism import Reports
from hubbub.store.schema import pending, report_ids, surveys, writing, writing_sqlite

ID_BYTES: Final = 16
BYTES_OF_AN_ID: Final = 64
"""About how many bytes an id adds to the database at most, in its index; the report adds its own."""

_TRIES: Final = 5
_LOOKED_UP_AT_ONCE: Final = 500
# The statements of every commit go straight to SQLite's driver: SQLAlchemy would take longer than SQLite.
_STATE: Final = f"SELECT state FROM {surveys.name} WHERE key = ?"  # noqa: S608  # our own name
_INSERT_PENDING: Final = f"INSERT INTO {pending.name} (survey, reports, report_count) VALUES (?, ?, ?)"  # noqa: S608
_INSERTED_AT_ONCE: Final = 256
_SENT_AT_ONCE: Final = 5_000
_SERIALIZATION_FAILURES: Final = ("40001", "40P01")  # PostgreSQL: try the transaction again


class Upload(NamedTuple):
    """Valid reports to one survey, which is given by its key in the database.

    `claim` is called once, when the transaction has begun to write. It returns False if the upload was refused
    meanwhile: then it must not be written. After True it can no longer be refused, except by an error of the database.
    """

    survey: int
    reports: Reports
    claim: Callable[[], bool] = lambda: True


class _SomeAreKnown(Exception):
    """An id that was assumed to be new is in the store already. The transaction is rolled back and starts over."""


Outcome: TypeAlias = NDArray[np.bool_] | StoreError
"""Which reports of an upload are new (the others were stored before), or why none of them was taken."""


def append(engine: Engine, uploads: Sequence[Upload]) -> list[Outcome]:
    """Write the reports of all uploads in one transaction; return the outcome of each upload.

    When this returns, each report that is marked as new is on the disk and will be counted once. When it raises
    StoreUnavailable, no report was acknowledged, and trying again is safe. tests/store and
    tests/collector/test_exactly_once.py hold it to this. Cost: one commit, and one index entry for each report.
    """
    look_up, claimed = False, list[bool]()
    count = sum([len(upload.reports) for upload in uploads])
    for attempt in range(_TRIES):
        try:
            # Ids are random, so each is on a page of its own.
            with writing_sqlite(engine, count) if engine.dialect.name == "sqlite" else writing(engine) as connection:
                # Claimed here, after the wait for the lock, and once only.
                claimed = claimed or [upload.claim() for upload in uploads]
                return _append(connection, uploads, claimed, look_up)
        except _SomeAreKnown:
            look_up = True
        except StoreUnavailable as error:
            if attempt == _TRIES - 1 or not _try_again(error):
                raise
    raise StoreUnavailable(f"a commit failed {_TRIES} times, because other collectors wrote the same ids")


def _append(
    connection: sqlite3.Connection | Connection, uploads: Sequence[Upload], claimed: list[bool], look_up: bool
) -> list[Outcome]:
    """Do the work of `append` inside its transaction. With `look_up`, look for known ids before inserting any."""
    outcomes: dict[int, Outcome] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, upload in enumerate(uploads):
        if claimed[number]:
            members[upload.survey].append(number)
        else:
            outcomes[number] = StoreUnavailable("nobody waits for the reports any more")
    keys = sorted(members)  # always in this order, so that two collectors cannot wait for each other
    # States cannot change before the transaction ends: SQLite has only one writer, PostgreSQL locks the rows.
    if isinstance(connection, sqlite3.Connection):
        states = {key: state for key in keys for (state,) in connection.execute(_STATE, (key,))}
    else:
        query = select(surveys.c.key, surveys.c.state).where(surveys.c.key.in_(keys)).order_by(surveys.c.key)
        states = {row.key: row.state for row in connection.execute(query.with_for_update(read=True))}
    for survey in keys:
        if (state := states.get(survey)) != "open":
            gone = state in (None, "deleting")
            refusal = UnknownSurvey("the survey was deleted") if gone else SurveyClosed("the survey is closed")
            outcomes.update(dict.fromkeys(members[survey], refusal))
            continue
        together = [uploads[number].reports for number in members[survey]]
        new = _append_to_survey(connection, survey, together, look_up)
        start = 0
        for number, reports in zip(members[survey], together, strict=True):
            outcomes[number] = new[start : start + len(reports)]
            start += len(reports)
    return [outcomes[number] for number in range(len(uploads))]


def _append_to_survey(
    connection: sqlite3.Connection | Connection, survey: int, together: list[Reports], look_up: bool
) -> NDArray[np.bool_]:
    """Write the reports of all uploads to one survey; return which of them are new."""
    raw = b"".join([reports.tobytes() for reports in together])
    size = together[0].dtype.itemsize
    ids = [raw[start : start + ID_BYTES] for start in range(0, len(raw), size)]
    unique = sorted(set(ids))
    fresh = (
        insert_new_sqlite(connection, survey, unique, look_up)
        if isinstance(connection, sqlite3.Connection)
        else insert_new_postgresql(connection, survey, unique)
    )
    new = np.ones(len(ids), np.bool_)
    if len(fresh) < len(ids):
        left = set(fresh)
        for number, report_id in enumerate(ids):
            new[number] = report_id in left
            left.discard(report_id)  # of reports with the same id, the first one counts
    # In the order of their ids, as the ids are stored: nobody is to see later in which order reports arrived.
    kept = sorted([raw[number * size : (number + 1) * size] for number in np.flatnonzero(new)])
    raw = b"".join(kept)
    if not raw:
        return new
    if isinstance(connection, sqlite3.Connection):
        connection.execute(_INSERT_PENDING, (survey, raw, len(fresh)))
    else:
        connection.execute(insert(pending).values(survey=survey, reports=raw, report_count=len(fresh)))
    return new


def insert_new_sqlite(connection: sqlite3.Connection, survey: int, ids: list[bytes], look_up: bool) -> list[bytes]:
    """Insert ids, and return those that were not in the store before.

    Nearly always all ids are new, and it is enough to count the inserted rows. Otherwise the transaction starts over
    with `look_up`. A savepoint would copy every page it touches, also for transactions in which all ids are new.
    """
    if look_up:
        known: set[bytes] = set()
        for start in range(0, len(ids), _LOOKED_UP_AT_ONCE):
            part = ids[start : start + _LOOKED_UP_AT_ONCE]
            known.update(row[0] for row in connection.execute(_selection(len(part)), (survey, *part)))
        ids = [report_id for report_id in ids if report_id not in known]
    inserted = 0
    for start in range(0, len(ids), _INSERTED_AT_ONCE):
        part = ids[start : start + _INSERTED_AT_ONCE]
        inserted += connection.execute(_insertion(len(part)), (survey, *part)).rowcount
    if inserted != len(ids):
        raise _SomeAreKnown
    return ids


@cache
def _insertion(count: int) -> str:
    """Return the statement that inserts so many ids. SQLite runs it without Python's global lock."""
    rows = ", ".join(f"(?1, ?{place})" for place in range(2, count + 2))
    return f"INSERT OR IGNORE INTO {report_ids.name} (survey, id) VALUES {rows}"  # noqa: S608  # our own name


@cache
def _selection(count: int) -> str:
    """Return the statement that looks for so many ids."""
    places = ", ".join(["?"] * count)
    return f"SELECT id FROM {report_ids.name} WHERE survey = ? AND id IN ({places})"  # noqa: S608  # our own name


def insert_new_postgresql(connection: Connection, survey: int, ids: list[bytes]) -> list[bytes]:
    """Insert ids, and return those that were not in the store before. Waits for collectors that insert the same ids."""
    statement = (
        f"INSERT INTO {report_ids.name} (survey, id) SELECT %s, unnest(%s::bytea[]) "  # our own name
        "ON CONFLICT DO NOTHING RETURNING id"
    )
    fresh: list[bytes] = []
    for start in range(0, len(ids), _SENT_AT_ONCE):  # the driver needs some hundred bytes of memory for each id
        part = ids[start : start + _SENT_AT_ONCE]
        fresh += [bytes(row[0]) for row in connection.exec_driver_sql(statement, (survey, part))]
    return fresh


def _try_again(error: StoreUnavailable) -> bool:
    """Return whether PostgreSQL gave up because of a conflict with another transaction."""
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and getattr(cause.orig, "sqlstate", None) in _SERIALIZATION_FAILURES
