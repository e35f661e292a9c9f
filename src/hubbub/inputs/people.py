"""People's values from a file or standard input, streamed, as many times as needed.

* Parquet     starts with "PAR1" or is named *.parquet
* JSON lines  is named *.jsonl or *.ndjson, or a column is asked for and it starts with "{"
* CSV         is named *.csv or *.tsv, or a column or a delimiter is asked for
* lines       is everything else

Text is UTF-8 and may be gzipped; other encodings are refused. Each row is one person. Rows without a value are counted
and skipped. With a person column each person counts once: one of their rows with a value is chosen at random, because
two reports of one person would cost twice the epsilon. Rows without a person are skipped and counted like rows without
a value.

No message contains a value: errors are raised ``from None`` if the original could quote one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from typing import BinaryIO, Final

from hubbub.errors import InputError, ParameterError
from hubbub.extras import require
from hubbub.inputs.crowd import Crowd
from hubbub.inputs.csv_file import CsvFile, parse_delimiter
from hubbub.inputs.files import Key, Lines, PeopleFile, input_errors, local_path
from hubbub.inputs.json_lines import JsonLines
from hubbub.inputs.owners import Owners, choose_rows, number_owners
from hubbub.inputs.parquet import ParquetFile
from hubbub.model.plain import Value

FORMATS: Final = ("lines", "csv", "jsonl", "parquet")


def open_people(
    path: str,
    *,
    column: str | None = None,
    person: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    stdin: BinaryIO | None = None,
    seed: int | None = None,
    all_values: bool = False,
) -> Crowd:
    """Open a file of people's values and count the people.

    Parameters
    ----------
    path : str
        The file, also with ~ or as a `file:` address; "-" is standard input. A source that cannot be read twice is
        copied to a temporary file first.
    column, person : str, optional
        The column of the values, which need not be named if there is only one; and the column that names the person,
        without which each row is a separate person.
    format : str, optional
        One of `FORMATS`; by default it is told from the name and the first bytes.
    delimiter : str, optional
        The character that separates the fields of CSV; by default it is guessed from the first rows.
    stdin : BinaryIO, optional
        Read for "-" instead of the standard input of the process.
    seed : int, optional
        Makes the choice among a person's rows repeatable, for rehearsals.
    all_values : bool
        Take all values of each person, with their `owners`, instead of one; needs `person`.
    """
    if all_values and person is None:
        raise ParameterError("several values of a person must come with the column that names the person, got none")
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got format={format!r}")
    separator = None if delimiter is None else parse_delimiter(delimiter)
    # The stack removes the spool if anything below fails, Ctrl-C included.
    with ExitStack() as resources:
        wanted = tuple(name for name in (column, person) if name is not None)
        file = _open_file(path, stdin, resources, format, separator, wanted)
        value_column = file.find(column, "column")
        rows: array[int] | None = None
        owners: Owners | None = None
        over = 0
        if person is None:
            count, missing = file.count(value_column)
        else:
            persons = file.values(file.find(person, "person column"))
            pairs = zip(persons, file.values(value_column), strict=False)
            if all_values:
                owners = number_owners(pairs)
                count, missing, rows = owners.people, owners.missing, owners.rows
            else:
                rows, missing, over = choose_rows(pairs, seed)
                count = len(rows)
        if count == 0 or (owners is not None and not len(owners.of_row)):
            empty = f" and {missing} without a value" if missing else ""
            raise InputError(f"the file must hold at least one person, got 0{empty} in {path!r}")
        wanted_rows = count if owners is None else len(owners.of_row)
        read = partial(_read, file, value_column, rows, wanted_rows)
        return Crowd(count, missing, read, owners, over, resources.pop_all())


def open_rows(
    path: str,
    column: str | None,
    *others: str | None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    stdin: BinaryIO | None = None,
) -> list[list[Value | None] | None]:
    """Read the values of all rows, and other columns of them; None for a column that is not named. Held in memory.

    The parameters are those of `open_people`.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got format={format!r}")
    separator = None if delimiter is None else parse_delimiter(delimiter)
    with ExitStack() as resources:
        wanted = tuple(name for name in (column, *others) if name is not None)
        file = _open_file(path, stdin, resources, format, separator, wanted)
        keys = [file.find(column, "column"), *(None if name is None else file.find(name, "column") for name in others)]
        return [None if key is None else list(file.values(key)) for key in keys]


