"""What every command does alike: errors in one sentence, numbers people write, progress, JSON."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Annotated, Any, ParamSpec

import typer

from hubbub.codes.shipped import CODE_NAMES, LANGUAGES, load_code
from hubbub.codes.table import MAX_FILE_BYTES
from hubbub.codes.text_code import TextCode
from hubbub.errors import HubbubError, InputError, ParameterError
from hubbub.model.coded_domain import WIDTHS, CodedText
from hubbub.model.domain import Categories, Domain, Integers, IPv4, Text

P = ParamSpec("P")

# Options that several commands have.
AsJSON = Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")]
Level = Annotated[float, typer.Option(help="The chance, at most, that anything in the answer is wrong.")]
AllCandidates = Annotated[
    bool, typer.Option("--all-candidates", help="A row for every candidate, whether it stands out or not.")
]

_SUFFIXES = {"k": 3, "m": 6, "b": 9, "g": 9}


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Make a failure one sentence on stderr and exit code 2, and Ctrl-C exit code 130."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
            sys.stdout.flush()  # a disk that is full is noticed here, and not while the interpreter ends
        except HubbubError as error:
            typer.echo(f"hubbub: {visible(str(error))}", err=True)
            raise typer.Exit(2) from None
        except BrokenPipeError:  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # what is buffered cannot be written
            typer.echo(f"hubbub: the output must be writable, got an error ({error.strerror})", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("hubbub: interrupted", err=True)
            raise typer.Exit(130) from None
        except MemoryError:
            typer.echo("hubbub: the job must fit in memory, got an allocation that does not", err=True)
            raise typer.Exit(2) from None

    return wrapped


def parse_count(name: str, text: str) -> int:
    """A whole number as people write it: 1e6, 5m, 2_000_000, 1.5k, 1b.

    >>> [parse_count("people", text) for text in ("1e6", "5m", "2_000_000", "1.5k")]
    [1000000, 5000000, 2000000, 1500]
    """
    plain = text.strip().lower().replace("_", "").replace(",", "")
    power = _SUFFIXES.get(plain[-1:], 0)
    try:
        number = Decimal(plain[:-1] if power else plain).scaleb(power)
    except ArithmeticError:
        raise ParameterError(f"{name} must be a number such as 1e6, 5m or 2_000_000, got {name}={text!r}") from None
    if not number.is_finite() or number != number.to_integral_value() or not 1 <= number <= 10**15:
        raise ParameterError(f"{name} must be a whole number from 1 to 10^15, got {name}={text!r}")
    return int(number)


def parse_options(pairs: list[str]) -> dict[str, str]:
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


_DOMAINS = (
    "hostnames, words, words:LANGUAGE, text, text:BYTES, integers:BITS, ipv4, categories:FILE, hostnames:FILE, "
    "words:FILE or code:FILE"
)


def parse_domain(text: str) -> Domain:
    """A domain from its name.

    hostnames, words, words:de (and other languages) and text are coded by the tables that ship; hostnames:FILE,
    words:FILE and code:FILE by a table of one's own (see `hubbub code`), code:FILE with the rules of text. text:BYTES
    is raw text. categories:FILE has one name a line.

    >>> parse_domain("integers:64"), parse_domain("hostnames")
    (Integers(bits=64), CodedText(hostnames-1, 136 bits))
    """
    kind, colon, rest = text.partition(":")
    if kind == "categories" and rest:
        return Categories(read_names(rest))
    if text == "ipv4":
        return IPv4()
    if kind in ("integers", "text") and colon:
        if not (rest.isascii() and rest.isdigit()) or len(rest) > 6:
            raise ParameterError(f"domain {kind} must be written {kind}:NUMBER, got domain={text!r}")
        return Integers(int(rest)) if kind == "integers" else Text(int(rest))
    if kind in ("hostnames", "words", "text", "code") and bool(rest) == bool(colon) and text != "code":
        rules = f"{'text' if kind == 'code' else kind}-1"
        return CodedText(_words_code(rest) if kind == "words" else read_code(rest or kind), rules, WIDTHS[rules])
    raise ParameterError(f"domain must be {_DOMAINS}, got domain={text!r}")


def _words_code(name: str) -> TextCode:
    """The code of a language, the one of a file, or, without a name, the one for several languages."""
    if not name or name in LANGUAGES:
        return load_code(f"words-{name}" if name else "words")
    try:
        return read_code(name)
    except InputError as error:
        raise InputError(
            f"domain words must be words:LANGUAGE ({', '.join(LANGUAGES)}) or words:FILE; {error}"
        ) from None


def read_code(name: str) -> TextCode:
    """A code that ships, by its name, or one from a file."""
    if name in CODE_NAMES:
        return load_code(name)
    try:
        with open(name, "rb") as file:
            document = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"the file of a code must be readable, got {name!r} ({error.strerror})") from None
    return TextCode.from_json(document)


def read_names(path: str) -> list[str]:
    """Public names from a file, one a line; empty lines are skipped and repeated ones dropped."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
            lines = (line.rstrip("\n").removesuffix("\r") for line in file)
            return list(dict.fromkeys(line for line in lines if line))
    except OSError as error:
        raise InputError(f"the file of names must be readable, got {path!r} ({error.strerror})") from None


def print_json(document: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    plain = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    typer.echo(json.dumps(document, ensure_ascii=plain, allow_nan=False))


@contextmanager
def progress(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr where a person is looking; yields a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda step: bar.advance(task, step)


def say_if_compiling(mechanism: str) -> None:
    """One line on stderr if the search has to be compiled first, which takes a while, once."""
    if mechanism != "tree":
        return
    from hubbub.mechanisms.tree.kernels_beam import are_compiled

    if not are_compiled():
        typer.echo("hubbub: compiling once, about 12 s", err=True)


def visible(text: str) -> str:
    r"""The text with everything that could move a cursor or colour a terminal spelled out.

    >>> print(visible("tab\t, bell\x07"))
    tab\t, bell\x07
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def print_table(title: str, columns: list[tuple[str, str]], rows: list[list[str]], caption: Sequence[str] = ()) -> None:
    """A table on stdout between a title and lines of a caption; columns are (heading, "left" or "right")."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as Cell

    table = Table(box=box.SIMPLE_HEAD)
    for heading, side in columns:
        numeric = side == "right"  # a number in two pieces reads as another number
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in rows:
        table.add_row(*(Cell(visible(cell)) for cell in row))  # as text: a value may look like markup
    console = Console()
    # The least width that leaves every number whole and twelve characters for a text; a terminal may wrap the rest.
    longest = [max(len(heading), *(len(row[k]) for row in rows), 0) for k, (heading, _) in enumerate(columns)]
    sides = [side for _, side in columns]
    least = sum(3 + (size if side == "right" else min(size, 12)) for size, side in zip(longest, sides, strict=True)) + 2
    console = Console(width=max(console.width, least) if console.is_terminal else 140)
    typer.echo(visible(title))
    console.print(table)
    for line in caption:
        typer.echo(visible(line))


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun, whose plural may need to be said.

    >>> plural(1, "survey"), plural(2_000, "person", "people"), plural(0, "row")
    ('1 survey', '2,000 people', '0 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number(value: float) -> str:
    """A count for people: thousands separated, no more digits than mean something."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.3g}"
