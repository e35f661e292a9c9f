"""The command line: one file per command, imported when it is used."""

from __future__ import annotations

from typing import Annotated

import typer

import hubbub
from hubbub.cli.code import code
from hubbub.cli.demo import demo
from hubbub.cli.find import find
from hubbub.cli.hitters import hitters
from hubbub.cli.ledger import ledger
from hubbub.cli.mechanisms import mechanisms
from hubbub.cli.paper import paper
from hubbub.cli.report import CONTEXT, report
from hubbub.cli.serve import serve
from hubbub.cli.simulate import simulate
from hubbub.cli.store import store
from hubbub.cli.survey import survey

app = typer.Typer(
    name="hubbub",
    help="Learn what a crowd is talking about without hearing anyone: the values many people hold, found under "
    "local differential privacy. Start with: hubbub demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hubbub {hubbub.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version


for _command in (find, simulate, mechanisms, demo, paper, serve, hitters):
    app.command()(_command)
app.command(context_settings=CONTEXT)(report)
for _group in (code, survey, store, ledger):
    app.add_typer(_group)
