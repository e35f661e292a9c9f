"""The benchmark of crowds: people are read off the curve that made the trials."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.crowds import Case, Trials, smallest

from benchmarks import crowds


def test_people_of_a_known_curve() -> None:
    """A curve that is one half at 1,000 people and nine of ten at 3,000, with trials exactly as it says."""
    people = [500, 1_000, 2_000, 4_000, 8_000]
    chances = 1 / (
        1 + np.array([(1_000 / n) ** 2 for n in people])
    )  # a logistic curve of slope 2: nine of ten at 3,000
    trials = Trials(people, [10**8] * 5, np.rint(1e8 * chances).astype(int).tolist())
    assert smallest(trials, np.random.default_rng(1)) == pytest.approx([3_000, 3_000, 3_000, 1_000], rel=1e-3)
    few = Trials(people, [50] * 5, np.rint(50 * chances).astype(int).tolist())
    needed, low, high, _ = smallest(few, np.random.default_rng(1))
    assert 2_000 < low < needed < high < 4_500


def test_trials_that_all_agree_have_people() -> None:
    """Never found, then always: the steepest curve there is still crosses between the two."""
    needed, low, high, half = smallest(Trials([100, 200, 400, 800], [9] * 4, [0, 0, 9, 9]), np.random.default_rng(1))
    assert 200 < half < needed < 400
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
