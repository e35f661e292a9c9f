"""Appending reports: when it returns they are durable, and each id is taken once."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from hubbub.errors import StoreError, StoreUnavailable, SurveyClosed, UnknownSurvey
from hubbub.model.mechanism import Reports
from hubbub.store.schema import pending, releases, report_ids, surveys, writing_by_driver
from hubbub.store.slices import day_now, slice_of

if TYPE_CHECKING:  # PostgreSQL is optional
    import psycopg

ID_BYTES: Final = 16
BYTES_OF_AN_ID: Final = 64
"""About how many bytes an id adds to the database at most, in its index; the report adds its own."""

_TRIES: Final = 5
_LOOKED_UP_AT_ONCE: Final = 500
_INSERTED_AT_ONCE: Final = 256
_SERIALIZATION_FAILURES: Final = ("40001", "40P01")  # PostgreSQL: try the transaction again
# The statements of every commit go straight to the driver: SQLAlchemy would take longer than SQLite.
_INSERT_PENDING: Final = f"INSERT INTO {pending.name} (survey, reports, report_count, slice) VALUES (?, ?, ?, ?)"  # noqa: S608
_INSERT_PART: Final = (
    f"INSERT INTO {releases.name} (survey, release, part, parts, reports) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
)
_STATE: Final = f"SELECT state, id_slice FROM {surveys.name} WHERE key = ?"  # noqa: S608  # our own name
_LOCKED_STATES: Final = f"SELECT key, state FROM {surveys.name} WHERE key = ANY(%s) ORDER BY key FOR SHARE"  # noqa: S608
# They come as one text; those that are new are named only if some are not.
_INSERT_IDS: Final = f"""
    WITH fresh AS (
        INSERT INTO {report_ids.name} (survey, id, slice)
        SELECT key, substr(%b, 1 + {ID_BYTES} * place, {ID_BYTES}), id_slice
        FROM {surveys.name}, generate_series(0, %s - 1) AS place WHERE key = %s AND state = 'open' ORDER BY place
        ON CONFLICT DO NOTHING RETURNING id
    ) SELECT CASE WHEN count(*) < %s THEN coalesce(array_agg(id), '{{}}') END FROM fresh
