"""Samplers: exact probabilities from integer thresholds, rounded towards privacy."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive

from hubbub.errors import ParameterError
from hubbub.numeric.randomness import BulkRandomWords, OSRandomWords, ReplayedRandomWords, SeededRandomWords
from hubbub.numeric.sampling import (
    DiscreteLaplace,
    bernoulli,
    bit_epsilon,
    bit_threshold,
    response_epsilon,
    response_threshold,
)
from hubbub.testing import assert_binomial, assert_same_law

epsilons = st.decimals(min_value=Decimal("1e-9"), max_value=Decimal(40), places=12)


@given(epsilons, st.sampled_from([2, 4, 8, 64, 256]))
def test_response_thresholds_are_the_largest_within_epsilon(epsilon: Decimal, symbols: int) -> None:
    """The loss of the threshold is within epsilon and that of the next one is above: to the last of 64 bits."""
    threshold = response_threshold(epsilon, symbols)
    assert response_epsilon(threshold, symbols) <= epsilon
    if threshold < 2**64 - 1:
        with localcontext() as context:
            context.prec = 100
            above = threshold + 2
            assert (1 + Decimal(symbols * above) / (2**64 - above)).ln() > epsilon


@given(epsilons)
def test_bit_thresholds_are_within_epsilon_and_tight(epsilon: Decimal) -> None:
    """ln(t/(2^64−t)) ≤ ε < the same for t + 1, computed here with other means."""
    threshold = bit_threshold(epsilon)
    assert bit_epsilon(threshold) <= epsilon
    with localcontext() as context:
        context.prec = 100
        loss = [(Decimal(t) / Decimal(2**64 - t)).ln() for t in (threshold, min(threshold + 1, 2**64 - 1))]
        assert loss[0] <= epsilon
        assert loss[1] > epsilon or threshold == 2**64 - 1
        assert bit_epsilon(threshold) >= loss[0]


def test_plain_floats_would_exceed_epsilon() -> None:
    """The mutant: thresholds from double precision pass their epsilon for some of a few dozen epsilons."""

    def float_threshold(epsilon: float) -> int:
        return round(math.exp(epsilon) / (1 + math.exp(epsilon)) * 2.0**64)

    tried = [Decimal(k) / 10 for k in range(1, 31)]
    assert any(bit_epsilon(float_threshold(float(e))) > e for e in tried)
    assert all(bit_epsilon(bit_threshold(e)) <= e for e in tried)


def test_too_small_and_impossible_thresholds_are_refused() -> None:
    """An epsilon below the resolution of 64 bits, and thresholds that are no probabilities."""
    with pytest.raises(ParameterError, match="64-bit threshold"):
        response_threshold(Decimal("1e-30"))
    for bad in (0, 2**64):
        with pytest.raises(ParameterError):
            response_epsilon(bad)
    for bad in (2**63, 2**64):
        with pytest.raises(ParameterError):
            bit_epsilon(bad)


def test_bernoulli_is_exact_at_the_edges() -> None:
    """A word is below the threshold or not."""
    random_words = np.array([0, 4, 5, 6, 2**64 - 1], np.uint64)
    assert bernoulli(random_words, 5).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("scale", [0.4, 1.5, 3.0, 275.0, 1414.2])
def test_digits_of_a_geometric_variable_are_independent(scale: float) -> None:
    """The product of the digits' chances is the geometric law given that it is below 2^J, to 1e-16."""
    noise = DiscreteLaplace.with_rate(1 / scale)
    ratio = math.exp(-float(noise.rate))
    chances = [threshold / 2**64 for threshold in noise.digit_thresholds]
    for value in (0, 1, 2, 3, (1 << noise.digits) // 3, (1 << noise.digits) - 1):
        product = math.prod(p if value >> j & 1 else 1 - p for j, p in enumerate(chances))
        assert product == pytest.approx((1 - ratio) * ratio**value / (1 - ratio ** (1 << noise.digits)), rel=1e-9)


@pytest.mark.parametrize("scale", [0.4, 2.0, 6.0])
def test_distance_bounds_the_true_distance(scale: float) -> None:
    """The stated distance is at least the total variation distance, summed exactly over all outcomes."""
    noise = DiscreteLaplace.with_rate(1 / scale)
    size = 1 << noise.digits
    chances = [Fraction(threshold, 2**64) for threshold in noise.digit_thresholds]
    with localcontext() as context:
        context.prec = 60
        ratio = (-noise.rate).exp()
        digitwise = [
            Decimal(p.numerator) / Decimal(p.denominator)
            for p in (
                math.prod((c if v >> j & 1 else 1 - c for j, c in enumerate(chances)), start=Fraction(1))
                for v in range(size)
            )
        ]
        ideal = [(1 - ratio) * ratio**v for v in range(size)]
        half = sum(abs(a - b) for a, b in zip(digitwise, ideal, strict=True)) / 2 + ratio**size / 2
        assert 2 * half <= noise.distance < Decimal("1e-16")


@given(st.integers(0, 2**32), st.sampled_from([0.3, 5.0, 400.0]))
def test_noise_kernel_equals_twin(seed: int, scale: float) -> None:
    """The kernel draws what the twin draws from the same random words."""
    noise = DiscreteLaplace.with_rate(1 / scale)
    random_words = SeededRandomWords(seed).draw(2, 3 * noise.random_words)
    answers = np.array([[1, -1, 0], [0, 1, 1]], np.int8)
    noisy = np.zeros((2, 3), np.int32)
    noise.add_to(answers, random_words, noisy)
    expected = [naive.add_noise(answers[i], random_words[i].tolist(), noise.digit_thresholds) for i in range(2)]
    assert noisy.tolist() == expected
    assert np.abs(noisy - answers).max() <= noise.bound


def test_noise_reaches_its_bound_and_no_further() -> None:
    """All digits of one variable and none of the other is the largest draw."""
    noise = DiscreteLaplace.with_rate(0.5)
    random_words = np.full((2, noise.random_words), 2**64 - 1, np.uint64)
    random_words[0, : noise.digits] = 0
    random_words[1, noise.digits :] = 0
    noisy = np.zeros((2, 1), np.int16)
    noise.add_to(np.zeros((2, 1), np.int8), random_words, noisy)
    assert noisy[:, 0].tolist() == [noise.bound, -noise.bound]


def test_noise_has_the_law_it_claims() -> None:
    """P(k) ∝ e^(−|k|/b), by exact binomial tails on every k from −8 to 8; a slightly wrong rate is rejected."""
    noise = DiscreteLaplace.with_rate(1 / 3)
    count = 400_000
    noisy = np.zeros((count, 1), np.int16)
    noise.add_to(np.zeros((count, 1), np.int8), SeededRandomWords(77).draw(count, noise.random_words), noisy)
    observed = {k: int((noisy == k).sum()) for k in range(-8, 9)}

    def check(rate: float) -> None:
        ratio = math.exp(-rate)
        for k, times in observed.items():
            assert_binomial(times, count, (1 - ratio) / (1 + ratio) * ratio ** abs(k), 1e-11)

    check(1 / 3)
    with pytest.raises(AssertionError):
        check(1 / 3.1)


def test_sums_of_noise_have_the_law_of_sums() -> None:
    """Oracle 9: n = 7, a = e^(−1/3): variance 124.840, and the shortcut has the law of adding draws up."""
    noise = DiscreteLaplace.with_rate(1 / 3)
    assert 7 * noise.variance == pytest.approx(124.840, abs=5e-4)
    drawn = np.zeros((20_000 * 7, 1), np.int16)
    noise.add_to(np.zeros((len(drawn), 1), np.int8), SeededRandomWords(5).draw(len(drawn), noise.random_words), drawn)
    sums = drawn.reshape(-1, 7).sum(axis=1)
    shortcut = noise.sample_sums(7, (20_000,), np.random.default_rng(6))
    assert shortcut.var() == pytest.approx(124.840, rel=5 * math.sqrt((2 + 3 / 7) / 20_000))
    assert_same_law(sums[:2000], shortcut[:2000])
    with pytest.raises(AssertionError):  # the mutant: eight people instead of seven
        assert_same_law(sums, noise.sample_sums(14, (20_000,), np.random.default_rng(6)))
    assert noise.sample_sums(0, (3,), np.random.default_rng(1)).tolist() == [0, 0, 0]


def test_continuous_laplace_moments() -> None:
    """Oracle 9, continuous: seven draws of Lap(3) have variance 126 and excess kurtosis 3/7; ours come close."""
    fine = DiscreteLaplace.with_rate(1 / 300)
    sums = fine.sample_sums(7, (400_000,), np.random.default_rng(8)) / 100
    assert sums.var() == pytest.approx(126, rel=0.012)
    kurtosis = float(np.mean(sums**4) / np.mean(sums**2) ** 2 - 3)
    assert kurtosis == pytest.approx(3 / 7, abs=0.06)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), 1e-9])
