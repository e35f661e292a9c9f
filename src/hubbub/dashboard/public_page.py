"""The owner's form about the public page of a survey: whether its answer is shown, and in which words."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hubbub.analysis.public_words import TEXTS, facts_of
from hubbub.analysis.published import COSTS_NO_PRIVACY
from hubbub.collector.state import Collector
from hubbub.dashboard import words
from hubbub.dashboard.access import base_url, for_owner
from hubbub.dashboard.forms import read_fields
from hubbub.dashboard.pages import find_survey
from hubbub.dashboard.rendering import HEADERS, render
from hubbub.errors import ParameterError
from hubbub.store.pages import Page, change_page, page_of
from hubbub.store.publications import latest
from hubbub.store.slices import date_of
from hubbub.store.store import StoredSurvey


async def show_form(request: Request) -> Response:
    """Show what the owner decided."""
    return await _form(request)


async def keep(request: Request) -> Response:
    """Keep what the owner decided. An error is shown next to the form, and so is the secret of a new webhook."""
    collector: Collector = request.app.state.collector
    stored = await find_survey(request)
    given = {name: values[-1] for name, values in (await read_fields(request)).items()}
    page = Page(
        "shown" in given,
        tuple(given.get("hidden", "").splitlines()),
        given.get("lang", "").strip(),
        {name: given.get(name, "").replace("\r\n", "\n") for name in TEXTS},
        given.get("webhook", "").strip() or None,
    )
    try:
        secret = await asyncio.to_thread(change_page, collector.store.engine, stored, page)
    except ParameterError as error:
        return await _form(request, page, {"complaint": str(error)}, 422)
    request.app.state.shown.forget(stored.survey_id)
    if secret is not None:
        return await _form(request, None, {"secret": secret})
    return RedirectResponse(f"/surveys/{stored.survey_id.hex()}/public?kept", 303, HEADERS)


async def _form(
    request: Request, page: Page | None = None, more: dict[str, Any] | None = None, status: int = 200
) -> Response:
    """Return the form with what is stored, or with what was typed."""
    engine = request.app.state.collector.store.engine
    stored = await find_survey(request)
    page = await asyncio.to_thread(page_of, engine, stored.key) if page is None else page
    made = await asyncio.to_thread(latest, engine, stored.key)
    facts = {
        "owner": True,
        "survey": {"id": stored.survey_id.hex(), "name": stored.survey.name},
        "page": page,
        "texts": TEXTS,
        "until": date_of(made[0].until - 1).isoformat() if made else "",
        "unit": "day" if stored.slice_days == 1 else "week",
        "why": COSTS_NO_PRIVACY,
        "base": base_url(request),
        "paragraph": _paragraph(stored, base_url(request)),
        "kept": "kept" in request.query_params,
        "complaint": "",
        "secret": "",
    }
    return render(request, "public.html", {**facts, **(more or {})}, status)


def _paragraph(stored: StoredSurvey, base: str) -> str:
    """Return what a site's privacy page may say about the survey."""
    facts = facts_of(stored.survey)
    question = words.question(stored.survey.domain)
    return (
        f"This site asks each browser, {facts['often']}, {question}. The browser randomises its answer before it sends "
        f"it (local differential privacy, ε = {facts['epsilon']}{facts['and_delta']}), so that nobody can be sure of "
        "it, and the server keeps only sums. No cookie is set; the browser keeps in its localStorage that it has "
        "answered. To opt out, switch on Global Privacy Control or Do Not Track in your browser. "
        f"More: {base}/about/{stored.survey_id.hex()}"
    )


ROUTES: Final = [
    Route("/surveys/{survey_id}/public", for_owner(page), methods=[method], include_in_schema=False)
    for method, page in (("GET", show_form), ("POST", keep))
]
