"""JSON lines: each line is an object with the value in one of its fields, or the value itself."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

from hubbub.errors import InputError
from hubbub.inputs.files import Key, PeopleFile, are_names, unlisted
from hubbub.model.plain import Value, plain

_NAMES_FROM = 1_000  # rows from which names of fields are collected


class JsonLines(PeopleFile):
    """Each line is a person. A null or absent field is a missing value. Blank lines are skipped."""

    kind = "file of JSON lines"

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and the parsed JSON of each line that is not blank."""
        number = 0
        for lines in self.blocks():
            for line in lines:
                number += 1
                if line and not line.isspace():
                    try:
                        yield number, json.loads(line)
                    except (ValueError, RecursionError):  # the original error holds the text of the line
                        raise self._bad(f"line {number} is not JSON") from None

    def find(self, name: str | None, what: str) -> Key:
        """Return the field's name, or None if each line is the value itself."""
        first = next((row for _, row in self.rows()), None)
        if name is None and not isinstance(first, dict):
            return None
        names = self.columns()
        if name is None and len(names) != 1:
            raise InputError(f"a {self.kind} with several columns needs --column, {self.listed(names)}")
        if name is None:
            return names[0]
        if not any(isinstance(row, dict) and name in row for _, row in self.rows()):
            known = self.listed(names) if names else "a field of the file's objects, but it has no objects"
            raise InputError(f"the {what} must be {known}, got {name!r}")
        return name

    def columns(self) -> list[str]:
        """The fields of the first objects."""
        rows = (row for _, row in islice(self.rows(), _NAMES_FROM))
        return list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))

    def listed(self, names: list[str]) -> str:
        """Name the fields if they look like names. Otherwise the keys may be a person's values: they are not quoted."""
        return super().listed(names) if are_names(names) else unlisted(len(names), "field", "of its objects")

    def values(self, column: Key) -> Generator[Value | None, None, None]:
        """Yield the value of each line."""
        for number, row in self.rows():
            if column is not None and not isinstance(row, dict):
                raise self._bad(f"line {number} is not an object")
            value = row if column is None else row.get(column)
            if isinstance(value, dict | list):
                kind = "an object" if isinstance(value, dict) else "a list"
                raise self._bad(f"the value in line {number} is {kind}")
            yield plain(value)

    def _bad(self, reason: str) -> InputError:
        return InputError(f"the file must hold one JSON value or object a line, got {self.name!r} ({reason})")
