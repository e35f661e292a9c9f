"""What everybody may read of an answer: on pages, over HTTP, and in what is sent to webhooks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hubbub.analysis.published import published_document
from hubbub.store.pages import Page
from hubbub.store.publications import Publication
from hubbub.store.slices import date_of
from hubbub.store.store import StoredSurvey


def document_of(stored: StoredSurvey, page: Page, made: Publication) -> dict[str, Any]:
    """Return what everybody may read of an answer."""
    until = date_of(made.until)
    return published_document(
        stored.survey,
        made.answer,
        hidden=frozenset(page.hidden),
        title=page.texts.get("title", stored.survey.name),
        description=page.texts.get("description", ""),
        lang=page.lang if page.texts else "",
        until=until - timedelta(days=1),
        made=made.made,
        final=made.final,
        following=None if made.final else until + timedelta(days=stored.slice_days),
    )
