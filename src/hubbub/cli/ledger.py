"""`hubbub ledger`: the surveys that this device has answered."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import click

from hubbub.cli.common import print_json, print_table
from hubbub.cli.options import F, OrderedGroup, json_option
from hubbub.cli.report import ledger_option
from hubbub.errors import InputError, ParameterError

if TYPE_CHECKING:
    from hubbub.client import Cap


@click.group("ledger", cls=OrderedGroup, invoke_without_command=True)
@ledger_option
@json_option
@click.pass_context
def ledger(context: click.Context, ledger: str | None, as_json: bool) -> None:
    """The surveys that this device has answered, and the privacy they cost."""
    if context.invoked_subcommand is None:
        context.invoke(show, ledger=ledger, as_json=as_json)
    elif ledger is not None or as_json:
        raise ParameterError(
            "options must come after the command, such as `hubbub ledger show --json`, got some before"
        )


@ledger.command()
@ledger_option
@json_option
def show(ledger: str | None, as_json: bool) -> None:
    """List the surveys that were answered from this device, their costs, the totals, and what your limits still allow.

    No value is in the ledger. Without a command, `hubbub ledger` does the same.
    """
    from hubbub.client import Ledger, LedgerError
    from hubbub.client.budget import spent

    book = Ledger(ledger)
    try:
        limits, entries = book.load()
    except LedgerError as error:
        raise InputError(str(error)) from None
    left = limits.left(entries.values())
    epsilon, delta = (format(total, "f") for total in book.totals(entries))
    year = spent(entries.values())["year"]
    shown = ("name", "url", "epsilon", "delta", "answered", "state", "detail")
    if as_json:
        surveys = [{"survey_id": key[:64], **{name: entry[name] for name in shown}} for key, entry in entries.items()]
        told = {"told_epsilon": epsilon, "told_delta": delta, "year_epsilon": format(year, "f"), "left": _spelled(left)}
        print_json({"ledger": book.path, **told, "surveys": surveys})
        return
    if not entries:
        click.echo(f"No survey was answered from this device. The ledger would be {book.path}\n{_left(limits, left)}")
        return
    collectors = sorted({_collector(entry) for entry in entries.values()})
    rows = [
        [_collector(entry), entry["name"], key[:8], entry["epsilon"], entry["delta"], entry["answered"], entry["state"]]
        for each in collectors  # entries of the same collector are adjacent
        for key, entry in entries.items()
        if _collector(entry) == each
    ]
    columns = [("collector", "left"), ("survey", "left"), ("id", "left"), ("ε", "right"), ("δ", "right")]
    each_told = [
        f"{each} was told ε = {book.totals({k: e for k, e in entries.items() if _collector(e) == each})[0]:f} in all."
        for each in collectors
        if len(collectors) > 1
    ]
    sums = f"All together ε = {epsilon} and δ = {delta}. The ledger is {book.path}"
    caption = [*each_told, sums, _left(limits, left), odds_of_year(year)]
    print_table("Told from this device", [*columns, ("answered", "left"), ("state", "left")], rows, caption)


_LN_10: Final = Decimal(10).ln()
_NAMES: Final = {
    "month": "ε in 30 days",
    "year": "ε in 365 days",
    "lifetime": "ε in a lifetime",
    "delta": "δ in a lifetime",
}


def _limit_option(name: str) -> Callable[[F], F]:
    """The option that sets one limit."""
    return click.option(f"--{name}", metavar="NUMBER", help="Set this limit; `none` is no limit.")


@ledger.command()
@_limit_option("month")
@_limit_option("year")
@_limit_option("lifetime")
@_limit_option("delta")
@ledger_option
@json_option
def cap(
    month: str | None, year: str | None, lifetime: str | None, delta: str | None, ledger: str | None, as_json: bool
) -> None:
    """Show or set how much all surveys together may cost: ε in 30 days, in 365 days and in a lifetime, and δ.

    The limits are yours: programs can only lower them. They protect you against honest programs that ask too much.

    \b
    hubbub ledger cap
    hubbub ledger cap --month 2 --lifetime 20
    """  # noqa: D301
    from hubbub.client import ClientError, Ledger

    book = Ledger(ledger)
    asked = {"month": month, "year": year, "lifetime": lifetime, "delta": delta}
    try:
        limits = book.cap()
        changes = {name: _limit(name, text) for name, text in asked.items() if text is not None}
        if changes:
            limits = limits._replace(**changes)
            book.set_cap(limits)
    except ClientError as error:
        raise InputError(str(error)) from None
    if as_json:
        print_json({"ledger": book.path, **_spelled(limits)})
        return
    rows = [[_NAMES[name], limit or "no limit"] for name, limit in _spelled(limits).items()]
    print_table("What all surveys together may cost", [("limit", "left"), ("at most", "right")], rows)


def _limit(name: str, text: str) -> Decimal | None:
    """Return a limit from the command line; None means no limit."""
    from hubbub.client.budget import parse_limit
    from hubbub.client.checks import ClientError

    if text == "none":
        return None
    try:
        return parse_limit(name, text)
    except ClientError as error:
        raise ParameterError(str(error)) from None


def _spelled(limits: Cap) -> dict[str, str | None]:
    """Return limits as text; None if there is no limit."""
    return {name: None if limit is None else format(limit, "f") for name, limit in limits._asdict().items()}


def _left(limits: Cap, left: Cap) -> str:
    """Return a sentence on what the limits still allow."""
    most, parts = _spelled(limits), _spelled(left)
    told = [f"{_NAMES[name]} {part} of {most[name]}" for name, part in parts.items() if part is not None]
    return f"Left: {', '.join(told)}." if told else "There is no limit."


def odds_of_year(epsilon: Decimal) -> str:
    """Return a sentence: what all answers of a year reveal together at most, as odds.

    >>> odds_of_year(Decimal(2))[-17:], odds_of_year(Decimal(28))[-19:]
    ('at most 7.4-fold.', 'at most 10^13-fold.')
    """
    times = f"{math.ceil(10 * math.exp(epsilon)) / 10:,g}" if epsilon < 12 else f"10^{math.ceil(epsilon / _LN_10)}"
    return (
        f"All answers of the last 365 days together, ε = {epsilon:f}, changed the odds of any guess about you at most "
        f"{times}-fold."
    )


def _collector(entry: dict[str, str]) -> str:
    """Return the host that a report goes to."""
    return entry["url"].partition("://")[2].partition("/")[0]
