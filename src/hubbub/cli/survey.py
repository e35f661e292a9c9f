"""`hubbub survey`: create surveys on a collector, list, show, close and delete them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

import click

from hubbub.analysis.documents import fits
from hubbub.cli.common import complain, confirm, number, parse_count, parse_every, plural, print_json, print_table, tell
from hubbub.cli.domains import parse_domain, read_groups, read_names
from hubbub.cli.options import (
    DOMAINS,
    OrderedGroup,
    WholeNumber,
    delta_option,
    epsilon_option,
    json_option,
    options_option,
)
from hubbub.cli.people_tell import told_at_once, what_people_tell
from hubbub.cli.public import page, registry
from hubbub.cli.service import (
    ask,
    ask_json,
    need_token,
    parse_survey_url,
    read_bytes,
    server_option,
    survey_url_option,
    token_option,
)
from hubbub.cli.site import all_sites
from hubbub.cli.survey_status import all_surveys, checked, show_status, with_url
from hubbub.client import DEFAULT_MAX_EPSILON, RELAY_MAX_EPSILON
from hubbub.errors import ParameterError, ServiceError
from hubbub.model.relayed import GOOD_CROWD
from hubbub.sealing.request import LEAST_CROWD, MOST_CROWD

_NAMES: Final = ("fixed", "later", "sentences")
_groups_option: Final = click.option(
    "--groups", metavar="FILE", help="Values to count together, until the first report: value, tab, group on each line."
)
_MERGED: Final = {"reports": int, "merged": bool}
_SLICE: Final = {"start": str, "end": str, "reports": int, "open": bool, "changed": bool}


@click.group(cls=OrderedGroup)
def survey() -> None:
    """Create, list, show, close and delete the surveys of a collector, over HTTP with the owner's token."""


@survey.command()
@click.argument("name", help="A name for people to read.")
@click.option("--domain", required=True, help=DOMAINS)
@epsilon_option
@delta_option
@click.option("--mechanism", "-m", help="A name of `hubbub mechanisms`; default: subset for short lists, else tree.")
@options_option
@click.option("--people", "-n", default="100k", help="Reports to expect; any number may come.")
@click.option("--opens", metavar="TIME", help="RFC 3339, such as 2030-01-31T00:00:00Z.")
@click.option("--closes", metavar="TIME", help="RFC 3339; default: when you close it.")
@click.option("--every", metavar="LENGTH", help="Ask again every so many days or weeks: 28d or 4w. It opens at once.")
@click.option(
    "--origin", multiple=True, metavar="URL", help="Pages of this origin may report; repeatable; default: all."
)
@click.option("--names", metavar="FILE", help="Values to look for by name, one per line; they stay with the survey.")
@_groups_option
@click.option(
    "--relay-crowd",
    metavar="NUMBER",
    type=WholeNumber(LEAST_CROWD, MOST_CROWD),
    help="Reports come sealed through a relay, which passes on at least so many together; with --closes.",
)
@click.option(
    "--slice", "slice_length", type=click.Choice(["week", "day"]), help="Sums are kept for each week (default) or day."
)
@click.option("--out", metavar="FILE", help="Write the survey to a file instead; no collector is asked.")
@server_option
@token_option
@json_option
def new(
    domain: str,
    people: str,
    every: str | None,
    origin: tuple[str, ...],
    names: str | None,
    groups: str | None,
    relay_crowd: int | None,
    slice_length: str | None,
    out: str | None,
    server: str,
    token: str | None,
    as_json: bool,
    **facts: Any,
) -> None:
    """Create a survey and print its address, which devices need to answer it.

    \b
    hubbub survey new referrers --domain hostnames --epsilon 1
    hubbub survey new referrers --domain hostnames --epsilon 2 --every 4w
    hubbub survey new referrers --domain hostnames --epsilon 6 --relay-crowd 1000 --closes 2030-01-31T00:00:00Z
    hubbub survey new referrers --domain hostnames --out survey.json
    hubbub survey new countries --domain categories:countries.txt --origin https://www.example.org
    """  # noqa: D301
    values, facts["expected_reports"] = parse_domain(domain), parse_count("people", people)
    facts["every"] = None if every is None else parse_every(every)
    if out is not None:
        kept_there = {"--origin": origin, "--slice": slice_length, "--names": names, "--groups": groups}
        for option, given in {**kept_there, "--relay-crowd": relay_crowd}.items():
            if given:
                raise ParameterError(f"{option} must come without --out, since a collector keeps it, got both")
        tell(as_json, _write_survey(out, domain=values, **facts), out)
        return
    kept = {"origins": origin or None, "slice": slice_length}
    own = {"names": names and read_names(names), "groups": groups and read_groups(groups)}
    relay = None if relay_crowd is None else {"crowd": relay_crowd}
    request = {"domain": values.to_json(), **facts, **kept, **own, "relay": relay}
    request = {name: fact for name, fact in request.items() if fact is not None}
    status = checked(server, ask_json(server, "/v1/surveys", need_token(token), "POST", request))
    most = DEFAULT_MAX_EPSILON if relay_crowd is None else RELAY_MAX_EPSILON
    if Decimal(status["epsilon"]) > Decimal(most):
        complain(
            f"the survey states ε = {status['epsilon']}, but clients answer up to ε = {most} "
            "unless their max_epsilon is raised"
        )
    if relay_crowd is not None and relay_crowd < GOOD_CROWD:
        complain(f"a crowd of {relay_crowd} hides hardly anybody; at least {GOOD_CROWD} is better")
    listed = told_at_once(all_surveys(server, token), all_sites(server, token))
    if not _are_texts(status.get("sentences")):
        raise ServiceError(f"the server at {server!r} sent something else than a new survey")
    for sentence in status["sentences"]:
        complain(sentence)
    for sentence in what_people_tell(listed, Decimal(status["epsilon"]), datetime.now(UTC), status["every"]):
        complain(sentence)
    tell(as_json, with_url(server, status), with_url(server, status)["url"])


