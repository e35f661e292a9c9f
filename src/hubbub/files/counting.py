"""From records to sums: validate, keep each id once, add up. All ways of counting use this, including Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.files.tallied import Counts
from hubbub.model.mechanism import Accumulator
from hubbub.model.tally import Cells
from hubbub.numeric.distinct import Records, keep_smallest

_ADD_BYTES: Final = 16 << 20


def validate(accumulator: Accumulator, records: Records) -> tuple[Records, int]:
    """The records that an honest device could have sent, and how many others there were."""
    valid = accumulator.validate(records.view(accumulator.report_dtype)[:, 0])
    left = len(records) - int(valid.sum())
    return (records[valid] if left else records), left


def add_all(accumulator: Accumulator, cells: Cells, parts: Iterable[Records]) -> int:
    """Add valid records to the sums, in place, in blocks of 16 MiB for speed; return how many were added."""
    added = 0
    for records in blocks(parts, _ADD_BYTES):
        accumulator.accumulate(cells, records.view(accumulator.report_dtype)[:, 0])
        added += len(records)
    return added


def keep_distinct(parts: Iterable[Records], key: NDArray[np.uint64], block_bytes: int) -> tuple[Records, Counts]:
    """For each id the record with the smallest payload; and how many duplicates and conflicts there were.

    Takes a few times the memory of all distinct records, or of `block_bytes` if that is more.
    """
    kept, marks = np.empty((0, 0), np.uint8), np.zeros(0, np.bool_)
    given = 0
    for more in blocks(parts, block_bytes):
        given += len(more)
        both = np.concatenate([kept, more]) if len(kept) else more
        kept, marks = keep_smallest(both, np.concatenate([marks, np.zeros(len(more), np.bool_)]), key)
    return kept, Counts(duplicates=given - len(kept), conflicts=int(marks.sum()))


def add_distinct(
    accumulator: Accumulator, cells: Cells, parts: Iterable[Records], key: NDArray[np.uint64], block_bytes: int
) -> tuple[int, Counts]:
    """Add the records that `keep_distinct` keeps to the sums; return how many were added, and its counts."""
    kept, counts = keep_distinct(parts, key, block_bytes)
    return add_all(accumulator, cells, [kept]), counts


def blocks(parts: Iterable[Records], block_bytes: int) -> Iterator[Records]:
    """Yield the records of all parts in full blocks of `block_bytes`; the last block may be smaller."""
    held: list[Records] = []
    room = block_bytes
    for part in parts:
        rest = part
        while len(rest):
            fits = max(1, room // rest.shape[1])
            held.append(rest[:fits])
            room -= held[-1].nbytes
            rest = rest[fits:]
            if room < part.shape[1]:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, room = [], block_bytes
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)
