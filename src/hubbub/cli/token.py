"""`hubbub token`: read-only tokens of a collector: make one, list who has what, revoke one."""

from __future__ import annotations

from typing import Any, Final

import click

from hubbub.analysis.documents import fits
from hubbub.cli.common import plural, print_json, print_table, tell
from hubbub.cli.login import login_link
from hubbub.cli.options import OrderedGroup, json_option
from hubbub.cli.service import ask, ask_json, need_token, parse_survey_url, server_option, token_option
from hubbub.errors import ParameterError, ServiceError, shown

_TOKEN: Final = {"id": str, "name": str, "surveys": list | None, "sites": list, "live": bool, "created": str}


@click.group(cls=OrderedGroup)
def token() -> None:
    """Let somebody read answers without the owner's token: make, list and revoke read-only tokens, over HTTP."""


@token.command()
@click.argument("name", help="Who gets it.")
@click.option(
    "--survey", "surveys", multiple=True, metavar="URL", help="A survey that it reads; repeatable; default: all."
)
@click.option(
    "--site", "sites", multiple=True, metavar="KEY", help="A site: it reads all of its questions, also later ones."
)
@click.option("--live", is_flag=True, help="It sees the slice of time that goes on, too.")
@server_option
@token_option
@json_option
def new(
    name: str,
    surveys: tuple[str, ...],
    sites: tuple[str, ...],
    live: bool,
    server: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Make a read-only token and show it once, with a link that opens the answers in a browser.

    It reads status, answers, trends, slices and names of its surveys, and changes nothing. Programs send it as the
    owner sends hers: Authorization: Bearer TOKEN.

    \b
    hubbub token new "the editors"
    hubbub token new board --survey http://127.0.0.1:8000/v1/surveys/ID --live
    """  # noqa: D301
    wanted = [parse_survey_url(url).survey_id for url in surveys] or None
    request = {"name": name, "surveys": wanted, "sites": list(sites) or None, "live": live}
    made = ask_json(server, "/v1/tokens", need_token(token), "POST", request)
    if not isinstance(made, dict) or not _is_token(made) or not isinstance(made.get("token"), str):
        raise ServiceError(f"the server at {server!r} sent something else than a token")
    link = login_link(server, made["token"])
    document = {**{field: made[field] for field in _TOKEN}, "token": made["token"], "link": link}
    tell(as_json, document, f"Read-only token, shown this once: {made['token']}\nLink: {link}")


@token.command(name="list")
@server_option
@token_option
@json_option
def list_tokens(server: str, token: str | None, as_json: bool) -> None:
    """List the read-only tokens: who has what.

    \b
    hubbub token list
    """  # noqa: D301
    tokens = _tokens(server, token)
    if as_json:
        print_json({"tokens": [{field: each[field] for field in _TOKEN} for each in tokens]})
        return
    columns = [(name, "left") for name in ("name", "reads", "sees", "since")]
    rows = [
        [
            each["name"],
            "all surveys" if each["surveys"] is None else plural(len(each["surveys"]), "survey"),
            "live" if each["live"] else "slices that have ended",
            each["created"][:10],
        ]
        for each in tokens
    ]
    print_table(f"{plural(len(rows), 'read-only token')} at {server}", columns, rows)


@token.command()
@click.argument("name", help="The name that it was made with.")
@server_option
@token_option
@json_option
def revoke(name: str, server: str, token: str | None, as_json: bool) -> None:
    """Make a read-only token invalid at once, and end the sessions that its link opened.

    \b
    hubbub token revoke "the editors"
    """  # noqa: D301
    found = [each for each in _tokens(server, token) if each["name"] == name.strip()]
    if not found:
        raise ParameterError(f"name must be that of a read-only token, got {shown(name)}; see hubbub token list")
    ask(server, f"/v1/tokens/{found[0]['id']}", need_token(token), "DELETE")
    tell(as_json, {"id": found[0]["id"], "name": found[0]["name"], "revoked": True}, f"Revoked {name.strip()}")


def _tokens(server: str, token: str | None) -> list[dict[str, Any]]:
    """Return the read-only tokens of a collector."""
    found = ask_json(server, "/v1/tokens", need_token(token))
    listed = found.get("tokens") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) and _is_token(each) for each in listed):
        raise ServiceError(f"the server at {server!r} sent something else than a list of tokens")
    return listed


def _is_token(found: dict[str, Any]) -> bool:
    """Return whether something from a server is a token without its text."""
    ids = found.get("surveys")
    plain = found.get("id", "").isalnum() if isinstance(found.get("id"), str) else False
    texts = [*(ids if isinstance(ids, list) else []), *(found["sites"] if isinstance(found.get("sites"), list) else [])]
    listed = all(isinstance(each, str) for each in texts)
    return plain and listed and all(field in found and fits(found[field], kind) for field, kind in _TOKEN.items())