@survey.command(name="list")
@server_option
@token_option
@json_option
def list_surveys(server: str, token: str | None, as_json: bool) -> None:
    """List the surveys of a collector, the oldest first.

    \b
    hubbub survey list
    """  # noqa: D301
    statuses = [with_url(server, status) for status in all_surveys(server, token)]
    if as_json:
        print_json({"surveys": statuses})
        return
    columns = [("name", "left"), ("state", "left"), ("reports", "right"), ("ε", "right"), ("address", "left")]
    rows = [[s["name"], s["state"], number(s["reports"]), s["epsilon"], s["url"]] for s in statuses]
    print_table(f"{plural(len(rows), 'survey')} at {server}", columns, rows)


@survey.command()
@survey_url_option
@token_option
@json_option
def show(url: str, token: str | None, as_json: bool) -> None:
    """Show one survey, with the number of its reports.

    \b
    hubbub survey show --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    show_status(url, "status", token, "GET", as_json)


@survey.command()
@click.argument("file", required=False, metavar="[FILE]", help="The names, one per line; without it they are shown.")
@_groups_option
@survey_url_option
@token_option
@json_option
def names(file: str | None, groups: str | None, url: str, token: str | None, as_json: bool) -> None:
    """Show or replace the names that stay with a survey: values that its answers look for by name, or count together.

    Those fixed before the first report are found from a smaller count on. Later ones must stand out by themselves.
    Groups cannot change after the first report.

    \b
    hubbub survey names sites.txt --survey http://127.0.0.1:8000/v1/surveys/ID
    hubbub survey names --groups groups.tsv --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/names"
    given = {"names": file and read_names(file), "groups": groups and read_groups(groups)}
    request = {kind: each for kind, each in given.items() if each is not None} or None
    reply = ask_json(address.server, path, need_token(token), "GET" if request is None else "PUT", request)
    together = reply.get("groups") if isinstance(reply, dict) else None
    if not isinstance(together, dict) or not all(map(_are_texts, [*map(reply.get, _NAMES), *together.values()])):
        raise ServiceError(f"the server at {address.server!r} sent something else than names")
    if as_json:
        print_json({"survey_id": address.survey_id, **{field: reply[field] for field in (*_NAMES, "groups")}})
        return
    rows = [[name, "yes"] for name in reply["fixed"]] + [[name, "after looking"] for name in reply["later"]]
    rows += [[value, f"in {name}"] for name, values in together.items() for value in values]
    print_table(plural(len(rows), "name"), [("name", "left"), ("named", "left")], rows, reply["sentences"])


