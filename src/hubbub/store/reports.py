"""Appending reports: durable when it returns, and each id once."""

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
    """Valid reports to one survey, which is given by its key."""

    survey: int
    reports: Reports


class _SomeAreKnown(Exception):
    """An id that was taken for new is not; nothing of the transaction is kept."""


Outcome: TypeAlias = NDArray[np.bool_] | StoreError
"""Which reports of a batch are new (the others were there already), or why none of them was taken."""


def append(engine: Engine, batches: Sequence[Batch]) -> list[Outcome]:
    """Write the reports of all batches in one transaction; the outcome of each batch.

    Guarantees (tests/store, tests/collector/test_exactly_once.py): when it returns, every report that is marked as
    new is on the disk and will be counted once; when it raises StoreUnavailable, none of them is acknowledged, and
    trying again is safe. Cost: one commit, and an index entry for each report.
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
    raise StoreUnavailable(f"a commit must succeed in {_TRIES} tries, got as many conflicts with others")


def _append(connection: Connection, batches: Sequence[Batch], look_up: bool) -> list[Outcome]:
    outcomes: dict[int, Outcome] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, batch in enumerate(batches):
        members[batch.survey].append(number)
    states = _lock_states(connection, sorted(members))
    for survey in sorted(members):  # always in this order, so that two collectors cannot wait for each other
        if (state := states.get(survey)) != "open":
            gone = state in (None, "deleting")
            refusal = UnknownSurvey("no survey of this id is here") if gone else SurveyClosed("the survey is closed")
            outcomes.update(dict.fromkeys(members[survey], refusal))
            continue
        together = [batches[number].reports for number in members[survey]]
        new = _append_to_survey(connection, survey, together, look_up)
        ends = np.cumsum([len(reports) for reports in together])
        outcomes.update(zip(members[survey], np.split(new, ends[:-1]), strict=True))
    return [outcomes[number] for number in range(len(batches))]


def _lock_states(connection: Connection, keys: list[int]) -> dict[int, str]:
    """The states of surveys, which then cannot change before the transaction ends."""
    query = select(surveys.c.key, surveys.c.state).where(surveys.c.key.in_(keys)).order_by(surveys.c.key)
    if not is_sqlite(connection):  # SQLite has one writer at a time
        query = query.with_for_update(read=True)
    return {row.key: row.state for row in connection.execute(query)}


def _append_to_survey(connection: Connection, survey: int, together: list[Reports], look_up: bool) -> NDArray[np.bool_]:
    raw = b"".join(reports.tobytes() for reports in together)
    size = together[0].dtype.itemsize
    ids = [raw[start : start + ID_BYTES] for start in range(0, len(raw), size)]
    unique = sorted(set(ids))
    if is_sqlite(connection):
        fresh = _insert_new_sqlite(connection, survey, unique, look_up)
    else:
        fresh = _insert_new_postgresql(connection, survey, unique)
    if len(fresh) == len(ids):
        new = np.ones(len(ids), np.bool_)
    else:
        left = set(fresh)
        new = np.zeros(len(ids), np.bool_)
        for number, report_id in enumerate(ids):
            if report_id in left:  # of an id that comes twice, the first counts
                left.discard(report_id)
                new[number] = True
        raw = b"".join(raw[number * size : (number + 1) * size] for number in np.flatnonzero(new))
    if raw:
        connection.execute(insert(pending).values(survey=survey, reports=raw))
    return new


def _insert_new_sqlite(connection: Connection, survey: int, ids: list[bytes], look_up: bool) -> list[bytes]:
    """Insert ids and return those that were not there.

    Nearly always all are new, and counting the rows inserted is enough. Otherwise the transaction starts over and looks
    them up first: a savepoint instead would copy every page it touches, at the expense of all that are new.
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


def _insert_new_postgresql(connection: Connection, survey: int, ids: list[bytes]) -> list[bytes]:
    """Insert ids and return those that were not there; waits for another collector that is writing the same ones."""
    statement = (
        f"INSERT INTO {report_ids.name} (survey, id) SELECT %s, unnest(%s::bytea[]) "  # our own name
        "ON CONFLICT DO NOTHING RETURNING id"
    )
    return [bytes(row[0]) for row in connection.exec_driver_sql(statement, (survey, ids))]


def _try_again(error: StoreUnavailable) -> bool:
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and getattr(cause.orig, "sqlstate", None) in _SERIALIZATION_FAILURES
