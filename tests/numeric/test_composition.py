"""Exact composition and tails, against published and independently computed numbers."""

from __future__ import annotations

import itertools
import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import ParameterError
from hubbub.numeric.composition import composed_delta, largest_each, theorem_each
from hubbub.numeric.tails import (
    binomial_tail,
    normal_quantile,
    normal_quantile_log,
    normal_tail,
    normal_tail_log,
)


@pytest.mark.parametrize(
    ("times", "expected"), [(16, 3.8458), (64, 4.1403), (256, 4.2038), (684, 4.2151), (4096, 4.2231)]
)
def test_largest_each(times: int, expected: float) -> None:
    """Oracle 2: 1/(ε₀·√T) at ε = 1, δ = 1e-6."""
    assert 1 / (largest_each(1, times, 1e-6) * math.sqrt(times)) == pytest.approx(expected, abs=2e-4)


def test_gaussian_limit() -> None:
    """Oracle 2: with many uses the scale approaches 1/µ = 4.224678889 of Gaussian differential privacy."""
    assert 1 / (largest_each(1, 2_000_000, 1e-6) * math.sqrt(2_000_000)) == pytest.approx(4.224678889, rel=1e-5)


def test_the_theorem_is_false_near_delta_one() -> None:
    """Oracle 3 (E6): at ε = .999, δ = .999, one use, the paper's ε′ gives a delta above the stated one."""
    each = theorem_each(0.999, 1, 0.999)
    assert each == pytest.approx(11.166, abs=1e-3)
    assert composed_delta(0.999, each, 1) == pytest.approx(0.9999475, abs=1e-6)
    assert composed_delta(0.999, each, 1) > 0.999


@pytest.mark.parametrize(
    ("rows", "ratio"), [(16, 0.0), (64, 0.00092), (256, 0.0030), (1024, 0.0038), (4096, 0.0040), (65536, 0.0041)]
)
def test_paper_noise_under_replacement(rows: int, ratio: float) -> None:
    """E2: with all rows changed by 2, the paper's JL noise still has a delta far below 1e-6."""
    assert composed_delta(1, 2 * theorem_each(1, rows, 1e-6), rows) / 1e-6 == pytest.approx(ratio, abs=6e-5)


def test_paper_noise_fails_at_large_epsilon() -> None:
    """Oracle 15: at ε = 8, δ = 1e-3 the exact ratio is 1.7."""
    assert composed_delta(8, 2 * theorem_each(8, 65536, 1e-3), 65536) / 1e-3 == pytest.approx(1.7, abs=0.1)


def brute_force_delta(epsilon: float, each: float, times: int) -> float:
    """The hockey-stick divergence of randomised responses, over all outcomes."""
    truth, lie = math.exp(each) / (1 + math.exp(each)), 1 / (1 + math.exp(each))
    total = 0.0
    for outcome in itertools.product((0, 1), repeat=times):
        ones = sum(outcome)
        p, q = truth**ones * lie ** (times - ones), lie**ones * truth ** (times - ones)
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@given(st.floats(0.05, 3), st.floats(0.05, 2), st.integers(1, 8))
def test_equals_brute_force_and_never_below(epsilon: float, each: float, times: int) -> None:
    """The formula is the divergence summed over all 2^T outcomes, rounded up."""
    exact = brute_force_delta(epsilon, each, times)
    assert exact * (1 - 1e-12) - 1e-15 <= composed_delta(epsilon, each, times) <= exact * (1 + 1e-8) + 1e-12


def precise_delta(epsilon: float, each: float, times: int) -> Decimal:
    """The sum with 50 digits: every chance within 40 standard deviations of the mean, divided by the sum of all."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, MIN_EMIN, MAX_EMAX
        odds = Decimal(each).exp()
        most, reach = int(times * odds / (1 + odds)), 20 * math.isqrt(times) + 40
        everything, above = Decimal(-1), Decimal(0)  # the likeliest is counted from both sides
        for step, end in ((1, min(times, most + reach)), (-1, max(0, most - reach))):
            chance = Decimal(1)
            left = (Decimal(epsilon) - (2 * most - times) * Decimal(each)).exp()  # e^(ε − loss)
            fewer = odds ** (-2 * step)
            for j in range(most, end + step, step):
                everything += chance
                if left < 1 and (step == 1 or j < most):
                    above += chance * (1 - left)
                chance *= (times - j) * odds / (j + 1) if step == 1 else j / ((times - j + 1) * odds)
                left *= fewer
        return above / everything


@pytest.mark.parametrize(
    ("epsilon", "each", "times"),
    [
        (1, 1.5, 1),
        (1, 0.5 + 2**-50, 2),
        (8, 3.0, 3),
        (0.3, 0.25, 17),
        (470, 300.0, 2),
        (900, 800.0, 2),
        (1, 0.0075, 1000),
        (1, 0.00092464, 2**16),
        (12, 0.02, 2**16),
        (1, 0.0007, 2**20),
        (1, 5.778916058645305e-05, 2**24),
        (1, 0.0001, 2**24),
        (1, 2e-5, 2**24),
        (0.001, 1e-8, 2**24),
        (40, 0.001, 2**24),
        (1, 14.0, 2**16),
    ],
)
def test_never_below_the_sum_in_high_precision(epsilon: float, each: float, times: int) -> None:
    """Up to 2^24 uses the result is an upper bound, and no more than a hair above."""
    exact, got = precise_delta(epsilon, each, times), Decimal(composed_delta(epsilon, each, times))
    assert min(exact, Decimal(1)) <= got <= min(exact * (1 + Decimal("1e-9")) + Decimal("1e-12"), Decimal(1))


@given(st.floats(0.1, 4), st.integers(1, 300), st.floats(1e-12, 0.3))
def test_largest_each_is_within_and_at_least_basic(epsilon: float, times: int, delta: float) -> None:
    """What it returns is confirmed, is at least basic composition (E7), and a hair more is not confirmed."""
    each = largest_each(epsilon, times, delta)
    assert each >= epsilon / times
    assert composed_delta(epsilon, each, times) <= delta
    assert each >= epsilon or composed_delta(epsilon, each * (1 + 1e-6), times) > delta * (1 - 1e-3)


def test_edges() -> None:
    """No loss, basic composition, and a delta that is none."""
    assert composed_delta(1, 0, 5) == 0
    assert composed_delta(1, 0.25, 4) == 0
    assert 0 < composed_delta(1, 0.2, 5) < 1e-15  # the float 0.2 is above a fifth
    assert largest_each(1, 4, 0) == pytest.approx(0.25)
    with pytest.raises(ParameterError):
        largest_each(1, 4, 1)


def test_normal_tails_far_out() -> None:
    """Quantiles and tails agree with one another down to a universe of 2^512 values."""
    assert normal_quantile(0.05) == pytest.approx(1.6448536269514722)
    for bits in (16, 64, 512, 2000):
        z = normal_quantile_log(math.log(0.05) - bits * math.log(2))
        assert float(normal_tail_log(z)) == pytest.approx(math.log(0.05) - bits * math.log(2), rel=1e-9)
    assert float(normal_tail(normal_quantile(1e-12))) == pytest.approx(1e-12, rel=1e-9)
    with pytest.raises(ParameterError):
        normal_quantile(0)


@given(st.integers(1, 12), st.floats(0.01, 0.99), st.integers(-1, 13))
def test_binomial_tail_is_exact(trials: int, chance: float, successes: int) -> None:
    """The sum of the upper probabilities."""
    exact = sum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(max(successes, 0), trials + 1)
    )
    assert binomial_tail(successes, trials, chance) == pytest.approx(exact, abs=1e-12)
