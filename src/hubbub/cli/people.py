"""People's values from a file or standard input, streamed, and as often as needed.

* Parquet   the file starts with "PAR1" or is named *.parquet
  x a row is a person, null is "", integers stay int, everything else becomes str
* CSV       the file is named *.csv or *.tsv, or --column or --person is given
  x the first row is the header, a row is a person, a field that is missing is ""
  x rows without anything on them are not people
* text      everything else
  x a line is a person, and a line ends with LF or CR LF only
  x empty lines are not people, and nothing is stripped

Text and CSV are UTF-8 (what is not becomes U+FFFD) and may be gzipped. With --person a person counts once,
with one of their rows chosen uniformly: two reports of one person would cost twice the epsilon. Rows that
name nobody are the rows of one person, which can lose rows but never tells more about anybody.

No message holds a value of the data: errors are raised ``from None`` where the original could quote one.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import random
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, Protocol, cast

from hubbub.errors import InputError, ParameterError

__all__ = ["People", "open_people"]

# How many columns, and how much of each name, a message lists.
_LISTED_COLUMNS = 8
_LISTED_LETTERS = 40


@dataclass(frozen=True, eq=False)
class People:
    """People's values that can be gone over again; a context manager, which removes what was spooled.

    Parameters
    ----------
    count
        The number of people, at least 1.
    """

    count: int
    _format: _Format = field(repr=False)
    _column: int = field(repr=False)
    # The chosen rows in order; None takes every row.
    _rows: array[int] | None = field(repr=False)
    _resources: ExitStack = field(repr=False)

    def chunks(self, size: int = 65_536) -> Iterator[list[object]]:
        """Yield the values in order, each person once, in lists of ``size`` (the last may be shorter).

        Every call starts again and gives the same people with the same values.

        Raises
        ------
        InputError
            The file changed since it was opened, or is damaged.
        """
        if size < 1:
            raise ParameterError(f"the size of a chunk must be at least 1, got {size}")
        with closing(self._format.values(self._column)) as rows:
            values = rows if self._rows is None else _pick(rows, self._rows)
            given = 0
            while chunk := list(islice(values, size)):
                given += len(chunk)
                # Before the yield, so that nobody ever gets more than count values.
                if given > self.count:
                    raise _changed(self._format.file.name)
                yield chunk
        if given < self.count:
            raise _changed(self._format.file.name)

    def close(self) -> None:
        """Remove what was spooled."""
        self._resources.close()

    def __enter__(self) -> People:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
    path
        The file; "-" is standard input. What cannot be read twice is spooled to a temporary file.
    column
        The column of the values; may be left out if there is only one.
    person
        The column that says whose row it is; left out, every row is a person.
    stdin
        Standard input, for tests.
    seed
        Makes the choice among a person's rows repeatable, for rehearsals; left out, the choice is secure.

    Raises
    ------
    InputError
        The file cannot be read as people's values.
    """
    # The stack removes the spool if anything below fails, Ctrl-C included.
    with ExitStack() as resources:
        file = _open_file(path, stdin, resources)
        form = _format_of(file, is_table=column is not None or person is not None)
        names = form.columns()
        count, rows, value_column = 0, None, 0
        if names:
            value_column = form.check(_find(names, column, "column", form.kind))
            if person is None:
                count = form.count(value_column)
            else:
                person_column = form.check(_find(names, person, "person column", form.kind))
                rng = secrets.SystemRandom() if seed is None else random.Random(seed)
                rows = _choose(form.values(person_column), rng)
                count = len(rows)
        if count == 0:
            raise InputError(f"the file must hold at least one person, got 0 in {path!r}")
        return People(count, form, value_column, rows, resources.pop_all())


def _choose(persons: Iterable[object], rng: random.Random) -> array[int]:
    """Return one row index per distinct person, uniform among that person's rows, in row order."""
    slots: dict[object, int] = {}
    seen = array("q")
    chosen = array("q")
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


