"""Keys of surveys through a relay: one pair for each survey, made with it and erased when it closes or is deleted.

The private half is in this table only, and in copies of the store, which are files that only their owner may read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, delete, insert, select

from hubbub.errors import ParameterError
from hubbub.model.relayed import RELAY
from hubbub.model.survey import Survey
from hubbub.sealing.hpke import PrivateKey, make_private
from hubbub.sealing.request import key_hash
from hubbub.store.schema import reading, sealing_keys, surveys


def new_key(crowd: int) -> tuple[bytes, dict[str, Any]]:
    """Return a new private key, and the facts of a survey whose reports are sealed for it: through, crowd and key."""
    private = make_private()
    return private, {"through": RELAY, "crowd": crowd, "key": key_hash(PrivateKey(private).public).hex()}


class SealingKey(NamedTuple):
    """The private half of a key, and the id of the survey whose reports are sealed with the other half."""

    private: PrivateKey
    survey_id: bytes


def check_key(survey: Survey, private: bytes | None) -> None:
    """Raise ParameterError unless a survey through a relay comes with the private half of its key, others with none."""
    named = None if private is None else key_hash(PrivateKey(private).public).hex()
    if survey.key != named:
        raise ParameterError("a survey through a relay must be stored with the private half of its key, got another")


def add_key(connection: Connection, survey: int, private: bytes) -> None:
    """Store the key of a new survey. The transaction is the caller's."""
    public = PrivateKey(private).public
    row = {"survey": survey, "hash": key_hash(public).hex(), "public": public, "private": private}
    connection.execute(insert(sealing_keys).values(**row))


def erase_key(connection: Connection, survey: int) -> None:
    """Delete the key of a survey, if it has one: what was sealed with it can never be opened again."""
    connection.execute(delete(sealing_keys).where(sealing_keys.c.survey == survey))


def public_half(engine: Engine, named: str) -> bytes | None:
    """Return the public key of this hash, in hex; None if there is none, or it was erased."""
    with reading(engine) as connection:
        found = connection.scalar(select(sealing_keys.c.public).where(sealing_keys.c.hash == named))
    return None if found is None else bytes(found)


def sealing_key(engine: Engine, named: bytes) -> SealingKey | None:
    """Return the key of this hash; None if there is none, or it was erased. Costs one read and about 0.1 ms."""
    columns = (sealing_keys.c.private, surveys.c.survey_id)
    found = select(*columns).join(surveys, surveys.c.key == sealing_keys.c.survey)
    with reading(engine) as connection:
        row = connection.execute(found.where(sealing_keys.c.hash == named.hex())).one_or_none()
    return None if row is None else SealingKey(PrivateKey(bytes(row.private)), bytes(row.survey_id))
