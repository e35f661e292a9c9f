"""The Bucket mechanism: its hash functions, both decoders, and the theorem."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import Bytes, Categories, Histogram, Integers, create_survey, mechanism_for
from hubbub.model.estimates import Query
from hubbub.model.tally import Tally
from hubbub.numeric import gf2
from hubbub.paper import theorems
from hubbub.simulation import population
from hubbub.testing import public_seed


def bucket(domain=None, people: int = 100_000, epsilon: object = 1, seed: int = 1, **options):
    """A Bucket mechanism."""
    survey = create_survey(
        "bucket", domain or Integers(32), epsilon, None, "bucket", options, people, public_seed=public_seed(seed)
    )
    return mechanism_for(survey)


def exact_tally(mechanism, crowd: Histogram, rng: np.random.Generator) -> Tally:
    """The sums without any noise, through the Laplace channel."""
    bits = mechanism.sign_bits(crowd.items).astype(np.int64)
    sums = (bits * crowd.counts[:, np.newaxis]).sum(axis=0) + rng.binomial(crowd.singletons, 0.5, mechanism.rows)
    return Tally(mechanism.survey_id, crowd.people, sums)


def test_paper_parameters() -> None:
    """Oracle 1: N = 2^32, β = .1: 36 rows in 19 trials, b = 274.95…; un-rounded it would be 269.16 (E16)."""
    mechanism = bucket(calibration="paper")
    assert (mechanism.rows_per_trial, mechanism.trials, mechanism.rows) == (36, 19, 684)
    assert 1 / float(mechanism.channel.noise.rate) == pytest.approx(274.9517662667045, rel=1e-9)
    unrounded = theorems.laplace_scale(1, 1e-6, 1) * math.sqrt(math.log2(12 * 2**32) * 8 * math.log(10))
    assert unrounded == pytest.approx(269.1625023113416, rel=1e-9)


def test_tight_scale() -> None:
    """Oracle 2: the least noise for 684 rows has scale 110.24."""
    assert 1 / float(bucket(calibration="tight").channel.noise.rate) == pytest.approx(110.2395, rel=1e-3)


@pytest.mark.parametrize(
    "domain", [Integers(1), Integers(2), Integers(63), Integers(64), Integers(65), Bytes(64), Categories(list("abcde"))]
)
def test_every_trial_has_full_rank_and_no_empty_row(domain) -> None:
    """E17: each trial's system has exactly one solution where it has any; bits beyond the item are zero."""
    mechanism = bucket(domain)
    assert mechanism.matrix.shape == (mechanism.rows, domain.item_limbs)
    for trial in range(mechanism.trials):
        rows = mechanism.matrix[trial * mechanism.rows_per_trial : (trial + 1) * mechanism.rows_per_trial]
        assert gf2.rank(rows, domain.bits) == domain.bits
        assert rows.any(axis=1).all()
    spare = 64 * domain.item_limbs - domain.bits
    if spare:
        assert int(mechanism.matrix[:, -1].max()) < 2 ** (64 - spare)


def test_public_seeds_give_unrelated_hashes() -> None:
    """Another seed, another matrix and other shifts; the same seed, the same."""
    one, two = bucket(seed=1), bucket(seed=2)
    assert np.array_equal(one.matrix, bucket(seed=1).matrix)
    assert (one.matrix != two.matrix).mean() > 0.99
    assert 0.3 < (one.shifts != two.shifts).mean() < 0.7
    assert 0.4 < one.shifts.mean() < 0.6


@pytest.mark.parametrize("decoder", ["hard", "soft"])
@pytest.mark.parametrize("calibration", ["paper", "onebit"])
@pytest.mark.parametrize("domain", [Integers(5), Integers(64), Bytes(32), Bytes(64)], ids=repr)
def test_a_lone_value_is_found(domain, calibration: str, decoder: str) -> None:
    """Everyone holds one value: both decoders find it in any universe, first try."""
    mechanism = bucket(domain, epsilon=6, calibration=calibration, decoder=decoder)
    item = domain.encode(["12"])
    crowd = Histogram(item, np.array([10**9], np.int64))
    found = mechanism.discover(mechanism.sample_tally(crowd, np.random.default_rng(1)), Query())
    assert domain.decode(found.items)[0] in (12, "12")
    assert len(found) == 1
    assert found.counts[0] == pytest.approx(10**9, rel=1e-2)


def test_value_zero_is_hashed_like_any_other() -> None:
    """E18: the shift makes half of the bits of value 0 ones."""
    assert 0.4 < bucket().sign_bits(np.zeros((1, 1), np.uint64)).mean() < 0.6


def test_the_vote_ignores_bottom_and_breaks_ties_by_the_estimate() -> None:
    """E19: infeasible trials do not vote; of two values with a trial each, the one with more people wins."""
    mechanism = bucket(Integers(16), decoder="hard", calibration="paper", beta="0.7")
    assert mechanism.trials == 3
    many, few = np.array([[5], [40000]], np.uint64)
    rows = mechanism.rows_per_trial
    sums = np.concatenate(
        [
            mechanism.signs(few[np.newaxis])[0, :rows] * 10.0,
            mechanism.signs(many[np.newaxis])[0, rows : 2 * rows] * 90.0,
            np.where(np.arange(rows) % 2, 1.0, -1.0),  # no solution
        ]
    )
    assert gf2.solve(mechanism.matrix[2 * rows :], (sums[2 * rows :] < 0) ^ mechanism.shifts[2 * rows :], 16) is None
    assert mechanism.decode_vote(sums).tolist() == [5]
    sums[rows:] = np.tile(np.where(np.arange(rows) % 2, 1.0, -1.0), 2)
    assert mechanism.decode_vote(sums).tolist() == [40000]
    sums[:rows] = sums[2 * rows :]
    assert mechanism.decode_vote(sums) is None
    tally = Tally(mechanism.survey_id, 0, np.zeros(mechanism.rows, np.int64))
    assert len(mechanism.discover(tally, Query(best_guess=True, top=1))) <= 1


