"""Columns of Arrow; Parquet files are read into these."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.model.plain import present
from hubbub.numeric.packed import PackedNumbers, PackedTexts


class ArrowTexts(PackedTexts):
    """Texts of Arrow, whose library finds the distinct ones fast."""

    def distinct(self) -> tuple[list[str], NDArray[np.int64]]:
        """The distinct texts, and for each text its index among them."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)]
        found = pa.Array.from_buffers(pa.large_string(), len(self), buffers).dictionary_encode()
        return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64)


def packed_values(column: Any) -> tuple[PackedTexts | PackedNumbers, int] | None:
    """The values that are not missing, without copying them into Python objects, and the number missing.

    It takes texts (also dictionary-encoded), whole numbers, and floats if all are whole and at most 2^53; None for
    other types. `column` may be an Arrow array or a column of pandas or polars.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column if isinstance(column, pa.Array | pa.ChunkedArray) else _array_of(column)
    if array is None:
        return None
    of, everybody = array.type, len(array)
    kind = of.value_type if pa.types.is_dictionary(of) else of
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        texts = array.cast(pa.large_string()).drop_null()
        texts = texts.filter(pc.greater(pc.binary_length(texts), 0))
        return _texts(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts), everybody - len(texts)
    if pa.types.is_floating(of):
        array = array.drop_null()
        array = array.filter(pc.invert(pc.is_nan(array)))
        floats = array.to_numpy().astype(np.float64, copy=False)  # 2^53 is no float of 16 bits
        # Above 2^53 a float has other digits as text than the whole number has.
        if len(floats) and not (np.all(floats == np.floor(floats)) and np.abs(floats).max() <= 2.0**53):
            return None
        return PackedNumbers(floats.astype(np.int64)), everybody - len(array)
    if pa.types.is_integer(of):
        array = array.drop_null()
        return PackedNumbers(array.to_numpy()), everybody - len(array)
    return None


def _array_of(column: Any) -> Any:
    """A column of pandas or polars as an Arrow array; None if the conversion would go through Python objects."""
    import pyarrow as pa

    library, of = type(column).__module__.partition(".")[0], getattr(column, "dtype", None)
    try:
        if library == "polars":
            return column.to_arrow()
        held_so = str(getattr(of, "storage", "")).startswith("pyarrow") or hasattr(of, "pyarrow_dtype")
        if library == "pandas" and (getattr(of, "kind", "O") in "iuf" or held_so):
            return pa.array(column, from_pandas=True)
    except pa.ArrowException:  # a type that Arrow has none for, such as a sparse column or numbers of 128 bits
        return None
    return None


def _texts(array: Any) -> ArrowTexts:
    """The bytes and offsets of an array of large strings without nulls; shared, not copied."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64) if offsets is not None and offsets.size else np.zeros(1, np.int64)
    raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return ArrowTexts(raw, ends[array.offset : array.offset + len(array) + 1])


def arrow_values(column: Any) -> list[object]:
    """An array or chunked array as a list; times to the nanosecond are text, since Python has no type for them."""
    import pyarrow as pa

    of = column.type
    if not (pa.types.is_timestamp(of) or pa.types.is_time64(of)) or of.unit != "ns":
        return list(column.to_pylist())
    nanoseconds = column.cast(pa.int64()).to_pylist()
    whole = pa.array([None if each is None else each // 1000 for each in nanoseconds], pa.int64())
    times = whole.cast(pa.timestamp("us", of.tz) if pa.types.is_timestamp(of) else pa.time64("us")).to_pylist()
    return [None if each is None else _iso(when, each % 1000) for when, each in zip(times, nanoseconds, strict=True)]


def count_missing(column: Any) -> int:
    """How many values are missing by the rules of `plain`. For most types Arrow counts them at once."""
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


def _iso(when: datetime | time, nanoseconds: int) -> str:
    """A time in ISO form with the digits after its microseconds, if they are not zero."""
    if not nanoseconds:
        return when.isoformat()
    text = when.isoformat(timespec="microseconds")
    end = text.index(".") + 7
    return f"{text[:end]}{nanoseconds:03d}{text[end:]}"
