"""Columns of Arrow, which Parquet files are read as."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hubbub.inputs.plain import present


def arrow_values(column: Any) -> list[object]:
    """An array or chunked array as a list; times to the nanosecond are text, since Python has no type for them."""
    import pyarrow as pa

    if not (pa.types.is_timestamp(column.type) and column.type.unit == "ns"):
        return list(column.to_pylist())
    nanoseconds = column.cast(pa.int64()).to_pylist()
    whole = pa.array([None if each is None else each // 1000 for each in nanoseconds], pa.int64())
    times = whole.cast(pa.timestamp("us", column.type.tz)).to_pylist()
    return [None if each is None else _iso(when, each % 1000) for when, each in zip(times, nanoseconds, strict=True)]


def count_missing(column: Any) -> int:
    """How many values are missing by the rules of `plain`; most types need no look at each value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    of = column.type
    if pa.types.is_integer(of) or pa.types.is_boolean(of) or pa.types.is_temporal(of):
        return int(column.null_count)
    if pa.types.is_float32(of) or pa.types.is_float64(of):
        return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_binary(of) or pa.types.is_large_binary(of):
        empty = pc.sum(pc.equal(pc.binary_length(column), 0)).as_py() or 0
        return int(column.null_count + empty)
    return len(column) - len(present(arrow_values(column)))


def _iso(when: datetime, nanoseconds: int) -> str:
    """A time in ISO form with the digits after its microseconds, if they are not zero."""
    if not nanoseconds:
        return when.isoformat()
    text = when.isoformat(timespec="microseconds")
    return f"{text[:26]}{nanoseconds:03d}{text[26:]}"
