"""Commands and groups of commands as all of ours are, with two things that typer does to options mended.

* It says that a value is wrong, and not which value it was given.
* To check an option that was not given at all, such as `--help`, or that may be any text, it loads pydantic, which
  takes longer than most commands do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hubbub.errors import shown


def _process(param: Any, ctx: Any, value: Any) -> Any:
    """The value of a parameter as its command gets it."""
    if not _needs_check(param, value):
        return param.callback(ctx, param, value) if param.callback else value
    try:
        return type(param).process_value(param, ctx, value)
    except typer.BadParameter as error:
        if value is not None and repr(value) not in error.message:
            error.message = f"{error.message}, got {shown(value)}"
        raise


def _needs_check(param: Any, value: Any) -> bool:
    """Whether typer must look at a value: text that stays text, and what is no text (a default, a flag), are right."""
    if param.nargs != 1 or (value is None and param.required):
        return True
    texts = value or () if param.multiple else (value,)
    kept = {str, list[str]}  # types that take any text as it is
    return any(isinstance(text, str) for text in texts) and _asked_type(param) not in kept


def _asked_type(param: Any) -> Any:
    """The type that a command asks for; None in versions of typer that do not tell."""
    return getattr(getattr(param, "type_descriptor", None), "annotation", None)


class _Mended:
    """A command that reads its parameters by `_process`: typer makes them, and has no setting for their class."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters of this command, `--help` included."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the class that this is mixed into
        for param in params:
            param.process_value = partial(_process, param)
        return params


class Command(_Mended, TyperCommand):
    """A command of ours."""


class Group(_Mended, TyperGroup):
    """A group of commands of ours."""


class Commands(typer.Typer):
    """Where commands are collected by a decorator: `@group.command()`. Without a command, the help is shown."""

    def __init__(self, name: str | None = None, help: str | None = None, **settings: Any) -> None:  # noqa: A002
        settings = {"cls": Group, "no_args_is_help": True, "rich_markup_mode": None, **settings}
        super().__init__(name=name, help=help, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """A decorator that adds a command."""
        return super().command(name, **{"cls": Command, **settings})