def _pick(values: Iterable[object], rows: Iterable[int]) -> Iterator[object]:
    """Yield the values of the given rows, which are in order."""
    wanted = iter(rows)
    following = next(wanted, None)
    for row, value in enumerate(values):
        if row == following:
            yield value
            following = next(wanted, None)


def _find(names: Sequence[str], name: str | None, what: str, kind: str) -> int:
    """Return the position of a column, or of the only one."""
    listed = ", ".join(
        repr(each if len(each) <= _LISTED_LETTERS else each[:_LISTED_LETTERS] + "…")
        for each in names[:_LISTED_COLUMNS]
    )
    if len(names) > _LISTED_COLUMNS:
        listed += f" and {len(names) - _LISTED_COLUMNS} more"
    if name is None:
        if len(names) > 1:
            raise InputError(f"a {kind} with several columns needs --column, one of {listed}")
        return 0
    if name not in names:
        raise InputError(f"the {what} must be one of {listed}, got {name!r}")
    if names.count(name) > 1:
        raise InputError(f"the {what} must be in the file once, got {name!r} {names.count(name)} times")
    return names.index(name)


class _Format(Protocol):
    """A way to read a file as rows of columns; columns go by position."""

    kind: str
    file: _File

    def columns(self) -> list[str]: ...

    def check(self, column: int) -> int:
        """Return the column if it can be read as values."""

    def count(self, column: int) -> int: ...

    def values(self, column: int) -> Generator[object, None, None]: ...


@dataclass(frozen=True)
class _Text:
    """One column without a name, one line a row."""

    file: _File
    kind = "text file"

    def columns(self) -> list[str]:
        return [""]

    def check(self, column: int) -> int:
        return column

    def count(self, column: int) -> int:
        return sum(1 for _ in self.values(column))

    def values(self, column: int) -> Generator[object, None, None]:
        # newline="\n" ends lines at LF alone: a value may hold CR, VT, NEL or U+2028.
        with self.file.text(newline="\n") as lines:
            for line in lines:
                value = line.removesuffix("\n").removesuffix("\r")
                if value:
                    yield value


@dataclass(frozen=True)
class _Csv(_Text):
    """Columns named by the first row that is not empty."""

    delimiter: str
    kind = "CSV"

    @contextmanager
    def _rows(self) -> Iterator[Iterator[list[str]]]:
        with self.file.text(newline="") as lines:
            try:
                # filter drops the rows that are [].
                yield filter(None, csv.reader(lines, delimiter=self.delimiter))
            except csv.Error as error:
                # The messages of csv speak of its limits and never quote the file.
                raise InputError(f"the file must be CSV, got {self.file.name!r} ({error})") from None

    def columns(self) -> list[str]:
        with self._rows() as rows:
            return next(rows, [])

    def values(self, column: int) -> Generator[object, None, None]:
        with self._rows() as rows:
            next(rows, None)
            for row in rows:
                yield row[column] if column < len(row) else ""


@dataclass(frozen=True)
class _Parquet:
    """Columns read batch by batch."""

    file: _File
    kind = "Parquet file"

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self.file.open() as raw:
            try:
                # With a buffer, a row group is read piece by piece, however large it is.
                parquet = pq.ParquetFile(raw, buffer_size=1 << 20)
            except (pa.ArrowException, OSError) as error:
                reason = str(error).partition(".")[0].partition("\n")[0][:80]
                raise InputError(f"the file must be Parquet, got {self.file.name!r} ({reason})") from None
            with parquet:
                yield parquet

    def columns(self) -> list[str]:
        with self._open() as parquet:
            return list(parquet.schema_arrow.names)

    def check(self, column: int) -> int:
        import pyarrow as pa

        with self._open() as parquet:
            of = parquet.schema_arrow.field(column)
        if pa.types.is_nested(of.type):
            raise InputError(f"the column must hold plain values, got {of.name!r} of type {of.type}")
        return column

    def count(self, column: int) -> int:
        with self._open() as parquet:
            return int(parquet.metadata.num_rows)

    def values(self, column: int) -> Generator[object, None, None]:
        import pyarrow as pa

        with self._open() as parquet:
            of = parquet.schema_arrow.field(column)
            try:
                for batch in parquet.iter_batches(columns=[of.name]):
                    yield from map(_plain, batch.column(of.name).to_pylist())
            except (pa.ArrowException, ArithmeticError, LookupError, OSError, ValueError):
                # Damaged pages, strings that are not UTF-8, times outside Python's range.
                raise InputError(
                    f"the file must be Parquet that can be read, got {self.file.name!r} "
                    f"(column {of.name!r} of type {of.type} cannot)"
                ) from None


