"""People's values from a file or standard input, streamed, and as often as needed.

* Parquet   starts with "PAR1" or is named *.parquet: a row is a person, null is "", integers stay int and
            everything else becomes str
* CSV       is named *.csv or *.tsv, or a column is asked for: the first row is the header, a row is a person,
            a missing field is "", and rows that are empty are not people
* text      is everything else: a line is a person and ends with LF or CR LF only, nothing is stripped, and
            lines that are empty are not people

Text and CSV are UTF-8 (what is not becomes U+FFFD) and may be gzipped. With a person column a person counts
once, with one of their rows chosen uniformly: two reports of one person would cost twice the epsilon. Rows
that name nobody are the rows of one person, which loses rows but never tells more about anybody.

No message holds a value: errors are raised ``from None`` where the original could quote one.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import sys
import tempfile
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO, cast

from hubbub.errors import InputError

_PART = 1 << 16  # bytes read at once


@dataclass(frozen=True, eq=False)
class People:
    """At least one person's values, to go over again; a context manager, which removes what was spooled."""

    count: int
    _file: _File = field(repr=False)
    _column: int = field(repr=False)
    _rows: array[int] | None = field(repr=False)  # the chosen ones in order; None takes every row
    _resources: ExitStack = field(repr=False)

    def chunks(self, size: int = 65_536) -> Iterator[list[object]]:
        """Yield the values in order, each person once, in lists of ``size``; every call gives the same."""
        given = 0
        with closing(self._file.values(self._column)) as rows:
            # A file that grows while it is read must not give more people than were counted.
            values = islice(rows if self._rows is None else _pick(rows, self._rows), self.count)
            while chunk := list(islice(values, size)):
                given += len(chunk)
                yield chunk
        if given < self.count:
            raise self._file.changed()

    def __enter__(self) -> People:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()


def open_people(
    path: str,
    *,
    column: str | None = None,
    person: str | None = None,
    stdin: BinaryIO | None = None,
    seed: int | None = None,
) -> People:
    """Open a file of people's values and count the people.

    Parameters
    ----------
    path : str
        The file; "-" is standard input. What cannot be read twice is spooled to a temporary file.
    column, person : str, optional
        The columns of the values (not needed if there is only one) and of whose they are (or each row's own).
    stdin : BinaryIO, optional
        Read for "-" instead of the standard input of the process.
    seed : int, optional
        Makes the choice among a person's rows repeatable, for rehearsals.
    """
    # The stack removes the spool if anything below fails, Ctrl-C included.
    with ExitStack() as resources:
        file = _open_file(path, stdin, resources, is_table=column is not None or person is not None)
        value_column = file.find(column, "column")
        rows = None if person is None else _choose(file.values(file.find(person, "person column")), seed)
        count = file.count() if rows is None else len(rows)
        if count == 0:
            raise InputError(f"the file must hold at least one person, got 0 in {path!r}")
        return People(count, file, value_column, rows, resources.pop_all())


def _choose(persons: Iterable[object], seed: int | None) -> array[int]:
    """Return one row index per distinct person, uniform among that person's rows, in row order."""
    rng = random.SystemRandom() if seed is None else random.Random(seed)
    slots: dict[object, int] = {}
    seen, chosen = array("q"), array("q")
    for row, person in enumerate(persons):
        slot = slots.setdefault(person, len(seen))
        if slot == len(seen):
            seen.append(1)
            chosen.append(row)
        else:
            # Reservoir of one: the k-th row replaces the choice with probability 1/k.
            seen[slot] += 1
            if rng.randrange(seen[slot]) == 0:
                chosen[slot] = row
    return array("q", sorted(chosen))


def _pick(values: Iterator[object], rows: Iterable[int]) -> Iterator[object]:
    """Yield the values of the given rows, which are in order."""
    done = 0
    for row in rows:
        yield from islice(values, row - done, row - done + 1)
        done = row + 1


