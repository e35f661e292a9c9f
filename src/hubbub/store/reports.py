"""Appending reports: when it returns they are durable, and each id is taken once."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DBAPIError

from hubbub.errors import StoreError, StoreUnavailable, SurveyClosed, UnknownSurvey
from hubbub.model.mechanism import Reports
from hubbub.store.schema import expect_pages, is_sqlite, pending, report_ids, surveys, writing

ID_BYTES: Final = 16
_BYTES_OF_AN_ID: Final = 64
_TRIES: Final = 5
_LOOKED_UP_AT_ONCE: Final = 500
# The statements of every commit go straight to SQLite's driver: SQLAlchemy would take longer than SQLite.
_STATE: Final = f"SELECT state FROM {surveys.name} WHERE key = ?"  # noqa: S608  # our own name
_INSERT_PENDING: Final = (
    f"INSERT INTO {pending.name} (survey, reports, report_count) VALUES (:survey, :reports, :report_count)"  # noqa: S608
)
# Inserts all ids with one statement, cut from one parameter: SQLite runs it without Python's global lock.
_INSERT_IDS: Final = (
    f"INSERT OR IGNORE INTO {report_ids.name} (survey, id) "  # noqa: S608  # our own name
    "WITH RECURSIVE part (start) AS (SELECT 1 UNION ALL SELECT start + 16 FROM part WHERE start + 16 < length(?2)) "
    "SELECT ?1, substr(?2, start, 16) FROM part"
)
_MANY: Final = 256
# The same for 256 ids, in a third of the time. `executemany` would take the lock for each id.
_INSERT_MANY: Final = (
    f"INSERT OR IGNORE INTO {report_ids.name} (survey, id) VALUES "  # noqa: S608  # our own name
    + ", ".join(f"(?1, ?{place})" for place in range(2, _MANY + 2))
)
_SERIALIZATION_FAILURES: Final = ("40001", "40P01")  # PostgreSQL: try the transaction again


@dataclass(frozen=True, slots=True)
class Upload:
    """Valid reports to one survey, which is given by its key in the database."""

    survey: int
    reports: Reports

    @property
    def added_bytes(self) -> int:
        """About how many bytes the database becomes longer by, at most: the reports, and their ids in an index."""
        return self.reports.nbytes + _BYTES_OF_AN_ID * len(self.reports)


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
    look_up = False
    for attempt in range(_TRIES):
        try:
            with writing(engine) as connection:
                return _append(connection, uploads, look_up)
        except _SomeAreKnown:
            look_up = True
        except StoreUnavailable as error:
            if attempt == _TRIES - 1 or not _try_again(error):
                raise
    raise StoreUnavailable(f"a commit failed {_TRIES} times, because other collectors wrote the same ids")


def _append(connection: Connection, uploads: Sequence[Upload], look_up: bool) -> list[Outcome]:
    """Do the work of `append` inside its transaction. With `look_up`, look for known ids before inserting any."""
    outcomes: dict[int, Outcome] = {}
    members: dict[int, list[int]] = defaultdict(list)
    if is_sqlite(connection):  # ids are random, so each is on a page of its own
        expect_pages(connection, sum(len(upload.reports) for upload in uploads))
    for number, upload in enumerate(uploads):
        members[upload.survey].append(number)
    keys = sorted(members)  # always in this order, so that two collectors cannot wait for each other
    states = _states(connection, keys)
    for survey in keys:
        if (state := states.get(survey)) != "open":
            gone = state in (None, "deleting")
            refusal = UnknownSurvey("the survey was deleted") if gone else SurveyClosed("the survey is closed")
            outcomes.update(dict.fromkeys(members[survey], refusal))
            continue
        together = [uploads[number].reports for number in members[survey]]
        new = _append_to_survey(connection, survey, together, look_up)
        ends = np.cumsum([len(reports) for reports in together])
        outcomes.update(zip(members[survey], np.split(new, ends[:-1]), strict=True))
    return [outcomes[number] for number in range(len(uploads))]


def _states(connection: Connection, keys: list[int]) -> dict[int, str]:
    """Return the states of surveys. They cannot change before the transaction ends (SQLite has only one writer)."""
    if is_sqlite(connection):
        rows = {key: _driver(connection).execute(_STATE, (key,)).fetchone() for key in keys}
        return {key: row[0] for key, row in rows.items() if row is not None}
    query = select(surveys.c.key, surveys.c.state).where(surveys.c.key.in_(keys)).order_by(surveys.c.key)
    return {row.key: row.state for row in connection.execute(query.with_for_update(read=True))}


def _driver(connection: Connection) -> sqlite3.Connection:
    """Return SQLite's own connection, in the transaction that has begun."""
    raw: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    return raw


