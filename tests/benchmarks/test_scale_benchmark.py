"""The benchmark of files: its reports are valid, and its cases give numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import scale
from hubbub import tally_reports
from hubbub.files.writing import write_reports

pytestmark = pytest.mark.slow


def test_cases_count_all_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up reports all count; a case says what it took; the table has a row for each."""
    survey = scale.make_survey(1, 1_000)
    assert tally_reports(survey, scale.made_up(survey, 1_000)).count == 1_000
    for name in ("small", "whole"):
        write_reports(tmp_path / name, survey, scale.made_up(survey, 1_000))
    rows = []
    for case in ("read", "one", "one-distinct"):
        took = scale.run_case(case, 1, 1_000, str(tmp_path / "small"), str(tmp_path / "whole"))
        assert took["nanoseconds"] > 0
        assert took["peak_mib"] > 1
        rows.append({"case": case, "epsilon": 1, "reports": 1_000, **took})
    assert len(scale.table(rows).splitlines()) == 5
