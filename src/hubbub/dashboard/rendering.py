"""Renders templates to HTML, with the headers that every page has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from hubbub.analysis.wording import number, plural
from hubbub.analysis.wording import visible as visible_text
from hubbub.collector.kept_bytes import KeptBytes
from hubbub.dashboard import words

HEADERS: Final = {
    # Nothing from elsewhere, nothing inline, in no frame.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # with "no-referrer" forms would have no origin
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@cache
def _templates() -> Environment:
    """Return the templates. Values are escaped as text, unless a template marks them as HTML."""
    environment = Environment(
        loader=PackageLoader("hubbub.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(visible_lines=_visible_lines, number=number, visible=words.visible, plural=plural)
    return environment


def _visible_lines(text: str) -> Markup:
    """Return a text of several lines as HTML, each line escaped."""
    return Markup("<br>").join(visible_text(line) for line in text.splitlines())


def render(request: Request, template: str, facts: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """Return a page. Costs about a millisecond."""
    html = _templates().get_template(template).render(path=request.url.path, **facts)
    return HTMLResponse(html, status, HEADERS)


async def show_kept(
    request: Request, template: str, key: tuple[Hashable, ...], facts: Callable[[], Mapping[str, Any]]
) -> HTMLResponse:
    """Return a page for everybody. It is made once for each key, in a thread: a stranger may ask for it repeatedly.

    Parameters
    ----------
    request : Request
        The request.
    template : str
        The template.
    key : tuple
        Everything that the page depends on.
    facts : callable
        Returns the facts of the page.
    """
    kept: KeptBytes = request.app.state.kept
    page = await kept.get((template, *key), lambda: bytes(render(request, template, facts()).body))
    return HTMLResponse(page, headers=HEADERS)