def test_impossible_noise_is_refused(rate: float) -> None:
    """Rates that are none, and scales that would not fit 32 bits."""
    with pytest.raises(ParameterError):
        DiscreteLaplace.with_rate(rate)


@pytest.mark.parametrize("thresholds", [(), (1,) * 31, (2**64,), (-1,), (True,), (1.5,)])
def test_impossible_thresholds_are_refused(thresholds: tuple) -> None:
    """Digits a survey cannot carry."""
    with pytest.raises(ParameterError):
        DiscreteLaplace(Decimal("0.5"), thresholds)
    with pytest.raises(ParameterError):
        DiscreteLaplace(Decimal("NaN"), (1,))


def test_word_sources() -> None:
    """Shapes, freshness of the system's random words, repeatability of seeded and replayed ones."""
    for source in (OSRandomWords(), BulkRandomWords(), SeededRandomWords(1)):
        first, second = source.draw(3, 5), source.draw(3, 5)
        assert first.shape == (3, 5)
        assert first.dtype == np.uint64
        assert len(np.unique(np.concatenate([first, second]))) == 30
    assert np.array_equal(SeededRandomWords(7).draw(4, 2), SeededRandomWords(7).draw(4, 2))
    assert not np.array_equal(BulkRandomWords().draw(4, 2), BulkRandomWords().draw(4, 2))
    assert BulkRandomWords().draw(0, 3).shape == (0, 3)
    replay = ReplayedRandomWords(np.arange(6, dtype=np.uint64))
    assert replay.draw(1, 4).tolist() == [[0, 1, 2, 3]]
    assert replay.draw(2, 1).tolist() == [[4], [5]]
    with pytest.raises(ParameterError, match="got 6 of 7"):
        replay.draw(1, 1)


def test_devices_have_no_seed() -> None:
    """The sources a device may use take no argument: there is nothing to seed."""
    for source in (OSRandomWords, BulkRandomWords):
        with pytest.raises(TypeError):
            source(1)


def test_bulk_words_are_fair_across_block_borders() -> None:
    """Every bit of more than one megabyte of keystream is a fair coin, and no word repeats."""
    random_words = BulkRandomWords().draw(1, 150_000)[0]  # of twice as many, two may be equal with a chance of 2e-9
    assert len(np.unique(random_words)) == len(random_words)
    for bit in range(64):
        assert_binomial(int((random_words >> np.uint64(bit) & np.uint64(1)).sum()), len(random_words), 0.5, 1e-11)
