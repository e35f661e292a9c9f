"""Counts of groups: their law is that of all reports that there can be, and no law of single values can replace it."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from hubbub import (
    Categories,
    Domain,
    Histogram,
    Hostnames,
    Integers,
    SeededRandomWords,
    create_survey,
    find_hitters,
    mechanism_for,
    tally_of,
)
from hubbub.mechanisms.registry import REGISTRY
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.together import shared_places, weigh
from hubbub.numeric.count_law import match_law
from hubbub.numeric.sum_law import uncorrelated_sum, window_sum
from hubbub.testing import public_seed


@pytest.mark.parametrize(("size", "window", "members"), [(5, 2, 3), (6, 1, 2), (6, 3, 5), (4, 3, 2), (8, 4, 1)])
def test_the_law_of_a_window_is_that_of_all_windows(size: int, window: int, members: int) -> None:
    """Means, variances and a tail weight are those of all windows, each with its chance. Independent counts differ."""
    held = 0.7
    absent = (held * (window - 1) + (1 - held) * window) / (size - 1)
    gap = held - absent
    law = window_sum(10, size, window, held, gap, members)
    for sender, cumulants in ((0, law.own), (size - 1, law.other)):  # the members are the first values
        truth, lies = math.comb(size - 1, window - 1), math.comb(size - 1, window)
        chances = {some: held / truth if sender in some else (1 - held) / lies for some in windows(size, window)}
        adds = {some: (sum(value < members for value in some) - members * absent) / gap for some in chances}
        mean = sum(chance * adds[some] for some, chance in chances.items())
        square = sum(chance * adds[some] ** 2 for some, chance in chances.items())
        zero, at = np.zeros(1), np.array([0.3])
        assert sum(chances.values()) == pytest.approx(1)
        assert float(cumulants(zero)[1][0]) == pytest.approx(mean, abs=1e-12) == (sender == 0)
        assert float(cumulants(zero)[2][0]) == pytest.approx(square - mean**2)
        exact = math.log(sum(chance * math.exp(0.3 * adds[some]) for some, chance in chances.items()))
        assert float(cumulants(at)[0][0]) == pytest.approx(exact)
    # A mutant that takes the counts for independent is too wide, by far if the group is nearly everything.
    wrong = uncorrelated_sum(match_law(10, held, absent, gap), members).variance(np.array([5.0]))
    ratio = float(wrong[0] / law.variance(np.array([5.0]))[0])
    assert ratio == pytest.approx(1) if members == 1 else ratio > 1.1


def windows(size: int, window: int) -> list[tuple[int, ...]]:
    """All windows."""
    return list(combinations(range(size), window))


def test_a_group_of_all_values_has_no_noise() -> None:
    """Everybody holds one of them."""
    law = window_sum(1000, 6, 2, 0.6, 0.3, 6)
    low, high = law.limits(np.array([1000.0]), np.zeros(1), 4.0)
    assert (low[0], high[0]) == pytest.approx((1000, 1000))


@pytest.fixture(scope="module")
def tree() -> Tree:
    """A tree with hashed rows, and reports of one bit."""
    survey = create_survey("x", Integers(32), 0.5, None, "tree", None, 1000, public_seed=public_seed(5))
    built = mechanism_for(survey)
    assert isinstance(built, Tree)
    assert built.law.masks == 1
    return built


def test_the_variance_of_a_group_is_that_of_all_reports(tree: Tree) -> None:
    """In every row, with every mask and both symbols: reports of strangers, of members, and of values that share."""
    everything = tree.code.buckets(np.arange(4000, dtype=np.uint64)[:, np.newaxis])
    shared = shared_places(everything, tree.shape.shares)
    first = shared.values[shared.buckets == shared.buckets[0]][:2]  # two values that share a bucket
    rest = np.setdiff1d(np.arange(10), first)[:5]
    buckets = everything[[*first, *rest]]
    stranger = everything[3999]
    law, wanted = tree.law, np.array([1.0, 0, 1, 1, 0, 0, 0])  # one of those that share is a member
    weighed = weigh(shared_places(buckets, tree.shape.shares), wanted)
    masks = np.arange(1 << tree.shape.bucket_bits, dtype=np.uint64)
    for sender in (None, *range(7)):
        mean = square = 0.0
        for row, share in enumerate(tree.shape.shares.tolist()):
            mine = stranger[row] if sender is None else buckets[sender, row]
            truth = np.bitwise_count(masks & np.uint64(mine)) & 1
            for symbol in (0, 1):
                chance = np.where(truth == symbol, law.true, 1 - law.true)
                matches = np.bitwise_count(masks & buckets[:, [row]].astype(np.uint64)) & 1 == symbol
                adds = weighed.weights @ ((matches - law.absent) * law.per_match)
                mean += share * float((chance * adds).mean())
                square += share * float((chance * adds**2).mean())
        member, own = (0.0, 0.0) if sender is None else (wanted[sender], weighed.squares[sender])
        expected = law.noise * (weighed.total - own) + law.own_noise * own + own - member
        assert mean == pytest.approx(member, abs=1e-9)
        assert square - mean**2 == pytest.approx(expected)
    # A mutant that only adds up the members' counts would count some holders of a value that shares a bucket.
    assert weighed.weights[1] < 0
    assert weighed.total > wanted.sum()


@pytest.mark.parametrize("mechanism", sorted(REGISTRY))
def test_every_mechanism_counts_groups(mechanism: str) -> None:
    """The truth is within four standard errors, which are less than those of added bounds; one value is a group."""
    domain: Domain = Categories(["a", "b", "c", "d", "e"]) if mechanism != "bucket" else Integers(4)
    values = ["a", "b", "c"] if mechanism != "bucket" else [0, 1, 2]
    survey = create_survey("x", domain, 2, None, mechanism, None, 2000, public_seed=public_seed(1))
    built, items = mechanism_for(survey), domain.encode(values)
    people = Histogram(items, np.array([900, 300, 800]))
    tally = built.sample_tally(people, np.random.default_rng(7))
    totals = built.count_groups(tally, [items[:2], items[:1]], items[:0])
    alone = built.estimate(tally, items[:2])
    for place, (members, truth) in enumerate(((2, 1200), (1, 900))):
        law = built.sum_law(2000, members)
        stderr = math.sqrt(float(law.variance(np.array([truth]))[0]) + totals.extras[place])
        assert abs(totals.counts[place] - truth) < 4 * stderr
        assert totals.counts[place] == pytest.approx(alone.counts[:members].sum())
        assert stderr < 1.02 * alone.stderrs[:members].sum()


def test_values_that_share_every_bucket_have_no_count_of_their_own() -> None:
    """A crowd of one reports on one row. A member that shares its bucket with another value is said to be unknown."""
    shared = shared_places(np.array([[5], [5]], np.int64), np.ones(1))
    assert not weigh(shared, np.array([1.0, 0.0])).solved
    apart = shared_places(np.array([[5, 1], [5, 2]], np.int64), np.array([0.5, 0.5]))
    assert weigh(apart, np.array([1.0, 0.0])).solved


@pytest.mark.parametrize("people", [0, 1, 2, 10])
def test_a_handful_of_people_have_an_answer_with_groups(people: int) -> None:
    """The first reports of a survey come before there is anything to tell values apart by."""
    survey = create_survey("groups", Hostnames(), 4, expected_reports=1000, public_seed=bytes(32))
    mechanism = mechanism_for(survey)
    items = survey.domain.encode(["google.com"] * people)
    tally = tally_of(mechanism, items, SeededRandomWords(people).draw(people, mechanism.random_words_per_report))
    answer = find_hitters(survey, tally, groups="auto")
    assert all(0 <= each.low <= each.high <= people for each in answer.groups)
