"""Merges tallies from the owner into a survey's tally: each once, however often it is sent.

The sender names a merge by a key of its choice. The key and the SHA-256 of the body are written in the transaction that
replaces the tally, so a key is stored if and only if its tally was added.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from hubbub.errors import KeyReused
from hubbub.model.tally import Tally
from hubbub.store.schema import imports
from hubbub.store.slices import day_now, slice_of
from hubbub.store.store import Store
from hubbub.store.stored_tallies import Change, change_tally


def merge_tally(store: Store, survey_id: bytes, key: str, digest: bytes, more: Tally, day: int | None = None) -> bool:
    """Add a tally to a survey's tally, open or closed, once for each key. Costs reading and writing the survey's tally.

    `digest` is the SHA-256 of the body that held the tally, and `day` a day since 1970 of the slice that it belongs to;
    today, if it is not given. Returns False, and changes nothing, if the same body was added under this key before.
    Raises KeyReused if another one was.
    """
    stored = store.survey(survey_id)
    start = slice_of(day_now() if day is None else day, stored.slice_days)

    def look(connection: Connection) -> Change | None:
        """Look whether the key is known."""
        mine = (imports.c.survey == stored.key, imports.c.key == key)
        known = connection.scalar(select(imports.c.digest).where(*mine))
        if known is None:
            return Change(start, lambda tally: tally + more, write)
        if bytes(known) != digest:
            raise KeyReused(f"an idempotency key must be used for one body, got {key!r} with another body")
        return None

    def write(connection: Connection) -> None:
        """Write the key."""
        added = {"survey": stored.key, "key": key, "digest": digest, "reports": more.count}
        connection.execute(insert(imports).values(**added))

    return change_tally(store.engine, stored.key, stored.mechanism, look)[1]
