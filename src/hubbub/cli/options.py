"""Options and arguments that several commands have, and the kinds of numbers that options take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from hubbub.errors import ParameterError, shown

F = TypeVar("F", bound=Callable[..., Any])

DOMAINS: Final = (
    "text, hostnames, words, integers:BITS, ipv4, uuid, hex:DIGITS, choices:NAME,NAME, categories:FILE, bytes:SIZE or "
    "code:FILE."
)


class OrderedGroup(click.Group):
    """A group whose help lists its commands in the order in which they are written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of its commands."""
        del ctx
        return list(self.commands)


class WholeNumber(click.IntRange):
    """A whole number of a range, whose refusal says the rule and what was given."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise _refusal("a whole number", self, value, param, ctx) from None


class Number(click.FloatRange):
    """A number of a range, whose refusal says the rule and what was given."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise _refusal("a number", self, value, param, ctx) from None


def _refusal(
    what: str,
    kind: click.IntRange | click.FloatRange,
    value: object,
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> click.BadParameter:
    """The error of a number that is not one, or not in its range."""
    if kind.min is not None and kind.max is not None:
        what += f" from {kind.min:,} to {kind.max:,}"
    elif kind.min is not None:
        what += f" of at least {kind.min}"
    return click.BadParameter(f"must be {what}, got {shown(value)}", ctx, param)


def parse_options(pairs: Sequence[str]) -> dict[str, str]:
    """Options given as key=value."""
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ParameterError(f"an option must be written key=value, got {pair!r}")
        if key in options:
            raise ParameterError(f"an option must be given once, got {key!r} twice")
        options[key] = value
    return options


def parse_share(text: str) -> float:
    """A share in any of these forms: 0.01, 1%, 1/100.

    >>> [parse_share(text) for text in ("0.01", "1 %", "1/100")]
    [0.01, 0.01, 0.01]
    """
    first, over, second = text.strip().removesuffix("%").partition("/")
    try:
        share = float(first) / (float(second) if over else 1.0) / (100 if text.strip().endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"share must be a number such as 0.01, 1% or 1/100, got share={text!r:.60}") from None
    return share


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator for several options, in the order of the help."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def env_option(name: str, **settings: Any) -> Callable[[F], F]:
    """An option that may come from the environment, too: --db from HUBBUB_DB."""
    variable = f"HUBBUB_{name.removeprefix('--').replace('-', '_').upper()}"
    return click.option(name, envvar=variable, show_envvar=True, **settings)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
level_option = click.option(
    "--level",
    type=Number(min=0, max=1),
    default=0.05,
    help="The chance, at most, that anything in the answer is wrong.",
)
database_option = env_option(
    "--db", default="hubbub.db", metavar="URL", help="A SQLite file, or postgresql://USER@HOST/NAME."
)

epsilon_option = click.option("--epsilon", "-e", default="1", help="Privacy loss of each person.")
delta_option = click.option("--delta", help="Default: 0 if the mechanism is pure, else its default.")
mechanism_option = click.option(
    "--mechanism", "-m", help="A name of `hubbub mechanisms`; default: the best for the domain."
)
options_option = click.option(
    "--option",
    "-o",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda _, __, pairs: parse_options(pairs),
    help="An option of the mechanism; repeatable.",
)

file_argument = click.argument("file", metavar="FILE|-", help="Lines, CSV, JSON lines or Parquet; - is stdin.")
column_option = click.option("--column", help="Column of the values, if there are several columns.")
format_option = click.option(
    "--format", "file_format", help="lines, csv, jsonl or parquet; default: by name and first bytes."
)
delimiter_option = click.option(
    "--delimiter", metavar="CHARACTER", help="Separator of CSV fields; default: guessed from the first rows."
)
person_option = click.option("--person", help="Column that names the person: one random row of each is used.")
seed_option = click.option("--seed", type=WholeNumber(min=0), help="Repeat a rehearsal exactly; undoes its privacy.")
guessed_domain_option = click.option(
    "--domain", help=f"{DOMAINS} Or auto: the best for the values. Default: integers:64 for whole numbers, else text."
)


def named_input(file: str) -> str:
    """The path of the input; /dev/stdin for standard input, which may be a file, too."""
    return "/dev/stdin" if file == "-" else file