def _read(file: PeopleFile, column: Key, rows: array[int] | None, wanted: int, size: int) -> Iterator[list[Value]]:
    """Yield the values of the chosen rows, or of every row that holds one, in order, in lists of at most `size`."""
    given = 0
    with closing(file.values(column)) as every:
        chosen = every if rows is None else _pick(every, rows)
        # A file that grows while it is read must not give more people than were counted.
        values = islice((value for value in chosen if value is not None), wanted)
        while chunk := list(islice(values, size)):
            given += len(chunk)
            yield chunk
    if given < wanted:
        raise file.changed()


def _pick(values: Iterator[Value | None], rows: Iterable[int]) -> Iterator[Value | None]:
    """Yield the values of the given rows, which are in order."""
    done = 0
    for row in rows:
        yield from islice(values, row - done, row - done + 1)
        done = row + 1


def _open_file(
    path: str,
    stdin: BinaryIO | None,
    resources: ExitStack,
    format: str | None,  # noqa: A002
    delimiter: str | None,
    wanted: tuple[str, ...],
) -> PeopleFile:
    """The file, in its format. Standard input and pipes, which cannot be read twice, are copied to a temporary file."""
    place = path
    with input_errors(path):
        if path == "-":
            source = stdin or getattr(sys.stdin, "buffer", None)
            if source is None:  # the process was started without one
                raise InputError("standard input must be open, got none")
            place = _spool(source, resources)
        else:
            place = local_path(path)
            if not os.path.isfile(place):
                with open(place, "rb") as pipe:
                    place = _spool(pipe, resources)
        with open(place, "rb") as raw:
            stamp, head = os.fstat(raw.fileno()).st_mtime_ns, raw.read(4)
    if not head:
        raise InputError(f"the file must hold at least one person, got an empty file {path!r}")
    stem = path.lower().removesuffix(".gz")
    # Standard input has no name that could end in .gz, and UTF-8 never starts with these two bytes.
    is_gzip = stem != path.lower() or head.startswith(b"\x1f\x8b")
    kind = format or _format(stem, head, delimiter, wanted)
    if format is None and stem.endswith(".json") and head.lstrip().startswith(b"["):
        raise InputError(f"a file of JSON must hold one object a line, got a list in {path!r}: write it as JSON lines")
    if kind == "parquet" and is_gzip:
        raise InputError(f"a Parquet file must not be gzipped, got {path!r}")
    if kind != "csv" and delimiter is not None:
        raise ParameterError(f"delimiter must come with CSV, got delimiter={delimiter!r} and {kind}")
    if kind == "lines" and wanted:
        raise ParameterError(f"a column must come with a format that has columns, got {wanted[0]!r} and lines")
    if kind == "parquet":
        require("A Parquet file", "pyarrow", "files")
    if kind == "csv":
        return CsvFile(place, path, is_gzip, stamp, delimiter, wanted)
    others: dict[str, type[Lines | JsonLines | ParquetFile]]
    others = {"lines": Lines, "jsonl": JsonLines, "parquet": ParquetFile}
    return others[kind](place, path, is_gzip, stamp)


def _format(stem: str, head: bytes, delimiter: str | None, wanted: tuple[str, ...]) -> str:
    """The format, from the first bytes, the name, and the options given."""
    if head == b"PAR1" or stem.endswith(".parquet"):
        return "parquet"
    if stem.endswith((".csv", ".tsv")) or delimiter is not None:
        return "csv"
    if stem.endswith((".jsonl", ".ndjson")) or (wanted and head.startswith(b"{")):
        return "jsonl"
    return "csv" if wanted else "lines"


def _spool(source: BinaryIO, resources: ExitStack) -> str:
    """Copy a stream to a file in a private temporary directory and return its path; `resources` removes it."""
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-"))
    with open(os.path.join(folder, "people"), "wb") as spool:
        # read1, since a buffered read would keep waiting for more data after Ctrl-C.
        while part := source.read1(1 << 16):  # type: ignore[attr-defined]
            spool.write(part)
    return spool.name
