"""Files of reports by other programs: with the documented key in the footer they are read, whatever their types are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.files.reports import SURVEY, make_reports, sum_of

from hubbub import InputError, SurveyMismatch, create_survey, tally_files, tally_reports

REPORTS = make_reports(400)
IDS = [report.tobytes()[:16] for report in REPORTS]
PAYLOADS = [report.tobytes()[16:] for report in REPORTS]
KEY = {"hubbub.survey_id": SURVEY.survey_id.hex()}
OTHER = create_survey("other", SURVEY.domain, 2, mechanism="tree")


def with_pandas(path: Path) -> None:
    """Objects of bytes, and the survey in `attrs`."""
    frame = pd.DataFrame({"id": IDS, "payload": PAYLOADS})
    frame.attrs.update(KEY)
    frame.to_parquet(path, row_group_size=150)


def with_polars(path: Path) -> None:
    """Binary, and the survey as metadata of the file; polars writes a schema of Arrow that does not have it."""
    frame = pl.DataFrame({"id": IDS, "payload": PAYLOADS})
    frame.write_parquet(path, metadata=KEY, row_group_size=150)


def streamed_by_polars(path: Path) -> None:
    """The same by a lazy frame, with another compression."""
    frame = pl.LazyFrame({"id": IDS, "payload": PAYLOADS})
    frame.sink_parquet(path, metadata=KEY, compression="snappy")


def without_arrow(path: Path) -> None:
    """As programs that do not use Arrow write it: types of Parquet alone, and the key in the footer."""
    table = pa.table({"id": pa.array(IDS, pa.binary()), "payload": pa.array(PAYLOADS, pa.binary())})
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table, row_group_size=150)
        writer.add_key_value_metadata(KEY)


@pytest.mark.parametrize("write", [with_pandas, with_polars, streamed_by_polars, without_arrow])
def test_other_libraries(tmp_path: Path, write) -> None:
    """What pandas, polars and programs without Arrow write gives the tally of these reports."""
    write(tmp_path / "a.parquet")
    assert tally_reports(SURVEY, tmp_path / "a.parquet") == sum_of(REPORTS)
    with pytest.raises(SurveyMismatch, match=f"must be to survey {OTHER.survey_id.hex()[:8]}, got"):
        tally_reports(OTHER, tmp_path / "a.parquet")


def uuids(values: list[bytes | None]) -> pa.Array:
    """A column of UUIDs."""
    return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(values, pa.binary(16)))


@pytest.mark.parametrize(
    ("ids", "payloads"),
    [
        (uuids(IDS), pa.array(PAYLOADS, pa.binary(1)).dictionary_encode()),
        (pa.array(IDS, pa.binary(16)).dictionary_encode(), pa.array(PAYLOADS).dictionary_encode()),
        (pa.array(IDS, pa.binary_view()), pa.array(PAYLOADS, pa.binary_view())),
        (pa.array(IDS, pa.large_binary()), pa.array(PAYLOADS, pa.binary())),
        (
            pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "id", "x"), pa.array(IDS)),
            pa.array(PAYLOADS, pa.large_binary()).dictionary_encode(),
        ),
    ],
    ids=["uuid and dictionary", "dictionaries", "views", "large", "an unknown extension"],
)
@pytest.mark.parametrize("keep_types", [True, False])
def test_types_of_bytes(tmp_path: Path, ids: pa.Array, payloads: pa.Array, keep_types: bool) -> None:
    """UUIDs, dictionaries, views and large bytes are bytes, whether the types of Arrow are in the file or not."""
    table = pa.table({"id": ids, "payload": payloads})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, store_schema=keep_types) as writer:
        writer.write_table(table, row_group_size=150)
        writer.add_key_value_metadata(KEY)
    tallied = tally_files(SURVEY, tmp_path / "a.parquet")
    assert (tallied.tally, tallied.counts.invalid) == (sum_of(REPORTS), 0)


def test_nulls_in_such_columns_are_invalid_rows(tmp_path: Path) -> None:
    """A row without an id or without a payload is counted as invalid, whatever its type."""
    payloads = pa.array([None, *PAYLOADS[1:]], pa.binary(1)).dictionary_encode()
    ids = uuids([*IDS[:-1], None])
    pq.write_table(pa.table({"id": ids, "payload": payloads}).replace_schema_metadata(KEY), tmp_path / "a.parquet")
    tallied = tally_files(SURVEY, tmp_path / "a.parquet")
    assert tallied.tally == sum_of(REPORTS[1:-1])
    assert (tallied.counts.rows, tallied.counts.invalid) == (400, 2)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (pa.array([each.hex() for each in IDS]), "a column 'id' of 16 bytes, got string"),
        (pa.array([each.hex() for each in IDS]).dictionary_encode(), "a column 'id' of 16 bytes, got dictionary"),
        (pa.array(range(400), pa.int64()), "a column 'id' of 16 bytes, got int64"),
        (pa.array([list(each) for each in IDS], pa.list_(pa.uint8(), 16)), "a column 'id' of 16 bytes, got"),
        (pa.array([each[:8] for each in IDS], pa.binary(8)), r"of 16 bytes, got fixed_size_binary\[8\]"),
    ],
    ids=["hex", "hex in a dictionary", "numbers", "lists", "eight bytes"],
)
def test_other_types_are_refused(tmp_path: Path, ids: pa.Array, said: str) -> None:
    """Text, numbers, lists and bytes of another size are not cast: one sentence names the type."""
    table = pa.table({"id": ids, "payload": pa.array(PAYLOADS, pa.binary(1))}).replace_schema_metadata(KEY)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=said):
        tally_reports(SURVEY, tmp_path / "a.parquet")


def test_two_surveys_in_one_file_are_refused(tmp_path: Path) -> None:
    """If the footer and the schema of Arrow state different surveys, nothing is guessed."""
    table = pa.table({"id": pa.array(IDS, pa.binary(16)), "payload": pa.array(PAYLOADS, pa.binary(1))})
    table = table.replace_schema_metadata({**KEY, "PANDAS_ATTRS": f'{{"hubbub.survey_id": "{OTHER.survey_id.hex()}"}}'})
    pq.write_table(table, tmp_path / "a.parquet")
    for survey in (SURVEY, OTHER):
        with pytest.raises(SurveyMismatch, match="got several"):
            tally_reports(survey, tmp_path / "a.parquet")


def test_files_without_reports(tmp_path: Path) -> None:
    """No row groups, and row groups without rows, add nothing; alone they are the empty tally."""
    schema = pa.schema([("id", pa.binary(16)), ("payload", pa.binary(1))], KEY)
    with pq.ParquetWriter(tmp_path / "a.parquet", schema):
        pass
    pq.write_table(schema.empty_table(), tmp_path / "b.parquet")
    for unique in (True, False):
        for jobs in (1, 2):
            tallied = tally_files(SURVEY, tmp_path, assume_unique=unique, jobs=jobs)
            assert (tallied.tally, tallied.counts.rows) == (sum_of(REPORTS[:0]), 0)
    with_polars(tmp_path / "c.parquet")
    assert tally_files(SURVEY, tmp_path).tally == sum_of(REPORTS)


def test_a_null_column_is_refused(tmp_path: Path) -> None:
    """A column that has no type, since it has no values, is no column of bytes."""
    table = pa.table({"id": pa.nulls(3), "payload": pa.array(np.zeros(3, "S1"))}).replace_schema_metadata(KEY)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a column 'id' of 16 bytes, got null"):
        tally_reports(SURVEY, tmp_path / "a.parquet")
