"""A page about the routes for people to read, made from the OpenAPI document. It loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "h2{font-size:1rem;margin:2rem 0 0;overflow-wrap:anywhere}h2 b{display:inline-block;min-width:4.5rem}"
    "p{margin:.2rem 0}dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.4rem 0}"
    "dt{font-family:monospace}dd{margin:0}"
)
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
    ),
    "X-Content-Type-Options": "nosniff",
}


async def show_api(request: Request) -> Response:
    """Show all routes with their parameters and replies. The page is made once."""
    app = request.app
    page = await app.state.kept.get("/docs", lambda: api_page(app.openapi()).encode())
    return HTMLResponse(page, headers=_HEADERS)


async def show_document(request: Request) -> Response:
    """Return the OpenAPI document. It is made once."""
    app = request.app
    document = await app.state.kept.get("/openapi.json", lambda: json.dumps(app.openapi()).encode())
    return Response(document, media_type="application/json")


def api_page(document: Mapping[str, Any]) -> str:
    """Return a page about an OpenAPI document: for each route its description, its parameters and its replies."""
    about = document["info"]
    routes = [
        _route(path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(about['title'])}</title><style>{_STYLE}</style>"
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])}</p>"
        '<p>For machines: <a href="openapi.json">openapi.json</a>.</p>' + "".join(routes)
    )


def _route(path: str, method: str, operation: Mapping[str, Any]) -> str:
    """Return the part of the page about one route."""
    taken = [
        (each["name"], each.get("description") or f"in the {each['in']}") for each in operation.get("parameters", ())
    ]
    body = [("body", " or ".join(operation["requestBody"]["content"]))] if "requestBody" in operation else []
    answers = [(status, answer["description"]) for status, answer in sorted(operation["responses"].items())]
    rows = "".join(f"<dt>{escape(name)}<dd>{escape(text)}" for name, text in [*taken, *body, *answers])
    said = escape(operation.get("description") or operation.get("summary", ""))
    return f"<h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{said}</p><dl>{rows}</dl>"
