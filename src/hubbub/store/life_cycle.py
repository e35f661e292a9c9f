"""How a survey ends: it is closed or deleted at once, and its report ids are purged afterwards, little by little.

The states in the database are open → closing → closed, and deleting from any of them. `purge` takes a survey from
closing to closed, and removes one that is in deleting. Several collectors may do so at the same time. A survey of an
earlier version of hubbub is in the state earlier until it is deleted.

A survey whose time is over takes no reports, but stays in the state open, since clocks can be wrong. Only after a week
of grace does `end_by_the_clock` close it for good; then its report ids are deleted.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from sqlalchemy import delete, select, text, update

from hubbub.errors import UnknownSurvey
from hubbub.model.tally import Tally
from hubbub.store.erasing import shrink, vacuum
from hubbub.store.schema import (
    daily,
    imports,
    names,
    pending,
    questions,
    reading,
    releases,
    remembered,
    report_ids,
    sealing_keys,
    slices,
    surveys,
    tallies,
    unknown_survey,
    writing,
)
from hubbub.store.sealing_keys import erase_key
from hubbub.store.showing_tables import OF_SURVEYS
from hubbub.store.store import Store, for_each

log = logging.getLogger("hubbub.store")

GRACE_SECONDS: Final = 7 * 86_400
"""How long a survey's ids are kept after its time is over, so that a wrong clock does no harm."""

IDS_AT_ONCE = 20_000
"""Report ids that one transaction of `purge` deletes; other writers wait for it."""

Step: TypeAlias = Literal["delete", "vacuum", "shrink"]
"""What a purge does next: delete some ids, or give back the room of all that were deleted."""

_SHRINK_SECONDS: Final = 1.0
_BY_INDEX: Final = text(  # until the transaction ends. Old statistics could make PostgreSQL read all ids in each step
    "SELECT " + ", ".join(f"set_config('enable_{way}', 'off', true)" for way in ("seqscan", "bitmapscan", "sort"))
)
_BYTES_OF_AN_ID: Final = 64  # the most bytes that a transaction changes to delete an id


def close_survey(store: Store, survey_id: bytes) -> Tally:
    """Take no more reports for a survey, erase its key, and return its final tally.

    The next `purge` deletes the report ids.
    """
    stored = store.survey(survey_id)
    store.tally(survey_id)  # a damaged survey stays as it is, so that it can be restored
    # This waits for transactions that are appending to the survey, and none can begin after it.
    _change_state(store, stored.key, "open", "closing")
    store.forget_state(survey_id)
    return store.tally(survey_id)


def end_by_the_clock(store: Store, now: int, trusted: bool) -> None:
    """Note which surveys are over, and close for good those whose time of grace is over, too.

    `now` is in seconds since 1970. Unless the clock can be `trusted`, since it has been steady for a while, nothing is
    closed for good.
    """
    columns = (surveys.c.key, surveys.c.survey_id, surveys.c.closes, surveys.c.over_since)
    ended = (surveys.c.closes <= now) | surveys.c.over_since.is_not(None)
    with reading(store.engine) as connection:
        rows = connection.execute(select(*columns).where(surveys.c.state == "open", ended)).all()

    def look(key: int, survey_id: bytes, closes: int, since: int | None) -> None:
        """Update one survey."""
        over = closes <= now
        if not over or since is None or since > now:
            if not over:
                log.warning("survey %s is open again: the clock went back", survey_id.hex()[:8])
            with writing(store.engine) as connection:
                change = update(surveys).where(surveys.c.key == key).values(over_since=now if over else None)
                connection.execute(change)
            store.forget_state(survey_id)
        elif trusted and since + GRACE_SECONDS <= now:
            with suppress(UnknownSurvey):  # deleted a moment ago
                close_survey(store, survey_id)

    for_each(lambda row: look(row.key, bytes(row.survey_id), row.closes, row.over_since), rows)


def delete_survey(store: Store, survey_id: bytes) -> None:
    """Delete a survey with its tally and its pending reports. The next `purge` deletes the report ids.

    The survey's document is not read, so that a damaged survey can be deleted, too.
    """
    mine = (surveys.c.survey_id == survey_id, surveys.c.state != "deleting")
    with writing(store.engine) as connection:
        change = update(surveys).where(*mine).values(state="deleting").returning(surveys.c.key)
        if (key := connection.scalar(change)) is None:
            raise unknown_survey(survey_id)
        # The tally first, in the same order as in a fold: otherwise the two could wait for each other.
        emptied = (tallies, slices, pending, imports, daily, names, remembered, questions, releases, sealing_keys)
        for table in (*emptied, *OF_SURVEYS):
            connection.execute(delete(table).where(table.c.survey == key))
    store.guard.has_erased_rows = True
    store.forget_state(survey_id)


