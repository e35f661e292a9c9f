"""Records by their ids: the kernels against their obvious twins."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.naive import keep_smallest as naive_keep_smallest

from hubbub.numeric.distinct import draw_key, keep_smallest, partition


def some_records(count: int, ids: int, payloads: int, size: int = 19) -> np.ndarray:
    """Records with few different ids and payloads, so that many are alike."""
    rng = np.random.default_rng(count)
    known = rng.integers(0, 256, (ids, 16), dtype=np.uint8)
    records = np.zeros((count, size), np.uint8)
    records[:, :16] = known[rng.integers(0, ids, count)]
    records[:, -1] = rng.integers(0, payloads, count)
    return records


@pytest.mark.parametrize(("count", "ids", "payloads"), [(1, 1, 1), (500, 400, 1), (500, 60, 3), (500, 1, 200)])
def test_keep_smallest_is_its_twin(count: int, ids: int, payloads: int) -> None:
    """The same records are kept, and the same ids have conflicts, in any order and in one go or several."""
    records = some_records(count, ids, payloads)
    expected, conflicts = naive_keep_smallest([record.tobytes() for record in records])
    kept, marks = keep_smallest(records, np.zeros(count, np.bool_), draw_key())
    assert sorted(record.tobytes() for record in kept) == sorted(expected)
    assert marks.sum() == conflicts
    half, half_marks = keep_smallest(records[: count // 2], np.zeros(count // 2, np.bool_), draw_key())
    rest = records[count // 2 :]
    both, flags = np.concatenate([rest, half]), np.concatenate([np.zeros(len(rest), np.bool_), half_marks])
    again, again_marks = keep_smallest(both, flags, draw_key())
    assert sorted(record.tobytes() for record in again) == sorted(expected)
    assert again_marks.sum() == conflicts


def test_nothing_is_kept_of_nothing() -> None:
    """No records are no records."""
    kept, marks = keep_smallest(np.empty((0, 17), np.uint8), np.zeros(0, np.bool_), draw_key())
    assert len(kept) == len(marks) == 0


@pytest.mark.parametrize("bits", [0, 1, 5])
def test_partitions_hold_whole_ids(bits: int) -> None:
    """Every record is in one partition, and all records of an id are in the same one."""
    records = some_records(1_000, 300, 4)
    spread, ends = partition(records, draw_key(), bits)
    assert ends[0] == 0
    assert ends[-1] == 1_000
    assert sorted(map(bytes, spread)) == sorted(map(bytes, records))
    parts = [{bytes(record[:16]) for record in spread[ends[p] : ends[p + 1]]} for p in range(1 << bits)]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len({bytes(record[:16]) for record in records})
    assert bits == 0 or sum(bool(part) for part in parts) > 1
