"""The store: one object for everything that a collector keeps. Threads and processes may share a database."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias, TypeVar

import numpy as np
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError

from hubbub.errors import HubbubError, ParameterError, StoreError, StoreUnavailable, UnknownSurvey
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.store import folding
from hubbub.store.schema import (
    is_sqlite,
    meta,
    open_engine,
    prepare_schema,
    reading,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.wire.tally_file import encode_tally

log = logging.getLogger("hubbub.store")

_REMEMBERED_SECONDS: Final = 5.0
_MOST_REMEMBERED: Final = 256
_PROBE: Final = text(  # a single statement, because other collectors write the same row
    f"INSERT INTO {meta.name} (name, value) VALUES ('probe', :value) "  # noqa: S608  # our own name
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

T = TypeVar("T")
R = TypeVar("R")
Build: TypeAlias = Callable[[Survey], SurveyMechanism]
"""Makes the mechanism of a survey. It is `mechanism_for`, except in tests of the store."""

State: TypeAlias = Literal["not yet open", "open", "closed"]


@dataclass(frozen=True, slots=True)
class StoredSurvey:
    """A survey as the store has it. Its id is computed once, when it is read from the database.

    Attributes
    ----------
    key : int
        Its number in this database.
    survey_id : bytes
        The SHA-256 of the document.
    survey : Survey
        The public facts.
    document : bytes
        Its canonical JSON.
    mechanism : SurveyMechanism
        Its mechanism, built and checked.
    origins : tuple of str
        Web origins whose pages may report; "*" is any.
    closed : bool
        Whether it was closed by the owner or by a collector, whatever the clock says.
    """

    key: int
    survey_id: bytes
    survey: Survey
    document: bytes
    mechanism: SurveyMechanism
    origins: tuple[str, ...]
    closed: bool

    def state(self, now: datetime) -> State:
        """Return whether the survey takes reports at this time. Compares two times at most."""
        opens, closes = self.survey.opens, self.survey.closes
        if self.closed or (closes is not None and closes <= now):
            return "closed"
        return "open" if opens is None or opens <= now else "not yet open"


class Store:
    """What a collector keeps, in SQLite or PostgreSQL.

    Parameters
    ----------
    database : str
        The path of a SQLite file, or a URL. The tables are made if the database is empty.
    build : callable
        Makes the mechanism of a survey.

    Attributes
    ----------
    engine : Engine
        The connections, for the other modules of this package.
    has_erased_rows : bool
        Whether the database may still hold copies of rows that were deleted; the next `fold_all` removes them.
    """

    def __init__(self, database: str, build: Build = mechanism_for) -> None:
        self.engine = open_engine(database)
        self.build = build
        self.has_erased_rows = True  # an earlier process may have left some
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

    # Surveys.

    def add_survey(self, survey: Survey, origins: Iterable[str] = ("*",)) -> StoredSurvey:
        """Add a survey with an empty tally, and return it as it is stored.

        Raises
        ------
        ParameterError
            The survey is in the store already.
        """
        document, survey_id = survey.to_json(), survey.survey_id
        if Survey.from_json(document) != survey:  # one that cannot be read again would fail in every later call
            raise ParameterError(f"a survey must be readable from its own JSON, got one that is not: {survey.name!r}")
        empty = Tally(survey_id, 0, np.zeros(self.build(survey).cells_shape, np.int64))
        row = {"survey_id": survey_id, "document": document, "origins": json.dumps(list(origins))}
        try:
            with writing(self.engine) as connection:
                added = insert(surveys).values(**row, state="open").returning(surveys.c.key)
                key = connection.execute(added).scalar_one()
                connection.execute(insert(tallies).values(survey=key, version=0, tally=encode_tally(empty)))
        except StoreUnavailable as error:
            if isinstance(error.__cause__, IntegrityError):
                raise ParameterError(f"a survey must be new, got {survey_id.hex()[:8]} twice") from None
            raise
        return self.survey(survey_id)

    def remembered(self, survey_id: bytes) -> StoredSurvey | None:
        """Return the survey if it was read in the last 5 seconds, else None. Never waits for the database."""
        until, known = self._remembered.get(survey_id, (0.0, None))
        return known if time.monotonic() < until else None

    def survey(self, survey_id: bytes) -> StoredSurvey:
        """Return the survey of this id. Its state may be up to 5 seconds old.

        Raises
        ------
        UnknownSurvey
            There is no such survey, or it is being deleted.
        StoreError
            Its document is damaged.
        """
        if (recent := self.remembered(survey_id)) is not None:
            return recent
        with reading(self.engine) as connection:
            row = connection.execute(select(surveys).where(surveys.c.survey_id == survey_id)).one_or_none()
        if row is None or row.state == "deleting":
            self.forget_state(survey_id)
            raise unknown_survey(survey_id)
        _, known = self._remembered.get(survey_id, (0.0, None))
        if known is not None and known.key == row.key:  # a document never changes
            survey, mechanism = known.survey, known.mechanism
        else:
            survey, mechanism = self.load(survey_id, row.document)
        origins, closed = tuple(json.loads(row.origins)), row.state != "open"
        stored = StoredSurvey(row.key, survey_id, survey, bytes(row.document), mechanism, origins, closed)
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[survey_id] = (time.monotonic() + _REMEMBERED_SECONDS, stored)
        return stored

    def load(self, survey_id: bytes, document: bytes) -> tuple[Survey, SurveyMechanism]:
        """Return the survey that a stored document describes, and its mechanism; check both against the id."""
        survey = Survey.from_json(bytes(document))
        if survey.survey_id != survey_id:
            raise StoreError(f"the stored survey {survey_id.hex()[:8]} is damaged: its document has another id")
        return survey, self.build(survey)

    def forget_state(self, survey_id: bytes) -> None:
        """Read the survey from the database when it is next asked for."""
        self._remembered.pop(survey_id, None)

    def all_surveys(self) -> list[StoredSurvey]:
        """Return all surveys that can be read, the oldest first. The log names those that cannot."""
        query = select(surveys.c.survey_id).where(surveys.c.state != "deleting").order_by(surveys.c.key)
        with reading(self.engine) as connection:
            ids = list(connection.scalars(query))
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

    # Tallies.

    def tally(self, survey_id: bytes) -> Tally:
        """Return the sums of all reports that were durable when this was called. Folds pending reports first."""
        stored = self.survey(survey_id)
        tally, erased = folding.fold(self.engine, stored.key, survey_id, stored.mechanism)
        if erased:
            self.has_erased_rows = True
        return tally

    def fold_all(self) -> int:
        """Fold all pending reports, then remove the copies of them that the database keeps outside its tables.

        A survey that fails does not stop the others: the first error is raised at the end.

        Returns
        -------
        int
            The number of surveys that had pending reports.
        """
        waiting = folding.surveys_with_pending(self.engine)
        try:
            for_each(self.tally, waiting)
        finally:
            if self.has_erased_rows:
                self.has_erased_rows = False  # first, because another thread may erase rows meanwhile
                removed = False
                try:
                    removed = folding.remove_erased(self.engine)
                finally:
                    if not removed:
                        self.has_erased_rows = True
        return len(waiting)

    def probe(self) -> None:
        """Write one small row. Raises StoreUnavailable when nothing can be made durable now."""
        with writing(self.engine) as connection:
            connection.execute(_PROBE, {"value": secrets.token_hex(4)})

    @property
    def embedded(self) -> bool:
        """Whether the database is a SQLite file."""
        return is_sqlite(self.engine)


def for_each(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Do `work` for every item, also after one has failed; return the results, or raise the first HubbubError."""
    results, failure = [], None
    for item in items:
        try:
            results.append(work(item))
        except HubbubError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return results
