"""Parquet files of reports: what is written, what is read, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.files.reports import MECHANISM, SURVEY, break_group, make_reports, sum_of, write, write_own

from hubbub import InputError, ParameterError, SurveyMismatch, create_survey, tally_reports
from hubbub.files.listing import list_files
from hubbub.files.report_file import ReportFile
from hubbub.files.writing import write_reports

REPORTS = make_reports(1_000)
SIZE = MECHANISM.report_dtype.itemsize


def read_all(path: Path) -> np.ndarray:
    """All reports of a file."""
    with ReportFile(str(path), SURVEY.survey_id, SIZE) as file:
        parts = [records for group in range(len(file.groups)) for records, _ in file.read(group)]
    return np.concatenate(parts).view(MECHANISM.report_dtype)[:, 0]


def test_what_is_written_is_the_documented_schema(tmp_path: Path) -> None:
    """Two columns of fixed size, the id of the survey in the metadata, and the reports as they were."""
    path = write_own(tmp_path / "a.parquet", REPORTS)
    table = pq.read_table(path)
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("id", "fixed_size_binary[16]"),
        ("payload", "fixed_size_binary[1]"),
    ]
    assert table.schema.metadata[b"hubbub.survey_id"].decode() == SURVEY.survey_id.hex()
    rows = [i + p for i, p in zip(table["id"].to_pylist(), table["payload"].to_pylist(), strict=True)]
    assert rows == [report.tobytes() for report in REPORTS]
    assert np.array_equal(read_all(path), REPORTS)


def test_what_others_write_is_read(tmp_path: Path) -> None:
    """A file that pyarrow wrote from the documentation, with several row groups, one of them empty."""
    path = write(tmp_path / "a.parquet", REPORTS[:300], REPORTS[:0], REPORTS[300:])
    assert np.array_equal(read_all(path), REPORTS)
    assert tally_reports(SURVEY, path) == sum_of(REPORTS)


def test_rows_that_are_no_reports_are_counted(tmp_path: Path) -> None:
    """Bytes without a fixed size, as Spark writes them: nulls and wrong sizes are left out and counted."""
    raw = [report.tobytes() for report in REPORTS[:4]]
    ids = pa.array([raw[0][:16], None, raw[2][:16], raw[3][:15]], pa.binary())
    payloads = pa.array([raw[0][16:], raw[1][16:], b"", raw[3][16:]], pa.large_binary())
    table = pa.table({"payload": payloads, "more": [1, 2, 3, 4], "id": ids})
    fields = f'{{"fields": [{{"name": "id", "metadata": {{"hubbub.survey_id": "{SURVEY.survey_id.hex()}"}}}}]}}'
    pq.write_table(
        table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": fields}), tmp_path / "a.parquet"
    )
    with ReportFile(str(tmp_path / "a.parquet"), SURVEY.survey_id, SIZE) as file:
        ((records, bad),) = file.read(0)
    assert records.tobytes() == raw[0]
    assert bad == 3


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """Reports are divided into files; if making them fails, nothing is left behind; what is there is kept."""
    parts = [REPORTS[start : start + 100] for start in range(0, 1_000, 100)]
    assert write_reports(tmp_path / "out", SURVEY, parts, rows_per_file=250) == [300, 300, 300, 100]
    assert tally_reports(SURVEY, tmp_path / "out") == sum_of(REPORTS)

    def failing():
        yield REPORTS
        raise InputError("the values must be readable")

    with pytest.raises(InputError, match="readable"):
        write_reports(tmp_path / "other", SURVEY, failing())
    with pytest.raises(ParameterError, match="must be a new directory"):
        write_reports(tmp_path / "out", SURVEY, parts)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("damage", "error", "sentence"),
    [
        ("cut", InputError, r"must be whole Parquet, got '.*a\.parquet'"),
        ("no parquet", InputError, r"must be whole Parquet, got '.*a\.parquet'"),
        (
            "bit",
            InputError,
            r"row group 1 of '.*a\.parquet' is damaged \(.*CRC checksum .* page_ordinal 0\)",
        ),
        ("survey", SurveyMismatch, r"must be to survey \w{8}, got '\w{8}' in '.*a\.parquet'"),
        ("no survey", InputError, r"must name its survey in its metadata, got none in '.*a\.parquet'"),
        ("twice", InputError, r"must have a column 'payload' of 1 bytes, got 2 of this name in '.*a\.parquet'"),
        ("columns", InputError, r"must have a column 'payload' of 1 bytes, got none in '.*a\.parquet'"),
        ("size", InputError, r"a column 'payload' of 1 bytes, got fixed_size_binary\[2\] in '.*a\.parquet'"),
        ("missing", InputError, r"cannot read '.*a\.parquet': no such file"),
    ],
)
def test_what_is_no_file_of_reports_is_refused(
    tmp_path: Path, damage: str, error: type[Exception], sentence: str
) -> None:
    """One sentence that names the file, and where it is known the row group; and no tally."""
    path = write(tmp_path / "a.parquet", REPORTS[:500], REPORTS[500:])
    table = pq.read_table(path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif damage == "no parquet":
        path.write_bytes(b"id,payload\n")
    elif damage == "bit":
        break_group(path, 1)
    elif damage == "survey":
        other = create_survey("other", SURVEY.domain, 2, mechanism="tree").survey_id.hex()
        pq.write_table(table.replace_schema_metadata({"hubbub.survey_id": other}), path)
    elif damage == "no survey":
        pq.write_table(table.replace_schema_metadata({}), path)
    elif damage == "twice":
        pq.write_table(table.append_column("payload", table["payload"]), path)
    elif damage == "columns":
        pq.write_table(table.rename_columns(["id", "symbol"]), path)
    elif damage == "size":
        wide = pa.array([b"ab"] * 1_000, pa.binary(2))
        pq.write_table(table.set_column(1, "payload", wide), path)
    else:
        path.unlink()
    with pytest.raises(error, match=sentence) as caught:
        tally_reports(SURVEY, path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path: Path) -> None:
    """An executor that does not find a file says so."""
    with pytest.raises(InputError, match=r"^cannot read '.*a\.parquet': no such file or directory$"):
        ReportFile(str(tmp_path / "a.parquet"), SURVEY.survey_id, SIZE)


def test_a_file_is_given_once(tmp_path: Path) -> None:
    """A file that is named twice, also by another path, is refused; a folder without files too."""
    path = write(tmp_path / "a.parquet", REPORTS)
    (tmp_path / "link.parquet").symlink_to(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="given once"):
        list_files([path, tmp_path / "link.parquet"])
    with pytest.raises(InputError, match="got none in"):
        list_files([tmp_path / "empty"])
    (tmp_path / "link.parquet").unlink()
    (tmp_path / "_hidden.parquet").write_bytes(b"")
    assert list_files([tmp_path]) == [str(path)]
