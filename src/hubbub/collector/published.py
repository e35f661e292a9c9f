"""The routes of answers for everybody: as JSON, as a picture and as a feed; and what the owner decides about them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from hubbub.analysis.published_forms import STYLE, as_atom, as_svg
from hubbub.collector.documents import ChangedPage, PageStatus
from hubbub.collector.kept_bytes import KeptBytes
from hubbub.collector.owner_route import UNKNOWN, Owner, OwnerRoute, owner_router
from hubbub.collector.problems import EVERY_PAGE, Problem, refusals
from hubbub.collector.published_document import document_of
from hubbub.collector.state import Collector
from hubbub.collector.uploads import PlainRoute
from hubbub.store.pages import Page, change_page, page_of
from hubbub.store.publications import Publication, latest
from hubbub.store.store import StoredSurvey

ENTRIES: Final = 20
"""Answers in a feed."""
_SECONDS: Final = 5.0
_MOST: Final = 4_096
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    **EVERY_PAGE,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "public, max-age=300",
    "X-Content-Type-Options": "nosniff",
}


class Shown(NamedTuple):
    """What everybody is shown of a survey: the owner's page, and the last answers, the newest first."""

    page: Page
    answers: Sequence[Publication]

    @property
    def key(self) -> tuple[object, ...]:
        """All that a page for everybody depends on."""
        newest = self.answers[0].until if self.answers and self.page.shown else None
        page = self.page._replace(texts={}, webhook=None)
        return (newest, page.shown, page.hidden, page.lang, tuple(sorted(self.page.texts.items())))


class ShownSurveys:
    """What is shown of each survey, as it was at most 5 seconds ago: strangers may ask as often as they like."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._known: dict[bytes, tuple[float, Shown]] = {}

    async def get(self, stored: StoredSurvey) -> Shown:
        """Return what is shown of a survey. Reads the database in a thread, every 5 seconds at most."""
        until, found = self._known.get(stored.survey_id, (0.0, None))
        if found is None or time.monotonic() >= until:
            found = await asyncio.to_thread(self._read, stored.key)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[stored.survey_id] = time.monotonic() + _SECONDS, found
        return found

    def forget(self, survey_id: bytes) -> None:
        """Read the database the next time: the owner changed something."""
        self._known.pop(survey_id, None)

    def _read(self, survey: int) -> Shown:
        """Return what is shown now."""
        engine = self._collector.store.engine
        page = page_of(engine, survey)
        return Shown(page, latest(engine, survey, ENTRIES) if page.shown else ())


async def get_json(request: Request) -> Response:
    """Return the last answer that is shown to everybody, as JSON."""
    return await _reply(request, "application/json", lambda _, found: json.dumps(found[0], ensure_ascii=False))


async def get_svg(request: Request) -> Response:
    """Return the last answer as a picture to embed."""
    policy = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'"
    more = {"Content-Security-Policy": policy}
    return await _reply(request, "image/svg+xml", lambda page, found: as_svg(found[0], page.texts), more)


async def get_atom(request: Request) -> Response:
    """Return a feed of the last answers."""
    return await _reply(request, "application/atom+xml", lambda _, found: as_atom(found))


async def _reply(
    request: Request,
    media_type: str,
    make: Callable[[Page, Sequence[dict[str, Any]]], str],
    more: dict[str, str] | None = None,
) -> Response:
    """Return a published answer in one of its forms. It is made once, in a thread."""
    collector: Collector = request.app.state.collector
    stored = await collector.find(request.path_params["survey_id"])
    shown = await request.app.state.shown.get(stored)
    if not shown.answers:
        raise Problem("not-published", "the survey shows no answer to everybody, or has none yet")

    def work() -> bytes:
        """Make the bytes, in a thread."""
        found = [document_of(stored, shown.page, each) for each in shown.answers]
        return make(shown.page, found).encode("utf-8", "replace")

    kept: KeptBytes = request.app.state.kept
    body = await kept.get((media_type, stored.survey_id, shown.key), work)
    headers = {**_HEADERS, **(more or {}), "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


owners: APIRouter = owner_router(OwnerRoute)


@owners.get("/surveys/{survey_id}/page", responses=UNKNOWN)
async def show_page(survey_id: str, owner: Owner) -> PageStatus:
    """Return what the owner decided about the public page: whether the answer is shown, and in which words."""
    stored = await owner.find(survey_id)
    return _status(await asyncio.to_thread(page_of, owner.store.engine, stored.key), None)


@owners.patch("/surveys/{survey_id}/page", responses=UNKNOWN)
async def change(survey_id: str, given: ChangedPage, owner: Owner, request: Request) -> PageStatus:
    """Change the public page: what is left out stays. The secret of a new webhook is in this reply, and in no other."""
    stored = await owner.find(survey_id)

    def work() -> PageStatus:
        """Read, change and write, in a thread."""
        old = page_of(owner.store.engine, stored.key)
        page = old._replace(**given.changes(old))
        secret = change_page(owner.store.engine, stored, page)
        return _status(page_of(owner.store.engine, stored.key), secret)

    status = await asyncio.to_thread(work)
    request.app.state.shown.forget(stored.survey_id)
    return status


def _status(page: Page, secret: str | None) -> PageStatus:
    """Return the page of a survey as its owner sees it."""
    facts = page._replace(hidden=(), texts={})._asdict()
    return PageStatus(**{**facts, "hidden": list(page.hidden), "texts": dict(page.texts)}, secret=secret)


_PLACE: Final = {"name": "survey_id", "in": "path", "required": True, "schema": {"type": "string"}}
ROUTES: Final = [
    PlainRoute(
        f"/v1/surveys/{{survey_id}}/published{ending}",
        function,
        methods=["GET"],
        tags=["everybody"],
        summary=f"Read the answer that is shown to everybody, as {name}",
        response_description="The answer about slices of time that have ended.",
        responses=refusals({404: "The survey shows no answer, or there is none.", 503: "The store cannot be reached."}),
        openapi_extra={"parameters": [_PLACE]},
    )
    for ending, function, name in (
        ("", get_json, "JSON"),
        (".svg", get_svg, "a picture"),
        (".atom", get_atom, "a feed"),
    )
]
