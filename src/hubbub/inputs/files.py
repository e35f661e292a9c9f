"""Files of people's values: the base class of all formats, and the simplest format, lines."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from hubbub.errors import InputError, system_reason
from hubbub.inputs.decoding import HEAD, MARK, read_blocks, refuse_wide
from hubbub.model.plain import Value

Key = int | str | None
"""How a format identifies one of its columns."""

_SHOWN, _LONGEST = 8, 40  # the most names that a message lists, and the most characters of each
_NAME = re.compile(r"(?=.*[^\W\d_])\w[\w .:/()#%-]{0,39}")


def local_path(source: str, hint: str = "mount or copy it") -> str:
    """The path of a file on this machine: ~ is the home, and `file:` the only scheme; other addresses are refused."""
    if "\0" in source:
        raise InputError(f"cannot read {source!r}: a name has no null character")
    if "://" not in source and not source.startswith("file:/"):
        return os.path.expanduser(source)
    if os.path.exists(source):
        return source
    address = urlsplit(source)
    if address.scheme != "file" or address.netloc not in ("", "localhost"):
        raise InputError(f"a file must be in a directory of this machine, got {source!r}: {hint}")
    return url2pathname(address.path)


@contextmanager
def input_errors(name: str) -> Iterator[None]:
    """Turn an error of the system about a file into an InputError of one sentence."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):  # BadGzipFile quotes the first bytes
        raise InputError(f"cannot read {name!r}: damaged, or not gzip") from None
    except (OSError, UnicodeDecodeError) as error:  # the latter in the names of Parquet columns
        raise InputError(f"cannot read {name!r}: {system_reason(error)}") from None


def listed(names: list[str]) -> str:
    """The first names, for a message."""
    some = ", ".join(repr(each[:_LONGEST]) for each in names[:_SHOWN])
    return f"one of {some}" + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def unlisted(count: int, one: str, where: str) -> str:
    """How many names there are, for a message. None is quoted, since they may be a person's values."""
    return f"the only {one} {where}" if count == 1 else f"one of the {count} {one}s {where}"


def are_names(texts: list[str]) -> bool:
    """Whether these texts look like names of columns: distinct, short, each with a letter, none a mail address."""
    return len(set(texts)) == len(texts) and all(_NAME.fullmatch(text) for text in texts)


@dataclass(frozen=True)
class PeopleFile(ABC):
    """A file of people's values, which can be read from the start several times. Each format is a subclass."""

    path: str
    name: str  # the path as the user gave it
    is_gzip: bool
    stamp: int  # the time of its last change, in ns: rows chosen in one pass must be the same in the next

    kind: ClassVar[str]

    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def values(self, column: Key) -> Generator[Value | None, None, None]:
        """Yield the value of every row; None if it is missing."""

    def count(self, column: Key) -> tuple[int, int]:
        """How many rows hold a value, and how many do not."""
        held = missing = 0
        for value in self.values(column):
            held += value is not None
            missing += value is None
        return held, missing

    def listed(self, names: list[str]) -> str:
        """The columns, for a message."""
        return listed(names)

    def find(self, name: str | None, what: str) -> Key:
        """Return the key of a column by its name; without a name, the key of the only column."""
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

    def changed(self) -> InputError:
        """The error to raise if the file has changed between two passes."""
        return InputError(f"the file {self.name!r} changed while it was read; run the command again")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file at its start, decompressed; errors while reading become an InputError."""
        with input_errors(self.name), open(self.path, "rb") as raw:
            if os.fstat(raw.fileno()).st_mtime_ns != self.stamp:
                raise self.changed()
            with gzip.GzipFile(fileobj=raw) if self.is_gzip else raw as unpacked:
                yield cast(BinaryIO, unpacked)

    @contextmanager
    def unmarked(self) -> Iterator[BinaryIO]:
        """Open a text file after its byte order mark, if it has one. UTF-16 and UTF-32 are refused."""
        with self.open() as raw:
            head = raw.read(HEAD)
            refuse_wide(head, self.name)
            raw.seek(len(MARK) if head.startswith(MARK) else 0)
            yield raw

    def blocks(self) -> Iterator[list[str]]:
        """Yield lists of lines without their ends, as `read_blocks` does."""
        with self.unmarked() as raw:
            yield from read_blocks(raw, b"", self.name)


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a public list, without their ends, by the rules of `PeopleFile`. It may be a pipe.

    Raises InputError if the file is not UTF-8.
    """
    with open(path, "rb") as raw:
        head = raw.read(HEAD)
        refuse_wide(head, path)
        for lines in read_blocks(raw, head.removeprefix(MARK), path):
            yield from lines


class Lines(PeopleFile):
    """Each line is one person's value, and nothing is stripped from it. Blank lines are skipped."""

    kind = "text"

    def columns(self) -> list[str]:
        """One column, which has no name."""
        return [""]

    def values(self, column: Key) -> Generator[Value | None, None, None]:  # noqa: ARG002
        """Yield the lines that are not blank."""
        for lines in self.blocks():
            yield from filter(None, lines)

    def count(self, column: Key) -> tuple[int, int]:  # noqa: ARG002
        """How many lines hold a value, and how many blank lines come before the last of them."""
        held = missing = waiting = 0
        for lines in self.blocks():
            empty = lines.count("")
            held += len(lines) - empty
            waiting += empty
            if empty < len(lines):
                last = next(place for place, line in enumerate(reversed(lines)) if line)
                missing += waiting - last
                waiting = last
        return held, missing
