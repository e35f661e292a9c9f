"""The paper's formulas, against numbers computed independently."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.mechanisms import bucket, jl_hh, naive_laplace
from hubbub.mechanisms.glps import plan, recovery
from hubbub.paper import theorems
from hubbub.simulation import exponential
from hubbub.testing import assert_binomial


def test_scales_and_constants() -> None:
    """Oracles 1, 4, 5 and 8."""
    assert theorems.laplace_scale(1, 1e-6) == pytest.approx(10.513043539513864, rel=1e-9)
    assert theorems.moment_constant(2) == pytest.approx(2.0045489, rel=1e-7)
    assert theorems.moment_constant(4) == pytest.approx(1.000326, rel=1e-6)
    assert theorems.rank_deficiency_chance(36, 32) == pytest.approx(0.0612095, rel=1e-6)
    assert theorems.jl_paper_rows(1000, 2**20, 0.05) == pytest.approx(5.11e13, rel=0.01)
    assert plan.paper_sparsity(10**6, 2**32, 1, 1e-6, 0.1) == pytest.approx(8.506327, rel=1e-6)
    gain = (math.e + 1) / (math.e - 1)
    assert gain**2 == pytest.approx(4.6826944, rel=1e-7)


def test_lower_bound_constants() -> None:
    """Oracle 7: .4434094·√n for any estimator, .9595174·√n for unbiased randomised response, at ε = 1."""
    assert theorems.lower_bound_rmse(1) == pytest.approx(0.4434094, rel=1e-6)
    assert theorems.randomized_response_rmse(1) == pytest.approx(0.9595174, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "row"),
    [
        (0.5, {0: 0.4212, 0.1: 0.3818, 0.25: 0.3250, 0.5: 0.2392, 1: 0.1114, 2: 0.0125}),
        (1, {0: 0.3471, 0.1: 0.3081, 0.25: 0.2535, 0.5: 0.1750, 1: 0.0697, 2: 0.0051}),
    ],
)
def test_lower_bound_failure(epsilon: float, row: dict) -> None:
    """Oracle 6: the chance with which any local mechanism misses by more than c·√n."""
    for regret, chance in row.items():
        assert theorems.lower_bound_failure(regret, epsilon) == pytest.approx(chance, abs=2e-4)


def test_randomised_response_attains_the_lower_bound() -> None:
    """The bound is met: guessing the majority of randomised bits fails as often as the formula says."""
    people, runs, regret, epsilon = 10_000, 40_000, 0.25, 1.0
    rng = np.random.default_rng(1)
    ones = rng.binomial(people, 0.5, runs)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    said = rng.binomial(ones, truth) + rng.binomial(people - ones, 1 - truth)
    lead = np.where(said > people / 2, people - 2 * ones, 2 * ones - people)  # of the value not chosen
    failures = int((lead > regret * math.sqrt(people)).sum())
    # The formula is the Gaussian limit; a finite crowd is a lattice of step 2/√n around it.
    chances = [theorems.lower_bound_failure(regret + shift / math.sqrt(people), epsilon) for shift in (-2, 2)]
    assert_binomial(failures, runs, min(max(failures / runs, chances[1]), chances[0]))


def test_bounds_grow_as_they_say() -> None:
    """√n for local mechanisms, nothing for the central one; hadamard with all rows does not distort."""
    assert naive_laplace.largest_error(400, 2**10, 1, 0.05) == pytest.approx(
        2 * naive_laplace.largest_error(100, 2**10, 1, 0.05)
    )
    assert exponential.error_bound(2**20, 1, 0.05) == pytest.approx(33.72, abs=5e-3)
    noise_only = jl_hh.laplace_error(10**6, 2**16, 1e6, 2**16, 10.513043539513864, 0.05, hadamard=True)
    assert noise_only == pytest.approx(80832, abs=1)
    assert jl_hh.laplace_error(10**6, 2**20, 0, 10**9, 10.513043539513864, 0.05, hadamard=False) == pytest.approx(
        88089, abs=1
    )


def test_bucket_condition() -> None:
    """§6.5: for one heavy value of half the people among 2^32, the theorem asks 8.1e7 people, corrected 4.9e7."""

    def holds(people: float, corrected: bool) -> bool:
        alone = math.sqrt(people / 2)
        needed = bucket.needed_count(int(people), alone, 36, 274.9517662667045, corrected)
        return people / 2 >= needed

    assert not holds(7.3e7, corrected=False)
    assert holds(8.5e7, corrected=False)
    assert not holds(4.6e7, corrected=True)
    assert holds(5.2e7, corrected=True)


def test_bucket_needed_people_is_where_the_condition_begins_to_hold() -> None:
    """The crowd itself satisfies the condition, one a little smaller does not; 4.9e7 corrected, 8.1e7 as printed."""
    for rows, scale, corrected, expected in (
        (36, 274.9517662667045, True, 4.9e7),
        (math.log2(12 * 2**32), 269.1625023113416, False, 8.1e7),
    ):
        people = theorems.bucket_needed_people(0.5, rows, scale, corrected)
        assert people == pytest.approx(expected, rel=0.01)

        def margin(crowd: float, rows: float = rows, scale: float = scale, corrected: bool = corrected) -> float:
            return 0.5 * crowd - bucket.needed_count(crowd, math.sqrt(0.5 * crowd), rows, scale, corrected)

        assert margin(people) >= 0 > margin(people * 0.999)


def test_lower_bound_regret_inverts_the_failure() -> None:
    """The c that any local mechanism misses with chance β; 0 where even c = 0 is missed less often."""
    for epsilon in (0.5, 1.0):
        c = theorems.lower_bound_regret(0.05, epsilon)
        assert theorems.lower_bound_failure(c, epsilon) == pytest.approx(0.05, rel=1e-9)
    assert theorems.lower_bound_regret(0.4, 1.0) == pytest.approx(0, abs=1e-12)


def test_recovery_error_has_the_form_of_the_guarantee() -> None:
    """What is outside the s largest, and the noise over √log₂(N/s)."""
    assert recovery.error_bound(100, 0, 2**20, 4) == pytest.approx(130)
    assert recovery.error_bound(0, 100, 2**20, 16) == pytest.approx(50 / 4)