def _plain(value: object) -> object:
    """Return a Parquet value as str or int; bytes are text, as they are in the other formats."""
    # type() and not isinstance(): a bool is an int, but not a number anybody counts.
    if type(value) is str or type(value) is int:
        return value
    if value is None:
        return ""
    return str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)


def _format_of(file: _File, *, is_table: bool) -> _Format:
    """Tell the format by the first bytes, the name and whether columns are asked for."""
    stem = file.name.lower().removesuffix(".gz")
    if file.head() == b"PAR1" or stem.endswith(".parquet"):
        if file.gzipped:
            raise InputError(f"a Parquet file must not be gzipped, got {file.name!r}")
        return _Parquet(file)
    if is_table or stem.endswith((".csv", ".tsv")):
        return _Csv(file, "\t" if stem.endswith(".tsv") else ",")
    return _Text(file)


@dataclass(frozen=True)
class _File:
    """A file on disk; ``name`` is what the user called it."""

    path: str
    name: str
    gzipped: bool
    # Size and time of change: a row chosen in one pass must be the same row in the next.
    stamp: tuple[int, int]

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file at its start, unpacked; what goes wrong while reading is an InputError."""
        with _input_errors(self.name), open(self.path, "rb") as raw:
            if _stamp(os.fstat(raw.fileno())) != self.stamp:
                raise _changed(self.name)
            if self.gzipped:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                yield raw

    @contextmanager
    def text(self, newline: str) -> Iterator[io.TextIOWrapper]:
        """Open the file as UTF-8 after its byte order mark."""
        with self.open() as raw:
            if raw.read(3) != codecs.BOM_UTF8:
                raw.seek(0)
            with io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline=newline) as lines:
                yield lines

    def head(self) -> bytes:
        """Return the first four bytes."""
        with self.open() as raw:
            return raw.read(4)


def _open_file(path: str, stdin: BinaryIO | None, resources: ExitStack) -> _File:
    """Find the file, and spool it if it is standard input or a pipe, which cannot be read twice."""
    place = path
    with _input_errors(path):
        if path == "-":
            place = _spool(sys.stdin.buffer if stdin is None else stdin, resources)
        elif not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as pipe:
                place = _spool(pipe, resources)
        status = os.stat(place)
    if status.st_size == 0:
        raise InputError(f"the file must hold at least one person, got an empty file {path!r}")
    file = _File(place, path, path.lower().endswith(".gz"), _stamp(status))
    # Standard input has no name to tell by; no UTF-8 starts with these two bytes.
    return replace(file, gzipped=True) if file.head()[:2] == b"\x1f\x8b" else file


def _spool(source: BinaryIO, resources: ExitStack) -> str:
    """Copy a stream to a file only this user can read, removed with the resources."""
    folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-"))
    path = os.path.join(folder, "people")
    with open(path, "wb") as spool:
        shutil.copyfileobj(source, spool)
    return path


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _changed(name: str) -> InputError:
    return InputError(f"the file must not change while it is read, got another content in {name!r}")


@contextmanager
def _input_errors(name: str) -> Iterator[None]:
    """Turn what the system says about a file into one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"the file must exist, got {name!r}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        # BadGzipFile quotes the first bytes.
        raise InputError(f"the file must be gzip, got {name!r} (damaged or not gzipped)") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"the file must be readable, got {name!r} ({reason})") from None
