"""The page about read-only links: who has what, a form for a new one, and a button that revokes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from hubbub.collector.state import Collector, parse_id
from hubbub.dashboard.access import base_url, for_owner
from hubbub.dashboard.forms import read_fields
from hubbub.dashboard.rendering import HEADERS, render
from hubbub.errors import HubbubError
from hubbub.store.overview import list_surveys
from hubbub.store.readers import Reader, add_reader, readers_by_hash, revoke_reader
from hubbub.store.sites import list_sites

_SURVEYS_SHOWN: Final = 200
_MOST_FIELDS: Final = 3 + _SURVEYS_SHOWN


async def show_tokens(request: Request) -> Response:
    """Show who has what."""
    return await _page(request)


async def make_token(request: Request) -> Response:
    """Make a link from the form, and show it once."""
    collector: Collector = request.app.state.collector
    given = await read_fields(request, _MOST_FIELDS)
    chosen, of_sites = given.get("survey", []), given.get("site", [])

    def make() -> tuple[Reader, str]:
        """Make the token, in a thread."""
        name, engine = given.get("name", [""])[-1], collector.store.engine
        if "all" in chosen:
            return add_reader(engine, name, None, "live" in given)
        return add_reader(engine, name, [parse_id(each) for each in chosen], "live" in given, of_sites)

    try:
        made, token = await asyncio.to_thread(make)
    except HubbubError as error:
        return await _page(request, {"complaint": f"{error}", "given": given}, 422)
    return await _page(request, {"made": made, "token": token})


async def revoke_token(request: Request) -> Response:
    """Revoke a link; do nothing if that was done before."""
    collector: Collector = request.app.state.collector
    await asyncio.to_thread(revoke_reader, collector.store.engine, request.path_params["token_id"])
    return RedirectResponse("/tokens", 303, HEADERS)


async def _page(request: Request, more: dict[str, Any] | None = None, status: int = 200) -> Response:
    """Return the page. Reads the list of surveys and that of tokens."""
    engine = request.app.state.collector.store.engine
    listed = await asyncio.to_thread(list_surveys, engine)
    names = {each.survey_id.hex(): each.name for each in listed}
    sites = await asyncio.to_thread(list_sites, engine)
    titles = {each.site: each.name for each in sites}
    readers = [
        {
            **each._asdict(),
            "since": datetime.fromtimestamp(each.created, UTC).date().isoformat(),
            "surveys": None if each.everything else sorted(names[one] for one in each.surveys if one in names),
            "sites": sorted(titles[one] for one in each.sites if one in titles),
        }
        for each in (await asyncio.to_thread(readers_by_hash, engine)).values()
    ]
    surveys = [{"id": one, "name": name} for one, name in reversed(names.items())][:_SURVEYS_SHOWN]
    blank: dict[str, Any] = {"owner": True, "made": None, "complaint": "", "given": {}}
    facts = {"readers": readers, "surveys": surveys, "sites": sites, "base": base_url(request)}
    return render(request, "tokens.html", {**blank, **facts, **(more or {})}, status)


ROUTES: Final = [
    Route(path, for_owner(page), methods=[method], include_in_schema=False)
    for method, path, page in (
        ("GET", "/tokens", show_tokens),
        ("POST", "/tokens", make_token),
        ("POST", "/tokens/{token_id}/revoke", revoke_token),
    )
]
