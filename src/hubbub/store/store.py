"""The store: one object for everything that a collector keeps. Threads and processes may share a database."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, TypeVar

import numpy as np
from sqlalchemy import Connection, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from hubbub.analysis.question import NO_NAMES, SurveyNames
from hubbub.errors import HubbubError, ParameterError, StoreDamaged, StoreUnavailable, SurveyClosed, UnknownSurvey
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.store.disk_guard import DiskGuard
from hubbub.store.folding import fold
from hubbub.store.migrations import prepare_schema, seconds_of, summary_of
from hubbub.store.names import add_names
from hubbub.store.schema import (
    meta,
    open_engine,
    pending,
    reading,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.store.sealing_keys import add_key, check_key
from hubbub.store.slices import ALL, Range, Slice, day_now, list_slices, slice_of, sum_between
from hubbub.wire.tally_file import encode_tally

log = logging.getLogger("hubbub.store")

_REMEMBERED_SECONDS: Final = 5.0
_MOST_REMEMBERED: Final = 4096
_HEARTBEAT_BYTES: Final = 4096
_HEARTBEAT: Final = text(  # a single statement, because other collectors write the same row
    f"INSERT INTO {meta.name} (name, value) VALUES ('heartbeat', :value) "  # noqa: S608  # our own name
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

T = TypeVar("T")
R = TypeVar("R")
Build: TypeAlias = Callable[[Survey], SurveyMechanism]
"""Makes the mechanism of a survey. It is `mechanism_for`, except in tests of the store."""

State: TypeAlias = Literal["not yet open", "open", "closed", "damaged", "earlier version"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyRow:
    """What every reader of the table of surveys gets: who a survey is, and when it takes reports.

    `key` is its number in this database, `survey_id` the SHA-256 of its document. Pages of its web `origins` may
    report; "*" is any. Times are as in its document, in UTC. It is `closed` if it was closed for good, by its owner or
    long after its time was over; a survey can also be closed by the clock alone, and is open again if the clock turns
    out to be wrong. `damage` is what is wrong with its tally; empty if nothing is known to be. An `earlier` survey was
    made by an earlier version of hubbub, and this one cannot read its reports: it is closed for good. Its slices have
    `slice_days`: 7 days or 1 day.
    """

    key: int
    survey_id: bytes
    origins: tuple[str, ...]
    opens: datetime | None
    closes: datetime | None
    closed: bool
    damage: str
    earlier: bool
    slice_days: int

    def state(self, now: datetime) -> State:
        """Return whether the survey takes reports at this time. Compares two times at most."""
        if self.damage:
            return "damaged"
        if self.earlier:
            return "earlier version"
        if self.closed or (self.closes is not None and self.closes <= now):
            return "closed"
        return "open" if self.opens is None or self.opens <= now else "not yet open"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSurvey(SurveyRow):
    """A stored survey with its canonical JSON. Its id is computed once, when it is read from the database.

    `built` is its mechanism, built and checked; None if an earlier version made it.
    """

    survey: Survey
    document: bytes
    built: SurveyMechanism | None

    def ended(self, now: datetime) -> int | None:
        """Return the day before which all slices have ended; None if all have.

        They have if the survey is closed and does not repeat: then its sums are final.
        """
        is_final = self.survey.every is None and self.state(now) == "closed"
        return None if is_final else slice_of(int(now.timestamp()) // 86_400, self.slice_days)

    @property
    def mechanism(self) -> SurveyMechanism:
        """Its mechanism. Raises SurveyClosed if an earlier version made it."""
        if self.built is None:
            raise SurveyClosed("the survey is of an earlier version of hubbub: use that version to read its tally")
        return self.built


class Store:
    """Everything that a collector keeps, in SQLite or PostgreSQL.

    Parameters
    ----------
    database : str
        The path of a SQLite file, or a URL.
    build : callable
        Makes the mechanism of a survey.
    create : bool
        Whether to create the file and the tables if they are missing. Otherwise StoreError is raised.

    Attributes
    ----------
    engine : Engine
        The connections, for the other modules of this package.
    guard : DiskGuard
        What is known about the room on its disk.
    has_spare_pages : bool
        Whether the file may still have the room of surveys that ended; the next `purge` gives it back to the disk.
    purged_to : dict
        How far a purge of old ids has come that ran out of time.
    """

    def __init__(self, database: str, build: Build = mechanism_for, create: bool = True) -> None:
        self.engine = open_engine(database, create)
        self.build = build
        self.guard = DiskGuard(self.engine)
        self.has_spare_pages = True  # an earlier process may have left some
        self.purged_to: dict[tuple[int, int], bytes] = {}  # by survey and slice: the last id that a purge looked at
        self._remembered: dict[str, tuple[float, StoredSurvey]] = {}  # by the id in hex, as URLs have it
        self._remembering = threading.Lock()
        self._forgotten = 0  # how often a state was forgotten
        try:
            prepare_schema(self.engine, create)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    # Surveys.

    def add_survey(
        self,
        survey: Survey,
        origins: Iterable[str] = ("*",),
        slice_days: int = 7,
        names: SurveyNames = NO_NAMES,
        also: Callable[[Connection, int], None] = lambda _connection, _key: None,
        private: bytes | None = None,
    ) -> StoredSurvey:
        """Add a survey with an empty tally, and return the stored survey.

        Its slices have 7 days or 1 day. Its names are spelled as it counts them. `also` gets the key of the new survey
        and does more in the same transaction. `private` is the private half of its key, if it goes through a relay.

        Raises ParameterError if the store has it already, or if its periods are not whole slices.
        """
        document, survey_id = survey.to_json(), survey.survey_id
        check_key(survey, private)
        if survey.every is not None and survey.every % slice_days:
            raise ParameterError(
                f"every must be whole slices of {slice_days} days, got every={survey.every}; slices may be days"
            )
        if Survey.from_json(document) != survey:  # one that cannot be read again would fail in every later call
            raise ParameterError(f"a survey must be readable from its own JSON, got one that is not: {survey.name!r}")
        empty = Tally(survey_id, 0, np.zeros(self.build(survey).cells_shape, np.int64))
        facts = json.loads(document)
        row = {
            "survey_id": survey_id,
            "document": document,
            "origins": json.dumps(list(origins)),
            "summary": summary_of(facts),
            "created": int(time.time()),
            "closes": seconds_of(facts["closes"]),
            "slice_days": slice_days,
            "id_slice": slice_of(day_now(), slice_days),
        }
        first = {"version": 0, "tally": encode_tally(empty), "slice": slice_of(day_now(), slice_days)}
        try:
            with writing(self.engine) as connection:
                added = insert(surveys).values(**row, state="open").returning(surveys.c.key)
                key = connection.execute(added).scalar_one()
                connection.execute(insert(tallies).values(survey=key, **first))
                add_names(connection, key, names)
                if private is not None:
                    add_key(connection, key, private)
                also(connection, key)
        except StoreUnavailable as error:
            if isinstance(error.__cause__, IntegrityError):
                raise ParameterError(f"a survey must be new, got {survey_id.hex()[:8]} twice") from None
            raise
        return self.survey(survey_id)

    def remembered(self, survey_id: str) -> StoredSurvey | None:
        """Return the survey of this id, in hex, if it was read in the last 5 seconds. Never waits for the database."""
        until, known = self._remembered.get(survey_id, (0.0, None))
        return known if time.monotonic() < until else None

    def survey(self, survey_id: bytes) -> StoredSurvey:
        """Return the survey of this id. Its state may be up to 5 seconds old.

        Raises UnknownSurvey if there is no such survey, or it is being deleted, and StoreDamaged if its document is
        damaged.
        """
        if (recent := self.remembered(survey_id.hex())) is not None:
            return recent
        with self._remembering:
            forgotten, (_, known) = self._forgotten, self._remembered.get(survey_id.hex(), (0.0, None))
        # A document never changes and may be long, so it is read once.
        columns = [column for column in surveys.c if known is None or column is not surveys.c.document]
        with reading(self.engine) as connection:
            row = connection.execute(select(*columns).where(surveys.c.survey_id == survey_id)).one_or_none()
        if row is None or row.state == "deleting" or (known is not None and known.key != row.key):
            self.forget_state(survey_id)
            if row is not None and row.state != "deleting":
                return self.survey(survey_id)  # deleted and made again
            raise unknown_survey(survey_id)
        if known is not None:
            survey, built, document = known.survey, known.built, known.document
        else:
            document = bytes(row.document)
            try:
                survey, built = self.load(survey_id, document, row.state)
            except HubbubError as error:
                self._mark_damaged(row.key, survey_id, row.damage or "", str(error))
                raise StoreDamaged(str(error)) from None
        stored = StoredSurvey(
            key=row.key,
            survey_id=survey_id,
            survey=survey,
            document=document,
            built=built,
            origins=tuple(json.loads(row.origins)),
            opens=survey.opens,
            closes=survey.closes,
            closed=row.state != "open",
            damage=row.damage or "",
            earlier=row.state == "earlier",
            slice_days=row.slice_days,
        )
        with self._remembering:
            if forgotten == self._forgotten:  # otherwise somebody may have changed it since it was read
                if len(self._remembered) >= _MOST_REMEMBERED:
                    self._remembered.clear()
                self._remembered[survey_id.hex()] = (time.monotonic() + _REMEMBERED_SECONDS, stored)
        return stored

    def load(self, survey_id: bytes, document: bytes, state: str) -> tuple[Survey, SurveyMechanism | None]:
        """Return the survey of a stored document, checked against its id, and its mechanism, if this version has it."""
        if hashlib.sha256(bytes(document)).digest() != survey_id:
            raise StoreDamaged(f"the stored survey {survey_id.hex()[:8]} is damaged: its document has another id")
        survey = Survey.from_json(bytes(document))
        return survey, None if state == "earlier" else self.build(survey)

    def forget_state(self, survey_id: bytes) -> None:
        """Forget the cached survey, so that it is read from the database next time."""
        with self._remembering:
            self._forgotten += 1
            self._remembered.pop(survey_id.hex(), None)

    # Tallies.

    def tally(self, survey_id: bytes, asked: Range = ALL) -> Tally:
        """Return the sums of all reports that were durable when this was called. Folds pending reports first.

        With a range, only those of its slices; this costs reading the slices on one side of the range. Raises
        StoreDamaged if the tally or its pending reports are not what was written. Then the survey is marked as damaged:
        it takes no reports until its tally is replaced.
        """
        stored = self.survey(survey_id)
        try:
            everything = fold(self.engine, stored.key, stored.mechanism, self.guard)
            if asked == ALL:
                return everything
            with reading(self.engine) as connection:
                return sum_between(connection, stored.key, survey_id, stored.mechanism.cells_shape, asked)
        except StoreDamaged as error:
            self._mark_damaged(stored.key, survey_id, stored.damage, str(error))
            raise

    def slices(self, survey_id: bytes) -> list[Slice]:
        """Return the slices of a survey that have reports, in their order. Folds pending reports first."""
        stored = self.survey(survey_id)
        self.tally(survey_id)
        with reading(self.engine) as connection:
            return list_slices(connection, stored.key, stored.slice_days)

    def _mark_damaged(self, key: int, survey_id: bytes, known: str, damage: str) -> None:
        """Store what is wrong with a survey, unless that is known already, so that no collector takes its reports."""
        if not known:
            log.error("survey %s is damaged and takes no reports: %s", survey_id.hex()[:8], damage)
            with suppress(StoreUnavailable), writing(self.engine) as connection:
                connection.execute(update(surveys).where(surveys.c.key == key).values(damage=damage))
            self.forget_state(survey_id)

    def fold_all(self) -> int:
        """Fold all pending reports, then remove the copies of them that the database keeps outside its tables.

        Returns the number of surveys that had some. A survey that fails does not stop the others: the first error is
        raised at the end.
        """
        foldable = (surveys.c.damage.is_(None), surveys.c.state != "earlier")
        with_pending = select(surveys.c.survey_id).where(surveys.c.key.in_(select(pending.c.survey)), *foldable)
        with reading(self.engine) as connection:
            waiting = [bytes(survey_id) for survey_id in connection.scalars(with_pending)]
        try:
            for_each(self.tally, waiting)
        finally:
            self.guard.remove_erased()
        return len(waiting)

    def heartbeat(self, size: int = 0) -> None:
        """Commit a row of `size` bytes, at least 4 KiB. Raises StoreUnavailable if nothing can be made durable now.

        It writes as an upload does: on a full disk, a smaller write, or one that is rolled back, could succeed.
        """
        with writing(self.engine) as connection:
            connection.execute(_HEARTBEAT, {"value": secrets.token_hex(max(size, _HEARTBEAT_BYTES) // 2)})

    @property
    def embedded(self) -> bool:
        """Whether the database is a SQLite file."""
        return self.engine.dialect.name == "sqlite"


def for_each(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Do `work` for every survey, also after one has failed; return the results, or raise the first HubbubError.

    A survey that has been deleted meanwhile has no result.
    """
    results, failure = [], None
    for item in items:
        try:
            results.append(work(item))
        except UnknownSurvey:
            continue
        except HubbubError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return results
