"""The benchmark of guesses: a run can be repeated, and its page says how many of them are right."""

from __future__ import annotations

import pytest
from benchmarks.guesses import Cell, cells, classes, measure, page


@pytest.mark.slow
def test_a_crowd_is_measured_and_shown() -> None:
    """The same seed gives the same guesses; each has a chance, and whether it is right."""
    cell = Cell("ids", 1_000, 4.0, "near")
    row = measure(cell, 0, 5)
    assert row == measure(cell, 0, 5)
    assert all(0 <= chance <= 1 and right in (True, False) for chance, right, _ in row["guesses"])
    text = page([row], "a command")
    assert "There are 1 crowds, 1 of them with values that people share." in text
    assert sum(many for _, many, _, _ in classes([row])) == len(row["guesses"])


def test_every_cell_is_there_once() -> None:
    """Four domains, four numbers of people, three ε and three crowds."""
    assert len(set(cells(quick=False))) == len(cells(quick=False)) == 144
