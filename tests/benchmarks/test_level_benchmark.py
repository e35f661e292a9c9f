from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import level

pytestmark = pytest.mark.slow


def test_a_cell_is_measured_goes_on_and_makes_a_row(tmp_path: Path) -> None:
    """Totals are kept, a second call adds nothing to what is done, and the page has a row for the cell."""
    cell = next(cell for cell in level.CELLS if cell.mechanism == "naive-laplace")
    kept = tmp_path / "totals.json"
    first = level.measure([cell], 1, cell.runs // 3, kept, 1e9)
    assert first[cell.name]["runs"] == 3
    assert level.measure([cell], 2, cell.runs // 3, kept, 1e9) == first
    assert f"| {cell.name} | 3 |" in level.page(first)


@pytest.mark.parametrize("crowd", ["hosts", "words", "flat", "20 each", "Zipf 1.3"])
def test_crowds_have_their_people(crowd: str) -> None:
    """Everybody holds something, and candidates that should be absent are."""
    cell = next(cell for cell in level.CELLS if cell.crowd == crowd)
    domain = cell.domain()
    drawn, named = level.draw_crowd(cell, domain, np.random.default_rng(1))
    assert drawn.people == cell.people
    if crowd == "20 each":
        assert sorted(drawn.counts.tolist()) == [1] * 10 + [20] * 2
    if "absent" in cell.candidates:
        held = {item.tobytes() for item in drawn.items}
        assert not any(item.tobytes() in held for item in domain.encode(named))


def test_the_page_says_where_a_promise_is_not_kept() -> None:
    """A cell with far too many runs that miss is marked; so is none of those within."""
    cell = level.CELLS[0]
    for missed, mark in ((0, "| yes |"), (200, "| **no** |")):
        total = {"runs": 1000, "reported": 0, "missed": missed, "rows": 10, "off": 1.0}
        assert mark in level.page({cell.name: total})
    assert level.at_most(0, 100) == pytest.approx(0.0295, abs=1e-3)
    assert level.at_most(5, 5) == 1
