"""A Parquet file of reports: its schema, a writer, and a reader that goes row group by row group.

The columns are `id`, 16 bytes, and `payload`, whose size depends on the mechanism; the schema's metadata has the id of
the survey. See docs/wire-format.md. Files written by Spark are read as well: their columns have no fixed size, and the
id of the survey is in the metadata of a column.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from hubbub.errors import InputError, SurveyMismatch
from hubbub.extras import require
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Reports
from hubbub.model.survey import Survey
from hubbub.numeric.distinct import ID_BYTES, Records
from hubbub.wire.atomic import identity

SURVEY_KEY: Final = "hubbub.survey_id"
SUFFIX: Final = ".parquet"
GROUP_BYTES: Final = 16 << 20  # bytes of reports in a row group: about a million small reports
_BATCH_ROWS: Final = 1 << 16  # rows read at once
_BUFFER_BYTES: Final = 1 << 20
_REASON_CHARACTERS: Final = 120
_SPARK_KEY: Final = b"org.apache.spark.sql.parquet.row.metadata"


def report_schema(survey_id: bytes, report_bytes: int) -> Any:
    """The Arrow schema of reports to a survey."""
    import pyarrow as pa

    columns = [
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("payload", pa.binary(report_bytes - ID_BYTES), nullable=False),
    ]
    return pa.schema(columns, metadata={SURVEY_KEY: survey_id.hex()})


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

    Takes the memory of one row group, about 16 MiB of reports.

    Attributes
    ----------
    rows : int
        Reports written so far.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._held:
            self._flush()
        self._file.close()


class ReportFile:
    """A file of reports of a survey, opened; its schema and footer are checked.

    Attributes
    ----------
    name : str
        Its path.
    groups : list of int
        The rows of each row group.
    """

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
            reason = getattr(error, "strerror", None) or _first_line(error).partition(".")[0]
            raise InputError(f"the file of reports must be whole Parquet, got {path!r} ({reason})") from None
        self._check(schema, survey_id)

    def _check(self, schema: Any, survey_id: bytes) -> None:
        """Raise an error if the file does not hold reports of this survey."""
        import pyarrow as pa

        for name, size in (("id", ID_BYTES), ("payload", self._size - ID_BYTES)):
            places = schema.get_all_field_indices(name)
            kind = schema.field(places[0]).type if len(places) == 1 else None
            fixed = kind is not None and pa.types.is_fixed_size_binary(kind) and kind.byte_width == size
            if not fixed and not (kind is not None and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind))):
                raise InputError(
                    f"a file of reports must have a column {name!r} of {size} bytes, got "
                    f"{'none' if kind is None else str(kind)[:40]} in {self.name!r}"
                )
        stated = stated_survey(schema.metadata or {})
        if stated is None:
            raise InputError(f"a file of reports must name its survey in its metadata, got none in {self.name!r}")
        if stated != survey_id.hex():
            raise SurveyMismatch(
                f"a file of reports must be to survey {survey_id.hex()[:8]}, got {stated[:8]!r} in {self.name!r}"
            )

    def read(self, group: int) -> Iterator[tuple[Records, int]]:
        """Yield the reports of a row group, some at a time, each time with the number of rows that are not reports.

        Raises
        ------
        InputError
            The row group is damaged. The message names it and the file.
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

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _first_line(error: Exception) -> str:
    """The first line of a library's error message, cut between two words if it is long."""
    return textwrap.shorten(str(error).partition("\n")[0], _REASON_CHARACTERS, placeholder=" …")


def stated_survey(metadata: dict[bytes, bytes]) -> str | None:
    """The survey id, in hex, from a file's metadata; None if there is none. Spark keeps it in a column's metadata."""
    if (own := metadata.get(SURVEY_KEY.encode())) is not None:
        return own.decode("ascii", "replace")
    try:
        fields = json.loads(metadata.get(_SPARK_KEY, b"{}")).get("fields", [])
        return next((str(field["metadata"][SURVEY_KEY]) for field in fields if SURVEY_KEY in field["metadata"]), None)
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None


def read_columns(ids: Any, payloads: Any, size: int) -> tuple[Records, int]:
    """Two Arrow columns as records, and how many rows were left out for a null or a wrong number of bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = len(ids)
    columns, sizes = [ids, payloads], [ID_BYTES, size - ID_BYTES]
    whole = [pa.types.is_fixed_size_binary(each.type) and not each.null_count for each in columns]
    if not all(whole):
        fits = [
            pc.fill_null(pc.equal(pc.binary_length(each), n), False) for each, n in zip(columns, sizes, strict=True)
        ]
        kept = pc.and_(*fits)
        columns = [each.filter(kept).cast(pa.binary(n)) for each, n in zip(columns, sizes, strict=True)]
    records = np.empty((len(columns[0]), size), np.uint8)
    layout = records.view([("id", "V16"), ("payload", f"V{size - ID_BYTES}")])[:, 0]
    for name, column in zip(("id", "payload"), columns, strict=True):
        wide = layout.dtype[name]
        if len(column):
            layout[name] = np.frombuffer(column.buffers()[1], wide, len(column), column.offset * wide.itemsize)
    return records, rows - len(records)


def list_files(sources: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths name; a directory stands for all *.parquet files in and below it, sorted by name.

    Raises
    ------
    InputError
        A file is named twice (possibly by different paths), does not exist, or a directory has no such files.
    """
    found: dict[object, str] = {}
    for given in sources:
        source = os.fspath(given)
        if not os.path.exists(source):
            raise InputError(f"cannot read {source!r}: no such file or directory")
        inside = [source]
        if os.path.isdir(source):
            inside = sorted(_reports_below(source))
            if not inside:
                raise InputError(
                    f"a directory of reports must have files *{SUFFIX} in it or below, got none in {source!r}"
                )
        for path in inside:
            mark = identity(path)
            if mark in found:
                raise InputError(f"a file of reports must be given once, got {found[mark]!r} and {path!r}")
            found[mark] = path
    if not found:
        raise InputError("there must be at least one file of reports, got none")
    return list(found.values())


def _reports_below(folder: str) -> Iterator[str]:
    """Yield the *.parquet files in and below a directory, except hidden ones (names that begin with _ or a dot)."""
    for parent, inside, files in os.walk(folder):
        inside[:] = [name for name in inside if not name.startswith(("_", "."))]
        for name in files:
            if name.endswith(SUFFIX) and not name.startswith(("_", ".")):
                yield os.path.join(parent, name)
