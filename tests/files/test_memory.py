"""Ten million reports, more than memory may hold at once: the system itself sets the limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.files.reports import MECHANISM, SURVEY

from hubbub import read_tally, tally_files
from hubbub.files.report_file import ReportWriter

ROWS, COPIES, LIMIT = 9_500_000, 500_000, 640 << 20  # bytes; a set of these ids takes more than twice as much

LIMITED = """
import resource, sys
from tests.files.reports import SURVEY
from hubbub import tally_files, tally_reports, write_tally

tally_reports(SURVEY, [])  # load everything
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[3]), int(sys.argv[3])))
try:
    bytearray(int(sys.argv[3]))
except MemoryError:
    tallied = tally_files(SURVEY, sys.argv[1])
    write_tally(sys.argv[2], tallied.tally)
    print(tallied.counts.rows, tallied.counts.duplicates)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")
def test_ten_million_reports_in_bounded_memory(tmp_path: Path) -> None:
    """Each id counts once in a process that may not have as much memory as the ids need."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "reports"
    folder.mkdir()
    first = None
    with ReportWriter(str(folder / "a.parquet"), SURVEY) as writer:
        for _ in range(19):
            reports = np.zeros(ROWS // 19, MECHANISM.report_dtype)
            reports["id"] = rng.integers(0, 2**64, (len(reports), 2), np.uint64)
            reports["symbol"] = rng.integers(0, MECHANISM.law.symbols, len(reports), np.uint8)
            first = reports if first is None else first
            writer.write(reports)
    unique = tally_files(SURVEY, folder, assume_unique=True).tally
    with ReportWriter(str(folder / "b.parquet"), SURVEY) as writer:
        writer.write(first[:COPIES])
    command = [sys.executable, "-c", LIMITED, folder, tmp_path / "a.tally", str(LIMIT)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert result.stdout.split() == [str(ROWS + COPIES), str(COPIES)]
    assert read_tally(tmp_path / "a.tally", SURVEY) == unique
    assert unique.count == ROWS
