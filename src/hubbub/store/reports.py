"""Appending reports: when it returns they are durable, and each id is taken once."""

from __future__ import annotations

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
from hubbub.store.schema import is_sqlite, pending, report_ids, surveys, writing

ID_BYTES: Final = 16
_TRIES: Final = 5
_LOOKED_UP_AT_ONCE: Final = 500
_SERIALIZATION_FAILURES: Final = ("40001", "40P01")  # PostgreSQL: try the transaction again


@dataclass(frozen=True, slots=True)
class Batch:
    """Valid reports to one survey, which is given by its key in the database."""

    survey: int
    reports: Reports


class _SomeAreKnown(Exception):
    """An id that was taken for new is in the store already. The transaction is rolled back and starts over."""


Outcome: TypeAlias = NDArray[np.bool_] | StoreError
"""Which reports of a batch are new (the others were stored before), or why none of them was taken."""


def append(engine: Engine, batches: Sequence[Batch]) -> list[Outcome]:
    """Write the reports of all batches in one transaction; return the outcome of each batch.

    When this returns, each report that is marked as new is on the disk and will be counted once. When it raises
    StoreUnavailable, no report was acknowledged, and trying again is safe. tests/store and
    tests/collector/test_exactly_once.py hold it to this. Cost: one commit, and one index entry for each report.
    """
    look_up = False
    for attempt in range(_TRIES):
        try:
            with writing(engine) as connection:
                return _append(connection, batches, look_up)
        except _SomeAreKnown:
            look_up = True
        except StoreUnavailable as error:
            if attempt == _TRIES - 1 or not _try_again(error):
                raise
    raise StoreUnavailable(f"a commit failed {_TRIES} times, because other collectors wrote the same ids")


def _append(connection: Connection, batches: Sequence[Batch], look_up: bool) -> list[Outcome]:
    """Do the work of `append` inside its transaction. With `look_up`, look for known ids before inserting any."""
    outcomes: dict[int, Outcome] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, batch in enumerate(batches):
        members[batch.survey].append(number)
    keys = sorted(members)  # always in this order, so that two collectors cannot wait for each other
    query = select(surveys.c.key, surveys.c.state).where(surveys.c.key.in_(keys)).order_by(surveys.c.key)
    if not is_sqlite(connection):  # keep the states as they are until the end; SQLite has one writer at a time anyway
        query = query.with_for_update(read=True)
    states = {row.key: row.state for row in connection.execute(query)}
    for survey in keys:
        if (state := states.get(survey)) != "open":
            gone = state in (None, "deleting")
            refusal = UnknownSurvey("the survey was deleted") if gone else SurveyClosed("the survey is closed")
            outcomes.update(dict.fromkeys(members[survey], refusal))
            continue
        together = [batches[number].reports for number in members[survey]]
        new = _append_to_survey(connection, survey, together, look_up)
        ends = np.cumsum([len(reports) for reports in together])
        outcomes.update(zip(members[survey], np.split(new, ends[:-1]), strict=True))
    return [outcomes[number] for number in range(len(batches))]


def _append_to_survey(connection: Connection, survey: int, together: list[Reports], look_up: bool) -> NDArray[np.bool_]:
    """Write the reports of all batches to one survey; return which of them are new."""
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
        connection.execute(insert(pending).values(survey=survey, reports=raw))
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
    statement = f"INSERT OR IGNORE INTO {report_ids.name} (survey, id) VALUES ({survey:d}, ?)"  # noqa: S608  # an int
    if ids and connection.exec_driver_sql(statement, [(report_id,) for report_id in ids]).rowcount != len(ids):
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
