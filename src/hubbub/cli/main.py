"""The command line: one file per command, imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

import typer

import hubbub
from hubbub.cli.parameters import Commands, Group

COMMANDS: Final = {
    "find": "Find the values many people hold, from a file.",
    "plan": "Plan a survey: people, epsilon and the smallest share found.",
    "simulate": "Try a mechanism on a simulated crowd.",
    "compare": "Compare mechanisms and epsilons on the same people.",
    "mechanisms": "List the mechanisms, and when to use which.",
    "demo": "Simulate a crowd and find what it holds, over HTTP.",
    "paper": "Run the paper as an experiment, with figures.",
    "serve": "Run a collector with its dashboard.",
    "login": "Make a link that logs in to the dashboard.",
    "hitters": "Find the values many people hold, from a collector or a tally.",
    "encode": "Make reports of the values in a file.",
    "tally": "Add up the reports in Parquet files.",
    "merge": "Add up tallies.",
    "report": "Answer a survey from this device.",
    "code": "Fit and measure text codes.",
    "survey": "Create, list, show, close and delete surveys.",
    "store": "Check, back up or restore a collector's database.",
    "doctor": "Check that a collector works.",
    "ledger": "Show the surveys this device has answered, and its limits.",
}
"""Every command with its help, in the order of the help. A command is the function of its name in its module."""


@cache
def _load(name: str) -> Any:
    """A command or group of commands for typer; its module is imported now."""
    module = importlib.import_module(f"hubbub.cli.{name}")
    entry = getattr(module, name)
    shelf = Commands()
    if isinstance(entry, typer.Typer):
        shelf.add_typer(entry)
    else:
        shelf.command(context_settings=getattr(module, "CONTEXT", None))(entry)
    return typer.main.get_group(shelf).commands[name]


class _Loaded(Mapping[str, Any]):
    """All commands by name, each loaded on first use."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _AllCommands(Group):
    """The group of all commands. Its help loads none of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Loaded()  # type: ignore[assignment]  # nothing is ever added

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands into the help."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = Commands(
    name="hubbub",
    help="Learn what a crowd is talking about without hearing anyone: the values many people hold, found under "
    "local differential privacy. Start with: hubbub demo",
    cls=_AllCommands,
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
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version
