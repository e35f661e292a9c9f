"""Read-only tokens: named, revocable, stored as hashes. Each is for all surveys, or for some.

A token reads the answers of its surveys, and changes nothing. It sees slices of time that have ended; the one that goes
on only if it is `live`. A deleted survey leaves the lists of all tokens.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sqlalchemy import Engine, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from hubbub.errors import ParameterError, StoreUnavailable, UnknownSite, shown
from hubbub.store.hashing import hash_of
from hubbub.store.schema import keys, questions, reading, sites, surveys, unknown_survey, writing
from hubbub.store.showing_tables import reader_sites, reader_surveys, readers

MOST_READERS: Final = 1_000
LONGEST_NAME: Final = 60
_ID_DIGITS: Final = 16


class Reader(NamedTuple):
    """A read-only token, without the token itself.

    Attributes
    ----------
    id : str
        The first 16 digits of its hash, by which it is revoked.
    name : str
        A name that the owner gave it: who has it.
    created : int
        Seconds since 1970.
    everything : bool
        Whether it is for all surveys, also for those made later.
    live : bool
        Whether it sees the slice that goes on, too.
    surveys : frozenset of str
        The ids of the surveys that it may read, in hex, if it is not for everything: those that were listed, and the
        questions of its sites.
    sites : frozenset of str
        The keys of its sites.
    """

    id: str
    name: str
    created: int
    everything: bool
    live: bool
    surveys: frozenset[str]
    sites: frozenset[str] = frozenset()

    def may_read(self, survey_id: str) -> bool:
        """Return whether the token is for this survey."""
        return self.everything or survey_id in self.surveys


def add_reader(
    engine: Engine,
    name: str,
    wanted: Iterable[bytes] | None,
    live: bool = False,
    of_sites: Iterable[str] | None = None,
) -> tuple[Reader, str]:
    """Make a token for the surveys of these ids and for all questions of these sites; return it with its text.

    Without either list it is for all surveys. The text cannot be read again: its hash is stored. Raises ParameterError
    if the name is taken or not plain, UnknownSurvey and UnknownSite.
    """
    name = name.strip()
    if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
        raise ParameterError(f"name must be a text of 1 to {LONGEST_NAME} characters, got name={shown(name)}")
    ids, keys_of_sites = list(dict.fromkeys(wanted or ())), list(dict.fromkeys(of_sites or ()))
    everything = wanted is None and of_sites is None
    if not (everything or ids or keys_of_sites):
        raise ParameterError("a token must be for some surveys or sites, or for all, got none")
    token = secrets.token_urlsafe(32)
    row = {"hash": hash_of(token), "name": name, "created": int(time.time()), "live": int(live)}
    try:
        with writing(engine) as connection:
            if (connection.scalar(select(func.count()).select_from(readers)) or 0) >= MOST_READERS:
                raise ParameterError(f"there must be at most {MOST_READERS:,} read-only tokens; revoke some")
            connection.execute(insert(readers).values(**row, everything=int(everything)))
            for survey_id in ids:
                mine = (surveys.c.survey_id == survey_id, surveys.c.state != "deleting")
                if (key := connection.scalar(select(surveys.c.key).where(*mine))) is None:
                    raise unknown_survey(survey_id)
                connection.execute(insert(reader_surveys).values(reader=row["hash"], survey=key))
            for site in keys_of_sites:
                if (number := connection.scalar(select(sites.c.key).where(sites.c.site == site))) is None:
                    raise UnknownSite("there is no site with this key")
                connection.execute(insert(reader_sites).values(reader=row["hash"], site=number))
    except StoreUnavailable as error:
        if isinstance(error.__cause__, IntegrityError):
            raise ParameterError(f"name must be new, got name={shown(name)} twice") from None
        raise
    return readers_by_hash(engine)[hash_of(token)], token


def readers_by_hash(engine: Engine) -> Mapping[str, Reader]:
    """Return all read-only tokens by their hashes, the oldest first. Costs four short reads, or one without any."""
    with reading(engine) as connection:
        rows = connection.execute(select(readers).order_by(readers.c.created, readers.c.name)).all()
        if not rows:
            return {}
        of_survey = surveys.c.key == reader_surveys.c.survey
        pairs = select(reader_surveys.c.reader, surveys.c.survey_id).join(surveys, of_survey)
        listed: dict[str, set[str]] = {}
        asked = select(reader_sites.c.reader, surveys.c.survey_id).join(
            questions, questions.c.site == reader_sites.c.site
        )
        asked = asked.join(surveys, surveys.c.key == questions.c.survey)
        for reader, survey_id in [*connection.execute(pairs), *connection.execute(asked)]:
            listed.setdefault(reader, set()).add(bytes(survey_id).hex())
        of_sites: dict[str, set[str]] = {}
        named = select(reader_sites.c.reader, sites.c.site).join(sites, sites.c.key == reader_sites.c.site)
        for reader, site in connection.execute(named):
            of_sites.setdefault(reader, set()).add(site)
    return {
        row.hash: Reader(
            row.hash[:_ID_DIGITS],
            row.name,
            row.created,
            bool(row.everything),
            bool(row.live),
            frozenset(listed.get(row.hash, ())),
            frozenset(of_sites.get(row.hash, ())),
        )
        for row in rows
    }


def revoke_reader(engine: Engine, reader_id: str) -> bool:
    """Make a token invalid and end the sessions that it opened; return whether there was one of this id."""
    with writing(engine) as connection:
        found = select(readers.c.hash).where(func.substr(readers.c.hash, 1, _ID_DIGITS) == reader_id)
        if (mine := connection.scalar(found)) is None:
            return False
        connection.execute(delete(readers).where(readers.c.hash == mine))
        for table in (reader_surveys, reader_sites):
            connection.execute(delete(table).where(table.c.reader == mine))
        connection.execute(delete(keys).where(keys.c.reader == mine))
    return True
