"""The ready-made questions of a site: what each asks for, in words, and from which values.

A browser computes the answer by itself, on the device. What does not apply to a visit is a value, too: `direct` for a
visit without a referrer, `none` for one without a campaign or a search. So a report is sent either way, and that one is
sent says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlsplit
from xml.parsers import expat

from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.subset import MAX_VALUES
from hubbub.model.coded_domain import CodedText, Hostnames, Text, Words
from hubbub.model.domain import Categories, Domain
from hubbub.model.domain_base import normalize_text
from hubbub.name_lists import names

Asks: TypeAlias = Literal["referrer", "campaign", "path", "search", "device", "language", "zone", "goal", "own"]
"""What a question asks for, as the manifest of a site names it."""

Answers: TypeAlias = Literal["text", "words"]
"""What values a question may have that are not on a list."""

MOST_QUESTIONS: Final = 20
"""The most questions of a site: each gets the part of the visitors that its number says."""

MOST_VALUES: Final = MAX_VALUES - 1
"""The most values of a list; "(other)" is one more."""

_LANGUAGES: Final = (
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja ka kk km "
    "kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi "
    "zh zu"
)
LANGUAGES: Final = tuple(_LANGUAGES.split())
"""Primary subtags of languages, as browsers name them; all others are "(other)"."""

_CAMPAIGNS: Final = (
    "none google bing facebook instagram fb ig twitter x linkedin youtube tiktok reddit pinterest whatsapp telegram "
    "mastodon bluesky threads hackernews producthunt github newsletter email mail rss push qr chatgpt.com perplexity"
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST_OF: Final = 64
_IN_A_PATH: Final = "/%!$&'()*+,;=:@-._~"  # what browsers leave as it is


class Kind(NamedTuple):
    """One kind of question.

    Attributes
    ----------
    title : str
        What it is called on pages.
    asked : str
        What is asked, in words; it follows "asks each browser …".
    sent : str
        What becomes a report.
    of : str
        What its `of` is, if it needs one; else empty.
    """

    title: str
    asked: str
    sent: str
    of: str = ""


KINDS: Final[dict[Asks, Kind]] = {
    "referrer": Kind(
        "Referrers",
        "which site its visitor came from",
        "The host of the page that linked here; direct if there is none, or if it belongs to the site itself.",
    ),
    "campaign": Kind(
        "Campaigns",
        "which campaign its visitor came by",
        "utm_source of the address, else ref, else source; none if it has none of them.",
    ),
    "path": Kind(
        "Entry pages",
        "on which page its visitor arrived",
        "The path of the first page that is viewed, without what follows a question mark.",
    ),
    "search": Kind(
        "Searches on the site",
        "what its visitor searched for on the site",
        "The parameter of the address that has the search; none if there is none.",
        "the parameter of the address, such as q",
    ),
    "device": Kind(
        "Devices",
        "whether it is on a phone, a tablet or a computer",
        "Phone, tablet or computer, by the pointer and the width of the screen.",
    ),
    "language": Kind(
        "Languages",
        "which language its visitor reads",
        "The browser's first language, without its region: de for de-AT.",
    ),
    "zone": Kind(
        "Time zones",
        "in which time zone its visitor is",
        "The zone of the device, such as Europe/Berlin; never its place.",
    ),
    "goal": Kind(
        "Goal",
        "whether its visitor reached a goal",
        "No or yes: the page notes the goal on the device, and it is sent at the first view of the next period.",
        "the name of the goal, such as signup",
    ),
    "own": Kind(
        "Own question",
        "for a value that the page gives it",
        "What the page hands to hubbub.report.",
        "the name of the question, as the page uses it in hubbub.report",
    ),
}
"""All kinds of questions, in the order in which pages show them."""


def check_of(asks: Asks, of: str) -> str:
    """Return the `of` of a question, checked."""
    needs = KINDS[asks].of
    if not needs:
        if of:
            raise ParameterError(f"of must be left out of a question for {asks}, got of={shown(of)}")
        return ""
    if not of.strip() or len(of) > _LONGEST_OF or _CONTROL.search(of) or normalize_text(of) != of:
        raise ParameterError(f"of must be {needs} (at most {_LONGEST_OF} characters), got of={shown(of)}")
    return of


def title_of(asks: Asks, of: str) -> str:
    """Return what a question is called.

    >>> title_of("device", ""), title_of("goal", "signup")
    ('Devices', 'Goal: signup')
    """
    return f"{KINDS[asks].title}: {of}" if of else KINDS[asks].title


def domain_of(asks: Asks, values: Iterable[str] = (), answers: Answers | None = None) -> Domain:
    """Return the values that a question may have.

    Parameters
    ----------
    asks : str
        The kind of question.
    values : iterable of str
        The owner's list, for entry pages and for own questions: all else is "(other)".
    answers : str, optional
        Text or words, for searches and own questions without a list.
    """
    lines = [text for each in values if (text := each.strip())]
    listed = list(dict.fromkeys(map(path_of, lines) if asks == "path" else lines))
    if listed and asks not in ("path", "own"):
        raise ParameterError(f"values must be for entry pages or own questions, got some for {asks}")
    if answers is not None and (listed or asks not in ("search", "own")):
        raise ParameterError(f"answers must be for searches or own questions without values, got answers={answers}")
    if listed:
        if len(listed) > MOST_VALUES:
            raise ParameterError(f"values must be at most {MOST_VALUES:,}, got {len(listed):,}")
        return Categories(listed)
    if asks == "referrer":
        return Hostnames()
    if asks == "device":
        return Categories(("phone", "tablet", "computer"), other=False)
    if asks == "goal":
        return Categories(("no", "yes"), other=False)
    if asks == "language":
        return Categories(LANGUAGES)
    if asks == "zone":
        return Categories(names("zones"))
    words = answers == "words" or (asks == "search" and answers is None)
    return Words() if words else Text()


def usual_names(asks: Asks) -> tuple[str, ...]:
    """Return values that a question is likely to have, which are looked for by name beside the public lists."""
    return {"campaign": tuple(_CAMPAIGNS.split()), "path": ("/",), "search": ("none",)}.get(asks, ())


def fits_script(domain: Domain, mechanism: str, epsilon: float) -> bool:
    """Return whether the script for web pages answers such a survey: texts with a code, and lists with `subset`."""
    coded = isinstance(domain, CodedText) and mechanism == "tree"
    return (coded or (isinstance(domain, Categories) and mechanism == "subset")) and epsilon <= 4


def path_of(text: str) -> str:
    """Return the path of an address or of a line, spelled as browsers do.

    >>> path_of("https://example.org/über?x=1"), path_of("blog/")
    ('/%C3%BCber', '/blog/')
    """
    try:
        path = urlsplit(text).path if re.match(r"https?://", text) else re.split(r"[?#]", text, maxsplit=1)[0]
    except ValueError:
        raise ParameterError(f"a page must be a path or an address, got {shown(text)}") from None
    return quote(path if path.startswith("/") else f"/{path}", safe=_IN_A_PATH, errors="replace")


def pages_of_sitemap(text: str) -> list[str]:
    """Return the paths of a sitemap: of each `loc` in it. Nothing is fetched.

    A document type, and so any entity, is refused: it could grow without end.
    """
    paths: dict[str, None] = {}
    inside: list[str] = []
    parts: list[str] = []
    kind = ""

    def start(name: str, _attributes: object) -> None:
        """Note what begins."""
        nonlocal kind
        inside.append(name.rpartition(" ")[2])
        kind = kind or inside[0]
        parts.clear()

    def end(_name: str) -> None:
        """Keep the path of a page."""
        if inside.pop() == "loc" and inside[-1:] == ["url"] and (address := "".join(parts).strip()):
            paths[path_of(address)] = None

    def refuse(*_facts: object) -> None:
        """Refuse a document type."""
        raise ParameterError("a sitemap must have no document type, got one")

    parser = expat.ParserCreate("utf-8", " ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = parts.append
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("a sitemap must be a file sitemap.xml, got something that is no XML") from None
    if kind == "sitemapindex":
        raise ParameterError("a sitemap must list pages, got an index of other sitemaps: take one of those")
    if not paths:
        raise ParameterError("a sitemap must list pages, got none")
    return list(paths)
