"""The lower bound as an experiment: its law by enumeration, and that nothing does better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hubbub.paper import lower_bound, theorems
from hubbub.simulation import exponential
from hubbub.testing import assert_binomial, assert_mean_zero

PEOPLE, RUNS = 60, 200_000


def truth(epsilon: float) -> float:
    """The chance of a true report."""
    return math.exp(epsilon) / (1 + math.exp(epsilon))


def error_law(people: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """All errors of the posterior mean and their chances, by counting who said what and whether it was true.

    A true "1" is off by 1 − p, a false one by −p, a true "0" by −(1 − p) and a false one by p.
    """
    p = truth(epsilon)
    honest, honest_ones, lying_ones = np.indices((people + 1,) * 3)
    chance = (
        stats.binom.pmf(honest, people, p)
        * stats.binom.pmf(honest_ones, honest, 0.5)
        * stats.binom.pmf(lying_ones, people - honest, 0.5)
    )
    error = (1 - p) * (2 * honest_ones - honest) - p * (2 * lying_ones - (people - honest))
    return error[chance > 0], chance[chance > 0]


def joint_law(people: int, epsilon: float) -> np.ndarray:
    """P[n₁ people hold 1, s reports say 1], shape (n₁, s)."""
    p = truth(epsilon)
    prior = stats.binom.pmf(np.arange(people + 1), people, 0.5)
    said = [
        np.convolve(
            stats.binom.pmf(np.arange(ones + 1), ones, p),
            stats.binom.pmf(np.arange(people - ones + 1), people - ones, 1 - p),
        )
        for ones in range(people + 1)
    ]
    return prior[:, np.newaxis] * np.array(said)


def failure_chances(people: int, epsilon: float, regret: float) -> tuple[float, float]:
    """The chance to miss by more than regret·√n: of the choice by majority, and of the best choice there can be."""
    joint = joint_law(people, epsilon)
    lead = 2 * np.arange(people + 1)[:, np.newaxis] - people  # of value 1
    misses = np.array([np.where(side * lead > regret * math.sqrt(people), joint, 0).sum(axis=0) for side in (1, -1)])
    reports = np.arange(people + 1)  # that say 1; choosing 0 fails where 1 leads
    majority = np.where(2 * reports > people, misses[1], misses[0])
    majority[2 * reports == people] = misses[:, 2 * reports == people].mean(axis=0)
    return float(majority.sum()), float(misses.min(axis=0).sum())


def test_the_posterior_mean_has_the_least_error_there_is() -> None:
    """Its exact mean square error is the bound, for a small crowd as for a large one."""
    for epsilon in (0.25, 1.0, 3.0):
        error, chance = error_law(PEOPLE, epsilon)
        assert chance.sum() == pytest.approx(1, abs=1e-12)
        assert math.sqrt(error**2 @ chance) == pytest.approx(
            theorems.lower_bound_rmse(epsilon) * math.sqrt(PEOPLE), rel=1e-9
        )


def test_the_experiment_has_the_law_of_the_posterior_mean() -> None:
    """Errors above the bound are as frequent as by enumeration; those of the unbiased estimate are not."""
    epsilon = 1.0
    rounds = lower_bound.play(PEOPLE, epsilon, 0.0, RUNS, np.random.default_rng(1))
    cut = theorems.lower_bound_rmse(epsilon) * math.sqrt(PEOPLE)
    error, chance = error_law(PEOPLE, epsilon)
    expected = float(chance[np.abs(error) > cut].sum())
    assert_binomial(int((np.abs(rounds.posterior_means() - rounds.ones) > cut).sum()), RUNS, expected)
    with pytest.raises(AssertionError):
        assert_binomial(int((np.abs(rounds.unbiased_estimates() - rounds.ones) > cut).sum()), RUNS, expected)


def test_unbiased_estimates_are_right_for_every_crowd() -> None:
    """Where ones happen to be many, the usual estimate is right on average; the posterior mean holds back."""
    people, epsilon = 10_000, 1.0
    rounds = lower_bound.play(people, epsilon, 0.0, RUNS, np.random.default_rng(2))
    many = rounds.ones > people / 2 + 50
    assert_mean_zero((rounds.unbiased_estimates() - rounds.ones)[many])
    with pytest.raises(AssertionError):
        assert_mean_zero((rounds.posterior_means() - rounds.ones)[many])
    p = truth(epsilon)
    assert math.sqrt(p * (1 - p)) / (2 * p - 1) == pytest.approx(theorems.randomized_response_rmse(epsilon), rel=1e-12)


def test_what_is_revealed_is_known() -> None:
    """With chance δ a bit is told: as many as δ says, and if all are, nothing is left to miss."""
    rng = np.random.default_rng(3)
    rounds = lower_bound.play(1000, 1.0, 0.3, 1000, rng)
    told = int((rounds.revealed_ones + rounds.revealed_zeros).sum())
    assert_binomial(told, 1_000_000, 0.3)
    with pytest.raises(AssertionError):
        assert_binomial(told, 1_000_000, 0.305)
    everything = lower_bound.play(1000, 1.0, 1.0, 100, rng)
    assert np.array_equal(everything.posterior_means(), everything.ones)
    assert np.array_equal(everything.unbiased_estimates(), everything.ones)
    assert not everything.regrets(rng).any()


@pytest.mark.parametrize("regret", [0.0, 0.25, 0.5, 1.0])
def test_majority_is_the_best_choice(regret: float) -> None:
    """No rule that reads the reports fails less often than the majority, to the last digit."""
    for people in (7, 60):
        for epsilon in (0.5, 1.0, 2.0):
            majority, best = failure_chances(people, epsilon, regret)
            assert majority == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_experiment_fails_as_often_as_it_must(epsilon: float) -> None:
    """Failures are as frequent as by enumeration, for every c; those of an ε 20 % larger are not."""
    rng = np.random.default_rng(4)
    regrets = lower_bound.play(PEOPLE, epsilon, 0.0, RUNS, rng).regrets(rng)
    for regret in (0.0, 0.25, 0.5, 1.0):
        failures = int((regrets > regret * math.sqrt(PEOPLE)).sum())
        assert_binomial(failures, RUNS, failure_chances(PEOPLE, epsilon, regret)[0])
    with pytest.raises(AssertionError):
        assert_binomial(int((regrets > 0).sum()), RUNS, failure_chances(PEOPLE, 1.2 * epsilon, 0.0)[0])


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_formula_is_the_limit_of_the_enumeration(epsilon: float) -> None:
    """Between two steps of the lattice, 400 people are as near the Gaussian limit as the table's tolerance asks."""
    people = 400
    for step in (1, 5, 11, 19):  # leads of an even crowd are even
        regret = step / math.sqrt(people)
        exact, _ = failure_chances(people, epsilon, regret)
        assert exact == pytest.approx(theorems.lower_bound_failure(regret, epsilon), abs=5e-4)


