"""`hubbub merge`: adds up tallies of one survey."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import click

from hubbub.cli.common import plural, tell
from hubbub.cli.options import json_option
from hubbub.cli.service import read_bytes
from hubbub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hubbub.model.tally import Tally


@click.command
@click.argument("files", nargs=-1, required=True, metavar="TALLIES…", help="Files of tallies of one survey.")
@click.option("--out", "-o", required=True, metavar="FILE", help="The file to write the sum to.")
@click.option("--allow-equal", is_flag=True, help="Count files with the same content as different reports.")
@json_option
def merge(files: tuple[str, ...], out: str, allow_equal: bool, as_json: bool) -> None:
    """Add up tallies. No report may be in two of them: tallies have no ids to compare.

    If all name the same day of a slice of time, so does the sum. The same file twice is refused, even under another
    name.

    \b
    hubbub merge monday.tally tuesday.tally -o week.tally
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.wire.tally_file import check_tally_output, write_tally
    from hubbub.wire.tally_file import merge as add_up

    check_tally_output(out, files)
    total = add_up(_read_each(files, allow_equal))
    write_tally(out, total)
    tell(
        as_json,
        {
            "survey_id": total.survey_id.hex(),
            "out": out,
            "tallies": len(files),
            "reports": total.count,
            "day": None if total.day is None else total.day.isoformat(),
        },
        f"{plural(total.count, 'report')} of {plural(len(files), 'tally', 'tallies')} in {out}.",
    )


def _read_each(files: Sequence[str], allow_equal: bool) -> Iterator[Tally]:
    """Yield the tallies, one in memory at a time; refuse one that came before."""
    from hubbub.outputs import identity
    from hubbub.wire.tally_file import parse_named_tally

    seen: dict[object, str] = {}
    for name in files:
        data = read_bytes(name, "tally")
        tally = parse_named_tally(data, name)
        marks = [identity(name)]
        if tally.count and not allow_equal:
            marks.append(hashlib.sha256(data).digest())
        for mark in marks:
            if mark in seen:
                raise InputError(f"a tally must be given once, got {seen[mark]!r} and {name!r}, which are the same")
            seen[mark] = name
        yield tally
