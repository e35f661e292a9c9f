"""The classes of all commands and groups, which fix two problems of typer.

* Its error messages say that a value is wrong, but not which value was given.
* It loads pydantic, which takes longer than most commands, even to check options that were not given, such as `--help`,
  or that may be any text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hubbub.errors import shown


def _process(param: Any, ctx: Any, value: Any) -> Any:
    """The checked value of a parameter, for its command."""
    if not _needs_check(param, value):
        return param.callback(ctx, param, value) if param.callback else value
    try:
        return type(param).process_value(param, ctx, value)
    except typer.BadParameter as error:
        if value is not None and repr(value) not in error.message:
            error.message = f"{error.message}, got {shown(value)}"
        raise


def _needs_check(param: Any, value: Any) -> bool:
    """Whether typer must check a value. A text that stays text, a default and a flag need no check."""
    if param.nargs != 1 or (value is None and param.required):
        return True
    texts = value or () if param.multiple else (value,)
    kept = {str, list[str]}  # types that accept any text
    return any(isinstance(text, str) for text in texts) and _asked_type(param) not in kept


def _asked_type(param: Any) -> Any:
    """The declared type of a parameter; None in versions of typer that do not provide it."""
    return getattr(getattr(param, "type_descriptor", None), "annotation", None)


class _Mended:
    """A command whose parameters are read by `_process`: typer has no setting for the class of its parameters."""

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
