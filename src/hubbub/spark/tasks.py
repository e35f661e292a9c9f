"""The tasks of Spark: from Arrow batches to one partial tally, in memory that does not grow with the reports.

A task is a `partial` of a function here, with all but its last argument. A mechanism is sent as its survey.

A partial is one row: the bytes of a tally, with their checksum, and the counts. A task that is retried or run twice
makes the same row again, and Spark takes one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import HubbubError, SurveyMismatch
from hubbub.files.counting import add_all, blocks, keep_distinct, validate
from hubbub.files.job import BLOCK_BYTES
from hubbub.files.report_columns import read_columns
from hubbub.files.tallied import Counts
from hubbub.files.units import Reading
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Tally
from hubbub.numeric.distinct import Records, partition
from hubbub.wire.tally_file import encode_tally, parse_tally

SPREAD: Final = "place long, records binary"
"""The schema of the rows that `spread` makes."""

PARTIAL: Final = "tally binary, counts binary"
"""The schema of partials, as Spark writes it."""

_ROW_BYTES: Final = 1 << 10  # about how many bytes of reports a row of a shuffle has


def make_partial(tally: Tally, counts: Counts) -> Any:
    """A partial as a batch of one row."""
    import pyarrow as pa

    columns = [pa.array([data], pa.binary()) for data in (encode_tally(tally), counts.to_bytes())]
    return pa.RecordBatch.from_arrays(columns, ["tally", "counts"])


def sum_partials(accumulator: Accumulator, batches: Iterator[Any]) -> tuple[Tally, Counts]:
    """Add up the partials of some batches, one at a time."""
    cells, added, counts = np.zeros(accumulator.cells_shape, np.int64), 0, Counts()
    for batch in batches:
        for row in range(batch.num_rows):
            stored = batch.column("tally")[row].as_py()
            part = parse_tally(stored, accumulator.survey_id, accumulator.cells_shape)
            cells += part.cells
            added += part.count
            counts += Counts.from_bytes(batch.column("counts")[row].as_py())
    return Tally(accumulator.survey_id, added, cells), counts


def merge(accumulator: Accumulator, batches: Iterator[Any]) -> Iterator[Any]:
    """The task that adds up partials: yield their sum."""
    yield make_partial(*sum_partials(accumulator, batches))


Source: TypeAlias = Callable[[Iterator[Any], list[Counts]], Iterator[Records]]
"""Where reports come from: yields the valid ones of some batches, and counts all in the first of the counts."""


def read_rows(accumulator: Accumulator, batches: Iterator[Any], counts: list[Counts]) -> Iterator[Records]:
    """The source of a DataFrame with the columns id and payload; a third one is whether a row answers this survey."""
    for batch in batches:
        if batch.num_columns > 2 and batch.column(2).true_count < batch.num_rows:
            short = accumulator.survey_id.hex()[:8]
            raise SurveyMismatch(f"all rows must be to survey {short}, got others in 'survey_id': filter them before")
        records, bad = read_columns(batch.column(0), batch.column(1), accumulator.report_dtype.itemsize)
        kept, invalid = validate(accumulator, records)
        counts[0] += Counts(rows=batch.num_rows, invalid=invalid + bad)
        yield kept


def read_units(reading: Reading, batches: Iterator[Any], counts: list[Counts]) -> Iterator[Records]:
    """The source of row groups that the task reads itself; its rows are the numbers of units."""
    for batch in batches:
        for unit in batch.column(0).to_pylist():
            yield from reading.read(unit, counts)


def count(accumulator: Accumulator, source: Source, batches: Iterator[Any]) -> Iterator[Any]:
    """The task that adds up reports whose ids are known to differ: yield the partial of all batches."""
    cells, counts = np.zeros(accumulator.cells_shape, np.int64), [Counts()]
    added = add_all(accumulator, cells, source(batches, counts))
    yield make_partial(Tally(accumulator.survey_id, added, cells), counts[0])


def spread(source: Source, key: NDArray[np.uint64], bits: int, batches: Iterator[Any]) -> Iterator[Any]:
    """The task that sorts reports by partition. A row is a partition and some of its reports, one after the other.

    So Spark shuffles rows of about a kilobyte, not of one report each. The counts are in a row of partition −1.
    """
    counts = [Counts()]
    for block in blocks(source(batches, counts), _ROW_BYTES << bits):
        records, ends = partition(block, key, bits)
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


def read_places(key: NDArray[np.uint64], size: int, batches: Iterator[Any], counts: list[Counts]) -> Iterator[Records]:
    """The source of rows of `spread`, sorted by partition: reports of `size` bytes, each id once."""
    last = -1
    pairs = (pair for batch in batches for pair in zip(*(each.to_pylist() for each in batch.columns), strict=True))
    for place, rows in groupby(pairs, key=itemgetter(0)):
        if place < last:
            raise HubbubError("Spark did not sort the reports by their partitions")
        last = place
        if place < 0:
            counts[0] = sum((Counts.from_bytes(note) for _, note in rows), start=counts[0])
            continue
        parts = (np.frombuffer(data, np.uint8).reshape(-1, size) for _, data in rows)
        kept, counted = keep_distinct(parts, key, BLOCK_BYTES)
        counts[0] += counted
        yield kept
