"""The command line: one file per command, imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

import hubbub
from hubbub.cli.parameters import mend_parameters

COMMANDS: Final = {
    "find": "Find the values many people hold, from a file.",
    "simulate": "Try a mechanism on a crowd that does not exist.",
    "mechanisms": "List the mechanisms, and when to use which.",
    "demo": "Make up a crowd and find what it holds, over HTTP.",
    "paper": "Run the paper as an experiment, with figures.",
    "serve": "Run a collector.",
    "hitters": "Ask a collector which values many people hold.",
    "report": "Answer a survey from this device.",
    "code": "Fit and measure text codes.",
    "survey": "Create, list, show and close surveys.",
    "store": "Look after a collector's database.",
    "ledger": "Show what this device has told.",
}
"""Every command and what it does, in the order of the help; each is what has its name in the module of that name."""


@cache
def _load(name: str) -> Any:
    """A command, or a group of them, as typer runs it; its module is imported now."""
    module = importlib.import_module(f"hubbub.cli.{name}")
    entry = getattr(module, name)
    shelf = typer.Typer(rich_markup_mode=None)
    if isinstance(entry, typer.Typer):
        shelf.add_typer(entry)
    else:
        shelf.command(context_settings=getattr(module, "CONTEXT", None))(entry)
    return typer.main.get_group(shelf).commands[name]


class _Loaded(Mapping[str, Any]):
    """All commands by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The group of all commands, whose help loads none of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Loaded()  # type: ignore[assignment]  # nothing is ever added

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands into the help."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


mend_parameters()

app = typer.Typer(
    name="hubbub",
    help="Learn what a crowd is talking about without hearing anyone: the values many people hold, found under "
    "local differential privacy. Start with: hubbub demo",
    cls=_Commands,
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
