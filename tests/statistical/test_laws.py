"""Random behaviour with any seed: exact tails, false alarm at most 1e-9 each, and a mutant each test must reject.

`make statistical` draws a fresh seed and prints it.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from hubbub import BulkRandomWords, Histogram, Integers, SeededRandomWords, create_survey, mechanism_for, tally_of
from hubbub.mechanisms.channels import OneBitChannel
from hubbub.numeric.sampling import DiscreteLaplace, bernoulli, bit_threshold, response_threshold
from hubbub.testing import assert_binomial, assert_mean_zero, assert_same_law

PEOPLE = 400_000


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_truth_is_told_as_often_as_epsilon_says(seed: int, epsilon: str) -> None:
    """Bits are kept with chance e^ε/(1+e^ε), with both bulk sources; an epsilon 10 % larger is noticed."""
    chance = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
    more = math.exp(1.1 * float(epsilon)) / (1 + math.exp(1.1 * float(epsilon)))
    for source in (SeededRandomWords(seed), BulkRandomWords()):
        kept = int(bernoulli(source.draw(PEOPLE, 1), bit_threshold(Decimal(epsilon))).sum())
        assert_binomial(kept, PEOPLE, chance)
        with pytest.raises(AssertionError):
            assert_binomial(kept, PEOPLE, more)


@pytest.mark.parametrize("bits", [1, 2, 3, 6])
def test_symbols_have_the_chances_of_randomised_response(seed: int, bits: int) -> None:
    """The true symbol and each other one come with their chances; forgetting that a replacement may be true shows."""
    symbols, epsilon = 1 << bits, 1.0
    random_words = SeededRandomWords(seed).draw(PEOPLE, 2)
    sent = np.full(PEOPLE, symbols - 1, np.uint64)
    kept = bernoulli(random_words[:, 0], response_threshold(Decimal(1), symbols))
    got = np.where(kept, sent, random_words[:, 1] >> np.uint64(64 - bits))
    counts = np.bincount(got.astype(np.int64), minlength=symbols)
    true = math.exp(epsilon) / (math.exp(epsilon) + symbols - 1)
    assert_binomial(int(counts[-1]), PEOPLE, true)
    for other in counts[:-1]:
        assert_binomial(int(other), PEOPLE, (1 - true) / (symbols - 1), 1e-11)
    forgotten = math.expm1(epsilon) / (math.exp(epsilon) + symbols - 1)
    with pytest.raises(AssertionError):
        assert_binomial(int(counts[-1]), PEOPLE, forgotten)


def test_rows_are_uniform_over_ids(seed: int) -> None:
    """Random ids fall on every row alike; a modulus that favours low rows would be rejected."""
    channel = OneBitChannel(rows=12, threshold=bit_threshold(Decimal(1)), seed=seed.to_bytes(32, "little"))
    ids = SeededRandomWords(seed).draw(PEOPLE, 2)
    for count in np.bincount(channel.rows_of(ids), minlength=12):
        assert_binomial(int(count), PEOPLE, 1 / 12, 1e-11)
    biased = (ids[:, 0] & np.uint64(15)) % np.uint64(12)
    with pytest.raises(AssertionError):
        assert_binomial(int((biased == 0).sum()), PEOPLE, 1 / 12)


def test_sums_of_noise(seed: int) -> None:
    """Sums drawn at once have the law of sums of draws; a scale half as large again is noticed."""
    noise, wider = DiscreteLaplace.with_rate(0.2), DiscreteLaplace.with_rate(0.2 / 1.5)
    rng = np.random.default_rng(seed)
    drawn = np.zeros((5 * 8000, 1), np.int32)
    noise.add_to(
        np.zeros((len(drawn), 1), np.int8), SeededRandomWords(seed).draw(len(drawn), noise.random_words), drawn
    )
    sums = drawn.reshape(-1, 5).sum(axis=1)
    assert_same_law(sums, noise.sample_sums(5, (8000,), rng))
    with pytest.raises(AssertionError):
        assert_same_law(sums, wider.sample_sums(5, (8000,), rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jl", "bucket", "glps"])
def test_counts_are_unbiased(seed: int, name: str) -> None:
    """Over random words and public seeds the mean error is 0; without undoing the lies it is not."""
    errors, shrunk = [], []
    for run in range(400):
        rng = np.random.default_rng([seed, run])
        survey = create_survey("x", Integers(8), 2, None, name, None, 300, public_seed=rng.bytes(32))
        mechanism = mechanism_for(survey)
        items = np.repeat(np.array([[5], [9]], np.uint64), [250, 50], axis=0)
        random_words = SeededRandomWords(int(rng.integers(2**62))).draw(300, mechanism.random_words_per_report)
        tally = tally_of(mechanism, items, random_words)
        count = float(mechanism.estimate(tally, items[:1]).counts[0])
        errors.append(count - 250)
        shrunk.append(count / mechanism.channel.gain - 250)
    assert_mean_zero(np.array(errors))
    with pytest.raises(AssertionError):
        assert_mean_zero(np.array(shrunk))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("jl", {}), ("bucket", {}), ("bucket", {"calibration": "tight"})])
def test_samplers_have_the_law_of_people(seed: int, name: str, options: dict) -> None:
    """A random direction of the cells has one law by both paths; a crowd with one item moved is noticed."""
    survey = create_survey("x", Integers(5), 3, None, name, options, 100, public_seed=seed.to_bytes(32, "little"))
    mechanism = mechanism_for(survey)
    crowd = Histogram(np.array([[1], [2]], np.uint64), np.array([30, 10]))
    moved = Histogram(np.array([[1], [2]], np.uint64), np.array([10, 30]))
    items = np.repeat(crowd.items, crowd.counts, axis=0)
    rng, source = np.random.default_rng(seed), SeededRandomWords(seed)
    signs = 1.0 - 2.0 * mechanism.sign_bits(crowd.items[:1])[0]  # towards the first item, where the crowd is

    def draw(histogram: Histogram) -> np.ndarray:
        return np.array([signs @ mechanism.sample_tally(histogram, rng).cells for _ in range(600)])

    random_words = [source.draw(40, mechanism.random_words_per_report) for _ in range(600)]
    real = np.array([signs @ tally_of(mechanism, items, w).cells for w in random_words])
    assert_same_law(real, draw(crowd))
    with pytest.raises(AssertionError):
        assert_same_law(real, draw(moved))
