"""The columns and the survey of reports in Arrow, however a program wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from hubbub.numeric.distinct import ID_BYTES, Records

SURVEY_KEY: Final = "hubbub.survey_id"
_SPARK_KEY: Final = "org.apache.spark.sql.parquet.row.metadata"
_PANDAS_KEY: Final = "PANDAS_ATTRS"


def survey_metadata(survey_id: bytes) -> dict[str, str]:
    """The metadata of a file of reports: the survey's id, and again as Spark keeps it, in the metadata of a column.

    So a DataFrame that Spark makes of the file states its survey as well.
    """
    hexed = survey_id.hex()
    fields = [
        {"name": "id", "type": "binary", "nullable": True, "metadata": {SURVEY_KEY: hexed}},
        {"name": "payload", "type": "binary", "nullable": True, "metadata": {}},
    ]
    return {SURVEY_KEY: hexed, _SPARK_KEY: json.dumps({"type": "struct", "fields": fields})}


def stated_surveys(*metadata: Mapping[bytes, bytes] | None) -> set[str]:
    """The ids of surveys, in hex, that the metadata of a file and of its schema state.

    Programs keep them under the documented key, pandas in the `attrs` of a table, and Spark in those of a column.
    """
    texts = [
        {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in (each or {}).items()}
        for each in metadata
    ]
    return {stated.strip().lower() for each in texts for stated in _stated(each)}


def _stated(metadata: Mapping[str, str]) -> Iterator[str]:
    """Yield the id of a survey from each place that has one."""
    if SURVEY_KEY in metadata:
        yield metadata[SURVEY_KEY]
    attributes = _parsed(metadata.get(_PANDAS_KEY))
    columns = _parsed(metadata.get(_SPARK_KEY)).get("fields")
    of_columns = [each.get("metadata") for each in columns if isinstance(each, dict)] if columns else []
    for place in (attributes, *of_columns):
        if isinstance(place, dict) and SURVEY_KEY in place:
            yield str(place[SURVEY_KEY])


def _parsed(text: str | None) -> dict[str, Any]:
    """A JSON object; an empty one if it is none."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def are_bytes(kind: Any, size: int) -> bool:
    """Whether a column of this Arrow type can hold values of `size` bytes."""
    import pyarrow as pa

    kind = _stored(kind)
    if pa.types.is_fixed_size_binary(kind):
        return bool(kind.byte_width == size)
    return any(is_so(kind) for is_so in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view))


def _stored(kind: Any) -> Any:
    """The type of the values themselves: of an extension such as UUID its storage, of a dictionary its values."""
    import pyarrow as pa

    while isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type
    return kind


def _plain(column: Any) -> Any:
    """A column of bytes without the extension, the dictionary or the view that it may have."""
    import pyarrow as pa

    while column.type != _stored(column.type):
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column.storage
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def read_columns(ids: Any, payloads: Any, size: int) -> tuple[Records, int]:
    """Two Arrow columns as records, and how many rows were left out for a null or a wrong number of bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = len(ids)
    columns, sizes = [_plain(ids), _plain(payloads)], [ID_BYTES, size - ID_BYTES]
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