def _open_file(path: str, stdin: BinaryIO | None, resources: ExitStack, *, is_table: bool) -> _File:
    """Find the file and its format; standard input and pipes, which cannot be read twice, are spooled."""
    place = path
    with _input_errors(path):
        if path == "-":
            source = stdin or getattr(sys.stdin, "buffer", None)
            if source is None:  # the process was started without one
                raise InputError("standard input must be open, got none")
            place = _spool(source, resources)
        elif not os.path.isfile(path):
            with open(path, "rb") as pipe:
                place = _spool(pipe, resources)
        with open(place, "rb") as raw:
            stamp, head = os.fstat(raw.fileno()).st_mtime_ns, raw.read(4)
    if not head:
        raise InputError(f"the file must hold at least one person, got an empty file {path!r}")
    stem = path.lower().removesuffix(".gz")
    # Standard input has no name to tell gzip by, and no UTF-8 starts with these two bytes.
    is_gzip = stem != path.lower() or head.startswith(b"\x1f\x8b")
    is_parquet = head == b"PAR1" or stem.endswith(".parquet")
    if is_parquet and is_gzip:
        raise InputError(f"a Parquet file must not be gzipped, got {path!r}")
    kind = _Parquet if is_parquet else _Csv if is_table or stem.endswith((".csv", ".tsv")) else _File
    return kind(place, path, is_gzip, stamp)


def _spool(source: BinaryIO, resources: ExitStack) -> str:
    """Copy a stream into a folder that is this user's alone and goes with the resources."""
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-"))
    with open(os.path.join(folder, "people"), "wb") as spool:
        # One read at a time: a buffered read goes on waiting for more when Ctrl-C comes between two of its parts.
        while part := source.read1(1 << 16):  # type: ignore[attr-defined]
            spool.write(part)
    return spool.name


@contextmanager
def _input_errors(name: str) -> Iterator[None]:
    """Turn what the system says about a file into one sentence."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):  # BadGzipFile quotes the first bytes
        raise InputError(f"the file must be gzip, got {name!r} (damaged or not gzipped)") from None
    except (OSError, UnicodeDecodeError) as error:  # the latter in the names of Parquet columns
        # Without a file name it is the folder for temporary files that is missing.
        if isinstance(error, FileNotFoundError) and error.filename is not None:
            raise InputError(f"the file must exist, got {name!r}") from None
        reason = (getattr(error, "strerror", None) or type(error).__name__).lower()
        raise InputError(f"the file must be readable, got {name!r} ({reason})") from None


@dataclass(frozen=True)
class _File:
    """A file as rows of columns, which go by position; here one column without a name, the lines."""

    path: str
    name: str  # what the user called it
    is_gzip: bool
    stamp: int  # the time of its last change: a row chosen in one pass must be the same row in the next

    def changed(self) -> InputError:
        return InputError(f"the file must not change while it is read, got another content in {self.name!r}")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file at its start, unpacked; what goes wrong while reading is an InputError."""
        with _input_errors(self.name), open(self.path, "rb") as raw:
            if os.fstat(raw.fileno()).st_mtime_ns != self.stamp:
                raise self.changed()
            with gzip.GzipFile(fileobj=raw) if self.is_gzip else raw as unpacked:
                yield cast(BinaryIO, unpacked)

    @contextmanager
    def unmarked(self) -> Iterator[BinaryIO]:
        """Open the file after its byte order mark, if it has one."""
        with self.open() as raw:
            if raw.read(3) != b"\xef\xbb\xbf":
                raw.seek(0)
            yield raw

    def blocks(self) -> Iterator[bytes]:
        """Yield the file in parts that end where a line does, without its line feed."""
        with self.unmarked() as raw:
            parts: list[bytes] = []
            while part := raw.read(_PART):
                lines, feed, rest = part.rpartition(b"\n")
                if feed:
                    yield b"".join([*parts, lines])
                    parts = []
                parts.append(rest)
            yield b"".join(parts)

    def columns(self) -> list[str]:
        return [""]

    def values(self, column: int) -> Generator[object, None, None]:  # noqa: ARG002
        # Lines end at LF alone: a value may hold CR, VT, NEL or U+2028. No character of UTF-8 holds an LF, so a block
        # is decoded as the whole file would be.
        for block in self.blocks():
            lines = block.decode("utf-8", "replace").split("\n")
            yield from filter(None, (line.removesuffix("\r") for line in lines) if b"\r" in block else lines)

    def count(self) -> int:
        lines = (block.split(b"\n") for block in self.blocks())
        return sum(len(some) - some.count(b"") - some.count(b"\r") for some in lines)

    kind = "CSV"

    def listed(self, names: list[str]) -> str:
        """Say where the names are: the first row of a file without a header is somebody's value, not to be quoted."""
        return f"one of the {len(names)} names in its first row"

    def find(self, name: str | None, what: str) -> int:
        """Return the position of a column, or of the only one."""
        names = self.columns()
        if not names:
            raise InputError(f"the file must hold at least one person, got no columns in {self.name!r}")
        if len(names) > 1 and name is None:
            raise InputError(f"a {self.kind} with several columns needs --column, {self.listed(names)}")
        name = names[0] if name is None else name
        if name not in names:
            raise InputError(f"the {what} must be {self.listed(names)}, got {name!r}")
        if names.count(name) > 1:
            raise InputError(f"the {what} must be in the file once, got {name!r} {names.count(name)} times")
        return names.index(name)


