"""`hubbub code`: fit a text code to public sample strings, and measure how many bits a code gives to strings."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import click

from hubbub.analysis.wording import percent
from hubbub.cli.common import number, plural, print_json, print_table, progress
from hubbub.cli.domains import read_code
from hubbub.cli.options import OrderedGroup, json_option
from hubbub.codes.shipped import CODE_NAMES
from hubbub.errors import InputError
from hubbub.inputs.files import read_lines
from hubbub.model.coded_domain import NEWEST, NORMALIZATIONS, WIDTHS
from hubbub.outputs import check_outputs, write_whole

if TYPE_CHECKING:
    from hubbub.codes.text_code import TextCode


@click.group(cls=OrderedGroup)
def code() -> None:
    """Fit and measure text codes: public tables that give plausible strings few bits."""


KINDS: Final = ("hostnames", "words", "text")
"""The rules that strings are normalised by."""

strings_argument = click.argument(
    "file", metavar="FILE", help="One string per line, optionally followed by a tab and a weight."
)


@code.command()
@strings_argument
@click.option("--output", "-o", required=True, metavar="CODE", help="The file to write the table to, as JSON.")
@click.option(
    "--kind", type=click.Choice(KINDS), default="text", help="How strings are normalised, and the shape of the table."
)
def fit(file: str, output: str, kind: str) -> None:
    """Fit a code to public sample strings. Never use people's own values: the table is published.

    \b
    hubbub code fit cities.txt -o cities.json --kind words
    hubbub find visits.csv --column city --domain words:cities.json
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.codes.bits import measure_code
    from hubbub.codes.fitting import SHAPES, fit_code, fit_steps

    check_outputs([output], [file])
    strings, skipped = read_strings(file, kind)
    with progress("Fitting", fit_steps(SHAPES[kind]), "steps") as advance:
        fitted = fit_code(strings, SHAPES[kind], advance)
    bits = measure_code(fitted, strings)
    size = write_code(fitted, output)
    click.echo(
        f"{output}: {size:,} bytes, {bits.weighted_mean:.1f} bits a string on the {bits.strings:,} it was fitted to"
        + (f"; {plural(skipped, 'line')} skipped: not {kind}" if skipped else "")
    )


@code.command()
@click.argument(
    "name", metavar="CODE", help="hostnames, words, words-de (and other languages), text, or a table's file."
)
@strings_argument
@click.option(
    "--kind", type=click.Choice(KINDS), help="How strings are normalised; default: from CODE's name, else text."
)
@json_option
def measure(name: str, file: str, kind: str | None, as_json: bool) -> None:
    """Show how many bits a code gives to strings. Use strings that it was not fitted to.

    \b
    hubbub code measure hostnames referrers.txt
    """  # noqa: D301
    from hubbub.codes.bits import measure_code

    rules = kind or (name.partition("-")[0] if name in CODE_NAMES else "text")
    strings, skipped = read_strings(file, rules)
    bits = measure_code(read_code(name), strings)
    width = WIDTHS[NEWEST[rules]]
    document = {
        "code": name,
        "kind": rules,
        "strings": bits.strings,
        "skipped": skipped,
        "mean": bits.mean,
        "weighted_mean": bits.weighted_mean,
        "p50": bits.median,
        "p90": bits.p90,
        "share_escaping": bits.escaping,
        "width": width,
        "share_within_width": bits.share_within(width),
    }
    if as_json:
        print_json(document)
        return
    rows = [
        ["mean bits of a string", f"{bits.mean:.1f}"],
        ["mean by weight", f"{bits.weighted_mean:.1f}"],
        ["half have at most", number(bits.median)],
        ["nine in ten have at most", number(bits.p90)],
        ["strings with a byte or a tail that is not in the code", percent(bits.escaping, 1)],
        [f"strings that fit in {width} bits", percent(bits.share_within(width), 1)],
    ]
    caption = [f"{plural(skipped, 'line')} skipped: not {rules}."] if skipped else []
    print_table(f"{name} on {plural(bits.strings, 'string')}", [("measure", "left"), ("value", "right")], rows, caption)


def read_strings(path: str, kind: str) -> tuple[dict[bytes, float], int]:
    """Normalised strings with their weights (1 by default), and how many lines were skipped."""
    strings: dict[bytes, float] = defaultdict(float)
    skipped = 0
    try:
        for line_number, line in enumerate(read_lines(path), 1):
            value, tab, weight = line.rstrip("\r").rpartition("\t")
            value, weight = (value, weight) if tab else (weight, "1")
            normal = NORMALIZATIONS[NEWEST[kind]](value)
            if normal:
                strings[normal.encode("utf-8")] += _weight(weight, line_number)
            else:
                skipped += bool(value)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot read the strings in {path!r}: {reason}") from None
    if not strings:
        raise InputError(f"the file must have at least 1 of the {kind}, got none in {path!r}")
    return dict(strings), skipped


def _weight(text: str, line_number: int) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise InputError(f"a weight must be a number above 0, got {text[:40]!r} in line {line_number}")
    return weight


def write_code(fitted: TextCode, path: str) -> int:
    """Write a table as one JSON line, all of it or nothing; return its size in bytes."""
    document = (json.dumps(fitted.to_json(), separators=(",", ":"), ensure_ascii=False) + "\n").encode("utf-8")
    write_whole(path, document)
    return len(document)
