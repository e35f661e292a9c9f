"""docs/when-to-use-something-else.md: every number of ours is what `hubbub plan` says, and the curator's follow."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from tests.docs.pages import DOCS

from hubbub.analysis.planning import plan
from hubbub.cli.domains import parse_domain

PAGE = (DOCS / "when-to-use-something-else.md").read_text(encoding="utf-8")


def planned(**given: Any) -> dict[str, Any]:
    """What `hubbub plan --json` prints for host names."""
    return plan(domain=parse_domain("hostnames"), **given).to_json()


def test_shares_with_two_thousand_visitors() -> None:
    """The first table."""
    for epsilon in (1.0, 4.0):
        shares = [planned(people=2_000, epsilon=epsilon, candidates=named)["share"] for named in (0, 1_000)]
        assert f"| {epsilon:g} | {shares[0]:.1%} | {shares[1]:.1%} |".replace("%", " %") in PAGE


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 6.0])
def test_people_for_one_percent(epsilon: float) -> None:
    """The second table, and the figures of the third that are taken from it."""
    anything, named = (planned(epsilon=epsilon, share=0.01, candidates=number) for number in (0, 1_000))
    sums = f"{anything['outside']['epsilon']:.2g}"
    sums += "0" * (sums == "0.01")
    assert f"| {epsilon:g} | {anything['people']:,} | {named['people']:,} | {sums} |" in PAGE
    if epsilon == 4:
        assert f"table above: {anything['people']:,} at ε = 4" in PAGE
    if epsilon == 6:
        assert f"table above: {anything['people']:,} for ε < 1" in PAGE
        assert anything["outside"]["epsilon"] < 1


def test_the_curators_figures() -> None:
    """By the formulas that the page states, for ε = 1; 2,000 people are too few."""
    reach = 2 * math.log(10)
    holders = 1 + 2 * math.log(1e8) + reach, 2 * math.log(1_000 / 0.1) + reach
    shown = re.search(r"\| ([\d,]+) at ε = 1, δ = 10⁻⁸; ([\d,]+) for one of 1,000 named \|", PAGE)
    assert shown
    for each, text in zip(holders, shown.groups(), strict=True):
        assert math.ceil(each) * 100 == int(text.replace(",", ""))
        assert each > 20
