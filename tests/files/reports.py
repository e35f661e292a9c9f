"""Reports for the tests of files: real ones to a small survey, and what they must add up to."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hubbub import Integers, SeededRandomWords, Tally, create_survey, mechanism_for
from hubbub.files.report_file import ReportWriter
from hubbub.model.mechanism import add_up

SURVEY = create_survey("files", Integers(16), 2, mechanism="tree", public_seed=bytes(range(32)))
MECHANISM = mechanism_for(SURVEY)


def make_reports(count: int, seed: int = 1) -> np.ndarray:
    """Reports of people who hold one of ten numbers."""
    items = SURVEY.domain.encode([number % 10 for number in range(count)])
    return MECHANISM.randomize(items, SeededRandomWords(seed).draw(count, MECHANISM.random_words_per_report))


def sum_of(reports: np.ndarray) -> Tally:
    """The tally of reports whose ids differ, by the mechanism itself."""
    return add_up(MECHANISM, [reports])


def write(path: Path, *groups: np.ndarray) -> Path:
    """A file of reports with these row groups, by pyarrow alone, as docs/wire-format.md describes it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [pa.field("id", pa.binary(16), nullable=False), pa.field("payload", pa.binary(1), nullable=False)],
        metadata={"hubbub.survey_id": SURVEY.survey_id.hex()},
    )
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none", write_page_checksum=True) as file:
        for reports in groups:
            raw = [report.tobytes() for report in reports]
            columns = [pa.array([r[:16] for r in raw], pa.binary(16)), pa.array([r[16:] for r in raw], pa.binary(1))]
            file.write_table(pa.table(columns, schema=schema))
    return path


def write_own(path: Path, reports: np.ndarray) -> Path:
    """A file of reports, by the library."""
    with ReportWriter(str(path), SURVEY) as writer:
        writer.write(reports)
    return path


def break_group(path: Path, group: int) -> None:
    """Flip a bit in the middle of the ids of a row group."""
    import pyarrow.parquet as pq

    column = pq.ParquetFile(path).metadata.row_group(group).column(0)
    at = column.data_page_offset + column.total_compressed_size // 2
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
