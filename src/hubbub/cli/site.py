"""`hubbub site`: several questions behind one line of script: make a site, ask questions, show and delete it."""

from __future__ import annotations

from typing import Any, Final

import click

from hubbub.analysis.documents import fits
from hubbub.cli.common import complain, confirm, number, parse_count, parse_every, plural, print_json, print_table
from hubbub.cli.domains import read_names
from hubbub.cli.options import OrderedGroup, json_option
from hubbub.cli.service import ask as send
from hubbub.cli.service import ask_json, need_token, read_bytes, server_option, token_option
from hubbub.errors import ParameterError, ServiceError, shown

_KINDS: Final = ("referrer", "campaign", "path", "search", "device", "language", "zone", "goal", "own")
_SITE: Final = {
    **dict.fromkeys(("site", "name", "epsilon", "largest_epsilon", "slice", "created"), str),
    **dict.fromkeys(("expected_reports", "each"), int),
    **dict.fromkeys(("origins", "own", "questions"), list),
    "every": int | None,
    "opens": str | None,
}
_QUESTION: Final = {
    **dict.fromkeys(("asks", "of", "title", "sent", "survey_id", "name", "state", "epsilon"), str),
    **dict.fromkeys(("reports", "expected_reports"), int),
}
_KEY: Final = click.argument("site", metavar="KEY", help="The site's key, as `site new` printed it.")


@click.group(cls=OrderedGroup)
def site() -> None:
    """Ask several questions with one line of script: each browser answers one of them, drawn by itself, in a period."""