def purge(store: Store, seconds: float = math.inf, before_step: Callable[[Step], bool] = lambda _: True) -> bool:
    """Delete the report ids of surveys that are closing or deleting, and old ones; return True when nothing is left.

    Stops after about so many seconds, and before any step for which `before_step` returns False. A step that deletes
    takes well below a second; one that vacuums may take long. A survey that fails does not stop the others: the first
    error is raised at the end. The cost is that of the ids that are deleted: it depends on no statistics of the
    database.
    """
    deadline = time.monotonic() + seconds
    aged = select(surveys.c.key, surveys.c.ids_due).where(surveys.c.state == "open", surveys.c.ids_due.is_not(None))
    ending = select(surveys.c.key, surveys.c.survey_id, surveys.c.state).where(
        surveys.c.state.in_(["closing", "deleting"])
    )
    with reading(store.engine) as connection:
        rows, old = connection.execute(ending).all(), connection.execute(aged).all()
    if not rows and not old and not store.has_spare_pages:
        return True
    store.has_spare_pages = True
    try:
        done = for_each(
            lambda row: _purge_survey(store, row.key, bytes(row.survey_id), row.state, deadline, before_step), rows
        )
        done += for_each(lambda row: _purge_old_ids(store, row.key, row.ids_due, deadline, before_step), old)
    finally:
        given_back = before_step("shrink") and give_back(store, min(seconds, _SHRINK_SECONDS))
    return all(done) and given_back


def give_back(store: Store, seconds: float = _SHRINK_SECONDS) -> bool:
    """Give the disk back what the database does not use, for about this time. Returns True when nothing is left."""
    store.guard.remove_erased()
    done = shrink(store.engine, time.monotonic() + seconds, store.guard.step_bytes)
    store.has_spare_pages = not done
    store.guard.has_erased_rows = True  # the file becomes smaller when the log is emptied
    store.guard.remove_erased()
    return done


def _purge_survey(
    store: Store, key: int, survey_id: bytes, state: str, deadline: float, before_step: Callable[[Step], bool]
) -> bool:
    """Delete the ids of one survey, then end its life cycle. Returns False if it was stopped before."""
    if state == "closing":
        store.tally(survey_id)  # no report may be pending once its id is gone
    last: bytes | None = b""
    while last is not None:
        if not before_step("delete"):
            return False
        last = _drop_ids(store, key, last)
        store.guard.has_erased_rows = True
        if last is not None and time.monotonic() >= deadline:
            return False
    if not before_step("vacuum"):
        return False
    for table in (report_ids, sealing_keys):
        vacuum(store.engine, table)
    if state == "closing":
        _change_state(store, key, "closing", "closed")
    else:
        with writing(store.engine) as connection:
            connection.execute(delete(surveys).where(surveys.c.key == key))
    return True


def _purge_old_ids(store: Store, key: int, due: int, deadline: float, before_step: Callable[[Step], bool]) -> bool:
    """Delete the ids of slices up to one, of a survey that is open. Returns False if it was stopped before."""
    last: bytes | None = store.purged_to.pop((key, due), b"")
    while last is not None:
        store.purged_to[key, due] = last
        if not before_step("delete"):
            return False
        last = _drop_ids(store, key, last, due)
        store.guard.has_erased_rows = True
        if last is not None and time.monotonic() >= deadline:
            store.purged_to[key, due] = last
            return False
    del store.purged_to[key, due]
    if not before_step("vacuum"):
        return False
    vacuum(store.engine, report_ids)
    with writing(store.engine) as connection:
        mine = (surveys.c.key == key, surveys.c.ids_due == due)
        connection.execute(update(surveys).where(*mine).values(ids_due=None))
    return True


def _drop_ids(store: Store, key: int, after: bytes, due: int | None = None) -> bytes | None:
    """Delete the next ids of a survey after an id, in their order; look at `IDS_AT_ONCE` at most.

    With `due`, only those of slices up to this one. Returns the last of them; None if no more are left. Whoever goes on
    from there does not meet the deleted ids again, which PostgreSQL keeps until it vacuums.
    """
    mine = (report_ids.c.survey == key, report_ids.c.id > after)
    some = max(1, min(IDS_AT_ONCE, store.guard.step_bytes // _BYTES_OF_AN_ID))
    store.guard.require(store.guard.step_bytes)
    with writing(store.engine) as connection:
        if not store.embedded:
            connection.execute(_BY_INDEX)
        ordered = select(report_ids.c.id).where(*mine).order_by(report_ids.c.id)
        last = connection.scalar(ordered.offset(some - 1).limit(1))
        some_of = [] if last is None else [report_ids.c.id <= last]
        old = [] if due is None else [report_ids.c.slice <= due]
        gone = connection.execute(delete(report_ids).where(*mine, *some_of, *old)).rowcount
        if due is not None and gone:
            added = update(surveys).where(surveys.c.key == key).values(ids_purged=surveys.c.ids_purged + gone)
            connection.execute(added)
    return None if last is None else bytes(last)


def _change_state(store: Store, key: int, before: str, after: str) -> None:
    """Set the state of a survey if it is `before`; otherwise do nothing. One that is no longer open has no key."""
    with writing(store.engine) as connection:
        where = (surveys.c.key == key, surveys.c.state == before)
        connection.execute(update(surveys).where(*where).values(state=after))
        erase_key(connection, key)
    store.guard.has_erased_rows = True
