"""`hubbub survey page` and `survey registry`: what everybody sees of a survey, and its entry for a registry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import click

from hubbub.cli.common import print_json, print_table
from hubbub.cli.options import json_option, parse_options
from hubbub.cli.service import (
    SurveyAddress,
    ask_json,
    need_token,
    parse_survey_url,
    read_survey,
    survey_url_option,
    token_option,
)
from hubbub.errors import ParameterError, ServiceError, shown


@click.command()
@survey_url_option
@click.option("--shown", type=click.Choice(["yes", "no"]), help="Show the answer to everybody, or no longer.")
@click.option("--hide", "hidden", multiple=True, metavar="VALUE", help="Show these values to nobody; repeatable.")
@click.option("--hide-none", is_flag=True, help="Hide no value any more.")
@click.option("--lang", metavar="NAME", help="The language of your texts: de, pt-BR.")
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="NAME=TEXT",
    callback=lambda _, __, pairs: parse_options(pairs),
    help="Your words for a text of the page; an empty one brings hubbub's back; repeatable.",
)
@click.option("--webhook", metavar="URL", help="Send each new answer there, too; none for nowhere.")
@token_option
@json_option
def page(
    url: str,
    shown: str | None,
    hidden: tuple[str, ...],
    hide_none: bool,
    lang: str | None,
    texts: dict[str, str],
    webhook: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Show or change what everybody sees of a survey: its answer, and the words of its public page.

    \b
    hubbub survey page --shown yes --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub survey page --text title="Woher kommt ihr?" --lang de --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    if hidden and hide_none:
        raise ParameterError("--hide must come without --hide-none, got both")
    given: dict[str, Any] = {
        "shown": None if shown is None else shown == "yes",
        "hidden": [*hidden] if hidden or hide_none else None,
        "lang": lang,
        "texts": texts or None,
        "webhook": "" if webhook == "none" else webhook,
    }
    given = {name: value for name, value in given.items() if value is not None}
    address = parse_survey_url(url)
    found = _page(address, token, given)
    if as_json:
        print_json({"survey_id": address.survey_id, **found})
        return
    rows = [
        ["answer", "shown to everybody" if found["shown"] else "not shown"],
        ["hidden values", ", ".join(found["hidden"]) or "none"],
        ["language", found["lang"] or "en"],
        ["your texts", ", ".join(found["texts"]) or "none"],
        ["webhook", found["webhook"] or "none"],
    ]
    secret = [] if found["secret"] is None else [f"Secret of the webhook, shown this once: {found['secret']}"]
    print_table("What everybody sees", [("what", "left"), ("value", "left")], rows, secret)


@click.command()
@survey_url_option
@click.option("--curator", required=True, metavar="NAME", help="Who publishes the answer.")
@click.option(
    "--author", "authors", multiple=True, required=True, metavar="NAME", help="Who wrote the entry; repeatable."
)
@click.option("--region", default="Global", metavar="TEXT", help="What region the answer is about.")
@click.option("--published", metavar="DATE", help="When an answer was first published; default: today.")
@token_option
@json_option
def registry(
    url: str,
    curator: str,
    authors: Sequence[str],
    region: str,
    published: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Write an entry for the registry of deployments of differential privacy (OpenDP, NIST), as YAML.

    What the survey fixes is filled in; what is asked and what for comes from the texts of its public page. It is a
    draft: read it, and propose it to the registry.

    \b
    hubbub survey registry --curator "Example Society" --author "Ada" --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    from hubbub.analysis.registry import as_yaml, registry_entry

    try:
        day = datetime.now(UTC).date() if published is None else date.fromisoformat(published)
    except ValueError:
        raise ParameterError(f"published must be a date such as 2026-10-05, got {shown(published)}") from None
    address = parse_survey_url(url)
    survey, texts = read_survey(url, build=False), _page(address, token, {})["texts"]
    entry = registry_entry(
        survey,
        title=texts.get("title", survey.name),
        description=texts.get("description", ""),
        curator=curator,
        authors=authors,
        region=region,
        published=day,
        source=f"{address.server}/about/{address.survey_id}",
    )
    if as_json:
        print_json(entry)
    else:
        click.echo(as_yaml(entry))


def _page(address: SurveyAddress, token: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the page of a survey, after it was changed if something is given."""
    path, method = f"/v1/surveys/{address.survey_id}/page", "PATCH" if given else "GET"
    found = ask_json(address.server, path, need_token(token), method, given or None)
    kinds = {"shown": bool, "hidden": list, "lang": str, "texts": dict, "webhook": str | None, "secret": str | None}
    if (
        not isinstance(found, dict)
        or not all(name in found and isinstance(found[name], kind) for name, kind in kinds.items())
        or not all(isinstance(each, str) for each in [*found["hidden"], *found["texts"], *found["texts"].values()])
    ):
        raise ServiceError(f"the server at {address.server!r} sent something else than a page")
    return {name: found[name] for name in kinds}
