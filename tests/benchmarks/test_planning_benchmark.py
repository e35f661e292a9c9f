"""The benchmark of predicted chances: what it plants, what it counts, and the section that it writes."""

from __future__ import annotations

import pytest

from benchmarks import planning

pytestmark = pytest.mark.slow

LIST = planning.Crowd("list10", 1_000, 1.0)


def test_there_are_24_cells() -> None:
    """Eight crowds with three shares each, and room for the values that are planted."""
    assert sum(map(len, planning.CELLS.values())) == 24
    for crowd, shares in planning.CELLS.items():
        assert planning.copies(crowd) * sum(shares) <= planning.PLANTED


@pytest.mark.parametrize("crowd", [LIST, planning.Crowd("numbers64", 5_000, 4.0)], ids=lambda crowd: crowd.kind)
def test_a_run_plants_at_every_share(crowd: planning.Crowd) -> None:
    """As many values at each share as there is room for; everybody has one value."""
    row = planning.measure(crowd, 0, seed=1)
    shares = [share for share, _, _ in row["seen"]]
    assert {share: shares.count(share) for share in shares} == dict.fromkeys(
        planning.CELLS[crowd], planning.copies(crowd)
    )


def test_section_counts_what_is_off() -> None:
    """Found and planted are added up over runs; a gap beyond chance is marked, and the heading is the page's."""
    rows = [planning.measure(LIST, run, seed=2) for run in range(3)]
    lines = planning.summary(rows)
    assert [line["planted"] for line in lines] == [3, 3, 3]
    assert all(line["off"] == pytest.approx(line["found"] / 3 - line["predicted"]) for line in lines)
    never = [{**row, "seen": [[share, bits, False] for share, bits, _ in row["seen"]]} for row in rows * 100]
    assert planning.summary(never)[2]["surely"]
    text = planning.section(rows, "command", 7)
    assert text.startswith(planning.HEADING)
    assert "of 3 cells** are at most 3 points off" in text
    assert planning.runs_of([], 10) == 1
    assert planning.runs_of(rows, 1) == 0