def test_the_central_mechanism_does_not_care_how_many_there_are() -> None:
    """On its worst crowd it errs with a chance above β, by a lead within the theorem's bound, the same for every n."""
    beta = 0.05
    for size, epsilon in ((2, 1.0), (16, 1.0), (1024, 0.5)):
        leads = set()
        for people in (10**5, 10**9):
            crowd = exponential.worst_crowd(people, size, epsilon, beta)
            assert people - size < crowd.people <= people
            assert len(set(crowd.counts[1:].tolist())) == 1
            leads.add(int(crowd.counts[0] - crowd.counts[1]))
        (lead,) = leads
        overlooked = (size - 1) / (size - 1 + math.exp(epsilon * lead / 2))
        assert overlooked > beta
        assert (size - 1) / (size - 1 + math.exp(epsilon * (lead + 1) / 2)) <= beta
        assert lead <= exponential.error_bound(size, epsilon, beta)
    rng = np.random.default_rng(5)
    crowd = exponential.worst_crowd(10**9, 16, 1.0, beta)
    wrong = sum(exponential.heavy_hitter(crowd, 16, 1.0, rng) != 0 for _ in range(20_000))
    lead = int(crowd.counts[0] - crowd.counts[1])
    assert_binomial(wrong, 20_000, 15 / (15 + math.exp(lead / 2)))
    with pytest.raises(AssertionError):  # the mutant has half the noise
        assert_binomial(wrong, 20_000, 15 / (15 + math.exp(lead)))
