"""Shared by all commands: errors in one sentence, parsing of numbers, progress bars, tables and JSON."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.exceptions import Exit

from hubbub.analysis.wording import number as number
from hubbub.analysis.wording import plural as plural
from hubbub.analysis.wording import visible
from hubbub.errors import HubbubError, ParameterError, shown

if TYPE_CHECKING:
    from hubbub.mechanisms.roles import SurveyDecoder

T = TypeVar("T")

_SUFFIXES = {"k": 3, "m": 6, "b": 9, "g": 9}


def complain(sentence: str) -> None:
    """Say on stderr what is wrong, or what else a person should know."""
    click.echo(f"hubbub: {visible(sentence)}", err=True)


def confirm(question: str, option: str) -> None:
    """Ask on stderr, and raise an error unless the reply on stdin is y; `option` is named as the way to skip this."""
    click.echo(f"{visible(question)} [y/N]: ", nl=False, err=True)
    answer = "" if sys.stdin is None else sys.stdin.readline()
    if not answer or not sys.stdin.isatty():  # nobody pressed return, so the line must be ended
        click.echo(err=True)
    if answer.strip().lower() not in ("y", "yes"):
        got = shown(answer.strip()) if answer else "none"
        raise ParameterError(f"the answer must be y, or given in advance by {option}, got {got}")


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Turn a failure into one sentence on stderr and exit code 2, and Ctrl-C into exit code 130.

    It is not a failure if the reader of the output stops early, as `head` does.
    """
    try:
        yield
        sys.stdout.flush()  # so that a full disk is noticed here, and not while the interpreter ends
    except HubbubError as error:
        sentence, code = str(error), 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Exit(0) from None
    except ConnectionError as error:
        sentence, code = f"a connection was lost ({error.strerror or type(error).__name__}); try again", 2
    except OSError as error:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # buffered output cannot be written
        sentence, code = f"the output could not be written ({error.strerror})", 2
    except KeyboardInterrupt:
        sentence, code = "interrupted", 130
    except MemoryError:
        sentence, code = "out of memory; try a smaller job", 2
    else:
        return
    complain(sentence)
    raise Exit(code)


def parse_count(name: str, text: str) -> int:
    """A whole number in any of these forms: 1e6, 5m, 2_000_000, 1.5k, 1b.

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


def parse_every(text: str) -> int:
    """Return the days of a length such as 28, 28d or 4w.

    >>> [parse_every(text) for text in ("28", "28d", "4w")]
    [28, 28, 28]
    """
    digits, unit = (text[:-1], text[-1]) if text[-1:] in ("d", "w") else (text, "d")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 4):
        raise ParameterError(f"every must be a number of days or weeks such as 28d or 4w, got every={shown(text)}")
    return int(digits) * (7 if unit == "w" else 1)


def print_json(document: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    plain = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    click.echo(json.dumps(document, ensure_ascii=plain, allow_nan=False))


def tell(as_json: bool, document: dict[str, Any], text: str) -> None:
    """Print one JSON object, or the text that says the same."""
    if as_json:
        print_json(document)
    else:
        click.echo(text)


@contextmanager
def progress(label: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal; yields a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text as Cell

    class Rate(ProgressColumn):
        """The number per second, over the last half minute."""

        def render(self, task: Any) -> Cell:
            return Cell(f"{number(task.speed)}/s" if task.speed else "")

    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda step: bar.advance(task, step)


def counted(chunks: Iterable[Sequence[T]], advance: Callable[[int], None]) -> Iterator[Sequence[T]]:
    """Yield the chunks, and count each one when the next is asked for."""
    for chunk in chunks:
        yield chunk
        advance(len(chunk))


def say_if_compiling(mechanism: SurveyDecoder) -> None:
    """On a terminal, say that the search must first be compiled, which takes a while, once."""
    if sys.stderr.isatty() and not mechanism.is_compiled:
        complain("compiling once, about 12 s")


def print_table(title: str, columns: list[tuple[str, str]], rows: list[list[str]], caption: Sequence[str] = ()) -> None:
    """Print a table with a title and lines of a caption; columns are (heading, "left" or "right").

    If the terminal is too narrow for the numbers of a row, each row is printed as a block of lines instead.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as Cell

    console = Console()
    headings, sides = [heading for heading, _ in columns], [side for _, side in columns]
    cells = [[visible(cell) for cell in row] for row in rows]
    # The least width at which no number is broken and a text has twelve characters.
    longest = [max(len(heading), *(len(row[k]) for row in cells), 0) for k, heading in enumerate(headings)]
    least = sum(3 + (size if side == "right" else min(size, 12)) for size, side in zip(longest, sides, strict=True)) + 2
    above, grid = [title], ""
    if console.is_terminal and console.width < least:
        widest = max(map(len, headings))
        for row in cells:
            above += ["", *(f"{heading:<{widest}}  {cell}" for heading, cell in zip(headings, row, strict=True))]
        above.append("")
    else:
        table = Table(box=box.SIMPLE_HEAD)
        for heading, side in columns:
            numeric = side == "right"  # numbers are never broken: the pieces would read as other numbers
            table.add_column(heading, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
        for row in cells:
            table.add_row(*map(Cell, row))  # as text: a value may look like markup
        wide = Console(width=console.width if console.is_terminal else 140)
        with wide.capture() as printed:
            wide.print(table)
        grid = printed.get()
    # On a terminal a line is wrapped between words, since a terminal would break it inside numbers.
    wrapper = textwrap.TextWrapper(console.width, break_long_words=False, break_on_hyphens=False)
    for lines, after in ((above, grid), (caption, "")):
        for line in map(visible, lines):
            click.echo(wrapper.fill(line) if console.is_terminal else line)
        sys.stdout.write(after)  # not by rich, which ends the process if nobody reads the output