def _append_to_survey(connection: Connection, survey: int, together: list[Reports], look_up: bool) -> NDArray[np.bool_]:
    """Write the reports of all uploads to one survey; return which of them are new."""
    raw = b"".join(reports.tobytes() for reports in together)
    size = together[0].dtype.itemsize
    ids = [raw[start : start + ID_BYTES] for start in range(0, len(raw), size)]
    unique = sorted(set(ids))
    fresh = (
        insert_new_sqlite(connection, survey, unique, look_up)
        if is_sqlite(connection)
        else insert_new_postgresql(connection, survey, unique)
    )
    new = np.ones(len(ids), np.bool_)
    if len(fresh) < len(ids):
        left = set(fresh)
        for number, report_id in enumerate(ids):
            new[number] = report_id in left
            left.discard(report_id)  # of reports with the same id, the first one counts
        raw = b"".join(raw[number * size : (number + 1) * size] for number in np.flatnonzero(new))
    if raw:
        row = {"survey": survey, "reports": raw, "report_count": int(new.sum())}
        if is_sqlite(connection):
            _driver(connection).execute(_INSERT_PENDING, row)
        else:
            connection.execute(insert(pending), row)
    return new


def insert_new_sqlite(connection: Connection, survey: int, ids: list[bytes], look_up: bool) -> list[bytes]:
    """Insert ids, and return those that were not in the store before.

    Nearly always all ids are new, and it is enough to count the inserted rows. Otherwise the transaction starts over
    with `look_up`. A savepoint would copy every page it touches, also for transactions in which all ids are new.
    """
    if look_up:
        known: set[bytes] = set()
        for start in range(0, len(ids), _LOOKED_UP_AT_ONCE):
            part = ids[start : start + _LOOKED_UP_AT_ONCE]
            query = select(report_ids.c.id).where(report_ids.c.survey == survey, report_ids.c.id.in_(part))
            known.update(connection.scalars(query))
        ids = [report_id for report_id in ids if report_id not in known]
    driver, last = _driver(connection), len(ids) - len(ids) % _MANY
    inserted = sum(
        driver.execute(_INSERT_MANY, (survey, *ids[start : start + _MANY])).rowcount for start in range(0, last, _MANY)
    )
    if last < len(ids):
        inserted += driver.execute(_INSERT_IDS, (survey, b"".join(ids[last:]))).rowcount
    if inserted != len(ids):
        raise _SomeAreKnown
    return ids


def insert_new_postgresql(connection: Connection, survey: int, ids: list[bytes]) -> list[bytes]:
    """Insert ids, and return those that were not in the store before. Waits for collectors that insert the same ids."""
    statement = (
        f"INSERT INTO {report_ids.name} (survey, id) SELECT %s, unnest(%s::bytea[]) "  # our own name
        "ON CONFLICT DO NOTHING RETURNING id"
    )
    return [bytes(row[0]) for row in connection.exec_driver_sql(statement, (survey, ids))]


def _try_again(error: StoreUnavailable) -> bool:
    """Return whether PostgreSQL gave up because of a conflict with another transaction."""
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and getattr(cause.orig, "sqlstate", None) in _SERIALIZATION_FAILURES
