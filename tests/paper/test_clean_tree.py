"""Theorem D of docs/theory-of-tree.md against the mechanism itself: real reports of crowds that are hard for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from tests.reference import clean_tree
from tests.reference.clean_tree import Row

from hubbub.paper.path_bound import PathBound
from hubbub.testing import assert_binomial, assert_mean_zero, assert_unit_spread

pytestmark = pytest.mark.slow

BOUND = PathBound(2000, 1.0, 24, beta=0.1, root_bits=16, step=4, listed=16)
THRESHOLD = 839


class Runs(NamedTuple):
    """Of some runs: how often the value was lost, how often a light or absent one was accepted, errors of its count."""

    runs: int
    lost: int
    false: int
    errors: np.ndarray


def run(holders: int, giant: int, runs: int, change: Callable[[list[Row]], list[Row]] = lambda rows: rows) -> Runs:
    """A value, a giant, light values just below the limit, and everybody else with a value of their own."""
    rng = np.random.default_rng(1)
    light = math.ceil(BOUND.people / BOUND.heavy) - 1
    counts = [holders, giant, light, light, light]
    counts += [1] * (BOUND.people - sum(counts))
    spread = math.sqrt(BOUND.people * BOUND.channel.noise + holders * (BOUND.channel.own_noise - BOUND.channel.noise))
    lost = false = 0
    errors = []
    for _ in range(runs):
        paths = clean_tree.draw_paths(len(counts), BOUND.bits, rng)
        rows = clean_tree.make_reports(BOUND, np.repeat(paths, counts), rng)
        found = clean_tree.search(BOUND, change(rows))
        lost += int(paths[0]) not in found
        false += not found.keys() <= set(paths[:2].tolist())
        errors.append((clean_tree.count(BOUND, rows, int(paths[0])) - holders) / spread)
    return Runs(runs, lost, false, np.array(errors))


def check_lost(runs: Runs) -> None:
    """The value is lost no more often than is proved: roots, false values, and itself. False alarm 10⁻⁹."""
    assert_binomial(runs.lost, runs.runs, min(runs.lost / runs.runs, 0.9 * BOUND.beta))


def check_false(runs: Runs) -> None:
    """No light or absent value is accepted more often than is proved."""
    assert_binomial(runs.false, runs.runs, min(runs.false / runs.runs, 0.4 * BOUND.beta))


def test_what_is_proved_to_be_found_is_found() -> None:
    """T holders beside a giant are found, and nothing else is; counts have the law of Theorem B."""
    assert BOUND.threshold(4000) == THRESHOLD
    runs = run(THRESHOLD, 800, 40)
    check_lost(runs)
    check_false(runs)
    assert_mean_zero(runs.errors)
    assert_unit_spread(runs.errors)


def test_with_half_as_many_holders_the_check_fails() -> None:
    """Half of T is lost far more often than is proved for T, and the check can tell."""
    with pytest.raises(AssertionError):
        check_lost(run(THRESHOLD // 2, 800, 20))


def without_last_row(rows: list[Row]) -> list[Row]:
    """The last row says nothing: the children of the giant look alike."""
    last, rng = rows[-1], np.random.default_rng(2)
    return [*rows[:-1], Row(last.depth, last.masks, rng.integers(0, BOUND.channel.symbols, len(last.symbols)))]


def test_suffix_tests_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a giant's last bits are lost, nothing false is accepted; without suffix tests its siblings would be."""
    check_false(run(50, 1500, 16, without_last_row))
    pooled = BOUND.log_level(0)
    monkeypatch.setattr(PathBound, "log_level", lambda _, row: pooled if row == 0 else 0.0)
    with pytest.raises(AssertionError):
        check_false(run(50, 1500, 16, without_last_row))
