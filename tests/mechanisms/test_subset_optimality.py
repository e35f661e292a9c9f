"""No unbiased count has a smaller error than `subset`: the steps of the proof in docs/mechanisms.md, and an oracle."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from hubbub import Categories, create_survey, mechanism_for
from hubbub.mechanisms.subset import Subset, best_window

Channel = NDArray[np.float64]  # a row for each response, a column for each value


def most_information(values: int, epsilon: float) -> float:
    """T of the page: no response that is ε-private tells more, at the uniform distribution."""
    weight = math.exp(epsilon)
    return max(values * s * (values - s) * (weight - 1) ** 2 / (s * weight + values - s) ** 2 for s in range(1, values))


def bound(values: int, epsilon: float) -> float:
    """The least sum of the variances of all counts, for each person."""
    return (values - 1) ** 2 / most_information(values, epsilon) - (values - 1) / values


def information(channel: Channel) -> NDArray[np.float64]:
    """The Fisher information of one response at the uniform distribution, on the differences of shares."""
    mean = channel.mean(axis=1, keepdims=True)
    tilt = channel / mean - 1
    return (mean * tilt).T @ tilt


def variance_sum(channel: Channel) -> float:
    """What the best unbiased counts from one response of each person have, as the mean over uniform crowds."""
    values = channel.shape[1]
    roots = np.linalg.eigvalsh(information(channel))[1:]  # the first is 0: shares add up to 1
    return float((1 / np.maximum(roots, 1e-12)).sum()) - (values - 1) / values


def subset_sum(values: int, epsilon: float) -> float:
    """The sum of the variances of all counts of the mechanism that ships, for each person."""
    domain = Categories([f"name {k}" for k in range(values)], other=False)
    mechanism = mechanism_for(create_survey("list", domain, epsilon, mechanism="subset", public_seed=bytes(32)))
    assert isinstance(mechanism, Subset)
    held, absent = mechanism.held, mechanism.absent
    return (held * (1 - held) + (values - 1) * absent * (1 - absent)) / (held - absent) ** 2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("values", [2, 3, 4, 5, 10, 100, 1000])
def test_subset_meets_the_bound(values: int, epsilon: float) -> None:
    """To the rounding of its threshold."""
    assert subset_sum(values, epsilon) == pytest.approx(bound(values, epsilon), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("values", [3, 4, 5])
def test_no_channel_is_better(values: int, epsilon: float) -> None:
    """The best mix of all extreme responses, found by descent from three starts, meets the bound and no less."""
    rows = [row for row in product((1.0, math.exp(epsilon)), repeat=values) if len(set(row)) > 1]
    extreme = np.array(rows)
    rng = np.random.default_rng([values, int(10 * epsilon)])
    found = []
    for _ in range(3):
        start = rng.dirichlet(np.ones(len(rows)))
        result = minimize(
            lambda weights: variance_sum(np.maximum(weights, 1e-9)[:, np.newaxis] * extreme),
            start / (start @ extreme).mean(),
            method="SLSQP",
            bounds=[(0, 1)] * len(rows),
            constraints={"type": "eq", "fun": lambda weights: weights @ extreme - 1},
            options={"maxiter": 400, "ftol": 1e-10},
        )
        found.append(result.fun)
    assert min(found) == pytest.approx(bound(values, epsilon), rel=1e-3)
    assert min(found) >= bound(values, epsilon) * (1 - 1e-4)


@pytest.mark.parametrize("values", [2, 3, 6])
def test_random_channels_are_worse(values: int) -> None:
    """Channels with any number of responses, as private as they happen to be, have at least the bound of their ε."""
    rng = np.random.default_rng(values)
    for _ in range(200):
        channel = rng.gamma(rng.uniform(0.5, 20), size=(int(rng.integers(values, 12)), values))
        channel /= channel.sum(axis=0)
        epsilon = float(np.log(channel.max(axis=1) / channel.min(axis=1)).max())
        assert variance_sum(channel) >= bound(values, epsilon) * (1 - 1e-9)


def test_the_check_can_fail() -> None:
    """Another window has a larger error, and a response that is less private than stated is caught."""
    assert best_window(10, 1.0) == 3
    weight = math.e
    for s in (1, 2, 4, 5):
        told = 10 * s * (10 - s) * (weight - 1) ** 2 / (s * weight + 10 - s) ** 2
        assert 81 / told - 0.9 > bound(10, 1.0) * 1.001
    assert subset_sum(10, 1.01) < bound(10, 1.0)
