"""The benchmark of crowds: people are read off the curve that made the trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.crowds import Case, Trials, interval, people_for
from benchmarks.short_page import rows_of

from benchmarks import crowds

pytestmark = pytest.mark.slow


def test_people_of_a_known_curve() -> None:
    """A curve that is one half at 1,000 people and nine of ten at 3,000, with trials exactly as it says."""
    people = [500, 1_000, 2_000, 4_000, 8_000]
    chances = 1 / (1 + (1_000 / np.array(people)) ** 2)  # logistic in the logarithm, with a slope of 2
    trials = Trials(people, [10**8] * 5, np.rint(1e8 * chances).astype(int).tolist())
    assert people_for(trials, 0.9) == pytest.approx(3_000, rel=1e-4)
    assert people_for(trials, 0.5) == pytest.approx(1_000, rel=1e-4)
    assert interval(trials, np.random.default_rng(1)) == pytest.approx([3_000, 3_000], rel=1e-3)
    few = Trials(people, [50] * 5, np.rint(50 * chances).astype(int).tolist())
    low, high = interval(few, np.random.default_rng(1))
    assert 2_000 < low < 3_000 < high < 4_500


def test_trials_that_all_agree_have_people() -> None:
    """Never found, then always: the steepest curve there is still crosses between the two."""
    trials = Trials([100, 200, 400, 800], [9] * 4, [0, 0, 9, 9])
    assert 200 < people_for(trials, 0.5) < people_for(trials, 0.9) < 400
    low, high = interval(trials, np.random.default_rng(1))
    assert 200 <= low <= high <= 400


def test_a_case_and_its_line() -> None:
    """A tiny case in trials of its own; the same seed gives the same number; a line per mechanism has its shares."""
    case = Case("lean, s = 1, refit", "onebit", 20, 0.5)
    row = case.run(1, 8)
    assert row == case.run(1, 8)
    assert row["low"] < row["people"] < row["high"]
    assert row["half"] < row["people"]
    assert 500 < row["people"] < 5_000
    line = {"half": 1e3, "low": 1.9e3, "high": 2.1e3, "runs": 40}
    rows = [{"case": Case("a", "tight", 32, share), "people": 500 / share**2, **line} for share in crowds.SHARES]
    (summary,) = crowds.summary(rows)
    assert (summary["50 %"], summary["10 %"], summary["k"]) == ("2.0k (1.9k–2.1k)", "50k (1.9k–2.1k)", "2.00")


def test_the_mechanisms_page_repeats_the_measured_people() -> None:
    """Its table of a fifth of the people has the numbers of the benchmark's page for 2^32 values."""
    docs = Path(__file__).parents[2] / "docs"
    told = (docs / "mechanisms.md").read_text("utf-8")
    measured = {tuple(row[:3]): row for row in rows_of(docs / "benchmarks.md", "sparse-recovery", "People")}
    for layout in crowds.LAYOUTS:
        numbers = []
        for calibration in ("paper", "tight", "onebit"):
            fifth = measured[layout, "2^32", calibration][4].split(" (")[0]
            numbers.append(f"{round(float(fifth[:-1]) * {'M': 10**6, 'k': 10**3}[fifth[-1]]):,}")
        kind, sparsity, decoder = layout.split(", ")
        assert f"| `{kind}`, {sparsity}, `{decoder}` | {' | '.join(numbers)} |" in told
