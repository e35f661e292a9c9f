"""A Parquet file of reports: its schema, a writer, and a reader that goes row group by row group.

The columns are `id`, 16 bytes, and `payload`, whose size depends on the mechanism; the footer's metadata has the id of
the survey. See docs/wire-format.md. Files of other programs are read too, whatever type of bytes they have.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from typing import Any, Final, Self

import numpy as np

from hubbub.errors import InputError, SurveyMismatch
from hubbub.extras import require
from hubbub.files.report_columns import are_bytes, read_columns, stated_surveys, survey_metadata
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Reports
from hubbub.model.survey import Survey
from hubbub.numeric.distinct import ID_BYTES, Records

GROUP_BYTES: Final = 16 << 20  # bytes of reports in a row group: about a million small reports
_BATCH_ROWS: Final = 1 << 16  # rows read at once
_BUFFER_BYTES: Final = 1 << 20
_REASON_CHARACTERS: Final = 120


def report_schema(survey_id: bytes, report_bytes: int) -> Any:
    """The Arrow schema of reports to a survey."""
    import pyarrow as pa

    columns = [
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("payload", pa.binary(report_bytes - ID_BYTES), nullable=False),
    ]
    return pa.schema(columns, metadata=survey_metadata(survey_id))


def report_batch(records: Records, schema: Any) -> Any:
    """Records as an Arrow batch of this schema; they are copied once."""
    import pyarrow as pa

    arrays = []
    for field, part in zip(schema, (records[:, :ID_BYTES], records[:, ID_BYTES:]), strict=True):
        data = pa.py_buffer(np.ascontiguousarray(part))
        arrays.append(pa.Array.from_buffers(field.type, len(records), [None, data]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def records_of(reports: Reports) -> Records:
    """The bytes of reports, one row for each; not copied if the reports are contiguous."""
    return np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), reports.dtype.itemsize)


class ReportWriter:
    """Writes the reports of a survey into one file. It is a context manager; the file is complete at its end.

    Takes the memory of one row group, about 16 MiB of reports. `rows` is how many were written so far.
    """

    def __init__(self, path: str, survey: Survey) -> None:
        require("A Parquet file", "pyarrow", "files")
        import pyarrow.parquet as pq

        size = mechanism_for(survey).report_dtype.itemsize
        self.rows = 0
        self._schema = report_schema(survey.survey_id, size)
        self._group = np.empty((max(1, GROUP_BYTES // size), size), np.uint8)
        self._held = 0
        # Ids are random, so a dictionary, statistics or compression would not help.
        self._file = pq.ParquetWriter(
            path, self._schema, use_dictionary=False, compression="none", write_statistics=False,
            write_page_checksum=True,
        )  # fmt: skip

    def write(self, reports: Reports) -> None:
        """Add some reports."""
        left = records_of(reports)
        while len(left):
            part, left = np.split(left, [len(self._group) - self._held])
            self._group[self._held : self._held + len(part)] = part
            self._held += len(part)
            self.rows += len(part)
            if self._held == len(self._group):
                self._flush()

    def _flush(self) -> None:
        """Write the row group."""
        self._file.write_batch(report_batch(self._group[: self._held], self._schema), row_group_size=len(self._group))
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        self._file.close()


class ReportFile:
    """A file of reports of a survey, opened; its schema and footer are checked. `groups` are the rows of each group."""

    def __init__(self, path: str, survey_id: bytes, report_bytes: int) -> None:
        require("A Parquet file", "pyarrow", "files")
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.name, self._size = path, report_bytes
        try:
            # With a buffer, columns of a large row group are read piece by piece.
            self._file = pq.ParquetFile(
                path, pre_buffer=False, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
            )
            metadata = self._file.metadata
            self.groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            schema = self._file.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as error:
            if number := getattr(error, "errno", None):
                raise InputError(f"cannot read {path!r}: {os.strerror(number).lower()}") from None
            reason = _first_line(error).partition(".")[0]
            raise InputError(f"the file of reports must be whole Parquet, got {path!r} ({reason})") from None
        # The footer's own metadata: that of Arrow's schema, which polars and others write too, need not have the key.
        self._check(schema, stated_surveys(metadata.metadata, schema.metadata), survey_id.hex())

    def _check(self, schema: Any, stated: set[str], survey_id: str) -> None:
        """Raise an error if the file does not hold reports of this survey."""
        for name, size in (("id", ID_BYTES), ("payload", self._size - ID_BYTES)):
            places = schema.get_all_field_indices(name)
            kind = schema.field(places[0]).type if len(places) == 1 else None
            if kind is None or not are_bytes(kind, size):
                got = str(kind)[:40] if kind is not None else f"{len(places)} of this name" if places else "none"
                raise InputError(
                    f"a file of reports must have a column {name!r} of {size} bytes, got {got} in {self.name!r}"
                )
        if not stated:
            raise InputError(f"a file of reports must name its survey in its metadata, got none in {self.name!r}")
        if stated != {survey_id}:
            got = "several" if len(stated) > 1 else repr(stated.pop()[:8])
            raise SurveyMismatch(f"a file of reports must be to survey {survey_id[:8]}, got {got} in {self.name!r}")

    def read(self, group: int) -> Iterator[tuple[Records, int]]:
        """Yield the reports of a row group, some at a time, each time with the number of rows that are not reports.

        Raises InputError, which names the row group and the file, if it is damaged.
        """
        import pyarrow as pa

        rows = 0
        try:
            for batch in self._file.iter_batches(_BATCH_ROWS, [group], ["id", "payload"], use_threads=False):
                rows += batch.num_rows
                yield read_columns(batch.column("id"), batch.column("payload"), self._size)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"row group {group} of {self.name!r} is damaged ({_first_line(error)})") from None
        if rows != self.groups[group]:
            raise InputError(
                f"row group {group} of {self.name!r} is damaged ({rows} rows instead of {self.groups[group]})"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close(force=True)


def _first_line(error: Exception) -> str:
    """The first line of a library's error message, cut between two words if it is long."""
    return textwrap.shorten(str(error).partition("\n")[0], _REASON_CHARACTERS, placeholder=" …")
