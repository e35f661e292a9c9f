"""docs/theory-of-tree.md: its table is what the code computes, and its small table of moments too."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import DOCS
from tools import theory_table

from hubbub.paper import theory_of_tree as theory

PAGE = (DOCS / "theory-of-tree.md").read_text(encoding="utf-8")


def rows() -> dict[tuple[int, float, int], str]:
    """The lines of the table, by bits, ε and people."""
    found = re.findall(r"^(\| 2\^(\d+) \| ([\d.]+) \| ([\d,]+) \|.*\|)$", PAGE, re.MULTILINE)
    return {(int(bits), float(epsilon), int(people.replace(",", ""))): line for line, bits, epsilon, people in found}


def threshold(line: str) -> int:
    """T in a line of the table."""
    return int(line.split(" | ")[6].replace(",", ""))


def test_the_table_is_what_the_code_says() -> None:
    """Every cell is there, and all of its columns follow from T; that T is proved is the next test."""
    lines = rows()
    cells = [(b, e, n) for b in theory_table.BITS for e in theory_table.EPSILONS for n in theory_table.PEOPLE]
    shapes = {cell: theory_table.shape(*cell) for cell in cells}
    assert set(lines) == {cell for cell, bound in shapes.items() if bound is not None}
    for cell, line in lines.items():
        bound = shapes[cell]
        assert bound is not None
        assert theory_table.row(bound, threshold(line)) == line + "\n"
        assert threshold(line) > theory.converse(bound.people, bound.epsilon, bound.bits, bound.beta)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [(32, 4.0, 10**6), (64, 1.0, 10**6), (64, 0.5, 10**5)])
def test_thresholds_are_those_of_the_path_bound(cell: tuple[int, float, int]) -> None:
    """T of three cells, drawn again."""
    bound = theory_table.shape(*cell)
    assert bound is not None
    assert bound.threshold() == threshold(rows()[cell])


def test_moments_are_those_of_the_channel() -> None:
    """The table of q, a, v₀ and v₁."""
    lines = re.findall(
        r"^\| ([\d.]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) \|$", PAGE, re.MULTILINE
    )
    assert [float(line[0]) for line in lines] == list(theory_table.EPSILONS)
    for epsilon, symbols, per_match, noise, above, own in lines:
        channel = theory.Channel.best(float(epsilon))
        extra = 100 * (channel.noise / theory.best_stderr(1, float(epsilon)) ** 2 - 1)
        assert int(symbols) == channel.symbols
        for text, value in (
            (per_match, channel.per_match),
            (noise, channel.noise),
            (above, extra),
            (own, channel.own_noise),
        ):
            assert f"{value:.{len(text.partition('.')[2])}f}" == text


def test_roots_that_ship_are_enough_where_the_page_says() -> None:
    """18 bits up to about 43,000 people at ε = 1; 23 bits at a million, 29 at ε = 4."""
    said = re.search(r"asks for (\d+) bits at a million people, ε = 1, and for (\d+) at ε = 4", PAGE)
    assert said is not None
    million = [theory_table.shape(64, epsilon, 10**6) for epsilon in (1.0, 4.0)]
    assert [bound.root_bits for bound in million if bound] == [int(bits) for bits in said.groups()]
    crowds = [theory_table.shape(64, 1.0, people) for people in (43_000, 44_000)]
    assert [bound.root_bits for bound in crowds if bound] == [18, 19]
    assert "With 18 bits it holds up to about 43,000 people at ε = 1" in PAGE
