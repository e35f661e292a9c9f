"""The command line: one file per command, imported when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

import click

import hubbub
from hubbub.cli.common import complain, in_one_sentence

COMMANDS: Final = {
    "find": "Find the values many people hold, from a file.",
    "plan": "Plan a survey: people, epsilon and the smallest share found.",
    "simulate": "Try a mechanism on a simulated crowd.",
    "compare": "Compare mechanisms and epsilons on the same people.",
    "mechanisms": "List the mechanisms, and when to use which.",
    "audit": "Check the privacy of what makes reports, exactly.",
    "demo": "Simulate a crowd and find what it holds, over HTTP.",
    "paper": "Run the paper as an experiment, with figures.",
    "serve": "Run a collector with its dashboard.",
    "relay": "Pass sealed reports on, without reading them.",
    "login": "Make a link that logs in to the dashboard.",
    "hitters": "Find the values many people hold, from a collector or a tally.",
    "trend": "Show which values change, week by week.",
    "encode": "Make reports of the values in a file.",
    "tally": "Add up the reports in Parquet files.",
    "merge": "Add up tallies.",
    "report": "Answer a survey from this device.",
    "code": "Fit and measure text codes.",
    "survey": "Create, list, show, close and delete surveys.",
    "site": "Ask several questions with one line of script.",
    "token": "Let somebody read answers: make, list and revoke tokens.",
    "store": "Check, back up or restore a collector's database.",
    "doctor": "Check that a collector works.",
    "ledger": "Show the surveys this device has answered, and its limits.",
}
"""Every command with its help, in the order of the help. A command is the object of its name in its module."""


def _load(name: str) -> click.Command:
    """A command; its module is imported now."""
    loaded: click.Command = getattr(importlib.import_module(f"hubbub.cli.{name}"), name)
    return loaded


class Hubbub(click.Group):
    """The group of all commands, each loaded on first use. Whatever goes wrong is said in one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command or group of commands, or None."""
        del ctx
        return _load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands into the help, without loading any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with in_one_sentence():
                return super().invoke(ctx)
        except click.UsageError as error:
            if error.ctx is None and (name := ctx.invoked_subcommand) in COMMANDS:  # click knows only the option
                error.ctx = click.Context(_load(name), ctx, name)
            raise

    def main(self, *args: Any, **extra: Any) -> Any:
        """Read the command line and end the process; a command that is not written as it must be is one sentence."""
        try:
            code = super().main(*args, **{"prog_name": "hubbub", **extra, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = error.exit_code
        except click.UsageError as error:
            complain(f"{_sentence(error)}; see {error.ctx.command_path if error.ctx else 'hubbub'} --help")
            code = error.exit_code
        except click.Abort:
            code = 130
        sys.exit(code)


def _sentence(error: click.UsageError) -> str:
    """What is wrong: the name of an option and its rule, or the words of click."""
    if isinstance(error, click.BadParameter) and error.param is not None and error.message.startswith("must be "):
        return f"{max(error.param.opts, key=len)} {error.message}"
    said = error.format_message().rstrip(".")
    return f"{said[:1].lower()}{said[1:]}"


@click.group(
    "hubbub",
    cls=Hubbub,
    help="Learn what a crowd is talking about without hearing anyone: the values many people hold, found under "
    "local differential privacy. Start with: hubbub demo",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(hubbub.__version__, message="%(prog)s %(version)s", help="Show the version.")
def app() -> None:
    """Nothing is done before the command."""