@site.command()
@click.argument("name", help="A name for people to read.")
@click.option(
    "--ask",
    "asked",
    multiple=True,
    metavar="KIND[:OF]",
    help=f"A question: {', '.join(_KINDS)}; repeatable. The last three and search need OF: search:q, goal:signup.",
)
@click.option("--origin", "origins", multiple=True, metavar="URL", help="Pages that may report; repeatable; else all.")
@click.option(
    "--own", multiple=True, metavar="HOST", help="Links from it are no referrers; default: the origins' hosts."
)
@click.option("--epsilon", "-e", default="1", help="Privacy loss of a person in each period.")
@click.option("--people", "-n", default="10k", help="Visitors in a period, for all questions together.")
@click.option("--every", default="4w", metavar="LENGTH", help="Ask again every so many days or weeks, or never.")
@server_option
@token_option
@json_option
def new(
    name: str,
    asked: tuple[str, ...],
    origins: tuple[str, ...],
    own: tuple[str, ...],
    epsilon: str,
    people: str,
    every: str,
    server: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Make a site and print its line for web pages, which never changes.

    Each of n visitors answers one question, so each of k questions gets about n/k of them, and a visitor spends the
    epsilon of one.

    \b
    hubbub site new example.org --ask referrer --ask path --ask device
    hubbub site new example.org --ask search:q --ask goal:signup --origin https://www.example.org
    """  # noqa: D301
    request = {
        "name": name,
        "questions": [_question(each) for each in asked],
        "epsilon": epsilon,
        "expected_reports": parse_count("people", people),
        "every": None if every == "never" else parse_every(every),
    }
    request |= {"origins": list(origins)} if origins else {}
    request |= {"own": list(own)} if own else {}
    made = _checked(server, ask_json(server, "/v1/sites", need_token(token), "POST", request))
    _say(made)
    if as_json:
        print_json(made)
    else:
        click.echo(_line(server, made["site"]))


@site.command(name="list")
@server_option
@token_option
@json_option
def list_sites(server: str, token: str | None, as_json: bool) -> None:
    """List the sites of a collector, the oldest first.

    \b
    hubbub site list
    """  # noqa: D301
    sites = all_sites(server, token)
    if as_json:
        print_json({"sites": sites})
        return
    columns = [("name", "left"), ("questions", "right"), ("reports", "right"), ("ε", "right"), ("key", "left")]
    rows = [
        [
            each["name"],
            number(len(each["questions"])),
            number(sum(one["reports"] for one in each["questions"])),
            each["largest_epsilon"],
            each["site"],
        ]
        for each in sites
    ]
    print_table(f"{plural(len(rows), 'site')} at {server}", columns, rows)


@site.command()
@_KEY
@server_option
@token_option
@json_option
def show(site: str, server: str, token: str | None, as_json: bool) -> None:
    """Show a site with its line and its questions.

    \b
    hubbub site show KEY
    """  # noqa: D301
    _show(server, _checked(server, ask_json(server, f"{_path(site)}/status", need_token(token))), as_json)


@site.command()
@_KEY
@click.argument("question", metavar="KIND[:OF]", help="A kind, as for `site new --ask`.")
@click.option("--values", metavar="FILE", help="The answers of an own question, or the pages of path, one per line.")
@click.option("--sitemap", metavar="FILE", help="A sitemap.xml with the pages of path.")
@click.option("--answers", type=click.Choice(["text", "words"]), help="For search and own, without --values.")
@click.option("--names", metavar="FILE", help="Values to look for by name, one per line.")
@click.option("--epsilon", "-e", help="Default: that of the site.")
@server_option
@token_option
@json_option
def ask(
    site: str,
    question: str,
    values: str | None,
    sitemap: str | None,
    answers: str | None,
    names: str | None,
    epsilon: str | None,
    server: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Add a question to a site. Browsers learn of it within an hour; the line on the pages stays.

    \b
    hubbub site ask KEY campaign
    hubbub site ask KEY path --sitemap sitemap.xml
    hubbub site ask KEY own:plan --values plans.txt
    """  # noqa: D301
    request: dict[str, Any] = {
        **_question(question),
        "values": None if values is None else read_names(values),
        "sitemap": None if sitemap is None else read_bytes(sitemap, "sitemap").decode("utf-8", "replace"),
        "answers": answers,
        "names": None if names is None else read_names(names),
        "epsilon": epsilon,
    }
    request = {field: fact for field, fact in request.items() if fact is not None}
    added = _checked(server, ask_json(server, f"{_path(site)}/questions", need_token(token), "POST", request))
    _say(added)
    _show(server, added, as_json)


@site.command()
@_KEY
@click.argument("question", type=int, metavar="NUMBER", help="The number of the question in `site show`.")
@server_option
@token_option
@json_option
def remove(site: str, question: int, server: str, token: str | None, as_json: bool) -> None:
    """Ask a question no longer. Its survey stays as it is, with its answer.

    \b
    hubbub site remove KEY 3
    """  # noqa: D301
    owner = need_token(token)
    found = _checked(server, ask_json(server, f"{_path(site)}/status", owner))["questions"]
    if not 1 <= question <= len(found):
        raise ParameterError(f"question must be a number from 1 to {len(found)}, got question={question}")
    send(server, f"{_path(site)}/questions/{found[question - 1]['survey_id']}", owner, "DELETE")
    _show(server, _checked(server, ask_json(server, f"{_path(site)}/status", owner)), as_json)


@site.command()
@_KEY
@click.option(
    "--surveys",
    type=click.Choice(["keep", "close", "delete"]),
    default="keep",
    help="What becomes of the surveys of its questions.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@server_option
@token_option
@json_option
def delete(site: str, surveys: str, yes: bool, server: str, token: str | None, as_json: bool) -> None:
    """Delete a site: its line does nothing any more. Its surveys stay as they are, unless --surveys says otherwise.

    \b
    hubbub site delete KEY --surveys close --yes
    """  # noqa: D301
    owner = need_token(token)
    found = _checked(server, ask_json(server, f"{_path(site)}/status", owner))
    if not yes:
        confirm(f"Delete the site {found['name']!r}?", "--yes")
    send(server, f"{_path(site)}?surveys={surveys}", owner, "DELETE")
    if as_json:
        print_json({"site": found["site"], "surveys": surveys})
    else:
        click.echo(f"Deleted {found['site']}")


def all_sites(server: str, token: str | None) -> list[dict[str, Any]]:
    """Return all sites of a collector."""
    document = ask_json(server, "/v1/sites", need_token(token))
    if not isinstance(document, dict) or not isinstance(document.get("sites"), list):
        raise _strange(server)
    return [_checked(server, each) for each in document["sites"]]


def _question(text: str) -> dict[str, str]:
    """Return the kind of a question and its `of`."""
    kind, _, of = text.partition(":")
    if kind not in _KINDS:
        raise ParameterError(f"a question must be one of {', '.join(_KINDS)}, got {shown(kind)}")
    return {"asks": kind, "of": of}


def _path(site: str) -> str:
    """Return the route of a site."""
    if len(site) != 32 or not set(site) <= set("0123456789abcdef"):
        raise ParameterError(f"a site's key must be 32 lower-case hex digits, got {shown(site)}")
    return f"/v1/sites/{site}"


def _line(server: str, site: str) -> str:
    """Return the line for web pages."""
    return f'<script defer src="{server.rstrip("/")}/hubbub.js" data-site="{site}"></script>'


def _say(made: dict[str, Any]) -> None:
    """Say what became of names that were given in another form."""
    for sentence in made.get("sentences", []):
        complain(sentence)


def _show(server: str, found: dict[str, Any], as_json: bool) -> None:
    """Print a site with its questions."""
    if as_json:
        print_json(found)
        return
    columns = [("", "right"), ("question", "left"), ("state", "left"), ("reports", "right"), ("ε", "right")]
    rows = [
        [str(place), each["title"], each["state"], number(each["reports"]), each["epsilon"]]
        for place, each in enumerate(found["questions"], 1)
    ]
    often = "in all" if found["every"] is None else f"every {plural(found['every'], 'day')}"
    each = f"{number(found['each'])} for each question" if found["questions"] else "and no question is asked yet"
    caption = [f"{number(found['expected_reports'])} visitors are expected {often}: {each}."]
    print_table(found["name"], columns, rows, [*caption, _line(server, found["site"])])


def _checked(server: str, document: Any) -> dict[str, Any]:
    """Return a site that a collector sent. Raises ServiceError if it is something else."""
    said = document.get("sentences", []) if isinstance(document, dict) else None
    if not _has(document, _SITE) or not all(_has(each, _QUESTION) for each in document["questions"]):
        raise _strange(server)
    if not isinstance(said, list) or not all(isinstance(each, str) for each in said):
        raise _strange(server)
    checked: dict[str, Any] = document
    return checked


def _has(document: object, kinds: dict[str, Any]) -> bool:
    """Return whether an object has these fields, each of its type."""
    return isinstance(document, dict) and all(fits(document.get(name, ...), kind) for name, kind in kinds.items())


def _strange(server: str) -> ServiceError:
    """Return the error to raise when a reply is no site."""
    return ServiceError(f"the server at {server!r} sent something else than a site")
