"""Types of Arrow beyond text and numbers, in columns and in Parquet; and files named with ~ and by addresses."""

from __future__ import annotations

import datetime
from pathlib import Path
from uuid import UUID

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hubbub import InputError
from hubbub.inputs.columns import read_column
from hubbub.inputs.people import open_people

TEXTS = ["tea", None, "", "milk"]
BYTES = [None if text is None else text.encode() for text in TEXTS]
IDS = [UUID(int=5), None, UUID(int=6)]
UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([each and each.bytes for each in IDS], pa.binary(16)))
DATES = [datetime.date(2024, 2, 29), None]
TWO, NAMES = (["tea", "milk"], 2), ([str(UUID(int=5)), str(UUID(int=6))], 1)


def of_file(path: Path) -> tuple[list[object], int]:
    """All values of a file, and how many rows have none."""
    with open_people(str(path)) as people:
        return [value for chunk in people.chunks() for value in chunk], people.missing


def of_column(column: object) -> tuple[list[object], int]:
    """All values of a column, and how many rows have none."""
    values, missing = read_column(column)
    return list(values), missing


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        *((pa.array(TEXTS, kind), TWO) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        *((pa.array(TEXTS, kind).dictionary_encode(), TWO) for kind in (pa.string(), pa.large_string())),
        *((pa.array(BYTES, kind), TWO) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
        (pa.array(BYTES).dictionary_encode(), TWO),
        (pa.array([b"tea", None, b"jam"], pa.binary(3)), (["tea", "jam"], 1)),
        (pa.array([b"tea", None, b"jam"], pa.binary(3)).dictionary_encode(), (["tea", "jam"], 1)),
        (pa.array([7, None, 9]).dictionary_encode(), ([7, 9], 1)),
        (pa.array(DATES).dictionary_encode(), (["2024-02-29"], 1)),
        (UUIDS, NAMES),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(TEXTS)), TWO),
        (pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "x", "y"), pa.array(TEXTS)), TWO),
    ],
    ids=lambda each: str(each.type) if isinstance(each, pa.Array) else "",
)
def test_arrow(tmp_path: Path, column: pa.Array, expected: tuple[list[object], int]) -> None:
    """A column, the same in chunks, and the same in Parquet hold the same people, with and without Arrow's types."""
    values, missing = expected
    assert of_column(column) == expected
    assert of_column(pa.chunked_array([column, column])) == (values + values, 2 * missing)
    for keep_types in (True, False):
        pq.write_table(pa.table({"v": column}), tmp_path / "x.parquet", store_schema=keep_types)
        assert of_file(tmp_path / "x.parquet") == expected


def test_run_ends() -> None:
    """A column that is stored in runs is one value a row."""
    assert of_column(pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["tea", None]))) == (["tea", "tea"], 1)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.Series("v", TEXTS, pl.Categorical), TWO),
        (pl.Series("v", TEXTS, pl.Enum(["", "milk", "tea"])), TWO),
        (pl.Series("v", BYTES, pl.Binary), TWO),
        (pd.Series(TEXTS, name="v", dtype="category"), TWO),
        (pd.Series([7, None, 9], name="v", dtype="category"), ([7, 9], 1)),
        (pd.Series(TEXTS, name="v", dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))), TWO),
        (pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([UUIDS])), name="v"), NAMES),
    ],
    ids=["categorical", "enum", "binary", "category", "category of numbers", "dictionary", "uuid"],
)
def test_pandas_and_polars(tmp_path: Path, column: object, expected: tuple[list[object], int]) -> None:
    """Their categories, and types of Arrow in them, are the values that they show; in Parquet too."""
    assert of_column(column) == expected
    path = tmp_path / "x.parquet"
    column.to_frame().write_parquet(path) if isinstance(column, pl.Series) else column.to_frame().to_parquet(path)
    assert of_file(path) == expected


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """~ is the home, file: is a file here, and another address is refused in one sentence."""
    (tmp_path / "50% Größe.txt").write_text("tea\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert of_file(Path("~/50% Größe.txt")) == (["tea"], 0)
    with open_people((tmp_path / "50% Größe.txt").as_uri()) as people:
        assert people.count == 1
    for address in ("s3://bucket/people.parquet", "https://host.example/people.csv", "file://host.example/people.csv"):
        with pytest.raises(InputError) as caught:
            open_people(address)
        assert str(caught.value) == (
            f"a file must be in a directory of this machine, got {address!r}: mount or copy it"
        )
