from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import kept_runs, limits, siblings

pytestmark = pytest.mark.slow

SMALL = limits.Cell("ids", 1_000, 4.0)


def options(minutes: float = 10.0) -> argparse.Namespace:
    """One process."""
    return argparse.Namespace(workers=1, minutes=minutes)


def test_runs_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    """A second call does only what is missing; numbers of runs are never used twice."""
    state = tmp_path / "runs.jsonl"
    asked: list[int] = []

    def more(done: list[kept_runs.Row], wanted: int) -> int:
        asked.append(len(done))
        return max(0, wanted - len(done))

    first = kept_runs.run_all([SMALL], partial(limits.measure, seed=1), partial(more, wanted=2), state, options())
    assert [row["run"] for row in first] == [0, 1]
    assert asked == [0, 2]
    again = kept_runs.run_all([SMALL], partial(limits.measure, seed=1), partial(more, wanted=3), state, options())
    assert sorted(row["run"] for row in again) == [0, 1, 2]
    kept = [json.loads(line) for line in state.read_text().splitlines()]
    assert kept[:2] == json.loads(json.dumps(first))
    assert len(kept) == 3


def test_a_run_plants_at_the_stated_limit_and_below() -> None:
    """Found values are counted by class and side; the page has a row for the cell and the sums over all."""
    rows = [limits.measure(SMALL, run, seed=2) for run in range(4)]
    seen = [each for row in rows for each in row["seen"]]
    assert {name for name, _, _ in seen} == {"all"}
    assert {below for _, below, _ in seen} == {0, 1}
    line = next(limits.summary(rows))
    assert line["at"][1] + line["below"][1] == len(seen)
    assert line["limit"] == pytest.approx(limits.stated(SMALL, 64))
    text = limits.page(rows, "command")
    assert f"| people | 1,000 | {limits.share(line['at'])} | {limits.share(line['below'])} |" in text
    assert f"| ids | all | 1,000 | 4 | {line['limit']:,.0f} | {limits.share(line['at'])} |" in text


def test_what_speaks_against_95_percent() -> None:
    """178 of 200 do at a level of 0.1 %, 179 do not; nothing planted says nothing."""
    assert limits.rejects(178, 200)
    assert not limits.rejects(179, 200)
    assert not limits.rejects(0, 0)


@pytest.mark.parametrize("family", siblings.FAMILIES)
def test_families_are_distinct_texts_of_their_domain(family: str) -> None:
    """Fifty of them, and each is what its domain makes of it."""
    kind, name = siblings.FAMILIES[family]
    values = [name(k) for k in range(max(siblings.SIZES))]
    domain = limits.DOMAINS[kind]()
    assert len(set(values)) == 50
    assert list(domain.decode(domain.encode(values))) == values


def test_siblings_are_measured() -> None:
    """A pair in a small crowd: both are above their limits and found, and the page has their row."""
    cell = siblings.Cell("first character", 2, 5_000, 6.0)
    assert siblings.fits(cell)
    assert not siblings.fits(cell._replace(size=50, people=1_000))
    row = siblings.measure(cell, 0, seed=2)
    assert row["found"] == 2
    assert row["false"] == row["missed"] == 0
    text = siblings.page([row], "command")
    assert "| first character | 2 | 5,000 | 6 | 1 | 2 of 2 (100.0%) | 0 | 0 |" in text


def test_what_takes_the_most_people_comes_first_most_often() -> None:
    """The class that a run begins with is drawn in proportion to the limits; what cannot be found is never planted."""
    cell, rng = limits.Cell("hosts", 60, 6.0), np.random.default_rng(1)
    begun = [limits.leading(cell, rng) for _ in range(400)]
    assert {tuple(sorted(each)) for each in begun} == {("short", "usual")}  # of 60 people none sees a long one
    assert 190 < sum(each[0] == "usual" for each in begun) < 270
    assert limits.leading(limits.Cell("ids", 100, 1.0), rng) == []
