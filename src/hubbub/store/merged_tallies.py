"""Merges tallies from the owner into a survey's tally: each once, however often it is sent.

The sender names a merge by a key of its choice. The key and the SHA-256 of the body are written in the transaction that
replaces the tally, so a key is stored if and only if its tally was added.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import insert, select, update

from hubbub.errors import HubbubError, KeyReused, StoreDamaged, StoreUnavailable
from hubbub.model.tally import Tally
from hubbub.store.daily import add_to_day
from hubbub.store.schema import imports, reading, tallies, unknown_survey, writing
from hubbub.store.store import Store
from hubbub.wire.tally_file import encode_tally, parse_tally

_CONFLICTS: Final = 100


def merge_tally(store: Store, survey_id: bytes, key: str, digest: bytes, more: Tally) -> bool:
    """Add a tally to a survey's tally, once for each key. Costs reading and writing the survey's tally.

    Parameters
    ----------
    store : Store
        The store.
    survey_id : bytes
        The survey, open or closed.
    key : str
        The name of this merge, unique within the survey.
    digest : bytes
        SHA-256 of the body that held the tally.
    more : Tally
        The tally to add.

    Returns
    -------
    bool
        False if the same body was added under this key before; then nothing is changed.

    Raises
    ------
    KeyReused
        Another body was added under this key.
    """
    stored = store.survey(survey_id)
    for _ in range(_CONFLICTS):
        with reading(store.engine) as connection:
            mine = (imports.c.survey == stored.key, imports.c.key == key)
            known = connection.scalar(select(imports.c.digest).where(*mine))
            if known is not None:
                if bytes(known) != digest:
                    raise KeyReused(f"an idempotency key must be used for one body, got {key!r} with another body")
                return False
            row = connection.execute(select(tallies).where(tallies.c.survey == stored.key)).one_or_none()
            if row is None:
                raise unknown_survey(survey_id)
        try:
            before = parse_tally(row.tally, survey_id, stored.mechanism.cells_shape)
        except HubbubError as error:
            raise StoreDamaged(f"the stored tally of survey {survey_id.hex()[:8]} is damaged: {error}") from None
        after = before + more
        with writing(store.engine) as connection:
            changed = connection.execute(
                update(tallies)
                .where(tallies.c.survey == stored.key, tallies.c.version == row.version)
                .values(version=row.version + 1, tally=encode_tally(after), report_count=after.count)
            ).rowcount
            if changed:
                added = {"survey": stored.key, "key": key, "digest": digest, "reports": more.count}
                connection.execute(insert(imports).values(**added))
                add_to_day(connection, stored.key, more.count)
                return True
    raise StoreUnavailable(f"merging failed {_CONFLICTS} times, because others changed the tally at the same moment")
