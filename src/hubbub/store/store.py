"""The store: one object for everything a collector keeps. Safe to use from several threads and processes."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeAlias

import numpy as np
from sqlalchemy import Row, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from hubbub.errors import HubbubError, ParameterError, StoreError, StoreUnavailable, UnknownSurvey
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.store import folding, reports
from hubbub.store.schema import (
    is_sqlite,
    meta,
    open_engine,
    pending,
    prepare_schema,
    reading,
    report_ids,
    surveys,
    tallies,
    writing,
)
from hubbub.wire.tally_file import encode_tally

log = logging.getLogger("hubbub.store")

_REMEMBERED_SECONDS: Final = 5.0
_MOST_REMEMBERED: Final = 256
_IDS_DROPPED_AT_ONCE: Final = 20_000
_PROBE: Final = text(  # one statement, because other collectors write the same row
    f"INSERT INTO {meta.name} (name, value) VALUES ('probe', :value) "  # noqa: S608  # our own name
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Build: TypeAlias = Callable[[Survey], SurveyMechanism]
"""How a survey becomes its mechanism: the closed registry, but for tests of the store itself."""


@dataclass(frozen=True, slots=True)
class StoredSurvey:
    """A survey as the store has it.

    Attributes
    ----------
    key : int
        Its number in this database.
    survey : Survey
        The public facts.
    document : bytes
        Its canonical JSON.
    mechanism : SurveyMechanism
        Its mechanism, built and checked.
    origins : tuple of str
        Web origins whose pages may report; "*" is any.
    closed : bool
        Whether it takes no more reports, whatever the clock says.
    """

    key: int
    survey: Survey
    document: bytes
    mechanism: SurveyMechanism
    origins: tuple[str, ...]
    closed: bool


class Store:
    """What a collector keeps, in SQLite or PostgreSQL."""

    def __init__(self, database: str, build: Build = mechanism_for) -> None:
        self.engine = open_engine(database)
        self.build = build
        self._to_forget = True  # whether the database may hold copies of what was erased
        self._remembered: dict[bytes, tuple[float, StoredSurvey]] = {}
        try:
            prepare_schema(self.engine)
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

    # The owner.

    def make_first_token(self) -> str | None:
        """The owner's token if there was none yet; it cannot be read again, only its hash is kept."""
        with reading(self.engine) as connection:
            if connection.scalar(select(meta.c.value).where(meta.c.name == "owner_token")) is not None:
                return None
        token = secrets.token_urlsafe(32)
        try:
            with writing(self.engine) as connection:
                connection.execute(insert(meta).values(name="owner_token", value=_hash(token)))
        except StoreUnavailable as error:
            if isinstance(error.__cause__, IntegrityError):  # another collector was first
                return None
            raise
        return token

    def replace_token(self) -> str:
        """A new token for the owner; the old one is worth nothing from now on."""
        token = secrets.token_urlsafe(32)
        with writing(self.engine) as connection:
            connection.execute(delete(meta).where(meta.c.name == "owner_token"))
            connection.execute(insert(meta).values(name="owner_token", value=_hash(token)))
        return token

    def is_owner(self, token: str) -> bool:
        """Whether this is the owner's token."""
        with reading(self.engine) as connection:
            stored = connection.scalar(select(meta.c.value).where(meta.c.name == "owner_token"))
        return stored is not None and hmac.compare_digest(stored, _hash(token))

    # Surveys.

    def add_survey(self, survey: Survey, origins: Sequence[str] = ("*",)) -> StoredSurvey:
        """Keep a survey, with a tally of nobody."""
        document = survey.to_json()
        if Survey.from_json(document) != survey:  # one that cannot be read again would be in everybody's way
            raise ParameterError(f"a survey must be read as it is written, got another for {survey.name!r}")
        mechanism = self.build(survey)
        empty = Tally(survey.survey_id, 0, np.zeros(mechanism.cells_shape, np.int64))
        row = {
            "survey_id": survey.survey_id,
            "document": document,
            "origins": json.dumps(list(origins)),
            "state": "open",
        }
        try:
            with writing(self.engine) as connection:
                key = connection.execute(insert(surveys).values(**row).returning(surveys.c.key)).scalar_one()
                connection.execute(insert(tallies).values(survey=key, version=0, tally=encode_tally(empty)))
        except StoreUnavailable as error:
            if isinstance(error.__cause__, IntegrityError):
                raise ParameterError(f"a survey must be new, got {survey.survey_id.hex()[:8]} twice") from None
            raise
        return self.survey(survey.survey_id)

    def remembered(self, survey_id: bytes) -> StoredSurvey | None:
        """The survey of this id if it was looked up in the last seconds; never waits."""
        until, known = self._remembered.get(survey_id, (0.0, None))
        return known if time.monotonic() < until else None

    def survey(self, survey_id: bytes) -> StoredSurvey:
        """The survey of this id; what is remembered of its state may be a few seconds old."""
        if (recent := self.remembered(survey_id)) is not None:
            return recent
        _, known = self._remembered.get(survey_id, (0.0, None))
        with reading(self.engine) as connection:
            row = connection.execute(select(surveys).where(surveys.c.survey_id == survey_id)).one_or_none()
        if row is None or row.state == "deleting":
            self.forget_state(survey_id)
            raise UnknownSurvey(f"no survey of this id is here, got {survey_id.hex()[:8]}")
        stored = self._loaded(row, known)
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[survey_id] = (time.monotonic() + _REMEMBERED_SECONDS, stored)
        return stored

    def forget_state(self, survey_id: bytes) -> None:
        """Look the survey up again when it is next asked for."""
        self._remembered.pop(survey_id, None)

    def all_surveys(self) -> list[StoredSurvey]:
        """All surveys that can be read, the oldest first; the log and `check` name those that cannot."""
        with reading(self.engine) as connection:
            ids = list(
                connection.scalars(
                    select(surveys.c.survey_id).where(surveys.c.state != "deleting").order_by(surveys.c.key)
                )
            )
        found = []
        for survey_id in ids:
            try:
                found.append(self.survey(bytes(survey_id)))
            except StoreUnavailable:
                raise
            except UnknownSurvey:
                pass  # deleted a moment ago
            except HubbubError as error:
                log.warning("the survey %s cannot be read: %s", bytes(survey_id).hex(), error)
        return found

    def _loaded(self, row: Row[tuple[int, bytes, bytes, str, str]], known: StoredSurvey | None) -> StoredSurvey:
        if known is None or known.key != row.key:
            survey = Survey.from_json(bytes(row.document))
            if survey.survey_id != bytes(row.survey_id):
                raise StoreError(f"a stored survey must match its id, got another for {bytes(row.survey_id).hex()[:8]}")
            mechanism = self.build(survey)
        else:
            survey, mechanism = known.survey, known.mechanism
        closed = row.state != "open"
        return StoredSurvey(row.key, survey, bytes(row.document), mechanism, tuple(json.loads(row.origins)), closed)

    def close_survey(self, survey_id: bytes) -> Tally:
        """Take no more reports; the final tally. The ids are dropped by the next `tidy`."""
        stored = self.survey(survey_id)
        self._change_state(stored, "open", "closing")
        return self.tally(survey_id)

    def delete_survey(self, survey_id: bytes) -> None:
        """Forget a survey with everything that belongs to it; its ids are dropped by the next `tidy`."""
        mine = (surveys.c.survey_id == survey_id, surveys.c.state != "deleting")
        with writing(self.engine) as connection:  # never reads the document, so that a damaged one can go, too
            change = update(surveys).where(*mine).values(state="deleting").returning(surveys.c.key)
            if (key := connection.scalar(change)) is None:
                raise UnknownSurvey(f"no survey of this id is here, got {survey_id.hex()[:8]}")
            # The tally first, as a fold does, so that the two cannot wait for each other.
            connection.execute(delete(tallies).where(tallies.c.survey == key))
            connection.execute(delete(pending).where(pending.c.survey == key))
        self._to_forget = True
        self.forget_state(survey_id)

    def _change_state(self, stored: StoredSurvey, before: str, after: str) -> None:
        # Waits for transactions that append to the survey, and none begins after it.
        with writing(self.engine) as connection:
            where = (surveys.c.key == stored.key, surveys.c.state == before)
            connection.execute(update(surveys).where(*where).values(state=after))
        self.forget_state(stored.survey.survey_id)

    # Reports and tallies.

    def append(self, batches: Sequence[reports.Batch]) -> list[reports.Outcome]:
        """Make reports durable, each id once; see `hubbub.store.reports.append`."""
        return reports.append(self.engine, batches)

    def tally(self, survey_id: bytes) -> Tally:
        """The sums of every report that was durable when this was called."""
        stored = self.survey(survey_id)
        tally, erased = folding.fold(self.engine, stored.key, survey_id, stored.mechanism)
        if erased:
            self._to_forget = True
        return tally

    def fold_all(self) -> int:
        """Fold whatever is pending, and take away what a database keeps of it; how many surveys had something.

        A survey that cannot be folded does not keep the others from it; the first such error is raised at the end.
        """
        failure: HubbubError | None = None
        waiting = folding.surveys_with_pending(self.engine)
        for survey_id in waiting:
            try:
                self.tally(survey_id)
            except HubbubError as error:
                failure = failure or error
        if self._to_forget:
            self._to_forget = False  # before, because an answer may erase something meanwhile
            forgotten = False
            try:
                forgotten = folding.forget(self.engine)
            finally:
                if not forgotten:
                    self._to_forget = True
        if failure is not None:
            raise failure
        return len(waiting)

    def tidy(self, seconds: float = math.inf) -> bool:
        """Go on with surveys that are being closed or deleted, for about so long; whether all is done.

        Their ids are dropped, a few thousand at a time.
        """
        deadline, done = time.monotonic() + seconds, True
        with reading(self.engine) as connection:
            rows = connection.execute(
                select(surveys.c.key, surveys.c.survey_id, surveys.c.state).where(
                    surveys.c.state.in_(["closing", "deleting"])
                )
            ).all()
        failure: HubbubError | None = None
        for key, survey_id, state in rows:
            try:
                done &= self._tidy(key, bytes(survey_id), state, deadline)
            except HubbubError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return done

    def _tidy(self, key: int, survey_id: bytes, state: str, deadline: float) -> bool:
        if state == "closing":
            self.tally(survey_id)  # nothing may wait when the ids are gone
        while self._drop_ids(key):
            self._to_forget = True
            if time.monotonic() >= deadline:
                return False
        folding.forget_ids(self.engine)
        with writing(self.engine) as connection:
            if state == "closing":
                where = (surveys.c.key == key, surveys.c.state == "closing")
                connection.execute(update(surveys).where(*where).values(state="closed"))
            else:
                connection.execute(delete(surveys).where(surveys.c.key == key))
        return True

    def _drop_ids(self, key: int) -> bool:
        """Drop some ids of a survey; whether there were any. Another collector may be at it, too."""
        ids = select(report_ids.c.id).where(report_ids.c.survey == key)
        with writing(self.engine) as connection:
            if connection.scalar(ids.limit(1)) is None:
                return False
            some = ids.limit(_IDS_DROPPED_AT_ONCE)
            connection.execute(delete(report_ids).where(report_ids.c.survey == key, report_ids.c.id.in_(some)))
        return True

    def probe(self) -> None:
        """Write something small: raises StoreUnavailable when nothing can be made durable now."""
        with writing(self.engine) as connection:
            connection.execute(_PROBE, {"value": secrets.token_hex(4)})

    @property
    def embedded(self) -> bool:
        """Whether this is a file of SQLite."""
        return is_sqlite(self.engine)


def _hash(token: str) -> str:
    """A token has 256 random bits, so one pass of SHA-256 is enough."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
