"""Theorem D of docs/theory-of-tree.md against the mechanism itself: real reports of crowds that are hard for it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from tests.reference import clean_tree

from hubbub.paper.path_bound import PathBound
from hubbub.testing import assert_binomial, assert_mean_zero, assert_unit_spread

pytestmark = pytest.mark.slow

BOUND = PathBound(2000, 1.0, 24, beta=0.1, root_bits=16, step=4, listed=16)
RUNS = 40


class Runs(NamedTuple):
    """Of some runs: how often the value was lost, how often a light or absent one was reported, errors of its count."""

    lost: int
    false: int
    errors: np.ndarray


def run(holders: int, giant: int, runs: int) -> Runs:
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
        found = clean_tree.search(BOUND, rows)
        lost += int(paths[0]) not in found
        false += not found.keys() <= set(paths[:2].tolist())
        errors.append((clean_tree.count(BOUND, rows, int(paths[0])) - holders) / spread)
    return Runs(lost, false, np.array(errors))


def check(runs: Runs) -> None:
    """The value is lost, and a false one reported, no more often than is proved: with a false alarm of 10⁻⁹."""
    most = 0.9 * BOUND.beta  # roots, false values, and the value itself; a tenth is for the comparison of counts
    assert_binomial(runs.lost, RUNS, min(runs.lost / RUNS, most))
    assert_binomial(runs.false, RUNS, min(runs.false / RUNS, 0.4 * BOUND.beta))


@pytest.mark.timeout(120)
def test_what_is_proved_to_be_found_is_found() -> None:
    """T holders beside a giant are found, and nothing else; counts have the law of Theorem B."""
    runs = run(BOUND.threshold(4000), 800, RUNS)
    check(runs)
    assert_mean_zero(runs.errors)
    assert_unit_spread(runs.errors)


def test_with_half_as_many_holders_the_check_fails() -> None:
    """The check can tell: half of T is lost far more often than is proved for T."""
    runs = run(BOUND.threshold(4000) // 2, 800, RUNS)
    with pytest.raises(AssertionError):
        check(runs)


def test_without_suffix_tests_the_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Siblings of a giant pass the pooled test; without the others they are reported in the place of a lost giant."""
    pooled = BOUND.log_level(0)
    monkeypatch.setattr(PathBound, "log_level", lambda self, row: pooled if row == 0 else 0.0)
    monkeypatch.setattr(clean_tree, "search", without_the_giant)
    runs = run(20, 900, RUNS)
    with pytest.raises(AssertionError):
        assert_binomial(runs.false, RUNS, min(runs.false / RUNS, 0.4 * BOUND.beta))


def without_the_giant(bound: PathBound, rows: list[clean_tree.Row]) -> dict[int, float]:
    """The search, but the last row has lost every report: the giant's children look alike."""
    last = rows[-1]
    rng = np.random.default_rng(2)
    lies = rng.integers(0, bound.channel.symbols, len(last.symbols))
    return SEARCH(bound, [*rows[:-1], clean_tree.Row(last.depth, last.masks, lies)])


SEARCH = clean_tree.search
