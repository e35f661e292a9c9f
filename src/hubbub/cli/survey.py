"""`hubbub survey`: create surveys on a collector, list, show and close them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import typer

from hubbub.cli.common import (
    DOMAINS,
    AsJSON,
    command,
    number,
    parse_count,
    parse_options,
    plural,
    print_json,
    print_table,
)
from hubbub.cli.domains import parse_domain
from hubbub.cli.service import Server, SurveyURL, Token, ask_json, need_token, parse_survey_url
from hubbub.client import DEFAULT_MAX_EPSILON

DEFAULT_SERVER = "http://127.0.0.1:8000"

survey = typer.Typer(
    name="survey",
    help="Create, list, show and close the surveys of a collector, over HTTP with the owner's token.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@survey.command()
@command
def new(
    name: Annotated[str, typer.Argument(help="A name for people to read.")],
    domain: Annotated[str, typer.Option(help=DOMAINS)],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy loss of each person.")] = "1",
    delta: Annotated[str | None, typer.Option(help="Default: what the mechanism needs, 0 where pure.")] = None,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="A name of `hubbub mechanisms`; default: tree.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Of the mechanism; repeatable.")
    ] = None,
    people: Annotated[str, typer.Option("--people", "-n", help="Reports to expect; any number may come.")] = "100k",
    opens: Annotated[str | None, typer.Option(metavar="TIME", help="RFC 3339, such as 2030-01-31T00:00:00Z.")] = None,
    closes: Annotated[str | None, typer.Option(metavar="TIME", help="RFC 3339; default: when you close it.")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Pages of this origin may report; repeatable; default: all."),
    ] = None,
    server: Server = DEFAULT_SERVER,
    token: Token = None,
    as_json: AsJSON = False,
) -> None:
    """Create a survey and print its address, which devices need to answer it.

    \b
    hubbub survey new referrers --domain hostnames --epsilon 1
    hubbub survey new countries --domain categories:countries.txt --origin https://www.example.org
    """  # noqa: D301
    request: dict[str, Any] = {
        "name": name,
        "domain": parse_domain(domain).to_json(),
        "epsilon": epsilon,
        "options": parse_options(option or []),
        "expected_reports": parse_count("people", people),
    }
    optional = {"delta": delta, "mechanism": mechanism, "opens": opens, "closes": closes, "origins": origin}
    request.update({key: value for key, value in optional.items() if value})
    status = ask_json(server, "/v1/surveys", need_token(token), "POST", request)
    if Decimal(status["epsilon"]) > Decimal(DEFAULT_MAX_EPSILON):
        typer.echo(
            f"hubbub: the survey states ε = {status['epsilon']}, but clients answer up to ε = {DEFAULT_MAX_EPSILON} "
            "unless their max_epsilon is raised",
            err=True,
        )
    if as_json:
        print_json(_with_url(server, status))
    else:
        typer.echo(_with_url(server, status)["url"])


@survey.command(name="list")
@command
def list_surveys(server: Server = DEFAULT_SERVER, token: Token = None, as_json: AsJSON = False) -> None:
    """List the surveys of a collector, the oldest first.

    \b
    hubbub survey list
    """  # noqa: D301
    found = ask_json(server, "/v1/surveys", need_token(token))
    statuses = [_with_url(server, status) for status in found["surveys"]]
    if as_json:
        print_json({"surveys": statuses})
        return
    columns = [("name", "left"), ("state", "left"), ("reports", "right"), ("ε", "right"), ("address", "left")]
    rows = [[s["name"], s["state"], number(s["reports"]), s["epsilon"], s["url"]] for s in statuses]
    print_table(f"{plural(len(rows), 'survey')} at {server}", columns, rows)


@survey.command()
@command
def show(url: SurveyURL, token: Token = None, as_json: AsJSON = False) -> None:
    """Show one survey, with the number of its reports.

    \b
    hubbub survey show --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    address = parse_survey_url(url)
    _show(
        address.server, ask_json(address.server, f"/v1/surveys/{address.survey_id}/status", need_token(token)), as_json
    )


@survey.command()
@command
def close(url: SurveyURL, token: Token = None, as_json: AsJSON = False) -> None:
    """Close a survey: it takes no more reports, and its report ids are deleted. It can still be asked for its answer.

    \b
    hubbub survey close --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/close"
    _show(address.server, ask_json(address.server, path, need_token(token), "POST"), as_json)


def _with_url(server: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a survey with its address."""
    return {"url": f"{server.rstrip('/')}/v1/surveys/{status['survey_id']}", **status}


def _show(server: str, status: dict[str, Any], as_json: bool) -> None:
    """Print the status of a survey, as a table or as JSON."""
    document = _with_url(server, status)
    if as_json:
        print_json(document)
        return
    texts = {
        "address": document["url"],
        "state": document["state"],
        "reports": f"{number(document['reports'])} of {number(document['expected_reports'])} expected",
        "mechanism": document["mechanism"],
        "privacy": f"ε = {document['epsilon']}" + (f", δ = {document['delta']}" if document["delta"] != "0" else ""),
        "opens": document["opens"] or "at once",
        "closes": document["closes"] or "when you close it",
        "origins": ", ".join(document["origins"]),
    }
    print_table(document["name"], [("what", "left"), ("value", "left")], [list(pair) for pair in texts.items()])
