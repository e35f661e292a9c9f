"""What waits to be sent to the webhooks of owners: each answer for everybody, a bounded number of times."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection, Engine, select, update

from hubbub.analysis.answer import Answer
from hubbub.errors import ParameterError
from hubbub.store.publications import Publication
from hubbub.store.schema import reading, surveys, writing
from hubbub.store.showing_tables import pages, published

WAITS: Final = (60, 600, 3_600, 21_600, 86_400)
"""Seconds between the tries to send an answer: there is one try more."""
_LONGEST: Final = 2_000
_PLAIN: Final = re.compile(r"[\x21-\x7e]+")


class Delivery(NamedTuple):
    """An answer that is to be sent now. The next try is noted already."""

    survey_id: bytes
    survey: int
    url: str
    secret: str
    is_last: bool
    made: Publication


def check_url(url: str) -> None:
    """Raise ParameterError unless this may be the address of a webhook. Where it leads is checked when it is used."""
    rule = "webhook must be an address such as https://hooks.example.org/hubbub"
    if len(url) > _LONGEST or _PLAIN.fullmatch(url) is None:
        raise ParameterError(f"{rule}, of at most {_LONGEST:,} ASCII characters, got something else")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ParameterError(f"{rule}, got something else") from None
    if parts.scheme != "https" or not host or port == 0:
        raise ParameterError(f"{rule}, got a scheme, host or port that does not fit")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ParameterError(f"{rule}, got one with a user, a password or a fragment")


def next_delivery(engine: Engine, now: int) -> Delivery | None:
    """Return an answer that is to be sent at this time, in seconds since 1970, if there is one; costs one short read.

    Whoever gets it has claimed it: others get it again after a wait, unless `delivered` is called.
    """
    asked = select(surveys.c.survey_id, pages.c.webhook, pages.c.secret, published)
    asked = asked.join(pages, pages.c.survey == published.c.survey).join(surveys, surveys.c.key == published.c.survey)
    asked = asked.where(published.c.next_try <= now, pages.c.webhook.is_not(None))
    asked = asked.order_by(published.c.next_try).limit(1)
    with reading(engine) as connection:
        row = connection.execute(asked).one_or_none()
    if row is None:
        return None
    mine = (published.c.survey == row.survey, published.c.until == row.until, published.c.next_try == row.next_try)
    is_last = row.tries >= len(WAITS)
    claimed = update(published).where(*mine)
    claimed = claimed.values(tries=row.tries + 1, next_try=None if is_last else now + WAITS[row.tries])
    with writing(engine) as connection:
        if not connection.execute(claimed).rowcount:  # another collector was first
            return None
    made = Publication(row.until, row.made, bool(row.final), Answer.from_document(json.loads(row.answer)))
    return Delivery(bytes(row.survey_id), row.survey, row.webhook, row.secret, is_last, made)


def delivered(engine: Engine, delivery: Delivery) -> None:
    """Note that an answer has arrived."""
    mine = (published.c.survey == delivery.survey, published.c.until == delivery.made.until)
    with writing(engine) as connection:
        connection.execute(update(published).where(*mine).values(next_try=None))


def forget_deliveries(connection: Connection, survey: int) -> None:
    """Send nothing that waits: the webhook has changed. The transaction is the caller's."""
    connection.execute(update(published).where(published.c.survey == survey).values(next_try=None))
