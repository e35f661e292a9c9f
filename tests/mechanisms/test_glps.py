"""GLPS-HH: scales, sensitivity of a slot, how many people it needs, and what a survey may ask of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from hubbub import Bytes, Histogram, Integers, create_survey, mechanism_for
from hubbub.cli.main import app
from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import load_survey
from hubbub.model.estimates import Query
from hubbub.numeric.tails import binomial_tail
from hubbub.simulation import population
from hubbub.testing import FALSE_ALARM, assert_unit_spread, public_seed

BEST = Query(top=1, best_guess=True)


def survey_of(bits: int = 32, people: int = 100_000, seed: int = 1, epsilon: object = 1, delta=None, **options):
    """A survey of 2^bits values."""
    return create_survey("x", Integers(bits), epsilon, delta, "glps", options, people, public_seed=public_seed(seed))


def glps(*arguments, **more):
    """A mechanism of 2^bits values."""
    return mechanism_for(survey_of(*arguments, **more))


def test_the_paper_s_sparsity() -> None:
    """Oracle 5: s = 8.506 for a million people, rounded; never more than the universe or the rows allow."""
    assert glps(people=10**6, calibration="paper").layout.sparsity == 9
    assert glps(people=10**6, calibration="onebit").layout.sparsity == 9
    assert glps(people=10).layout.sparsity == 1
    assert glps(bits=8, people=10**9).layout.sparsity == 4
    assert glps(people=10**12).layout.sparsity == 64
    wide = glps(bits=512, people=10**12)
    assert wide.layout.sparsity == 64
    assert wide.layout.cells <= 2**21
    assert glps(sparsity=3).layout.sparsity == 3


def test_scales() -> None:
    """The scale is √(8m·ln(1/δ))/ε for the paper and about 8.449·√slots where the loss is counted by slots (E23)."""
    paper = glps(calibration="paper", sparsity=4)
    assert 1 / float(paper.channel.noise.rate) == pytest.approx(math.sqrt(8 * 6432 * math.log(1e6)), rel=1e-9)
    tight = glps(calibration="tight", sparsity=4)
    assert 1 / float(tight.channel.noise.rate) == pytest.approx(8.449 * math.sqrt(421), rel=5e-3)
    # With few slots plain composition is better than any δ can be: 2·slots/ε.
    few = glps(bits=1, calibration="tight", delta="1e-12", layout="lean", sparsity=1)
    assert few.layout.slots == 20
    assert 1 / float(few.channel.noise.rate) == pytest.approx(40, rel=1e-2)


@pytest.mark.parametrize("layout", ["staged", "lean"])
def test_two_values_differ_by_two_in_every_slot(layout: str) -> None:
    """The sum of differences over a slot is at most 2, for all pairs of 64 values; the channel says so."""
    mechanism = glps(bits=6, calibration="tight", layout=layout)
    answers = mechanism.responses(np.arange(64, dtype=np.uint64)[:, np.newaxis]).astype(int)
    assert set(np.unique(answers)) == {-1, 0, 1}
    apart = np.abs(answers[:, np.newaxis] - answers[np.newaxis])
    by_slot = np.add.reduceat(apart, mechanism.operator.first_cells, axis=2)
    assert by_slot.max() == 2 == mechanism.channel.step
    assert by_slot.shape[2] == mechanism.channel.groups == mechanism.layout.slots
    assert (apart > 0).sum(axis=2).max() <= mechanism.channel.changed
    assert mechanism.channel.coordinates == mechanism.layout.cells


def found_in(bits: int, people: int, share: float, runs: int = 16, **options) -> int:
    """In how many runs the heavy hitter beside 200 equal values is found."""
    found = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        mechanism = glps(bits, people, seed, **options)
        crowd = population.heavy(people, share, 200, bits, rng)
        best = mechanism.discover(mechanism.sample_tally(crowd, rng), BEST)
        found += len(best) == 1 and np.array_equal(best.items[0], crowd.items[0])
    return found


STAGED, LEAN = {"layout": "staged", "sparsity": 4}, {"layout": "lean", "sparsity": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "share", "people", "options"),
    [
        (32, 0.5, 2.3e7, {**STAGED, "decoder": "faithful", "calibration": "paper"}),
        (32, 0.2, 3.2e4, {**STAGED, "decoder": "refit", "calibration": "onebit"}),
        (32, 0.2, 5.8e6, {**LEAN, "decoder": "refit", "calibration": "paper"}),
        (32, 0.1, 2.1e6, {**LEAN, "decoder": "refit", "calibration": "tight"}),
        (32, 0.2, 1.6e4, {**LEAN, "decoder": "refit", "calibration": "onebit"}),
        (62, 0.5, 4.8e3, {**LEAN, "decoder": "refit", "calibration": "onebit"}),
    ],
)
def test_how_many_people_it_takes(bits: int, share: float, people: float, options: dict) -> None:
    """The least people for 15 of 16 runs (ε = 1, δ = 10⁻⁶) are within half of the expected number."""
    assert found_in(bits, int(1.5 * people), share, **options) >= 15
    assert found_in(bits, int(0.5 * people), share, **options) < 15


@pytest.mark.slow
def test_faithful_identifies_the_value_before_it_ranks_it_first() -> None:
    """A fifth of 62-bit values, `tight`: with 14 million people it is first, with 3.5 million among v̂ but not first.

    Medians of seven rows are what takes more people. Each is held to nine of ten runs by an exact tail.
    """
    options = {**STAGED, "decoder": "faithful", "calibration": "tight"}

    def runs_with(people: int, runs: int) -> tuple[int, int]:
        first = among = 0
        for seed in range(runs):
            rng = np.random.default_rng([seed, 8])
            mechanism = glps(62, people, seed, **options)
            crowd = population.heavy(people, 0.2, 200, 62, rng)
            items, _ = mechanism.recover(mechanism.sample_tally(crowd, rng))
            same = (items == crowd.items[0]).all(axis=1)
            first, among = first + int(same[0]), among + int(same.any())
        return first, among

    enough, _ = runs_with(14_000_000, 40)
    assert_at_least(enough, 40, 0.9)
    first, among = runs_with(3_500_000, 120)
    assert_at_least(among, 120, 0.9)
    with pytest.raises(AssertionError):
        assert_at_least(first, 120, 0.9)


def assert_at_least(successes: int, runs: int, chance: float) -> None:
    """Successes of runs that succeed with at least this chance; wrong with probability at most 10⁻⁹."""
    p = binomial_tail(runs - successes, runs, 1 - chance)
    assert p >= FALSE_ALARM, f"{successes} of {runs} runs is less than {chance:.0%}: p = {p:.3g}"


@pytest.mark.slow
def test_simulate_finds_a_fifth_of_24000_people() -> None:
    """Lean, one bit, 2^32 values: found in at least 90 % of 30 runs, by the command."""
    command = "simulate --mechanism glps -o calibration=onebit -o layout=lean --bits 32 --heavy 0.2 --people 24000"
    result = CliRunner().invoke(app, [*command.split(), "--runs", "30", "--seed", "1", "--json"])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed["success_rate"] >= 0.9
    assert printed["mean_error"] < printed["bound"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "options"),
    [
        (16, {"layout": "staged", "sparsity": 3}),
        (32, {"layout": "lean", "sparsity": 1}),
        (32, {"layout": "staged", "sparsity": 1, "decoder": "faithful"}),
    ],
)
def test_the_detection_limit_is_about_right(bits: int, options: dict) -> None:
    """A value held by the stated limit is found in most runs, and one held by a third of it is not."""
    people = 1_000_000
    rng = np.random.default_rng(6)
    alone = Histogram(np.empty((0, 1), np.uint64), np.empty(0, np.int64), singletons=people)
    empty = glps(bits, people, **options)
    limit = empty.discover(empty.sample_tally(alone, rng), Query()).detection_limit
    rates = []
    for part in (1.0, 0.33):
        right = 0
        for seed in range(12):
            mechanism = glps(bits, people, 100 + seed, **options)
            item, count = population.random_items(1, bits, rng), int(limit * part)
            crowd = Histogram(item, np.array([count]), singletons=people - count)
            found = mechanism.discover(mechanism.sample_tally(crowd, rng), Query())
            right += len(found) > 0 and np.array_equal(found.items[0], item[0])
        rates.append(right / 12)
    assert rates[0] >= 0.75
    assert rates[1] <= 0.25


@pytest.mark.parametrize("decoder", ["faithful", "refit"])
def test_several_values_at_once(decoder: str) -> None:
    """Three values of a billion people, with the others alone: found in order, within their errors, and no other."""
    rng = np.random.default_rng(5)
    counts = np.array([300_000_000, 150_000_000, 90_000_000], np.int64)
    crowd = Histogram(population.random_items(3, 64, rng), counts, singletons=460_000_000)
    mechanism = glps(64, 10**9, epsilon=2, decoder=decoder, sparsity=4)
    tally = mechanism.sample_tally(crowd, rng)
    assert tally.count == 10**9
    found = mechanism.discover(tally, Query())
    assert np.array_equal(found.items, crowd.items)
    assert (np.abs(found.counts - counts) <= 6 * found.stderrs).all()
    assert len(mechanism.discover(tally, Query(top=2))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["onebit", "tight"])
def test_counts_have_the_stated_error(calibration: str) -> None:
    """Normalised errors of present and absent values over 300 seeds; errors as if noise were all are refused."""
    errors, idle = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        mechanism = glps(20, 40_000, seed, epsilon=4, calibration=calibration, layout="lean", sparsity=1)
        crowd = population.heavy(40_000, 0.9, 3, 20, rng)
        asked = np.concatenate([crowd.items[:2], np.array([[7]], np.uint64)])
        estimates = mechanism.estimate(mechanism.sample_tally(crowd, rng), asked)
        errors.append((estimates.counts - [*crowd.counts[:2], 0]) / estimates.stderrs)
        idle.append((estimates.counts - [*crowd.counts[:2], 0]) / mechanism.noise_stderr(40_000))
    assert_unit_spread(np.ravel(errors), slack=0.1)
    with pytest.raises(AssertionError, match="standard errors"):
        assert_unit_spread(np.ravel(idle), slack=0.1)


@pytest.mark.parametrize("domain", [Integers(1), Integers(2), Integers(65), Bytes(16)], ids=repr)
def test_any_universe(domain) -> None:
    """Everyone holds one value: it is found, alone, whatever the width of the universe."""
    survey = create_survey("x", domain, 4, None, "glps", {"layout": "lean"}, 10_000, public_seed=public_seed(2))
    mechanism = mechanism_for(survey)
    crowd = Histogram(domain.encode(["0"]), np.array([10**7], np.int64))
    found = mechanism.discover(mechanism.sample_tally(crowd, np.random.default_rng(1)), Query())
    assert domain.decode(found.items) in ([0], ["0"])
    assert found.counts[0] == pytest.approx(10**7, rel=1e-2)


@pytest.mark.parametrize("layout", ["staged", "lean"])
def test_a_billion_people_have_the_law_of_their_rows(layout: str) -> None:
    """The rows of one value, from a billion people's one-bit reports: ±count, with a standard error of C·√(slots·n)."""
    mechanism = glps(32, 10**9, layout=layout, sparsity=2)
    item = np.array([[123456789]], np.uint64)
    tally = mechanism.sample_tally(Histogram(item, np.array([10**9])), np.random.default_rng(3))
    expected = mechanism.operator.measure(item, np.array([1e9]))
    spread = mechanism.channel.gain * math.sqrt(1e9 * mechanism.layout.slots)
    errors = (mechanism.measurements(tally) - expected) / spread
    assert_unit_spread(errors)
    with pytest.raises(AssertionError, match="standard errors"):
        assert_unit_spread(errors * math.sqrt(1.5))  # had reports been divided among half as many slots again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sparsity": "0"}, "option sparsity must be between 0 and 65, got '0'"),
        ({"sparsity": "1.5"}, "option sparsity must be paper or a whole number, got 1.5"),
        ({"sparsity": "many"}, "option sparsity must be paper or a number, got 'many'"),
        ({"layout": "wide"}, "option layout must be one of staged, lean"),
    ],
)
def test_options_are_refused(options: dict, message: str) -> None:
    """One sentence with the rule and the value."""
    with pytest.raises(ParameterError, match=message):
        survey_of(**options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bucket_bits": [3, 3]}, "lists of one length"),
        ({"bucket_bits": []}, "must be a list of 1 to 16"),
        ({"bucket_bits": [33]}, "must be a whole number from 0 to 20"),
        ({"bucket_bits": ["3"]}, "must be a whole number"),
        ({"code_rows": [29]}, "above the 29 bits of a message"),
        ({"estimate_bits": [20], "estimates": 64}, "at most 2097152 rows"),
        ({"repeats": 0}, "must be a whole number from 1 to 16"),
        ({"sparsity": True}, "must be a whole number"),
        ({"extra": 1}, "must not have other fields"),
    ],
)
def test_surveys_are_untrusted(changes: dict, message: str) -> None:
    """A survey with other sizes than an operator can have is refused."""
    survey = survey_of(layout="lean", sparsity=1)
    wrong = replace(survey, parameters={**survey.parameters, **changes})
    with pytest.raises(ParameterError, match=message):
        load_survey(wrong.to_json())
