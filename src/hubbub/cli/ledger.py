"""`hubbub ledger`: what this device has told."""

from __future__ import annotations

import typer

from hubbub.cli.common import AsJSON, command, print_json, print_table
from hubbub.cli.report import LedgerFile
from hubbub.errors import InputError

ledger = typer.Typer(
    name="ledger",
    help="What this device has told: the surveys it answered and the privacy they cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ledger.callback()
def _ledger() -> None:
    pass


@ledger.command()
@command
def show(
    ledger: LedgerFile = None,
    as_json: AsJSON = False,
) -> None:
    """List the surveys that were answered from here, what each cost, and the sums. Values are nowhere in it."""
    from hubbub.client import Ledger, LedgerError

    book = Ledger(ledger)
    try:
        entries = book.read()
    except LedgerError as error:
        raise InputError(str(error)) from None
    epsilon, delta = (format(total, "f") for total in book.totals(entries))
    shown = ("name", "url", "epsilon", "delta", "answered", "state", "detail")
    if as_json:
        surveys = [{"survey_id": key, **{name: entry[name] for name in shown}} for key, entry in entries.items()]
        print_json({"ledger": book.path, "told_epsilon": epsilon, "told_delta": delta, "surveys": surveys})
        return
    if not entries:
        typer.echo(f"Nothing was told from here. The ledger would be {book.path}")
        return
    print_table(
        "Told from this device",
        [("survey", "left"), ("id", "left"), ("ε", "right"), ("δ", "right"), ("answered", "left"), ("state", "left")],
        [
            [entry["name"], key[:8], entry["epsilon"], entry["delta"], entry["answered"], entry["state"]]
            for key, entry in entries.items()
        ],
        [f"All together ε = {epsilon} and δ = {delta}. The ledger is {book.path}"],
    )
