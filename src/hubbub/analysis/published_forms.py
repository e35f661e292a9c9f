"""A published answer as a picture to embed (SVG) and as a feed (Atom). All of it is text: no script, no link in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from hubbub.analysis.public_words import say
from hubbub.analysis.wording import plural, visible

_WIDTH: Final = 480
_EDGE: Final = 20
_ROW: Final = 44
_HEAD: Final = 84
_FOOT: Final = 46
_ROWS: Final = 10
_LABEL: Final = 34  # columns of the value; a character of Chinese takes two
_TITLE: Final = 38
_NOTE: Final = 60

STYLE: Final = (
    ".b{fill:#fff;stroke:#e2e2da}text{font:15px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
    "fill:#1b1d27;unicode-bidi:isolate}.t{font-size:19px;font-weight:650}.m{fill:#595d6e;font-size:13px}"
    ".n{font-weight:600}.k{fill:#ececfb}.r{fill:#7d80e8}.w{stroke:#0b0c30;stroke-width:1.5;fill:none}"
    "@media (prefers-color-scheme:dark){.b{fill:#1b1d27;stroke:#30333f}text{fill:#ecedf4}.m{fill:#a9adbf}"
    ".k{fill:#272a45}.r{fill:#6d70d8}.w{stroke:#fff}}"
)
"""The style sheet of the picture, for light and dark pages."""


def as_svg(document: dict[str, Any], texts: Mapping[str, str] | None = None) -> str:
    """Return a picture of a published answer, 480 wide: for each value its text, a bar and the range of its count.

    `texts` are the owner's words, by the names of `TEXTS`.
    """
    facts = {"until": document["until"], "answers": f"{document['answers']:,}"}
    words = {name: say(f"answer_{name}", texts or {}, facts) for name in ("when", "range", "by", "nothing")}
    values = document["values"][:_ROWS]
    height = _HEAD + max(1, len(values)) * _ROW + _FOOT
    said = [f'<text class="t" x="{_EDGE}" y="36">{_short(document["title"], _TITLE)}</text>']
    said.append(f'<text class="m" x="{_EDGE}" y="58">{escape(visible(words["when"]))}</text>')
    room = _WIDTH - 2 * _EDGE
    most = max([1.0, *(max(each["high"], each["shown"]) for each in values)])
    for place, each in enumerate(values):
        top = _HEAD + place * _ROW
        low, end, high = (_EDGE + room * max(0.0, each[name]) / most for name in ("low", "shown", "high"))
        said.append(
            f'<text x="{_EDGE}" y="{top + 12}">{_short(each["value"], _LABEL)}</text>'
            f'<text class="n" x="{_WIDTH - _EDGE}" y="{top + 12}" text-anchor="end">{escape(each["percent"])}</text>'
            f'<rect class="k" x="{_EDGE}" y="{top + 19}" width="{room}" height="12" rx="3"/>'
            f'<rect class="r" x="{_EDGE}" y="{top + 19}" width="{end - _EDGE:.1f}" height="12" rx="3"/>'
            f'<path class="w" d="M{low:.1f} {top + 25}H{high:.1f}M{low:.1f} {top + 21}v8M{high:.1f} {top + 21}v8"/>'
        )
    if not values:
        said.append(f'<text x="{_EDGE}" y="{_HEAD + 14}">{_short(visible(words["nothing"]), _LABEL)}</text>')
    said.append(
        f'<text class="m" x="{_EDGE}" y="{height - 32}">{_short(visible(words["range"]), _NOTE)}</text>'
        f'<text class="m" x="{_EDGE}" y="{height - 14}">{_short(visible(words["by"]), _NOTE)}</text>'
    )
    label = quoteattr(f"{document['title']}: {visible(words['when'])}")
    told = "; ".join(f"{each['value']}: {each['percent']}" for each in values) or visible(words["nothing"])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label={label} lang={quoteattr(document["lang"])}><title>{escape(document["title"])}</title>'
        f'<desc>{escape(told)}</desc><style>{STYLE}</style><rect class="b" x=".5" y=".5" width="{_WIDTH - 1}" '
        f'height="{height - 1}" rx="13.5"/>{"".join(said)}</svg>'
    )


def as_atom(documents: Sequence[dict[str, Any]]) -> str:
    """Return a feed of published answers, the newest first; there must be one."""
    newest = documents[0]
    name = f"urn:hubbub:survey:{newest['survey']}"
    entries = "".join(
        f"<entry><id>{name}:{each['until']}</id><title>{escape(each['title'])}: {escape(_when(each))}</title>"
        f'<updated>{each["made"]}</updated><content type="text">{escape(_lines(each))}</content></entry>'
        for each in documents
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" '
        f"xml:lang={quoteattr(newest['lang'])}><id>{name}</id><title>{escape(newest['title'])}</title>"
        f"<updated>{newest['made']}</updated><author><name>hubbub</name></author>"
        f'<link rel="self" type="application/atom+xml" href="published.atom"/>{entries}</feed>\n'
    )


def _when(document: dict[str, Any]) -> str:
    """Return what an answer is about: until when, and how many answers."""
    until = "until it closed" if document["final"] else f"until {document['until']}"
    return f"{until}, from {plural(document['answers'], 'answer')}"


def _lines(document: dict[str, Any]) -> str:
    """Return an answer as lines of text."""
    values = document["values"]
    rows = [f"{each['value']}: {each['people']} ({each['percent']}, between {each['between']})" for each in values]
    return "\n".join([*(rows or ["Nothing stands out yet."]), "", *document["notes"]])


def _short(text: str, columns: int) -> str:
    """Return a text that fits into so many columns, escaped."""
    kept, used = "", 0
    for character in text:
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return f"{escape(kept)}…"
        kept += character
    return escape(kept)
