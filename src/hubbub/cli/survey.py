"""`hubbub survey`: create surveys on a collector, list, show, close and delete them."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

import click

from hubbub.analysis.documents import fits
from hubbub.analysis.wording import visible
from hubbub.cli.common import complain, number, parse_count, parse_every, plural, print_json, print_table, tell
from hubbub.cli.domains import parse_domain, read_names
from hubbub.cli.options import DOMAINS, OrderedGroup, delta_option, epsilon_option, json_option, options_option
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
from hubbub.client import DEFAULT_CAP, DEFAULT_MAX_EPSILON
from hubbub.errors import ParameterError, ServiceError, shown
from hubbub.model.repeating import cost_words, days_words

_STATUS: Final = {
    **dict.fromkeys(("survey_id", "name", "state", "mechanism", "epsilon", "delta", "slice"), str),
    **dict.fromkeys(("damage", "opens", "closes", "created"), str | None),
    **dict.fromkeys(("reports", "expected_reports"), int),
    "every": int | None,
    "origins": list,
}
_NAMES: Final = ("fixed", "later", "sentences")
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
    hubbub survey new referrers --domain hostnames --out survey.json
    hubbub survey new countries --domain categories:countries.txt --origin https://www.example.org
    """  # noqa: D301
    values, facts["expected_reports"] = parse_domain(domain), parse_count("people", people)
    facts["every"] = None if every is None else parse_every(every)
    if out is not None:
        for option, given in (("--origin", origin), ("--slice", slice_length), ("--names", names)):
            if given:
                raise ParameterError(f"{option} must come without --out, since a collector keeps it, got both")
        tell(as_json, _write_survey(out, domain=values, **facts), out)
        return
    kept = {"origins": origin or None, "slice": slice_length, "names": names and read_names(names)}
    request = {"domain": values.to_json(), **facts, **kept}
    request = {name: fact for name, fact in request.items() if fact is not None}
    status = _checked(server, ask_json(server, "/v1/surveys", need_token(token), "POST", request))
    if Decimal(status["epsilon"]) > Decimal(DEFAULT_MAX_EPSILON):
        complain(
            f"the survey states ε = {status['epsilon']}, but clients answer up to ε = {DEFAULT_MAX_EPSILON} "
            "unless their max_epsilon is raised"
        )
    listed = _all_surveys(server, token)
    if not _are_texts(status.get("sentences")):
        raise ServiceError(f"the server at {server!r} sent something else than a new survey")
    for sentence in status["sentences"]:
        complain(sentence)
    for sentence in what_people_tell(listed, Decimal(status["epsilon"]), datetime.now(UTC), status["every"]):
        complain(sentence)
    tell(as_json, _with_url(server, status), _with_url(server, status)["url"])


def what_people_tell(surveys: list[dict[str, Any]], epsilon: Decimal, now: datetime, every: int | None) -> list[str]:
    """Return sentences: the total ε of an owner's surveys, and whether the limits of ledgers will stop answers.

    `surveys` are all of the collector, with `epsilon` and `created`. `epsilon` and `every` are those of the newest one.
    """
    sentences = []
    for days, most in ((30, DEFAULT_CAP.month), (365, DEFAULT_CAP.year)):
        since = now - timedelta(days=days)
        recent = [each for each in surveys if each["created"] and datetime.fromisoformat(each["created"]) > since]
        told = sum((Decimal(each["epsilon"]) for each in recent), Decimal(0))
        if most is not None and told > most and len(recent) > 1:
            sentences.append(
                f"answering all {len(recent)} surveys that you made in {days} days costs a person ε = {told:f}; "
                f"ledgers allow {most:f} in {days} days, so those who answered the others will not answer this one"
            )
    if every is not None:
        sentences.append(cost_words(epsilon, every))
    elif not sentences and DEFAULT_CAP.month is not None and 5 * epsilon > DEFAULT_CAP.month:
        weeks = int(DEFAULT_CAP.month / epsilon)
        sentences.append(
            f"asked every week, this adds up to ε = {4 * epsilon:f} in four weeks; ledgers allow {DEFAULT_CAP.month:f} "
            f"in 30 days, so a person answers at most {plural(weeks, 'time')}"
        )
    return sentences


@survey.command(name="list")
@server_option
@token_option
@json_option
def list_surveys(server: str, token: str | None, as_json: bool) -> None:
    """List the surveys of a collector, the oldest first.

    \b
    hubbub survey list
    """  # noqa: D301
    statuses = [_with_url(server, status) for status in _all_surveys(server, token)]
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
    _show(url, "status", token, "GET", as_json)


