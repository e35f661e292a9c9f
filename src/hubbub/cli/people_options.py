"""Options of the commands that read people's values from a file."""

from __future__ import annotations

from typing import Annotated

import typer

File = Annotated[str, typer.Argument(metavar="FILE|-", help="Lines, CSV, JSON lines or Parquet; - is stdin.")]
ValueColumn = Annotated[str | None, typer.Option(help="Column of the values, if there are several columns.")]
FileFormat = Annotated[
    str | None, typer.Option("--format", help="lines, csv, jsonl or parquet; default: by name and first bytes.")
]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Separator of CSV fields; default: guessed from the first rows.")
]
PersonColumn = Annotated[str | None, typer.Option(help="Column that names the person: one random row of each is used.")]
RehearsalSeed = Annotated[int | None, typer.Option(help="Repeat a rehearsal exactly; undoes its privacy.", min=0)]


def named_input(file: str) -> str:
    """The path of the input; /dev/stdin for standard input, which may be a file, too."""
    return "/dev/stdin" if file == "-" else file