@survey.command()
@survey_url_option
@token_option
@json_option
def slices(url: str, token: str | None, as_json: bool) -> None:
    """List the slices of time of a survey: its weeks or days, with the number of reports in each.

    \b
    hubbub survey slices --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    address = parse_survey_url(url)
    found = ask_json(address.server, f"/v1/surveys/{address.survey_id}/slices", need_token(token))
    listed = found.get("slices") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not all(
        isinstance(row, dict) and all(fits(row.get(field), kind) for field, kind in _SLICE.items()) for row in listed
    ):
        raise ServiceError(f"the server at {address.server!r} sent something else than slices of time")
    if as_json:
        print_json({"survey_id": address.survey_id, "slices": listed})
        return
    rows = [
        [row["start"], number(row["reports"]), "goes on" if row["open"] else "changed" if row["changed"] else ""]
        for row in listed
    ]
    print_table("Slices of time", [("from", "left"), ("reports", "right"), ("", "left")], rows)


@survey.command()
@survey_url_option
@token_option
@json_option
def close(url: str, token: str | None, as_json: bool) -> None:
    """Close a survey: it takes no more reports, and its report ids are deleted. Its answer stays available.

    \b
    hubbub survey close --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    show_status(url, "close", token, "POST", as_json)


@survey.command()
@survey_url_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@token_option
@json_option
def delete(url: str, yes: bool, token: str | None, as_json: bool) -> None:
    """Delete a survey with its sums and everything that belongs to it. Only a backup can bring it back.

    \b
    hubbub survey delete --survey http://127.0.0.1:8000/v1/surveys/ID --yes
    """  # noqa: D301
    address = parse_survey_url(url)
    owner = need_token(token)
    if not yes:
        status = checked(address.server, ask_json(address.server, f"/v1/surveys/{address.survey_id}/status", owner))
        many = plural(status["reports"], "report")
        confirm(f"Delete {status['name']!r} with its {many}?", "--yes")
    ask(address.server, f"/v1/surveys/{address.survey_id}", owner, "DELETE")
    tell(as_json, {"survey_id": address.survey_id, "state": "deleted"}, f"Deleted {address.survey_id}")


@survey.command()
@click.argument("files", nargs=-1, required=True, metavar="TALLIES…", help="Files of tallies of the survey.")
@survey_url_option
@click.option("--key", metavar="TEXT", help="A name for this merge, for one file only; default: the file's SHA-256.")
@click.option("--day", metavar="DATE", help="A day of the slice of the reports; default: as in the file, or today.")
@token_option
@json_option
def merge(files: tuple[str, ...], url: str, key: str | None, day: str | None, token: str | None, as_json: bool) -> None:
    """Add tallies that were counted elsewhere to the survey's tally on a collector, each once.

    A file that was merged before is not merged again, so you can repeat the command if no reply came. The reports in
    the files must not have been sent to the collector as well: a tally has no ids to compare.

    \b
    hubbub survey merge monday.tally tuesday.tally --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    import hashlib

    if key is not None and len(files) != 1:
        raise ParameterError(f"--key must come with one file, got {len(files)}")
    address = parse_survey_url(url)
    path, owner = f"/v1/surveys/{address.survey_id}/tallies", need_token(token)
    path += "" if day is None else f"?{urlencode({'day': day})}"
    merged = []
    for name in files:
        data = read_bytes(name, "tally")
        named = hashlib.sha256(data).hexdigest() if key is None else key
        reply = ask_json(address.server, path, owner, "POST", data, {"Idempotency-Key": named})
        if not isinstance(reply, dict) or not all(fits(reply.get(field), kind) for field, kind in _MERGED.items()):
            raise ServiceError(f"the server at {address.server!r} sent something else than the outcome of a merge")
        merged.append({"file": name, "key": named, "reports": reply["reports"], "merged": reply["merged"]})
        if not as_json:
            was = "added" if reply["merged"] else "had been added before"
            click.echo(f"{name}: {plural(reply['reports'], 'report')} {was}.")
    if as_json:
        print_json({"survey_id": address.survey_id, "tallies": merged})


for _command in (page, registry):
    survey.add_command(_command)


def _are_texts(given: object) -> bool:
    """Whether something from JSON is a list of texts."""
    return isinstance(given, list) and all(isinstance(each, str) for each in given)


def _write_survey(path: str, **facts: Any) -> dict[str, Any]:
    """Create a survey here and write its canonical JSON to a file; return what `--json` prints."""
    from hubbub.mechanisms.registry import create_survey
    from hubbub.outputs import write_whole

    if facts["every"] and facts["opens"] is None:
        raise ParameterError("--every must come with --opens, if there is --out, got no --opens")
    if os.path.lexists(path):  # reports of the survey in it would become useless
        raise ParameterError(f"the output must be a new file, got {path!r}, which exists")
    made = create_survey(**facts)
    write_whole(path, made.to_json())
    return {
        "out": path,
        "survey_id": made.survey_id.hex(),
        "name": made.name,
        "mechanism": made.mechanism,
        "epsilon": format(made.epsilon, "f"),
        "delta": format(made.delta, "f"),
        "expected_reports": made.expected_reports,
    }