class _Csv(_File):
    """Columns named by the first row; rows that are empty, [], are left out."""

    def lines(self) -> Iterator[str]:
        """Yield the lines with their ends, whichever they are."""
        with self.unmarked() as raw, io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="") as lines:
            yield from lines

    def rows(self) -> Iterator[list[str]]:
        try:
            delimiter = "\t" if self.name.lower().endswith((".tsv", ".tsv.gz")) else ","
            yield from filter(None, csv.reader(self.lines(), delimiter=delimiter))
        except csv.Error as error:  # its messages speak of limits and never quote the file
            raise InputError(f"the file must be CSV, got {self.name!r} ({error})") from None

    def columns(self) -> list[str]:
        return next(self.rows(), [])

    def values(self, column: int) -> Generator[object, None, None]:
        for row in islice(self.rows(), 1, None):
            yield row[column] if column < len(row) else ""

    def count(self) -> int:
        return sum(1 for _ in self.values(0))


class _Parquet(_File):
    """Columns read batch by batch."""

    kind = "Parquet file"

    def listed(self, names: list[str]) -> str:
        """Name the first columns: a schema holds no values."""
        some = ", ".join(repr(each[:40]) for each in names[:8])
        return f"one of {some}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")

    @contextmanager
    def parquet(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self.open() as raw:
            try:
                # So that a row group is read piece by piece, however large it is.
                parquet = pq.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False)
            except (pa.ArrowException, OSError) as error:
                reason = str(error).partition(".")[0].partition("\n")[0][:80]
                raise InputError(f"the file must be Parquet, got {self.name!r} ({reason})") from None
            yield parquet

    def columns(self) -> list[str]:
        with self.parquet() as parquet:
            return list(parquet.schema_arrow.names)

    def count(self) -> int:
        with self.parquet() as parquet:
            return int(parquet.metadata.num_rows)

    def find(self, name: str | None, what: str) -> int:
        column = super().find(name, what)
        with self.parquet() as parquet:
            of = parquet.schema_arrow.field(column)
        if of.type.num_fields:  # a list, a struct or a map
            raise InputError(f"the {what} must hold plain values, got {of.name!r} ({str(of.type)[:40]})")
        return column

    def values(self, column: int) -> Generator[object, None, None]:
        from pyarrow import ArrowException

        with self.parquet() as parquet:
            of = parquet.schema_arrow.field(column)
            try:
                for batch in parquet.iter_batches(8_192, columns=[of.name]):
                    yield from map(_plain, batch.column(of.name).to_pylist())
            except (ArrowException, ArithmeticError, LookupError, OSError, ValueError):
                # Damaged pages, strings that are not UTF-8, times outside Python's range.
                reason = f"column {of.name!r} of type {of.type} cannot be read"
                raise InputError(f"the file must be Parquet, got {self.name!r} ({reason})") from None


def _plain(value: object) -> object:
    """Return a Parquet value as str or int; null is "", and bytes are text as in the other formats."""
    if type(value) is str or type(value) is int:  # a bool is an int too, but not a number
        return value
    return "" if value is None else str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)
