"""What the owner decides about the public page of a survey: whether its answer is shown, and in which words."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sqlalchemy import Engine, delete, insert, select

from hubbub.analysis.public_words import TEXTS
from hubbub.errors import ParameterError, shown
from hubbub.store.schema import reading, tallies, unknown_survey, writing
from hubbub.store.showing_tables import pages
from hubbub.store.store import StoredSurvey
from hubbub.store.webhooks import check_url, forget_deliveries

MOST_HIDDEN: Final = 1_000
LONGEST_TEXT: Final = 4_000
_LANG: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")


class Page(NamedTuple):
    """What the owner decided about the public page of a survey.

    Attributes
    ----------
    shown : bool
        Whether everybody sees the answer about slices of time that have ended.
    hidden : tuple of str
        Values that nobody is shown.
    lang : str
        The language of `texts`, as HTML names it: de, pt-BR; empty for English.
    texts : mapping
        What the owner says instead of hubbub's words, by the names of `TEXTS`.
    webhook : str or None
        Where each answer that is shown is sent, too.
    """

    shown: bool = False
    hidden: tuple[str, ...] = ()
    lang: str = ""
    texts: Mapping[str, str] = {}
    webhook: str | None = None


def page_of(engine: Engine, survey: int) -> Page:
    """Return the page of the survey with this key. Costs one short read."""
    with reading(engine) as connection:
        row = connection.execute(select(pages).where(pages.c.survey == survey)).one_or_none()
    if row is None:
        return Page()
    return Page(bool(row.shown), tuple(json.loads(row.hidden)), row.lang, json.loads(row.texts), row.webhook)


def change_page(engine: Engine, stored: StoredSurvey, page: Page) -> str | None:
    """Replace the page of a survey; return the secret of its webhook if that is a new address, else None."""
    if page.webhook is not None:
        check_url(page.webhook)
    row = {
        "survey": stored.key,
        "shown": int(page.shown),
        "hidden": json.dumps(_hidden(page.hidden), ensure_ascii=False),
        "lang": _lang(page.lang),
        "texts": json.dumps(_texts(page.texts), ensure_ascii=False),
        "webhook": page.webhook,
    }
    with writing(engine) as connection:
        # Whoever changes it waits for others who do, and for whoever deletes the survey.
        locked = select(tallies.c.survey).where(tallies.c.survey == stored.key).with_for_update()
        if connection.scalar(locked) is None:
            raise unknown_survey(stored.survey_id)
        old = connection.execute(
            select(pages.c.webhook, pages.c.secret).where(pages.c.survey == stored.key)
        ).one_or_none()
        is_new = page.webhook is not None and (old is None or old.webhook != page.webhook)
        made = secrets.token_urlsafe(32) if is_new else None
        if is_new or page.webhook is None:
            forget_deliveries(connection, stored.key)
        kept = None if old is None or page.webhook is None else old.secret
        connection.execute(delete(pages).where(pages.c.survey == stored.key))
        connection.execute(insert(pages).values(**row, secret=made or kept))
    return made


def _hidden(values: Iterable[str]) -> list[str]:
    """Return the values to hide, each once."""
    found = list(dict.fromkeys(filter(None, (value.strip() for value in values))))
    if len(found) > MOST_HIDDEN:
        raise ParameterError(f"hidden must be at most {MOST_HIDDEN:,} values, got {len(found):,}")
    return found


def _lang(lang: str) -> str:
    """Return the name of a language."""
    if lang and _LANG.fullmatch(lang) is None:
        raise ParameterError(f"lang must be the name of a language such as de or pt-BR, got lang={shown(lang)}")
    return lang


def _texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the owner's texts without empty ones: for those hubbub's words stay."""
    for name, said in texts.items():
        if name not in TEXTS:
            raise ParameterError(f"texts must have names of {', '.join(TEXTS)}, got {shown(name)}")
        if len(said) > LONGEST_TEXT:
            raise ParameterError(f"a text must have at most {LONGEST_TEXT:,} characters, got {len(said):,} in {name}")
    return {name: said.strip() for name, said in texts.items() if said.strip()}
