"""Answers: simultaneous intervals, confidence, and what happens at the edges."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hubbub import (
    Bytes,
    Categories,
    Estimates,
    Histogram,
    Integers,
    Question,
    SeededRandomWords,
    Survey,
    Tally,
    create_survey,
    find_hitters,
    mechanism_for,
)
from hubbub.analysis.intervals import simultaneous_width
from hubbub.errors import ParameterError, SurveyMismatch
from hubbub.model.estimates import Query
from hubbub.numeric.count_law import gaussian_law, response_law
from hubbub.numeric.tails import binomial_tail, normal_quantile, normal_tail
from hubbub.simulation import population
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed


def answer(domain, crowd: Histogram, seed: int, mechanism: str = "jl", epsilon: object = 1, **options):
    """The answer of one simulated survey."""
    survey = create_survey("x", domain, epsilon, None, mechanism, options, crowd.people, public_seed=public_seed(seed))
    built = mechanism_for(survey)
    return find_hitters(survey, built.sample_tally(crowd, np.random.default_rng(seed)), decoder=built)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "bits", "people", "options"),
    [
        ("jl", 12, 1_000_000, {}),
        ("jl", 12, 20_000_000, {"calibration": "tight"}),
        ("naive-laplace", 8, 100_000, {}),
        ("bucket", 24, 3_000_000, {}),
    ],
)
def test_whole_answers_are_wrong_at_most_as_often_as_the_level(mechanism, bits, people, options) -> None:
    """Over 60 crowds, answers with a value nobody holds or a missed interval are within 5 %, by the exact tail."""
    wrong = found = 0
    runs = 60
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        crowd = population.zipf(people, 1.3, 200, bits, rng)
        true = {int(item[0]): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
        hitters = answer(Integers(bits), crowd, seed, mechanism, **options).hitters
        found += len(hitters)
        wrong += any(h.value not in true or not h.low <= true[h.value] <= h.high for h in hitters)
    assert found >= runs
    assert binomial_tail(wrong, runs, 0.05) > 0.001  # 10 are too many: a sixth, as with 200 runs and a billionth


def test_intervals_are_not_idle() -> None:
    """The width is far below a union bound over the universe, and grows as the level falls."""
    law, threshold, extra = gaussian_law(10**6), 9.5 * 1000, 1000.0**2
    width = simultaneous_width(law, 2**64, threshold, extra, 0.025)
    assert 3 < width < 4
    assert simultaneous_width(law, 2**64, threshold, extra, 0.0001) > width
    assert simultaneous_width(law, 2**64, -math.inf, extra, 0.025) > 9
    assert simultaneous_width(gaussian_law(0), 2**64, 100.0, extra, 0.025) == 0


@pytest.mark.parametrize(("size", "held"), [(1024, 900), (1024, 90), (2**40, 6000), (2**40, 50)])
def test_the_width_is_enough_for_crowds_of_equal_counts(size: int, held: int) -> None:
    """If all values are held alike, the exact chance of a miss is within the level, and not idly small for some."""
    people, level = 900_000, 0.025
    law = response_law(people, 4, 0.3)
    threshold = law.threshold(math.log(level / size))
    width = simultaneous_width(law, size, threshold, 0.0, level)
    values = min(people // held, size)
    passing, alpha = math.exp(float(law.log_chances(threshold, held)[0])), float(normal_tail(width))
    failing = math.exp(float(law.log_chances(threshold, held)[1]))
    assert values * (min(alpha, passing) + max(0.0, alpha - failing)) <= level
    assert alpha * people >= level / 4


@pytest.mark.parametrize("mechanism", ["jl", "bucket", "glps", "naive-laplace"])
def test_nothing_stands_out(mechanism: str) -> None:
    """A crowd of distinct values gives no hitter, and a finite limit says what could have been seen."""
    crowd = population.uniform(5000, 255, 8, np.random.default_rng(1))
    got = answer(Integers(8), crowd, 4, mechanism)
    assert got.hitters == ()
    assert 0 < got.detection_limit < math.inf
    assert got.reports == 5000


@pytest.mark.parametrize("mechanism", ["jl", "bucket", "naive-laplace"])
@pytest.mark.parametrize("people", [0, 1, 10])
def test_tiny_crowds(mechanism: str, people: int) -> None:
    """No reports, one, ten: no crash and nothing found."""
    crowd = Histogram(np.array([[3]], np.uint64), np.array([people], np.int64))
    survey = create_survey("x", Integers(8), 1, mechanism=mechanism, public_seed=public_seed(1))
    tally = mechanism_for(survey).sample_tally(crowd, np.random.default_rng(1))
    got = find_hitters(survey, tally)
    assert got.hitters == ()
    assert got.detection_limit == math.inf if people == 0 else got.detection_limit > people


def test_everyone_holds_one_value() -> None:
    """All people on one value: it is the only hitter, with nearly all of them."""
    for mechanism in ("jl", "bucket", "glps", "naive-laplace"):
        crowd = Histogram(np.array([[77]], np.uint64), np.array([200_000], np.int64))
        (hitter,) = answer(Integers(8), crowd, 1, mechanism).hitters
        assert hitter.value == 77
        assert hitter.low <= 200_000 <= hitter.high
        assert hitter.confidence > 0.999999
        assert hitter.share == pytest.approx(hitter.count / 200_000)


def test_other_is_a_hitter_too() -> None:
    """Values outside the list are counted together."""
    domain = Categories(["a", "b"])
    crowd = Histogram(domain.encode(["nowhere"]), np.array([50_000]))
    assert answer(domain, crowd, 1).hitters[0].value == "(other)"


def test_items_that_are_no_text_are_dropped() -> None:
    """A decoded item that is not UTF-8 is not shown as a value."""
    domain = Bytes(2)
    crowd = Histogram(np.array([[0xFFFF]], np.uint64), np.array([50_000]))
    assert answer(domain, crowd, 1).hitters == ()


def test_foreign_tallies_are_refused() -> None:
    """A tally of another survey or shape is an error, never an answer."""
    survey = create_survey("x", Integers(8), 1, mechanism="jl")
    mechanism = mechanism_for(survey)
    with pytest.raises(SurveyMismatch, match="a tally must be of survey"):
        mechanism.discover(Tally(bytes(32), 1, np.zeros(256, np.int64)), Query())
    with pytest.raises(ParameterError, match="shape"):
        mechanism.estimate(Tally(survey.survey_id, 1, np.zeros(255, np.int64)), np.zeros((1, 1), np.uint64))
    with pytest.raises(SurveyMismatch, match="merge only within one survey"):
        Tally(bytes(32), 1, np.zeros(2, np.int64)) + Tally(bytes(31) + b"x", 1, np.zeros(2, np.int64))


def test_tallies_are_values() -> None:
    """Equal tallies are equal, others are not, and none can be a key."""
    one = Tally(bytes(32), 1, np.array([1, 2]))
    assert one == Tally(bytes(32), 1, np.array([1, 2]))
    assert one != Tally(bytes(32), 1, np.array([1, 3]))
    assert one != "tally"
    with pytest.raises(TypeError):
        hash(one)
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    "arguments",
    [{"top": 0}, {"top": True}, {"top": 1.0}, {"level": 0}, {"level": 1}, {"level": "x"}, {"level": 5e-324}],
)
def test_bad_queries(arguments: dict) -> None:
    """A query that cannot be is refused by name."""
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        Query(**arguments)


# Candidates: values named in advance.

MECHANISMS = ("tree", "jl", "bucket", "glps", "naive-laplace")


def listed_answer(mechanism: str, bits: int, crowd: Histogram, seed: int, epsilon: object = 1, top: int = 20, **listed):
    """The answer of one rehearsed survey to a list of candidates."""
    domain = Integers(bits)
    survey = create_survey("x", domain, epsilon, None, mechanism, {}, crowd.people, public_seed=public_seed(seed))
    built = mechanism_for(survey)
    if hasattr(built, "sample_tally"):
        tally = built.sample_tally(crowd, np.random.default_rng(seed))
    else:
        tally = rehearse(built, [np.repeat(crowd.items, crowd.counts, axis=0)], SeededRandomWords(seed))
    return find_hitters(survey, tally, top=top, decoder=built, **listed)


def crowd_of(**counts: int) -> Histogram:
    """Named counts of numbers: n7=100 is 100 people with 7."""
    items = np.array([[int(name[1:])] for name in counts], np.uint64)
    return Histogram(items, np.array(list(counts.values()), np.int64))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["tree", "bucket"])
def test_candidates_are_seen_below_the_limit_of_the_search(mechanism: str) -> None:
    """A value too small for the search is found by name, and its interval holds its count."""
    crowd = crowd_of(n123456=12_000, n777777=2_400, **{f"n{1000 + k}": 4 for k in range(1400)})
    got = listed_answer(mechanism, 32, crowd, 4, candidates=[777_777, 5])
    assert got.candidate_limit < 2_400 < got.detection_limit
    assert [(h.value, h.listed) for h in got.hitters] == [(123_456, False), (777_777, True)]
    assert got.hitters[1].low <= 2_400 <= got.hitters[1].high
    assert got.hitters[1].confidence > 1 - 0.0125


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "people"),
    [
        ("tree", 1, 2000),
        ("tree", 6, 40),
        ("jl", 1, 2000),
        ("bucket", 1, 2000),
        ("glps", 1, 2000),
        ("naive-laplace", 1, 300),
    ],
)
def test_lists_of_absent_values_give_no_false_alarms(mechanism: str, epsilon: int, people: int) -> None:
    """Over 120 crowds, answers with a value nobody holds are within their half of the level, by the exact tail."""
    crowd = population.uniform(people, 60, 6, np.random.default_rng(1))
    held = set(crowd.items[:, 0].tolist())
    absent = [value for value in range(64) if value not in held]
    wrong = 0
    for seed in range(120):
        got = listed_answer(mechanism, 6, crowd, seed, epsilon, candidates=absent)
        wrong += any(h.value not in held for h in got.hitters)
    assert binomial_tail(wrong, 120, 0.025) > 0.001


def test_search_and_list_share_the_level() -> None:
    """The search asks for what it asks for at half the level, and a candidate for a quarter over the candidates."""
    crowd = crowd_of(n1=10_000, n2=10_000)
    alone = answer(Integers(8), crowd, 1, "jl")
    got = listed_answer("jl", 8, crowd, 1, candidates=range(10, 20))
    survey = create_survey("x", Integers(8), 1, None, "jl", {}, 20_000, public_seed=public_seed(1))
    built = mechanism_for(survey)
    tally = built.sample_tally(crowd, np.random.default_rng(1))
    assert got.detection_limit == built.discover(tally, Query(level=0.025)).detection_limit > alone.detection_limit
    stderr = float(built.estimate(tally, np.array([[10]], np.uint64)).stderrs[0])
    limit = (normal_quantile(0.05 / 4 / 10) + normal_quantile(0.05)) * stderr
    assert got.candidate_limit == pytest.approx(limit, rel=1e-3)
    assert alone.candidate_limit is None


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 4])
def test_limit_of_a_candidate_counts_shared_buckets(epsilon: int) -> None:
    """At its limit a candidate is seen with 95 %, shared buckets included; at 99 % of the limit, with less."""
    survey = create_survey("x", Integers(64), epsilon, expected_reports=30_000, public_seed=public_seed(1))
    built = mechanism_for(survey)
    crowd = population.uniform(30_000, 30_000, 64, np.random.default_rng(1))
    got = find_hitters(survey, built.sample_tally(crowd, np.random.default_rng(2)), decoder=built, candidates=[7])
    chances = [built.named_chance(30_000, part * got.candidate_limit, math.log(0.05 / 4)) for part in (1.0, 0.99)]
    assert chances[0] >= 0.95 > chances[1]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_all_candidates_have_a_row_that_holds(mechanism: str) -> None:
    """Every candidate has one row, largest first; over 60 crowds the rows miss within the level, by the exact tail."""
    named = [3, 50, 51, 52, 53]
    wrong = 0
    crowd = crowd_of(n3=500, n7=900, n50=40, **{f"n{k}": 6 for k in range(20, 40)})
    true = {int(item[0]): int(count) for item, count in zip(crowd.items, crowd.counts, strict=True)}
    for seed in range(60):
        got = listed_answer(mechanism, 6, crowd, seed, 2, top=2, candidates=named, all_candidates=True)
        assert sorted(h.value for h in got.hitters if h.listed) == named
        counts = [h.count for h in got.hitters]
        assert counts == sorted(counts, reverse=True)
        wrong += any(not h.low <= true.get(h.value, 0) <= h.high for h in got.hitters)
    assert binomial_tail(wrong, 60, 0.05) > 0.001


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_candidate_that_the_search_finds_appears_once(mechanism: str) -> None:
    """It is one row, marked, with the estimate of the search and the confidence of the list."""
    crowd = crowd_of(n9=6_000, **{f"n{k}": 30 for k in range(20, 60)})
    plain = listed_answer(mechanism, 6, crowd, 1, candidates=[61])
    got = listed_answer(mechanism, 6, crowd, 1, candidates=[9, 9, "9", 61])
    (row,), (before,) = ([h for h in each.hitters if h.value == 9] for each in (got, plain))
    assert (row.listed, before.listed) == (True, False)
    assert (row.count, row.stderr, row.low, row.high) == (before.count, before.stderr, before.low, before.high)
    assert row.confidence >= before.confidence


def test_top_limits_the_rows_unless_all_are_asked_for() -> None:
    """Found and named values together are at most as many as asked for, the largest first."""
    crowd = crowd_of(n1=4_000, n2=3_000, n3=2_000)
    got = listed_answer("jl", 6, crowd, 1, 3, top=2, candidates=[3])
    assert [h.value for h in got.hitters] == [1, 2]
    got = listed_answer("jl", 6, crowd, 1, 3, top=1, candidates=[3], all_candidates=True)
    assert [h.value for h in got.hitters] == [1, 3]


def test_repeated_and_foreign_candidates_are_left_out() -> None:
    """Two spellings of one value count once, and what becomes "(other)" not at all."""
    domain = Categories(["a", "\u00e9", "c"])
    asked = Question(candidates=["e\u0301", "a", "\u00e9", "nowhere", None]).about(domain)
    assert domain.decode(asked.named) == ["\u00e9", "a"]
    assert (asked.candidates, asked.foreign) == (2, 1)
    assert Bytes(4).decode(Question(candidates=["", "(other)"]).about(Bytes(4)).named) == ["", "(oth"]


def test_candidates_follow_the_rules_of_values() -> None:
    """Missing ones go, and whole floats are whole numbers where values are numbers."""
    asked = Question(candidates=["13.0", None, math.nan, 7.0, "x", ""]).about(Integers(8))
    assert (Integers(8).decode(asked.named), asked.foreign) == ([13, 7], 2)
    assert Bytes(4).decode(Question(candidates=["13.0", None]).about(Bytes(4)).named) == ["13.0"]


def test_half_a_character_is_no_candidate() -> None:
    """A domain would replace a lone surrogate, and the answer would be about another value."""
    with pytest.raises(ParameterError, match=r"candidates must be texts that UTF-8 can write, got 'a\\ud800'"):
        Question(candidates=["tea", "a\ud800"]).about(Bytes(4))


def test_all_candidates_have_a_row_before_anybody_reports() -> None:
    """With no report, every candidate that is to have a row has 0, and nothing stands out."""
    survey = create_survey("x", Categories(["a", "b", "c"]), 1, public_seed=public_seed(1))
    nobody = Tally(survey.survey_id, 0, np.zeros(mechanism_for(survey).cells_shape, np.int64))
    answer = find_hitters(survey, nobody, candidates=["b", "a", "x"], all_candidates=True)
    assert [(row.value, row.count, row.high, row.stands_out) for row in answer.hitters] == [
        ("b", 0, 0, False),
        ("a", 0, 0, False),
    ]
    assert answer.foreign_candidates == 1
    assert answer.post_processed("simplex").hitters == answer.hitters
    assert find_hitters(survey, nobody, candidates=["b"]).hitters == ()


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ({"candidates": []}, "at least one value of the domain"),
        ({"candidates": [-1, "x"]}, "at least one value of the domain"),
        ({"candidates": "7"}, "a list of values, got str"),
        ({"all_candidates": True}, "all_candidates must come with candidates"),
    ],
)
def test_bad_lists_of_candidates(listed: dict, said: str) -> None:
    """A list that names nothing, or is no list, is refused in one sentence."""
    with pytest.raises(ParameterError, match=said):
        listed_answer("jl", 6, crowd_of(n1=10), 1, **listed)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("people", [0, 1, 10])
def test_candidates_of_tiny_crowds(mechanism: str, people: int) -> None:
    """No reports, one, ten: no crash, nothing that nobody holds, and a limit that says how few they are."""
    survey = create_survey("x", Integers(8), 1, mechanism=mechanism, public_seed=public_seed(1))
    built = mechanism_for(survey)
    items = np.full((people, 1), 3, np.uint64)
    got = find_hitters(survey, rehearse(built, [items], SeededRandomWords(2)), decoder=built, candidates=[3, 4])
    assert all(hitter.value == 3 and hitter.low <= people for hitter in got.hitters)
    assert got.candidate_limit > people


def finds(survey: Survey, found: Estimates) -> SimpleNamespace:
    """A mechanism that finds this, with Gaussian counts."""
    facts = {"count_law": gaussian_law, "influence": (1.0, -1.0), "certifies": False}
    return SimpleNamespace(survey=survey, discover=lambda *_: found, **facts)


def test_priors_of_a_search_make_its_confidence() -> None:
    """Where a search says how likely each value was beforehand, the doubt is its tail over that and not over N."""
    survey = create_survey("x", Integers(40), 1)
    found = Estimates(np.array([[7]], np.uint64), np.array([500.0]), np.array([100.0]), 400.0, 600.0)
    priors = np.log([0.01])
    tally = Tally(survey.survey_id, 10_000, np.zeros(1, np.int64))
    decoders = (finds(survey, each) for each in (found, replace(found, log_priors=priors)))
    plain, (likely,) = (find_hitters(survey, tally, decoder=decoder).hitters for decoder in decoders)
    assert plain == ()  # over all of N nothing is sure
    assert likely.confidence == pytest.approx(1 - float(normal_tail(5.0)) / 0.01)


def test_doubts_of_a_search_are_in_its_confidence() -> None:
    """Where a search states a doubt of its own, a value is surer by no more than that."""
    survey = create_survey("x", Integers(8), 1)
    sure = Estimates(np.array([[7]], np.uint64), np.array([2000.0]), np.array([100.0]), 400.0, 600.0)
    tally = Tally(survey.survey_id, 10_000, np.zeros(1, np.int64))
    for doubt, confidence in ((None, 1.0), (0.003, 0.997), (0.04, 0.96)):
        found = replace(sure, doubts=None if doubt is None else np.array([doubt]))
        (hitter,) = find_hitters(survey, tally, decoder=finds(survey, found)).hitters
        assert hitter.confidence == pytest.approx(confidence)


def test_what_could_be_noise_is_no_row() -> None:
    """A value that the search notices is left out if it is in doubt by more than the level, whatever the cause."""
    survey = create_survey("x", Integers(8), 1)
    tally = Tally(survey.survey_id, 10_000, np.zeros(1, np.int64))
    items, counts = np.array([[7], [9]], np.uint64), np.array([2000.0, 1900.0])
    plain = Estimates(items, counts, np.array([100.0, 100.0]), 400.0, 600.0)
    shared = replace(plain, stderrs=np.array([100.0, 2500.0]))  # its count could be that of others in its buckets
    doubted = replace(plain, doubts=np.array([0.0, 0.06]))
    for found, values in ((plain, [7, 9]), (shared, [7]), (doubted, [7])):
        got = find_hitters(survey, tally, decoder=finds(survey, found))
        assert [hitter.value for hitter in got.hitters] == values
    (row,) = find_hitters(survey, tally, decoder=finds(survey, replace(doubted, items=items[::-1])), level=0.01).hitters
    assert (row.value, row.stands_out) == (9, True)
