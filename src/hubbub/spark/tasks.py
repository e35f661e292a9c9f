"""The tasks of Spark: from Arrow batches to one partial tally, in memory that does not grow with the reports.

A partial is one row: the bytes of a tally, with their checksum, and the counts. A task that is retried or run twice
makes the same row again, and Spark takes one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import HubbubError, SurveyMismatch
from hubbub.files.counting import add_all, blocks, keep_distinct, validate
from hubbub.files.job import BLOCK_BYTES
from hubbub.files.report_columns import read_columns
from hubbub.files.tallied import Counts
from hubbub.files.units import Reading
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Accumulator
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import Records, partition
from hubbub.wire.tally_file import encode_tally, parse_tally

SPREAD: Final = "place long, records binary"
"""The schema of the rows that `Spread` makes."""

PARTIAL: Final = "tally binary, counts binary"
"""The schema of partials, as Spark writes it."""

_ROW_BYTES: Final = 1 << 10  # about how many bytes of reports a row of a shuffle has


def make_partial(tally: Tally, counts: Counts) -> Any:
    """A partial as a batch of one row."""
    import pyarrow as pa

    columns = [pa.array([data], pa.binary()) for data in (encode_tally(tally), counts.to_bytes())]
    return pa.RecordBatch.from_arrays(columns, ["tally", "counts"])


def sum_partials(batches: Iterator[Any], survey_id: bytes, cells_shape: tuple[int, ...]) -> tuple[Tally, Counts]:
    """Add up the partials of some batches, one at a time."""
    cells, added, counts = np.zeros(cells_shape, np.int64), 0, Counts()
    for batch in batches:
        for row in range(batch.num_rows):
            part = parse_tally(batch.column("tally")[row].as_py(), survey_id, cells_shape)
            cells += part.cells
            added += part.count
            counts += Counts.from_bytes(batch.column("counts")[row].as_py())
    return Tally(survey_id, added, cells), counts


@dataclass(frozen=True)
class Merge:
    """The task that adds up partials."""

    survey: Survey

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield their sum."""
        yield make_partial(*sum_partials(batches, self.survey.survey_id, mechanism_for(self.survey).cells_shape))


@dataclass(frozen=True)
class ReadRows:
    """Where reports come from: the rows of a DataFrame with the columns id and payload.

    A third column is whether a row answers this survey.
    """

    survey: Survey

    @cached_property
    def mechanism(self) -> Accumulator:
        """The survey's mechanism, built once in each process."""
        return mechanism_for(self.survey)

    def read(self, batches: Iterator[Any], counts: list[Counts]) -> Iterator[Records]:
        """Yield the valid reports; count all in `counts[0]`."""
        for batch in batches:
            if batch.num_columns > 2 and batch.column(2).true_count < batch.num_rows:
                raise SurveyMismatch(
                    f"all rows must be to survey {self.survey.survey_id.hex()[:8]}, got others in 'survey_id': filter "
                    "them before"
                )
            records, bad = read_columns(batch.column(0), batch.column(1), self.mechanism.report_dtype.itemsize)
            kept, invalid = validate(self.mechanism, records)
            counts[0] += Counts(rows=batch.num_rows, invalid=invalid + bad)
            yield kept


@dataclass(frozen=True)
class ReadUnits:
    """Where reports come from: row groups that the task reads itself; its rows are the numbers of units."""

    reading: Reading

    @property
    def survey(self) -> Survey:
        """The survey that the reports answer."""
        return self.reading.survey

    @property
    def mechanism(self) -> Accumulator:
        """The survey's mechanism."""
        return self.reading.mechanism

    def read(self, batches: Iterator[Any], counts: list[Counts]) -> Iterator[Records]:
        """Yield the valid reports; count all in `counts[0]`."""
        for batch in batches:
            for unit in batch.column(0).to_pylist():
                yield from self.reading.read(unit, counts)


@dataclass(frozen=True)
class Count:
    """The task that adds up reports whose ids are known to differ."""

    source: ReadRows | ReadUnits

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the partial of all batches."""
        mechanism, counts = self.source.mechanism, [Counts()]
        cells = np.zeros(mechanism.cells_shape, np.int64)
        added = add_all(mechanism, cells, self.source.read(batches, counts))
        yield make_partial(Tally(self.source.survey.survey_id, added, cells), counts[0])


@dataclass(frozen=True)
class Spread:
    """The task that sorts reports by partition. A row is a partition and some of its reports, one after the other.

    So Spark shuffles rows of about a kilobyte, not of one report each. The counts are in a row of partition −1.
    """

    source: ReadRows | ReadUnits
    key: NDArray[np.uint64]
    bits: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the rows of all batches."""
        counts = [Counts()]
        for block in blocks(self.source.read(batches, counts), _ROW_BYTES << self.bits):
            records, ends = partition(block, self.key, self.bits)
            # Long rows are cut: a sender who repeats an id can fill a partition, but not a row.
            most = 16 * _ROW_BYTES // records.shape[1]
            cuts = np.unique(np.concatenate([ends, np.arange(0, len(records), most)]))
            yield _rows(np.searchsorted(ends, cuts[:-1], side="right") - 1, cuts * records.shape[1], records)
        note = np.frombuffer(counts[0].to_bytes(), np.uint8)
        yield _rows(np.array([-1]), np.array([0, note.nbytes]), note)


def _rows(places: NDArray[np.int64], cuts: NDArray[np.int64], data: NDArray[Any]) -> Any:
    """Rows with a partition and the bytes between two cuts of the data."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(cuts.astype(np.int32)), pa.py_buffer(data)]
    columns = [pa.array(places, pa.int64()), pa.Array.from_buffers(pa.binary(), len(places), buffers)]
    return pa.RecordBatch.from_arrays(columns, ["place", "records"])


@dataclass(frozen=True)
class CountPlaces:
    """The task that adds up the rows of `Spread`, sorted by partition, each id once."""

    survey: Survey
    key: NDArray[np.uint64]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the partial of all batches."""
        mechanism, counts = mechanism_for(self.survey), [Counts()]
        cells = np.zeros(mechanism.cells_shape, np.int64)
        added = add_all(mechanism, cells, self._distinct(batches, mechanism.report_dtype.itemsize, counts))
        yield make_partial(Tally(self.survey.survey_id, added, cells), counts[0])

    def _distinct(self, batches: Iterator[Any], size: int, counts: list[Counts]) -> Iterator[Records]:
        """Yield the reports that count, partition by partition; the rest is counted in `counts[0]`."""
        last = -1
        for place, rows in groupby(_pairs(batches), key=itemgetter(0)):
            if place < last:
                raise HubbubError("Spark did not sort the reports by their partitions")
            last = place
            if place < 0:
                counts[0] = sum((Counts.from_bytes(note) for _, note in rows), start=counts[0])
                continue
            parts = (np.frombuffer(data, np.uint8).reshape(-1, size) for _, data in rows)
            kept, counted = keep_distinct(parts, self.key, BLOCK_BYTES)
            counts[0] += counted
            yield kept


def _pairs(batches: Iterator[Any]) -> Iterator[tuple[int, bytes]]:
    """Yield the rows of batches with two columns."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
