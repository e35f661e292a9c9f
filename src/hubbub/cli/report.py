"""`hubbub report`: answer a survey from this device."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Final

import click

from hubbub.cli.common import print_json
from hubbub.cli.options import Number, json_option
from hubbub.client import DEFAULT_MAX_EPSILON, RELAY_MAX_EPSILON
from hubbub.errors import InputError, ParameterError

EXIT_QUEUED = 3
_NAMES_SHOWN: Final = 10


ledger_option = click.option("--ledger", metavar="FILE", help="The file of the ledger, if it is not the default one.")


# An unknown option is taken as the value: -5 may be a value, and an error message would repeat a private value.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "values",
    nargs=-1,
    required=True,
    metavar="VALUE",
    help="The value. With - it is read from standard input, and is not in the shell's history.",
)
@click.option("--survey", required=True, metavar="URL", help="The survey's address, http(s)://…/v1/surveys/<id>.")
@click.option(
    "--document",
    metavar="FILE",
    help="The survey's JSON, so that it is not fetched; a value that is not on its closed list is refused.",
)
@ledger_option
@click.option("--relay", metavar="URL", help="The address of a relay, for a survey through one.")
@click.option(
    "--max-epsilon",
    metavar="NUMBER",
    help=f"The largest ε that it may state: {DEFAULT_MAX_EPSILON} by default, {RELAY_MAX_EPSILON} with --relay.",
)
@click.option(
    "--lifetime-epsilon", metavar="NUMBER", help="The largest sum of ε in the ledger; `hubbub ledger cap` also applies."
)
@click.option(
    "--timeout", type=Number(min=0), default=10.0, metavar="SECONDS", help="How long to wait for the collector."
)
@json_option
def report(
    values: tuple[str, ...],
    survey: str,
    document: str | None,
    ledger: str | None,
    relay: str | None,
    max_epsilon: str | None,
    lifetime_epsilon: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Answer a survey once, or once in each of its periods. Only a random report of the value is stored and sent.

    \b
    hubbub report news.example --survey https://collector.example/v1/surveys/<id>
    hubbub report - --survey "$SURVEY" < value.txt

    Exit codes: 0 the collector has the report, from now or earlier; 3 the report is in the ledger, and the same command
    will send it when run again; 2 nothing was or will be sent. Whatever the value is, the same is sent and printed.
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.client import Client, ClientError, Ledger
    from hubbub.client.delivery import DAYS_TO_DELIVER
    from hubbub.client.ledger import current

    if len(values) != 1:
        raise ParameterError(f"one value must be given, in quotes if it has spaces, got {len(values)}")
    value = _first_line() if values[0] == "-" else values[0]
    if any("\ud800" <= each <= "\udfff" for each in value):  # bytes that are no text
        raise InputError("the value must be UTF-8, got another encoding; nothing was sent")
    try:
        with Client(
            survey if document is None else _pinned(document, value),
            url=None if document is None else survey,
            relay=relay,
            max_epsilon=max_epsilon,
            lifetime_epsilon=lifetime_epsilon,
            ledger=ledger,
            timeout=max(timeout, 0.1),
        ) as client:
            first = client.report(value)
            result = first if first.status == "refused" else client.flush(timeout)
        entries = client.ledger.read()
    except ClientError as error:
        raise ParameterError(str(error)) from None
    if result.status == "waiting":
        raise InputError(f"the survey could not be fetched ({result.detail or 'timeout'}); nothing was kept")
    if result.status == "refused":
        raise InputError(f"the survey was not answered: {result.detail}")
    entry = entries[current(entries, client.survey_id)]
    told = Ledger.totals(entries)
    status = "already" if first.status == "already" and result.status == "sent" else result.status
    if as_json:
        print_json(
            {
                "status": status,
                "detail": result.detail,
                "survey_id": client.survey_id,
                "epsilon": entry["epsilon"],
                "delta": entry["delta"],
                "told_epsilon": format(told[0], "f"),
                "told_delta": format(told[1], "f"),
                "choices": list(client.choices) or None,
                "ledger": client.ledger.path,
            }
        )
    else:
        kept = f"is in the ledger, and is given up if that stays so for {DAYS_TO_DELIVER} days"
        sentence = {
            "sent": f"Sent: the {'relay' if relay else 'collector'} has the report.",
            "already": "Answered before: nothing new was made or sent.",
            "queued": f"Queued: not delivered yet ({result.detail or 'timeout'}); the report {kept}.",
        }[status]
        click.echo(f"{sentence} ε = {entry['epsilon']} for this survey, {told[0]:f} for all in the ledger.")
        if client.choices:  # told to everybody: whether a value is on the list is nobody's business
            click.echo(f"The survey's values are {_listed(client.choices)}. Any other value counts as one of them.")
    if status == "queued":
        raise click.exceptions.Exit(EXIT_QUEUED)


def _pinned(file: str, value: str) -> bytes:
    """Return a survey from a file. Refuse a value that is not on its closed list: the client would report a name of it.

    Nothing has been sent by then. The message does not repeat the value.
    """
    from hubbub.client.survey import read_survey

    try:
        document = Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"the survey {file!r} cannot be read ({error.strerror})") from None
    names = read_survey(document).domain.names
    if names and unicodedata.normalize("NFC", value) not in names:
        raise InputError(f"the value must be one of the survey's ({_listed(names)}), got another one; nothing was sent")
    return document


def _listed(names: tuple[str, ...]) -> str:
    """Return the first names of a list."""
    return ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")


def _first_line() -> str:
    """Return the first line of standard input without its end. No line is an empty value, as any other is reported."""
    line = b"" if sys.stdin is None else sys.stdin.buffer.readline()
    return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "surrogateescape")
