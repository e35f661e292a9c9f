"""Two things that typer does with the value of an option, mended.

* It says that a value is wrong, and not which value it was given.
* To check an option that was not given at all, such as `--help`, it loads pydantic, which takes longer than most
  commands do.
"""

from __future__ import annotations

import functools
from typing import Any

import typer
from typer.core import TyperArgument, TyperOption

from hubbub.errors import shown


def mend_parameters() -> None:
    """Change typer's options and arguments, for all commands of this process."""
    for kind in (TyperOption, TyperArgument):
        _mend(kind)


def _mend(kind: Any) -> None:
    process = kind.process_value

    @functools.wraps(process)
    def process_value(self: Any, ctx: Any, value: Any) -> Any:
        if value is None and not self.required and self.nargs == 1 and not self.multiple:
            return self.callback(ctx, self, None) if self.callback else None
        try:
            return process(self, ctx, value)
        except typer.BadParameter as error:
            if value is not None and repr(value) not in error.message:
                error.message = f"{error.message}, got {shown(value)}"
            raise

    kind.process_value = process_value
