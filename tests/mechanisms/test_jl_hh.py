"""JL-HH: rows, projections and the accuracy theorem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hubbub import Categories, Histogram, Integers, ParameterError, create_survey, mechanism_for
from hubbub.model.estimates import Query
from hubbub.model.tally import Tally
from hubbub.paper import theorems
from hubbub.simulation import population
from hubbub.testing import public_seed


def jl(bits: int = 10, people: int = 1_000_000, epsilon: object = 1, delta=None, seed: int = 1, **options):
    """A JL-HH mechanism."""
    survey = create_survey("jl", Integers(bits), epsilon, delta, "jl", options, people, public_seed=public_seed(seed))
    return mechanism_for(survey)


def test_paper_scale_and_rows() -> None:
    """Oracle 1 and §4: b = 10.513… for entries ±1/√m, and m = 18096 rows for a million people."""
    mechanism = jl(16, calibration="paper")
    assert mechanism.rows == 18096
    scale = 1 / (float(mechanism.channel.noise.rate) * math.sqrt(mechanism.rows))
    assert scale == pytest.approx(10.513043539513864, rel=1e-9)


def test_tight_scale() -> None:
    """The least noise that exact composition allows: b ≈ 8.449 for many rows."""
    mechanism = jl(16, calibration="tight")
    scale = 1 / (float(mechanism.channel.noise.rate) * math.sqrt(mechanism.rows))
    assert scale == pytest.approx(8.449, abs=2e-3)
    assert mechanism.rows == pytest.approx(4 * 1e6 / (2 * 8.449**2), rel=1e-3)


def test_hadamard_rows_are_characters_and_at_most_all_of_them() -> None:
    """With more rows than values every character appears once; with fewer they are drawn at random."""
    everything = jl(8, calibration="tight")
    assert everything.rows == 256
    assert sorted(everything.characters.tolist()) == list(range(256))
    some = jl(16, 100_000, calibration="tight")
    assert some.rows < 2**16
    assert 0 <= some.characters.min() <= some.characters.max() < 2**16
    items = np.array([[0b1011]], np.uint64)
    assert some.sign_bits(items)[0].tolist() == [(int(r) & 0b1011).bit_count() % 2 for r in some.characters]


@pytest.mark.parametrize("options", [{"projection": "dense"}, {"projection": "hadamard", "calibration": "tight"}])
def test_entries_and_columns_agree(options: dict) -> None:
    """A column's bits are the entries' bits."""
    mechanism = jl(12, 2000, **options)
    items = np.arange(20, dtype=np.uint64)[:, np.newaxis] * np.uint64(200)
    rows = np.arange(mechanism.rows, dtype=np.int64)
    columns = mechanism.sign_bits(items)
    for item, column in zip(items, columns, strict=True):
        assert np.array_equal(mechanism.sign_bits_at(np.repeat(item[np.newaxis], len(rows), 0), rows), column)


def test_one_bit_residuals() -> None:
    """Oracle 10: normalised residuals have variance 1 ± .02 and as many beyond 4 as a normal variable has."""
    residuals = []
    for seed in range(8):
        mechanism = jl(14, seed=seed)
        rng = np.random.default_rng(seed)
        crowd = population.zipf(1_000_000, 1.1, 10_000, 14, rng)
        everything = np.arange(2**14, dtype=np.uint64)[:, np.newaxis]
        estimates = mechanism.estimate(mechanism.sample_tally(crowd, rng), everything)
        true = np.zeros(2**14)
        true[crowd.items[:, 0].astype(int)] = crowd.counts
        residuals.append((estimates.counts - true) / estimates.stderrs)
    z = np.concatenate(residuals)
    assert len(z) >= 100_000
    assert z.var() == pytest.approx(1, abs=0.02)
    far = int((np.abs(z) > 4).sum())
    expected = len(z) * 2 * stats.norm.sf(4)
    assert stats.poisson.ppf(1e-9, expected) <= far <= stats.poisson.isf(1e-9, expected)


@pytest.mark.parametrize("projection", ["dense", "hadamard"])
def test_noise_and_distortion(projection: str) -> None:
    """Oracle 11: noise has standard deviation b·√(2n), distortion ‖v‖/√m, for m ≥ 1024 rows."""
    noise, distortion = [], []
    people = 200_000
    counts = np.array([150_000, 30_000, 20_000], np.int64)
    for seed in range(12):
        mechanism = jl(12, people, calibration="paper", projection=projection, seed=seed)
        assert mechanism.rows >= 1024
        rng = np.random.default_rng(seed)
        crowd = Histogram(np.array([[1], [2], [3]], np.uint64), counts)
        absent = np.arange(10, 1000, dtype=np.uint64)[:, np.newaxis]
        bits = mechanism.sign_bits(crowd.items).astype(np.int64)
        sums = ((1 - 2 * bits) * counts[:, np.newaxis]).sum(axis=0)
        clean = Tally(mechanism.survey_id, people, sums)
        distortion.append(mechanism.estimate(clean, absent).counts)
        noisy = Tally(mechanism.survey_id, people, mechanism.channel.noise.sample_sums(people, sums.shape, rng))
        noise.append(mechanism.estimate(noisy, absent).counts)
    scale = theorems.laplace_scale(1, 1e-6)
    assert np.std(noise) / (scale * math.sqrt(2 * people)) == pytest.approx(1, abs=0.1)
    norm = math.sqrt(float((counts**2).sum()))
    assert np.std(distortion) / (norm / math.sqrt(mechanism.rows)) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("calibration", ["onebit", "tight", "paper"])
def test_argmax_of_the_paper_is_the_best_guess(calibration: str) -> None:
    """Algorithm 1 returns an argmax even of pure noise; so does a best guess, and nothing else does."""
    mechanism = jl(8, 10_000, calibration=calibration)
    rng = np.random.default_rng(3)
    crowd = population.uniform(10_000, 255, 8, rng)
    tally = mechanism.sample_tally(crowd, rng)
    guess = mechanism.discover(tally, Query(top=1, best_guess=True))
    everything = mechanism.estimate(tally, np.arange(256, dtype=np.uint64)[:, np.newaxis]).counts
    assert int(guess.items[0, 0]) == int(np.argmax(everything))
    assert len(mechanism.discover(tally, Query())) == 0


def test_top_is_the_largest_in_order() -> None:
    """With more values above the threshold than asked for, the largest come first."""
    mechanism = jl(8)
    rng = np.random.default_rng(4)
    counts = np.array([400_000, 100_000, 300_000, 200_000], np.int64)
    tally = mechanism.sample_tally(Histogram(np.array([[9], [8], [7], [6]], np.uint64), counts), rng)
    assert mechanism.discover(tally, Query(top=3)).items[:, 0].tolist() == [9, 7, 6]
    assert mechanism.discover(tally, Query()).items[:, 0].tolist() == [9, 7, 6, 8]


def test_items_beyond_the_universe_are_never_found() -> None:
    """A universe of 5 values is padded to 8, and the padding is not scored."""
    survey = create_survey("x", Categories(["a", "b", "c", "d"]), 4, mechanism="jl")
    mechanism = mechanism_for(survey)
    tally = mechanism.sample_tally(Histogram(np.array([[4]], np.uint64), np.array([1000])), np.random.default_rng(1))
    assert len(mechanism.discover(tally, Query(top=100, best_guess=True))) == 5


def test_a_dense_projection_has_no_shortcut() -> None:
    """Only hadamard rows are sampled at once; unlisted people are refused either way."""
    assert not jl(8, 1000, projection="dense").samples_at_once
    assert jl(8, 1000).samples_at_once
    crowd = Histogram(np.array([[1]], np.uint64), np.array([5]), singletons=3)
    with pytest.raises(ParameterError, match="3 singletons"):
        jl(8).sample_tally(crowd, np.random.default_rng(1))