def test_a_solution_outside_the_universe_is_bottom() -> None:
    """E19: with 5 values in 3 bits, a decoded 6 is nobody's value."""
    mechanism = bucket(Categories(list("abcd")), decoder="soft")
    outside = np.array([6], np.uint64)
    assert mechanism.decode_soft(mechanism.signs(outside[np.newaxis])[0] * 1000.0) is None


def test_several_values_by_peeling() -> None:
    """The soft decoder finds one value after another; the hard one only the first."""
    rng = np.random.default_rng(5)
    counts = np.array([600_000, 150_000, 90_000], np.int64)
    crowd = Histogram(population.random_items(3, 32, rng), counts, singletons=160_000)
    for decoder, found_values in (("soft", 3), ("hard", 1)):
        mechanism = bucket(people=10**6, epsilon=2, decoder=decoder)
        found = mechanism.discover(mechanism.sample_tally(crowd, rng), Query())
        assert len(found) == found_values
        assert np.array_equal(found.items, crowd.items[:found_values])
        assert (np.abs(found.counts - counts[:found_values]) <= 6 * found.stderrs).all()


def test_hard_vote_at_the_theorem_s_people() -> None:
    """Oracle 13: 2^32 values, half of the theorem's 8.1e7 people on one, the rest alone: 30 of 30 by the vote."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        mechanism = bucket(seed=seed, people=81_000_000, calibration="paper", decoder="hard")
        crowd = population.heavy(81_000_000, 0.5, None, 32, rng)
        found = mechanism.discover(mechanism.sample_tally(crowd, rng), Query(top=1, best_guess=True))
        assert np.array_equal(found.items, crowd.items)


@pytest.mark.slow
def test_zipf_defeats_the_paper_s_decoder_without_any_noise() -> None:
    """Oracle 14 (E15): Zipf 1.2 over 2^64: the vote fails in most runs without noise, soft decoding never."""
    runs, hard_found, soft_found = 20, 0, 0
    weights = np.arange(1, 2_000_001, dtype=np.float64) ** -1.2
    shares = weights[:200] / weights.sum()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        counts = (shares * 1e9).astype(np.int64)
        crowd = Histogram(population.random_items(200, 64, rng), counts, singletons=10**9 - int(counts.sum()))
        for decoder in ("hard", "soft"):
            mechanism = bucket(Integers(64), seed=seed, calibration="paper", decoder=decoder)
            found = mechanism.discover(exact_tally(mechanism, crowd, rng), Query(top=1, best_guess=True))
            right = len(found) == 1 and np.array_equal(found.items[0], crowd.items[0])
            hard_found += right and decoder == "hard"
            soft_found += right and decoder == "soft"
    assert hard_found / runs < 0.5
    assert soft_found == runs


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["soft", "hard"])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_detection_limit_is_about_right(bits: int, decoder: str) -> None:
    """A value held by the stated limit is found in most runs, and one held by 60 % of it is not."""
    people = 1_000_000
    empty = bucket(Integers(bits), people, decoder=decoder)
    rng = np.random.default_rng(6)
    alone = Histogram(np.empty((0, 1), np.uint64), np.empty(0, np.int64), singletons=people)
    limit = empty.discover(empty.sample_tally(alone, rng), Query()).detection_limit
    rates = []
    for share in (1.0, 0.6):
        right = 0
        for seed in range(16):
            mechanism = bucket(Integers(bits), people, seed=100 + seed, decoder=decoder)
            item = population.random_items(1, bits, rng)
            count = int(limit * share)
            crowd = Histogram(item, np.array([count]), singletons=people - count)
            found = mechanism.discover(mechanism.sample_tally(crowd, rng), Query())
            right += len(found) > 0 and np.array_equal(found.items[0], item[0])
        rates.append(right / 16)
    assert rates[0] >= 0.8
    assert rates[1] <= 0.7


@pytest.mark.slow
def test_small_universes_are_unbiased() -> None:
    """Without the row 0 two values agree a little less than half the time; counts are corrected for it."""
    errors, uncorrected = [], []
    for seed in range(300):
        mechanism = bucket(Integers(3), epsilon=8, seed=seed, calibration="onebit")
        rng = np.random.default_rng(seed)
        crowd = Histogram(np.arange(3, dtype=np.uint64)[:, np.newaxis], np.array([4000, 3000, 3000]))
        tally = mechanism.sample_tally(crowd, rng)
        estimate = mechanism.estimate(tally, crowd.items[:1]).counts[0]
        errors.append(estimate - 4000)
        uncorrected.append((estimate * 8 - tally.count) / 7 - 4000)  # the mutant: the plain mean over rows
    spread = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors)) < 6 * spread
    assert abs(np.mean(uncorrected)) > 6 * spread
