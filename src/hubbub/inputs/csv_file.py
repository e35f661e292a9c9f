"""CSV: columns are named by the first row; the delimiter is guessed from the first rows unless given."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Final

from hubbub.errors import InputError, ParameterError
from hubbub.inputs.decoding import not_utf_8
from hubbub.inputs.files import Key, PeopleFile, are_names, unlisted
from hubbub.model.plain import Value

DELIMITERS: Final = ",;\t|"
_SAMPLE_LINES: Final = 1_000
_SAMPLE_CHARACTERS: Final = 1 << 18


def parse_delimiter(text: str) -> str:
    r"""A delimiter from what a user writes: one character, `tab` or `\t`."""
    delimiter = "\t" if text.lower() in ("tab", "\\t") else text
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ParameterError(f"delimiter must be one character or tab, got delimiter={text!r}")
    return delimiter


@dataclass(frozen=True)
class CsvFile(PeopleFile):
    """Columns named by the first row. Blank rows are skipped, and an empty field is a missing value.

    The delimiter is `given`, or guessed from the first rows: one that gives the first row all `wanted` columns is
    right.
    """

    given: str | None = None
    wanted: tuple[str, ...] = ()

    kind = "CSV"

    @cached_property
    def delimiter(self) -> str:
        """The character that separates the fields."""
        if self.given is not None:
            return self.given
        if self.name.lower().endswith((".tsv", ".tsv.gz")):
            return "\t"
        return sniff_delimiter(self._first_lines(), self.wanted)

    def _first_lines(self) -> list[str]:
        """Enough lines to guess the delimiter: at most 1,000 lines and about 262,144 characters."""
        some: list[str] = []
        characters = 0
        for line in islice(self.lines(), _SAMPLE_LINES):
            some.append(line)
            characters += len(line)
            if characters > _SAMPLE_CHARACTERS:
                break
        return some

    def lines(self) -> Iterator[str]:
        """Yield the lines with their original line ends."""
        done = 0
        with self.unmarked() as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as lines:
            try:
                for done, line in enumerate(lines, 1):  # noqa: B007  # read where it fails
                    yield line
            except UnicodeDecodeError as error:  # it holds the bytes that follow the last line
                more = (error.object[: error.start] + b".").splitlines()
                raise not_utf_8(done + len(more), self.name) from None

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows that are not blank, the header first."""
        try:
            yield from filter(None, csv.reader(self.lines(), delimiter=self.delimiter))
        except csv.Error as error:  # its messages name limits and never quote the file
            raise InputError(f"the file must be CSV, got {self.name!r} ({error})") from None

    def columns(self) -> list[str]:
        """The fields of the first row."""
        return next(self.rows(), [])

    def listed(self, names: list[str]) -> str:
        """Name the columns if the first row looks like a header. Otherwise it may be a person's, and is not quoted."""
        try:
            is_header = looks_like_header(islice(self.rows(), _SAMPLE_LINES))
        except InputError:
            is_header = False
        return super().listed(names) if is_header else unlisted(len(names), "name", "in its first row")

    def values(self, column: Key) -> Generator[Value | None, None, None]:
        """Yield the field of each row; None if it is empty or the row is too short."""
        assert isinstance(column, int)  # noqa: S101  # what `find` gave
        for row in islice(self.rows(), 1, None):
            yield (row[column] or None) if column < len(row) else None


def sniff_delimiter(lines: list[str], wanted: tuple[str, ...] = ()) -> str:
    """The delimiter of a CSV, from its first lines.

    One that gives the first row all the wanted names, if there is one. Otherwise the one that gives all rows the same
    number of fields, and the most of them, at least two. Otherwise a comma.
    """
    scores: dict[str, tuple[bool, bool, int]] = {}
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        header, *others = rows or [[]]
        # The last row may continue beyond the lines that were read.
        agreed = all(len(row) == len(header) for row in others[:-1])
        named = bool(wanted) and set(wanted) <= set(header)
        if named or len(header) > 1:
            scores[delimiter] = (named, agreed, len(header))
    return max(scores, key=lambda each: scores[each], default=",")


def looks_like_header(rows: Iterable[list[str]]) -> bool:
    """Whether the first row names columns: distinct short names, none of which occurs again in its column.

    Numbers, dates and mail addresses are not names. False if there is no second row.

    >>> looks_like_header([["visitor", "country"], ["1", "de"]]), looks_like_header([["ann", "de"], ["bob", "de"]])
    (True, False)
    """
    rows = iter(rows)
    first, second = next(rows, []), next(rows, [])
    below = chain([second], rows)
    return (
        bool(second)
        and are_names(first)
        and not any(name == field for row in below for name, field in zip(first, row, strict=False))
    )
