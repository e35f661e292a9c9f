"""Subset selection: its arrangements, its privacy by enumeration, and its error against the optimum's formula."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive
from tests.reference import subset as twin

from hubbub import (
    Categories,
    Histogram,
    Integers,
    ParameterError,
    SeededRandomWords,
    create_survey,
    find,
    find_hitters,
    load_survey,
    mechanism_for,
)
from hubbub.mechanisms.subset import match_chances, noise_of
from hubbub.model.mechanism import tally_of
from hubbub.numeric.arrangements import add_matches, places_of
from hubbub.testing import assert_binomial, assert_same_law, public_seed


def survey_of(values: int, epsilon: object, seed: int = 1):
    """A survey over so many names."""
    domain = Categories([f"name {k}" for k in range(values)], other=False)
    return create_survey("list", domain, epsilon, mechanism="subset", public_seed=public_seed(seed))


@given(st.integers(0, 2**64 - 1), st.integers(2, 40), st.data())
def test_arrangement_is_its_twin(seed: int, values: int, data: st.DataObject) -> None:
    """The kernel arranges as the slow twin does, and counts the matches that it counts."""
    window = data.draw(st.integers(1, values - 1))
    places = np.empty(values, np.int64)
    places_of(np.full(values, seed, np.uint64), np.arange(values, dtype=np.uint64), values, places)
    assert places.tolist() == twin.arrangement(seed, values)
    assert sorted(places.tolist()) == list(range(values))
    matches = np.zeros(values, np.int64)
    seeds, starts = [seed, seed ^ 1, seed // 3], [0, 1, values - 1]
    add_matches(np.array(seeds, np.uint64), np.array(starts), window, matches)
    assert matches.tolist() == twin.subset_tally(seeds, starts, values, window)


def test_windows_hold_every_pair_equally_often() -> None:
    """Over ids, a window that holds one value holds each other one with the chance that the estimates use."""
    values, window, many = 7, 3, 40_000
    seeds = np.random.default_rng(1).integers(0, 2**64, many, dtype=np.uint64)
    places = np.empty((values, many), np.int64)
    for value in range(values):
        places_of(seeds, np.full(many, value, np.uint64), values, places[value])
    for value in range(values):
        for place in range(values):
            assert_binomial(int((places[value] == place).sum()), many, 1 / values)
        for other in range(value):
            near = (places[other] - places[value]) % values
            for step in range(1, values):
                assert_binomial(int((near == step).sum()), many, 1 / (values - 1))
            both = (places[[value, other]] < window).all(axis=0)
            assert_binomial(int(both.sum()), many, window * (window - 1) / (values * (values - 1)))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5", "6"])
@pytest.mark.parametrize("values", [2, 3, 5, 12])
def test_privacy_by_enumeration(values: int, epsilon: str) -> None:
    """For fixed coins the exact chances of every window, counted in words, differ by at most e^ε between any values."""
    survey = survey_of(values, epsilon)
    mechanism = mechanism_for(survey)
    window, threshold = mechanism.window, mechanism.threshold
    items = np.arange(values, dtype=np.uint64)[:, np.newaxis]

    def starts(third: int, fourth: int) -> list[int]:
        random_words = np.array([[3, 5, third, fourth]] * values, np.uint64)
        return mechanism.randomize(items, random_words)["start"].tolist()

    def edges(parts: int) -> list[int]:
        """The least word of each part, and the end."""
        return [-(-part * 2**64 // parts) for part in range(parts)] + [2**64]

    # The third word says whether the fourth chooses among the windows with the value or among all.
    chances = [[Fraction(0)] * values for _ in range(values)]
    for low, high, parts in ((0, threshold - 1, window), (threshold, 2**64 - 1, values)):
        for first, end in pairwise(edges(parts)):
            named = starts(low, first)
            assert named == starts(high, end - 1) == starts(low, end - 1)
            for value, start in enumerate(named):
                chances[value][start] += Fraction((high - low + 1) * (end - first), 2**128)
    assert all(sum(row) == 1 for row in chances)
    worst = max(one[start] / other[start] for one in chances for other in chances for start in range(values))
    exact = (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()
    assert exact <= mechanism.guarantee.epsilon + Decimal("1e-25")
    assert mechanism.guarantee.epsilon <= Decimal(epsilon)


def optimum(values: int, epsilon: float) -> float:
    """The mean square error per report of subset selection with the best size of subsets (Ye and Barg 2018)."""
    best = math.inf
    for size in range(1, values):
        weight = size * math.exp(epsilon) + values - size
        held = size * math.exp(epsilon) / weight
        absent = held * (size - 1) / (values - 1) + (values - size) / weight * size / (values - 1)
        total = held * (1 - held) + (values - 1) * absent * (1 - absent)
        best = min(best, total / values / (held - absent) ** 2)
    return best


@pytest.mark.parametrize(
    "epsilon", [1.0, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.5, 2.0, 4.0, 6.0))]
)
def test_noise_is_that_of_subset_selection(epsilon: float) -> None:
    """It is the optimum for every list up to 200."""
    for values in range(2, 201):
        window = mechanism_for(survey_of(values, epsilon)).window
        assert noise_of(values, window, epsilon) == pytest.approx(optimum(values, epsilon), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "epsilon", "variance"), [(2, 1, 0.921), (2, 4, 0.0190), (3, 4, 0.0287), (11, 2, 0.542)]
)
def test_error_of_even_crowds(values: int, epsilon: float, variance: float) -> None:
    """The mean square error of the counts, over seeds, is that of the optimum with its own people's noise."""
    people, runs, total = 2_000, 200, 0.0
    held = np.repeat(np.arange(values, dtype=np.uint64), -(-people // values))[:people, np.newaxis]
    true = np.bincount(held[:, 0].astype(np.int64), minlength=values)
    for run in range(runs):
        survey = survey_of(values, epsilon, run)
        mechanism = mechanism_for(survey)
        tally = tally_of(mechanism, held, SeededRandomWords(run).draw(people, 4))
        counts = mechanism.estimate(tally, np.arange(values, dtype=np.uint64)[:, np.newaxis]).counts
        total += float(((counts - true) ** 2).mean()) / people / runs
    # 200 runs of at least one free count each: 40 % off would have a chance of 10^-4 with fresh seeds.
    assert total == pytest.approx(variance, rel=0.35)


@pytest.mark.parametrize("values", [2, 5, 12])
def test_counts_add_up(values: int) -> None:
    """Every report matches as many values, so that the counts of all sum to the reports."""
    survey = survey_of(values, "0.5")
    mechanism = mechanism_for(survey)
    items = np.random.default_rng(1).integers(0, values, (500, 1), np.uint64)
    tally = tally_of(mechanism, items, SeededRandomWords(1).draw(500, 4))
    assert tally.cells.sum() == 500 * mechanism.window
    counts = mechanism.estimate(tally, np.arange(values, dtype=np.uint64)[:, np.newaxis]).counts
    assert counts.sum() == pytest.approx(500, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("values", "epsilon"), [(5, "0.5"), (7, "1"), (10, "1.5")])
def test_sampler_draws_the_joint_law(values: int, epsilon: str) -> None:
    """Matches of several values move together as they do person by person."""
    survey = survey_of(values, epsilon)
    mechanism = mechanism_for(survey)
    counts = np.arange(values, dtype=np.int64) * 4
    items = np.arange(values, dtype=np.uint64)[:, np.newaxis]
    crowd, held = Histogram(items, counts), np.repeat(items, counts, axis=0)
    rng, source = np.random.default_rng(2), SeededRandomWords(3)
    directions = np.concatenate([np.ones((1, values)), rng.normal(size=(3, values)), np.eye(values)[[0, values - 1]]])
    drawn = [directions @ mechanism.sample_tally(crowd, rng).cells for _ in range(1_000)]
    real = [directions @ tally_of(mechanism, held, source.draw(len(held), 4)).cells for _ in range(1_000)]
    for first, second in zip(np.array(drawn).T, np.array(real).T, strict=True):
        assert_same_law(first.round(9), second.round(9))


def test_sampler_takes_more_people_than_one_draw() -> None:
    """Two thousand million people are drawn in parts, and counted within six standard errors."""
    survey = survey_of(6, "1")
    mechanism = mechanism_for(survey)
    counts = np.array([10**9, 5 * 10**8, 3 * 10**8, 2 * 10**8, 7, 0], np.int64)
    items = np.arange(6, dtype=np.uint64)[:, np.newaxis]
    tally = mechanism.sample_tally(Histogram(items, counts), np.random.default_rng(1))
    estimates = mechanism.estimate(tally, items)
    assert tally.count == counts.sum()
    assert (np.abs(estimates.counts - counts) < 6 * estimates.stderrs).all()


def test_influence_is_what_one_report_adds() -> None:
    """A report that names a window with a value adds the most to its count, and any other the least."""
    survey = survey_of(9, "1")
    mechanism = mechanism_for(survey)
    items = np.arange(9, dtype=np.uint64)[:, np.newaxis]
    before = tally_of(mechanism, items, SeededRandomWords(1).draw(9, 4))
    one = tally_of(mechanism, items[:1], SeededRandomWords(2).draw(1, 4))
    moved = mechanism.estimate(before + one, items).counts - mechanism.estimate(before, items).counts
    most, least = mechanism.influence
    assert np.allclose(moved, np.where(one.cells == 1, most, least))


def test_long_lists_are_refused_in_a_sentence() -> None:
    """Lists of up to 4,096 values; for more there is `tree`."""
    with pytest.raises(ParameterError, match=r"subset must have a universe of at most 4096 values, got 8192"):
        create_survey("ids", Integers(13), 1, mechanism="subset")
    assert mechanism_for(create_survey("ids", Integers(12), 1, mechanism="subset")).window == 1102


def test_hash_of_the_id_chooses_the_arrangement() -> None:
    """The seed of an arrangement is the public hash of the report's id under the key of its purpose."""
    survey = survey_of(8, "1")
    mechanism = mechanism_for(survey)
    random_words = np.array([[11, 12, 0, 0]], np.uint64)
    key = naive.half_sip_hash(survey.public_seed[:8], (13).to_bytes(4, "little") + survey.public_seed[8:])
    hashed = naive.half_sip_hash(key, (11 | 12 << 64).to_bytes(16, "little"))
    places = twin.arrangement(int.from_bytes(hashed, "little"), 8)
    for value in range(8):
        assert mechanism.randomize(np.array([[value]], np.uint64), random_words)["start"][0] == places[value]


@pytest.mark.parametrize(
    ("domain", "epsilon", "name"),
    [
        (Categories(["yes", "no"], other=False), 1, "subset"),
        (Categories(["yes", "no"]), "0.1", "subset"),
        (Integers(6), 4, "subset"),
        (Integers(12), 1, "tree"),  # 4,096 values: less than 1 % would be gained
        (Integers(12), 8, "subset"),  # above what tree takes
        (Integers(13), 4, "tree"),
        (Integers(64), 1, "tree"),
    ],
)
def test_it_is_chosen_where_it_is_better(domain, epsilon: object, name: str) -> None:
    """Without a name, a survey holds the mechanism with the lower predicted error; a name is taken as it is."""
    survey = create_survey("list", domain, epsilon)
    assert survey.mechanism == name
    if float(str(epsilon)) <= 6:
        tree = mechanism_for(create_survey("list", domain, epsilon, mechanism="tree"))
        assert mechanism_for(survey).noise_stderr(1_000) <= 1.1 * tree.noise_stderr(1_000)


@pytest.mark.parametrize("mechanism", ["subset", "tree"])
@pytest.mark.parametrize("epsilon", ["0.000000000000001", "0.000000001", "0.000001"])
def test_nothing_but_noise_says_nothing(epsilon: str, mechanism: str) -> None:
    """Where a standard error is that of millions of crowds, every interval is from nobody to everybody."""
    for values, people in ((2, 100), (9, 1_000), (100, 100_000)):
        domain = Categories([f"v{k}" for k in range(values)], other=False)
        answer = find(["v0"] * people, epsilon, domain, mechanism, seed=1)
        assert {(row.low, row.high) for row in answer.hitters} == {(0.0, people)}
        assert not any(row.stands_out or row.ahead_of for row in answer.hitters)


@pytest.mark.parametrize("mechanism", ["subset", "tree"])
def test_a_threshold_that_tells_nothing_is_answered(mechanism: str) -> None:
    """A survey may carry the least threshold there is: 2^−64 of the people tell the truth."""
    survey = create_survey("t", Categories(["yes", "no", "maybe"]), 1, mechanism=mechanism, public_seed=public_seed(1))
    document = json.loads(survey.to_json())
    document["parameters"]["keep_threshold"] = "1"
    survey = load_survey(json.dumps(document, sort_keys=True, separators=(",", ":")))
    items = survey.domain.encode(["yes"] * 500)
    tally = tally_of(mechanism_for(survey), items, SeededRandomWords(1).draw(500, 4))
    assert {(row.low, row.high) for row in find_hitters(survey, tally).hitters} == {(0.0, 500.0)}


@pytest.mark.parametrize("epsilon", ["0.000001", "37", "40", "200", "1000"])
def test_extreme_epsilons_are_answered(epsilon: str) -> None:
    """With next to no noise counts are whole and intervals tight; with nothing but noise they say nothing."""
    for other in (True, False):
        answer = find(["yes"] * 90 + ["no"] * 10, epsilon, Categories(["yes", "no"], other=other), seed=1)
        assert answer.whole_list
        assert all(0 <= row.low <= row.high <= 100 for row in answer.hitters)
        if float(epsilon) > 1:
            assert [round(row.count, 6) for row in answer.hitters][:2] == [90, 10]
            assert answer.hitters[0].ahead_of == 1 + other
        else:
            assert not any(row.stands_out or row.ahead_of for row in answer.hitters)


def blocks_noise(values: int, blocks: int, epsilon: float, apart: bool) -> float:
    """The variance per report of an absent value's count, if a device names one of some blocks of nearly equal size.

    Blocks of the two sizes are counted apart or together.
    """
    sizes = np.bincount(np.arange(values) * blocks // values, minlength=blocks)
    keep, other = math.exp(epsilon) / (math.exp(epsilon) + blocks - 1), 1 / (math.exp(epsilon) + blocks - 1)
    information = 0.0
    for kinds in [{size} for size in sizes.tolist()] if apart else [set(sizes.tolist())]:
        of_kind = sizes[np.isin(sizes, list(kinds))]
        named = (keep * of_kind / values + other * (1 - of_kind / values)).sum()
        held = keep * of_kind.sum() / values / named
        shared = (of_kind * (of_kind - 1)).sum() / (values * (values - 1))
        absent = (keep * shared + other * (of_kind.sum() / values - shared)) / named
        share = named / (len(of_kind) if apart else 1)
        information += share * (held - absent) ** 2 / (absent * (1 - absent))
    return 1 / information


@pytest.mark.slow
@pytest.mark.parametrize(("apart", "worst"), [(False, 1.083), (True, 1.038)])
def test_blocks_would_cost_what_the_decision_says(apart: bool, worst: float) -> None:
    """docs/decisions.md, 7: by the noise of absent values, blocks lose most with 5 values at ε = 0.5."""
    ratios = {}
    for values in range(2, 61):
        best = min(blocks_noise(values, blocks, 0.5, apart) for blocks in range(2, values + 1))
        windows = []
        for window in range(1, values):
            gain = window * math.expm1(0.5)
            held, absent = match_chances(values, window, values / (gain + values))
            windows.append(absent * (1 - absent) / (held - absent) ** 2)
        ratios[values] = best / min(windows)
    assert max(ratios, key=ratios.__getitem__) == 5
    assert ratios[5] == pytest.approx(worst, abs=5e-4)