"""  # noqa: S608


class Upload(NamedTuple):
    """Valid reports to one survey, which is given by its key in the database and the days of its slices.

    `claim` is called once, when the transaction has begun to write. It returns False if the upload was refused
    meanwhile: then it must not be written. After True it can no longer be refused, except by an error of the database.
    If it is a `part` of a release, this has the release's id, the number of the part, and how many parts there are. It
    is noted with the number of reports that were new, the first time only.
    """

    survey: int
    reports: Reports
    claim: Callable[[], bool] = lambda: True
    slice_days: int = 7
    part: tuple[bytes, int, int] | None = None


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
            with writing_by_driver(engine, count) as connection:
                # Claimed here, after the wait for the lock, and once only.
                claimed = claimed or [upload.claim() for upload in uploads]
                return _append(connection, uploads, claimed, look_up)
        except _SomeAreKnown:
            look_up = True
        except StoreUnavailable as error:
            if attempt == _TRIES - 1 or getattr(error.__cause__, "sqlstate", None) not in _SERIALIZATION_FAILURES:
                raise
    raise StoreUnavailable(f"a commit failed {_TRIES} times, because other collectors wrote the same ids")


def _append(connection: Any, uploads: Sequence[Upload], claimed: list[bool], look_up: bool) -> list[Outcome]:
    """Do the work of `append` inside its transaction. With `look_up`, look for known ids before inserting any."""
    outcomes: dict[int, Outcome] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, upload in enumerate(uploads):
        if claimed[number]:
            members[upload.survey].append(number)
        else:
            outcomes[number] = StoreUnavailable("nobody waits for the reports any more")
    # Always in this order, so that two collectors cannot wait for each other.
    sent = {survey: _Sent.of([uploads[number].reports for number in members[survey]]) for survey in sorted(members)}
    unique = {survey: sorted(set(each.ids)) for survey, each in sent.items()}
    if isinstance(connection, sqlite3.Connection):
        taken, statement = insert_new_sqlite(connection, unique, look_up), _INSERT_PENDING
    else:
        taken, statement = insert_new_postgresql(connection, unique), _INSERT_PENDING.replace("?", "%s")
    rows, parts = [], []
    for survey, (state, fresh) in taken.items():
        if state != "open":
            gone = state in (None, "deleting")
            refusal = UnknownSurvey("the survey was deleted") if gone else SurveyClosed("the survey is closed")
            outcomes.update(dict.fromkeys(members[survey], refusal))
            continue
        new = sent[survey].first_of(fresh)
        if fresh:
            days = uploads[members[survey][0]].slice_days
            rows.append((survey, sent[survey].sorted_bytes(new), len(fresh), slice_of(day_now(), days)))
        start = 0
        for number in members[survey]:
            end = start + len(uploads[number].reports)
            outcomes[number] = new[start:end]
            if (part := uploads[number].part) is not None:
                parts.append((survey, *part, int(np.count_nonzero(new[start:end]))))
            start = end
    for row in rows:
        connection.execute(statement, row)
    for noted in parts:
        connection.execute(_INSERT_PART if statement is _INSERT_PENDING else _INSERT_PART.replace("?", "%s"), noted)
    return [outcomes[number] for number in range(len(uploads))]


class _Sent(NamedTuple):
    """The reports of all uploads to one survey: their bytes, the size of each, and their ids."""

    raw: bytes
    size: int
    ids: list[bytes]

    @classmethod
    def of(cls, together: list[Reports]) -> _Sent:
        """Put the reports of several uploads together."""
        raw = b"".join([reports.tobytes() for reports in together])
        size = together[0].dtype.itemsize
        return cls(raw, size, [raw[start : start + ID_BYTES] for start in range(0, len(raw), size)])

    def first_of(self, fresh: list[bytes]) -> NDArray[np.bool_]:
        """Return which reports have an id that is new; of those with the same id, the first one."""
        new = np.ones(len(self.ids), np.bool_)
        if len(fresh) < len(self.ids):
            left = set(fresh)
            for number, report_id in enumerate(self.ids):
                new[number] = report_id in left
                left.discard(report_id)
        return new

    def sorted_bytes(self, new: NDArray[np.bool_]) -> bytes:
        """Return these reports in the order of their ids: nobody is to see later in which order they arrived."""
        return b"".join(sorted([self.raw[k * self.size : (k + 1) * self.size] for k in np.flatnonzero(new)]))


Taken: TypeAlias = dict[int, tuple[str | None, list[bytes]]]
"""For each survey its state, None if there is no such survey, and which ids were not in the store before."""


def insert_new_sqlite(connection: sqlite3.Connection, unique: Mapping[int, list[bytes]], look_up: bool) -> Taken:
    """Insert the ids of open surveys. States cannot change before the transaction ends: SQLite has one writer.

    Nearly always all ids are new, and it is enough to count the inserted rows. Otherwise the transaction starts over
    with `look_up`. A savepoint would copy every page it touches, also for transactions in which all ids are new.
    """
    taken: Taken = {}
    for survey, ids in unique.items():
        state, noted_with = next(iter(connection.execute(_STATE, (survey,))), (None, 0))
        ids = ids if state == "open" else []
        if look_up:
            known: set[bytes] = set()
            for start in range(0, len(ids), _LOOKED_UP_AT_ONCE):
                part = ids[start : start + _LOOKED_UP_AT_ONCE]
                known.update(row[0] for row in connection.execute(_selection(len(part)), (survey, *part)))
            ids = [report_id for report_id in ids if report_id not in known]
        inserted = 0
        for start in range(0, len(ids), _INSERTED_AT_ONCE):
            part = ids[start : start + _INSERTED_AT_ONCE]
            inserted += connection.execute(_insertion(len(part)), (survey, noted_with, *part)).rowcount
        if inserted != len(ids):
            raise _SomeAreKnown
        taken[survey] = state, ids
    return taken


@cache
def _insertion(count: int) -> str:
    """Return the statement that inserts so many ids. SQLite runs it without Python's global lock."""
    rows = ", ".join(f"(?1, ?2, ?{place})" for place in range(3, count + 3))
    return f"INSERT OR IGNORE INTO {report_ids.name} (survey, slice, id) VALUES {rows}"  # noqa: S608  # our own name


@cache
def _selection(count: int) -> str:
    """Return the statement that looks for so many ids."""
    places = ", ".join(["?"] * count)
    return f"SELECT id FROM {report_ids.name} WHERE survey = ? AND id IN ({places})"  # noqa: S608  # our own name


def insert_new_postgresql(connection: psycopg.Connection, unique: Mapping[int, list[bytes]]) -> Taken:
    """Insert the ids of open surveys, whose states are locked. Waits for collectors that insert the same ids.

    All statements are sent before a reply is read: in the pipeline of `writing_by_driver` that is one round trip.
    """
    locked = connection.execute(_LOCKED_STATES, [list(unique)])
    inserted = {
        survey: connection.execute(_INSERT_IDS, (b"".join(ids), len(ids), survey, len(ids)))
        for survey, ids in unique.items()
    }
    states: dict[int, str] = dict(locked.fetchall())
    taken: Taken = {}
    for survey, ids in unique.items():
        (some,) = inserted[survey].fetchone() or (None,)
        fresh = (ids if some is None else some) if states.get(survey) == "open" else []
        taken[survey] = states.get(survey), fresh
    return taken
