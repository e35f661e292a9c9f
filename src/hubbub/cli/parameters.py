"""The classes of all commands and groups, which fix three problems of typer.

* Its error messages say that a value is wrong, but not which value was given.
* They take four lines, while all other errors are one sentence.
* It loads pydantic, which takes longer than most commands, even to check options that were not given, such as `--help`,
  or that may be any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hubbub.analysis.wording import visible
from hubbub.errors import shown


def _process(param: Any, ctx: Any, value: Any) -> Any:
    """The checked value of a parameter, for its command. A text that stays text, a default and a flag need no check."""
    texts = value or () if param.multiple else (value,)
    # The declared type, which versions of typer that do not provide it lack. Two of them accept any text.
    asked = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    is_read = any(isinstance(text, str) for text in texts) and asked not in (str, list[str])
    if param.nargs == 1 and not (value is None and param.required) and not is_read:
        return param.callback(ctx, param, value) if param.callback else value
    try:
        return type(param).process_value(param, ctx, value)
    except typer.BadParameter as error:
        if value is not None and repr(value) not in error.message:
            error.message = f"{error.message}, got {shown(value)}"
        raise


_ClickError: Any = typer.BadParameter.__mro__[2]  # click's, or that of the copy that typer has: no name for both
_UsageError: Any = typer.BadParameter.__mro__[1]


class _Refusal(_ClickError):  # type: ignore[misc]  # its class is known when it runs
    """A command that cannot be run as it was written, in one sentence."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the sentence to stderr."""
        typer.echo(f"hubbub: {visible(self.message)}", file=file, err=True)


@contextmanager
def _one_sentence(path: str) -> Iterator[None]:
    """Make an error in how a command was written one sentence, with the help that says more. No command is help."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        place = error.ctx.command_path if error.ctx else path
        raise _Refusal(f"{_sentence(error)}; see {place.replace('python -m hubbub', 'hubbub')} --help") from None


def _sentence(error: Any) -> str:
    """What is wrong, in our words where typer has none of its own."""
    rule, should, rest = error.message.partition("Input should be ")
    if should and not rule and error.param is not None:
        name = max(error.param.opts, key=len) if error.param.opts else error.param.name
        # What follows in pydantic's words says the same again: ", unable to parse string as an integer".
        return f"{name} must be {re.sub(', unable to parse string as an? [a-z]+', '', rest, count=1)}"
    said = error.format_message().rstrip(".")
    return f"{said[:1].lower()}{said[1:]}"


class _Mended:
    """A command whose parameters are read by `_process`: typer has no setting for the class of its parameters."""

    def make_context(self, info_name: Any, *args: Any, parent: Any = None, **extra: Any) -> Any:
        """The context of a call, or one sentence on what is wrong with it."""
        path = f"{parent.command_path} {info_name}" if parent is not None else str(info_name)
        with _one_sentence(path):
            return super().make_context(info_name, *args, parent=parent, **extra)  # type: ignore[misc]

    def invoke(self, ctx: Any) -> Any:
        """Run it; a command that is not there is one sentence, too."""
        with _one_sentence(ctx.command_path):
            return super().invoke(ctx)  # type: ignore[misc]

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters of this command, `--help` included."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the class that this is mixed into
        for param in params:
            param.process_value = partial(_process, param)
        return params


class Command(_Mended, TyperCommand):
    """A command of hubbub."""


class Group(_Mended, TyperGroup):
    """A group of commands of hubbub."""


class Commands(typer.Typer):
    """A group to which commands are added by a decorator: `@group.command()`. Without a command it shows the help."""

    def __init__(self, name: str | None = None, help: str | None = None, **settings: Any) -> None:  # noqa: A002
        settings = {"cls": Group, "no_args_is_help": True, "rich_markup_mode": None, **settings}
        super().__init__(name=name, help=help, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """A decorator that adds a command."""
        return super().command(name, **{"cls": Command, **settings})
