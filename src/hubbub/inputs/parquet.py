"""Parquet: typed columns, read batch by batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from hubbub.errors import InputError
from hubbub.inputs.arrow import arrow_values, count_missing
from hubbub.inputs.files import Key, PeopleFile
from hubbub.model.plain import Value, plain

_ROWS = 8_192  # rows read at once


class ParquetFile(PeopleFile):
    """Columns by position; null, NaN and the empty text are missing."""

    kind = "Parquet file"

    @contextmanager
    def parquet(self) -> Iterator[Any]:
        """Open the file with pyarrow."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self.open() as raw:
            try:
                # With a buffer, a row group is read piece by piece, so its size does not matter.
                parquet = pq.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False)
            except (pa.ArrowException, OSError) as error:
                reason = str(error).partition(".")[0].partition("\n")[0][:80]
                raise InputError(f"the file must be Parquet, got {self.name!r} ({reason})") from None
            yield parquet

    def columns(self) -> list[str]:
        """The names in the schema, which holds no values."""
        with self.parquet() as parquet:
            return list(parquet.schema_arrow.names)

    def find(self, name: str | None, what: str) -> Key:
        """Return the position of a column of plain values."""
        column = super().find(name, what)
        with self.parquet() as parquet:
            of = parquet.schema_arrow.field(column)
        if of.type.num_fields:  # a list, a struct or a map
            raise InputError(f"the {what} must hold plain values, got {of.name!r} ({str(of.type)[:40]})")
        return column

    def count(self, column: Key) -> tuple[int, int]:
        """How many rows hold a value, and how many do not."""
        missing = rows = 0
        for batch in self._batches(column):
            rows += len(batch)
            missing += count_missing(batch)
        return rows - missing, missing

    def values(self, column: Key) -> Generator[Value | None, None, None]:
        """Yield the values, converted by `plain`."""
        for batch in self._batches(column):
            try:
                values = arrow_values(batch)
            except (ArithmeticError, ValueError):  # strings that are not UTF-8, times outside Python's range
                raise self._unreadable(column) from None
            yield from map(plain, values)

    def _batches(self, column: Key) -> Iterator[Any]:
        from pyarrow import ArrowException

        with self.parquet() as parquet:
            of = parquet.schema_arrow.field(column)
            try:
                for batch in parquet.iter_batches(_ROWS, columns=[of.name]):
                    yield batch.column(of.name)
            except (ArrowException, LookupError, OSError, ValueError):  # damaged pages
                raise self._unreadable(column) from None

    def _unreadable(self, column: Key) -> InputError:
        with self.parquet() as parquet:
            of = parquet.schema_arrow.field(column)
        reason = f"column {of.name!r} of type {of.type} cannot be read"
        return InputError(f"the file must be Parquet, got {self.name!r} ({reason})")
