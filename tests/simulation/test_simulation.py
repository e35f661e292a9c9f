"""Crowds, rehearsals and experiments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import Histogram, Integers, ParameterError, SeededRandomWords, create_survey, mechanism_for
from hubbub.simulation import exponential, population
from hubbub.simulation.experiment import Experiment, simulate
from hubbub.simulation.rehearsal import check_draws, rehearse
from hubbub.testing import assert_binomial


@pytest.mark.parametrize("bits", [4, 24, 25, 64, 65, 512])
def test_random_items_are_distinct_and_never_reserved(bits: int) -> None:
    """As many different items as asked for, below all ones, in the right limbs."""
    items = population.random_items(15, bits, np.random.default_rng(1))
    numbers = [int.from_bytes(item.astype("<u8").tobytes(), "little") for item in items]
    assert len(set(numbers)) == 15
    assert max(numbers) < 2**bits - 1
    assert items.shape == (15, -(-bits // 64))


def test_a_small_universe_can_be_exhausted_and_no_more() -> None:
    """All values but the reserved one, or an error."""
    assert sorted(population.random_items(3, 2, np.random.default_rng(1))[:, 0].tolist()) == [0, 1, 2]
    with pytest.raises(ParameterError, match="4 values"):
        population.random_items(4, 2, np.random.default_rng(1))


def test_crowds_have_everyone() -> None:
    """Counts add up to the people and follow the shape asked for."""
    rng = np.random.default_rng(2)
    zipf = population.zipf(1_000_003, 1.5, 500, 32, rng)
    assert zipf.people == 1_000_003
    assert zipf.counts[0] / zipf.counts[1] == pytest.approx(2**1.5, rel=1e-3)
    assert population.uniform(1001, 10, 8, rng).counts.tolist() == [101] + [100] * 9
    heavy = population.heavy(1000, 0.25, 10, 16, rng)
    assert (heavy.people, heavy.counts[0], len(heavy.counts)) == (1000, 250, 11)
    assert population.heavy(1000, 1.0, 10, 16, rng).counts.tolist() == [1000]
    alone = population.heavy(1000, 0.25, None, 64, rng)
    assert (alone.people, alone.singletons, alone.counts.tolist()) == (1000, 750, [250])
    listed = population.heavy(1000, 0.25, None, 16, rng)
    assert (listed.people, listed.singletons, len(listed.counts)) == (1000, 0, 751)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: population.heavy(1000, 0, 10, 16, rng),
        lambda rng: population.heavy(1000, 1.1, 10, 16, rng),
        lambda rng: population.heavy(1000, 0.5, None, 8, rng),
        lambda rng: population.zipf(1000, float("nan"), 10, 8, rng),
        lambda rng: population.zipf(1000, -1, 10, 8, rng),
    ],
)
def test_impossible_crowds(make) -> None:
    """Shares that are none, and more people alone than there are values."""
    with pytest.raises(ParameterError):
        make(np.random.default_rng(1))


@pytest.mark.parametrize(("name", "options"), [("jl", {}), ("bucket", {"calibration": "tight"}), ("naive-laplace", {})])
def test_rehearsal_does_not_depend_on_chunks(name: str, options: dict) -> None:
    """However people are chunked, the same random words give the same tally; everyone is counted."""
    survey = create_survey("x", Integers(6), 1, None, name, options, 1000)
    mechanism = mechanism_for(survey)
    items = np.arange(60, dtype=np.uint64)[:, np.newaxis] % np.uint64(7)
    whole = rehearse(mechanism, [items], SeededRandomWords(1))
    pieces = rehearse(mechanism, [items[:1], items[1:1], items[1:]], SeededRandomWords(1))
    assert whole == pieces
    assert whole.count == 60


def test_noise_draws_are_counted_and_limited() -> None:
    """One per coordinate for Laplace noise, one per person for a bit; too many are refused with a way out."""
    survey = create_survey("x", Integers(32), 1, None, "bucket", {"calibration": "paper"}, 1000)
    mechanism = mechanism_for(survey)
    assert mechanism.noise_draws == 684
    one_bit = mechanism_for(create_survey("x", Integers(32), 1, None, "bucket"))
    assert one_bit.noise_draws == 1
    check_draws(mechanism, 292_397)
    with pytest.raises(ParameterError, match="hubbub simulate draws the sums"):
        check_draws(mechanism, 292_398)


def test_exponential_mechanism_has_its_law() -> None:
    """Two values, three people apart: the larger is chosen with chance e^(3ε/2)/(e^(3ε/2) + 1 + rest)."""
    rng = np.random.default_rng(3)
    crowd = Histogram(np.array([[1], [2]], np.uint64), np.array([10, 7], np.int64))
    runs, epsilon, size = 20_000, 1.0, 16
    chosen = [exponential.heavy_hitter(crowd, size, epsilon, rng) for _ in range(runs)]
    weights = [math.exp(epsilon * 10 / 2), math.exp(epsilon * 7 / 2), (size - 2) * 1.0]
    for answer, weight in zip((0, 1, None), weights, strict=True):
        assert_binomial(chosen.count(answer), runs, weight / sum(weights))
    with pytest.raises(AssertionError):  # the mutant forgets that a pair of databases differs by two counts
        assert_binomial(chosen.count(0), runs, math.exp(10) / (math.exp(10) + math.exp(7) + 14))


def test_experiments_repeat_from_their_seed() -> None:
    """The same seed gives the same numbers, another seed others."""

    def run(seed: int) -> dict:
        crowd = lambda rng: population.zipf(20_000, 1.2, 100, 10, rng)  # noqa: E731
        result = simulate(Experiment("jl", 20_000, crowd, 10, runs=3, seed=seed)).to_json()
        return {key: value for key, value in result.items() if key not in ("seconds", "peak_memory_mb")}

    assert run(1) == run(1)
    assert run(1)["mean_error"] != run(2)["mean_error"]


def test_dense_experiments_go_person_by_person() -> None:
    """No shortcut for a dense projection: it runs within its limit and refuses beyond."""
    crowd = lambda rng: population.heavy(20_000, 0.5, 5, 8, rng)  # noqa: E731
    result = simulate(Experiment("jl", 20_000, crowd, 8, options={"projection": "dense"}, runs=2, seed=1))
    assert result.success_rate == 1
    assert result.max_error <= result.bound
    huge = Experiment("jl", 300_000_000, crowd, 1, epsilon="0.01", options={"projection": "dense"})
    with pytest.raises(ParameterError):
        simulate(huge)


def test_everybody_reports_where_sums_cannot_be_drawn_at_once() -> None:
    """People who are alone with their value are listed for `tree`, with values of their own, and so none is lost."""
    rng = np.random.default_rng(4)
    alone = population.heavy(3000, 0.3, None, 40, rng)
    crowd = population.listed(alone, 40, rng)
    assert (crowd.people, crowd.singletons, len(crowd.items)) == (3000, 0, 2101)
    assert len(np.unique(crowd.items, axis=0)) == 2101
    assert np.array_equal(crowd.items[0], alone.items[0])
    assert crowd.norm == pytest.approx(alone.norm)
    assert population.listed(crowd, 40, rng) is crowd
    result = simulate(Experiment("tree", 3000, lambda rng: population.heavy(3000, 0.5, None, 40, rng), 40, seed=1))
    assert result.success_rate == 1
    assert result.max_error > 5  # the noise of 3,000 reports; with the others lost, nothing would be left of it
    tree = mechanism_for(create_survey("x", Integers(40), 1))
    with pytest.raises(ParameterError, match="must list all its items, got 2100 singletons"):
        tree.sample_tally(alone, rng)