@survey.command()
@click.argument("file", required=False, metavar="[FILE]", help="The names, one per line; without it they are shown.")
@survey_url_option
@token_option
@json_option
def names(file: str | None, url: str, token: str | None, as_json: bool) -> None:
    """Show or replace the names that stay with a survey: values that its answers look for by name.

    Those fixed before the first report are found from a smaller count on. Later ones must stand out by themselves.

    \b
    hubbub survey names sites.txt --survey http://127.0.0.1:8000/v1/surveys/ID
    """  # noqa: D301
    address = parse_survey_url(url)
    path = f"/v1/surveys/{address.survey_id}/names"
    request = None if file is None else {"names": read_names(file)}
    reply = ask_json(address.server, path, need_token(token), "GET" if file is None else "PUT", request)
    if not isinstance(reply, dict) or not all(_are_texts(reply.get(field)) for field in _NAMES):
        raise ServiceError(f"the server at {address.server!r} sent something else than names")
    if as_json:
        print_json({"survey_id": address.survey_id, **{field: reply[field] for field in _NAMES}})
        return
    rows = [[name, "yes"] for name in reply["fixed"]] + [[name, "after looking"] for name in reply["later"]]
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
    _show(url, "close", token, "POST", as_json)


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
        status = _checked(address.server, ask_json(address.server, f"/v1/surveys/{address.survey_id}/status", owner))
        many = plural(status["reports"], "report")
        _confirm(f"Delete {status['name']!r} with its {many}?", "--yes")
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


def _are_texts(given: object) -> bool:
    """Whether something from JSON is a list of texts."""
    return isinstance(given, list) and all(isinstance(each, str) for each in given)


def _confirm(question: str, option: str) -> None:
    """Ask on stderr, and raise an error unless the reply on stdin is y; `option` is named as the way to skip this."""
    click.echo(f"{visible(question)} [y/N]: ", nl=False, err=True)
    answer = "" if sys.stdin is None else sys.stdin.readline()
    if not answer or not sys.stdin.isatty():  # nobody pressed return, so the line must be ended
        click.echo(err=True)
    if answer.strip().lower() not in ("y", "yes"):
        got = shown(answer.strip()) if answer else "none"
        raise ParameterError(f"the answer must be y, or given in advance by {option}, got {got}")


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


def _all_surveys(server: str, token: str | None) -> list[dict[str, Any]]:
    """Return the status of all surveys of a collector."""
    found = ask_json(server, "/v1/surveys", need_token(token))
    listed = found.get("surveys") if isinstance(found, dict) else None
    return [_checked(server, status) for status in (listed if isinstance(listed, list) else [None])]


def _checked(server: str, status: Any) -> dict[str, Any]:
    """Return the status of a survey as a server sent it. Raises ServiceError if it is something else."""
    try:
        is_status = all(fits(status[field], kind) for field, kind in _STATUS.items())
        is_status = is_status and 0 <= Decimal(status["epsilon"]) < 10**6
        ", ".join(status["origins"])
        for field in ("opens", "closes", "created"):
            if status[field] is not None and datetime.fromisoformat(status[field]).tzinfo is None:
                is_status = False
    except (KeyError, TypeError, ValueError, ArithmeticError):
        is_status = False
    if not is_status:
        raise ServiceError(f"the server at {server!r} sent something else than a survey")
    return dict(status)


def _with_url(server: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return the status of a survey with its address."""
    return {"url": f"{server.rstrip('/')}/v1/surveys/{status['survey_id']}", **status}


def _show(url: str, route: str, token: str | None, method: str, as_json: bool) -> None:
    """Ask a route of a survey for its status, and print that as a table or as JSON."""
    server, survey_id = parse_survey_url(url)
    status = ask_json(server, f"/v1/surveys/{survey_id}/{route}", need_token(token), method)
    document = _with_url(server, _checked(server, status))
    if as_json:
        print_json(document)
        return
    texts = {
        "address": document["url"],
        "state": document["state"] + (f": {document['damage']}" if document["damage"] else ""),
        "reports": f"{number(document['reports'])} of {number(document['expected_reports'])} expected",
        "mechanism": document["mechanism"],
        "privacy": f"ε = {document['epsilon']}" + (f", δ = {document['delta']}" if document["delta"] != "0" else ""),
        "opens": document["opens"] or "at once",
        "closes": _closes(document["state"], document["closes"]),
        "repeats": f"every {days_words(document['every'])}" if document["every"] else "no",
        "origins": ", ".join(document["origins"]),
        "slices": f"each {document['slice']}",
    }
    print_table(document["name"], [("what", "left"), ("value", "left")], [list(pair) for pair in texts.items()])


def _closes(state: str, closes: str | None) -> str:
    """When a survey closes, or that its owner has closed it."""
    if state == "earlier version":
        return "an earlier version of hubbub made it"
    if state != "closed":
        return closes or "when you close it"
    if closes is None or datetime.fromisoformat(closes) > datetime.now(UTC):
        return "you closed it" + (f" before {closes}" if closes else "")
    return closes
