"""The studies of `hubbub paper`: what a cell measures, and that its numbers depend on the seed alone."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest

from hubbub.errors import ParameterError
from hubbub.paper import lower_bound, theorems
from hubbub.paper.bucket_success import theorem_people
from hubbub.paper.largest_error import error_cell, largest_error
from hubbub.paper.run import STUDIES, count_cells, environment, find_studies, run_studies
from hubbub.paper.separation import best_local, of_two, posterior_means, two_cell
from hubbub.paper.smallest_crowd import crowd_size, smallest_crowd
from hubbub.paper.study import EPSILON, GLPS, JL, NAIVE, SUBSET, TREE, Cell, cell_generator, decades


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_cells_have_names_of_their_own(study, quick: bool) -> None:
    """Two cells with one name would draw the same noise; settings are plain data."""
    names = [cell.name for cell in study.cells(quick)]
    assert len(set(names)) == len(names) == count_cells([study], quick)
    json.dumps(asdict(study.setting()), allow_nan=False)


def test_figures_are_asked_for_by_name() -> None:
    """In the order of the report, all without a name; an unknown name is an error that lists them."""
    assert [study.name for study in find_studies(["bucket-success", "separation"])] == ["separation", "bucket-success"]
    assert len(find_studies([])) == 6
    with pytest.raises(ParameterError, match=r"one of separation, .* got 'figure-1'"):
        find_studies(["figure-1"])


@pytest.mark.slow
def test_numbers_depend_on_the_seed_alone() -> None:
    """Another process and another order of the cells change nothing; the environment of this process stays."""
    best = Cell("best 1000 people", partial(best_local, 1000, 50))
    cells = [best, two_cell(NAIVE, 1000, 5), error_cell(JL["onebit"], 1000, 6, 2)]
    study = replace(STUDIES["separation"], cells=lambda quick: cells[:: -1 if quick else 1])
    before = dict(os.environ)
    steps: list[int] = []
    (elsewhere,) = run_studies([study], True, 5, 1, lambda: steps.append(1))
    assert dict(os.environ) == before
    assert len(steps) == 3
    here = [cell.run(cell_generator(5, "separation", cell)) for cell in cells]
    assert elsewhere.rows == tuple(here[::-1])
    assert json.loads(json.dumps(elsewhere.to_json(), allow_nan=False))["rows"][0]["mechanism"] == "jl"
    other = [cell.run(cell_generator(6, "separation", cell)) for cell in cells]
    assert all(first != second for first, second in zip(here, other, strict=True))


@pytest.mark.slow
def test_the_smallest_crowd_is_the_edge_of_success() -> None:
    """The crowd found succeeds in nine of ten runs, and the next smaller one, which was tried too, does not."""
    row = smallest_crowd(JL["onebit"], 16, 0.2, 10, np.random.default_rng(1))
    tried = {people: (successes, runs) for people, successes, runs in row.tried}
    assert tried[row.people] == (tried[row.people][0], 10)
    assert tried[row.people][0] >= 9
    smaller = max(people for people in tried if people < row.people)
    assert tried[smaller][0] < 9
    steps = [crowd_size(step) for step in range(60)]
    assert steps.index(row.people) == steps.index(smaller) + 1


def test_the_largest_error_is_over_the_whole_universe() -> None:
    """Within the bound in all runs, and more than the noise of a single value."""
    for contender in (NAIVE, JL["onebit"], GLPS["onebit"], SUBSET, TREE):
        row = largest_error(contender, 10**6, 8, 3, np.random.default_rng(2))
        assert len(row.errors) == 3
        assert row.within_bound == 3
        # More than one value's noise: the largest of 256 exceeds one standard error, C·√n with C ≥ 1.
        assert min(row.errors) > 1000


@pytest.mark.slow
def test_subset_attains_the_lower_bound() -> None:
    """Of two values: its counts are randomised response's, its posterior mean is the best local estimate."""
    people, runs = 10_000, 4_000
    within = 4 / (2 * runs) ** 0.5  # four standard errors of a root mean square
    counts = of_two(SUBSET, people, runs, False, np.random.default_rng(7))
    assert counts.rmse == pytest.approx(theorems.randomized_response_rmse(EPSILON) * people**0.5, rel=within)
    read = of_two(SUBSET, people, runs, True, np.random.default_rng(8))
    assert read.rmse == pytest.approx(theorems.lower_bound_rmse(EPSILON) * people**0.5, rel=within)
    assert read.label == "subset (short lists) posterior mean"


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_posterior_mean_of_a_count_is_that_of_the_reports(epsilon: float) -> None:
    """Every report gives its own posterior chance; the sum of them is what the count says."""
    rounds = lower_bound.play(1000, epsilon, 0.0, 50, np.random.default_rng(9))
    stderr = theorems.randomized_response_rmse(epsilon) * 1000**0.5
    found = posterior_means(rounds.unbiased_estimates(), 1000, stderr)
    assert found == pytest.approx(rounds.posterior_means())


def test_the_theorem_s_people() -> None:
    """8.1e7 as printed, 4.9e7 corrected: with everybody else alone, and collisions counted."""
    assert theorem_people(corrected=False) == pytest.approx(8.1e7, rel=0.01)
    assert theorem_people(corrected=True) == pytest.approx(4.9e7, rel=0.01)


def test_grids_and_versions() -> None:
    """Decades are round; versions name packages and no machine."""
    assert decades(3, 5, 1) == [1000, 10_000, 100_000]
    assert decades(3, 4, 2) == [1000, 3162, 10_000]
    assert set(environment()) == {"python", "hubbub", "numpy", "scipy", "numba", "matplotlib", "system"}
