"""How a survey ends: it is closed or deleted at once, and its report ids are purged afterwards, little by little.

The states in the database are open → closing → closed, and deleting from any of them. `purge` takes a survey from
closing to closed, and removes one that is in deleting. Several collectors may do so at the same time.
"""

from __future__ import annotations

import math
import time

from sqlalchemy import delete, select, update

from hubbub.model.tally import Tally
from hubbub.store import folding
from hubbub.store.schema import pending, reading, report_ids, surveys, tallies, unknown_survey, writing
from hubbub.store.store import Store, for_each

IDS_AT_ONCE = 20_000
"""Report ids that one transaction of `purge` deletes; other writers wait for it."""


def close_survey(store: Store, survey_id: bytes) -> Tally:
    """Take no more reports for a survey, and return its final tally. The next `purge` deletes the report ids."""
    stored = store.survey(survey_id)
    # This waits for transactions that are appending to the survey, and none can begin after it.
    _change_state(store, stored.key, "open", "closing")
    store.forget_state(survey_id)
    return store.tally(survey_id)


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
        connection.execute(delete(tallies).where(tallies.c.survey == key))
        connection.execute(delete(pending).where(pending.c.survey == key))
    store.has_erased_rows = True
    store.forget_state(survey_id)


def purge(store: Store, seconds: float = math.inf) -> bool:
    """Delete the report ids of surveys that are closing or deleting.

    A survey that fails does not stop the others: the first error is raised at the end.

    Parameters
    ----------
    store : Store
        The store.
    seconds : float
        Stop after about this time. What is left is done by the next call.

    Returns
    -------
    bool
        True when nothing is left to do.
    """
    deadline = time.monotonic() + seconds
    ending = select(surveys.c.key, surveys.c.survey_id, surveys.c.state).where(
        surveys.c.state.in_(["closing", "deleting"])
    )
    with reading(store.engine) as connection:
        rows = connection.execute(ending).all()
    return all(for_each(lambda row: _purge_survey(store, row.key, bytes(row.survey_id), row.state, deadline), rows))


def _purge_survey(store: Store, key: int, survey_id: bytes, state: str, deadline: float) -> bool:
    """Delete the ids of one survey, then end its life cycle. Returns False if the time ran out before."""
    if state == "closing":
        store.tally(survey_id)  # no report may be pending once its id is gone
    while _drop_ids(store, key):
        store.has_erased_rows = True
        if time.monotonic() >= deadline:
            return False
    folding.vacuum_ids(store.engine)
    if state == "closing":
        _change_state(store, key, "closing", "closed")
    else:
        with writing(store.engine) as connection:
            connection.execute(delete(surveys).where(surveys.c.key == key))
    return True


def _drop_ids(store: Store, key: int) -> bool:
    """Delete up to `IDS_AT_ONCE` ids of a survey. Returns False if there were none."""
    ids = select(report_ids.c.id).where(report_ids.c.survey == key)
    with writing(store.engine) as connection:
        if connection.scalar(ids.limit(1)) is None:
            return False
        some = ids.limit(IDS_AT_ONCE)
        connection.execute(delete(report_ids).where(report_ids.c.survey == key, report_ids.c.id.in_(some)))
    return True


def _change_state(store: Store, key: int, before: str, after: str) -> None:
    """Set the state of a survey if it is `before`; otherwise do nothing."""
    with writing(store.engine) as connection:
        where = (surveys.c.key == key, surveys.c.state == before)
        connection.execute(update(surveys).where(*where).values(state=after))
