"""The benchmark of sparse recovery: its numbers mean what the page says, and the page has them."""

from __future__ import annotations

import pytest
from benchmarks.short_page import rows_of

from benchmarks import crowds, sparse_recovery

pytestmark = pytest.mark.slow


def test_rows_are_those_of_the_operator() -> None:
    """Rows and their constant, for a layout counted by hand."""
    assert sparse_recovery.sizes([32], [4]) == [{"sparsity": 4, "N = 2^32": "6,432 (53.6)"}]


def test_quality_and_decoding() -> None:
    """One tiny cell each: recovered exactly, with constants near those of the page."""
    row = sparse_recovery.quality(20, 1, "refit", 3)
    assert row["exact"] == "3 of 3"
    assert 0.9 < row["C1_median"] <= row["C1_max"] < 1.3
    assert 0 < row["C2_median"] <= row["C2_max"] < 0.5
    timed = sparse_recovery.decoding("lean", 20, 1, 1)
    assert (timed["rows"], timed["slots"]) == (704, 88)
    assert timed["decode_ms"] > 0


def test_groups_of_enough_people_find_the_value() -> None:
    """Pooled and whole, with ten times the people one group needs."""
    row = sparse_recovery.grouping(4_000_000, 2, 1)
    assert row["pooled"] == row["one_survey_of_all"] == "1 of 1"


def test_the_page_is_of_this_benchmark() -> None:
    """The committed page says how it was made, and has the rows of today's operator."""
    page = sparse_recovery.Path(__file__).parents[2] / "docs" / "benchmarks.md"
    text = page.read_text("utf-8")
    assert "`python benchmarks/sparse_recovery.py --write docs/benchmarks.md`" in text
    wide = (20, 32, 64, 128, 256, 512)
    for row in sparse_recovery.sizes(wide, (1, 2, 4, 8, 16, 32, 64)):
        assert f"| {' | '.join(str(value) for value in row.values())} |" in text
    measured = [row[:3] for row in rows_of(page, "sparse-recovery", "People")]
    for case in crowds.cases(quick=False):
        assert [case.layout, f"2^{case.bits}", case.calibration] in measured
