"""Several values of one person: unbiased counts of people, intervals that hold, one report whatever she has."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from hubbub import (
    Categories,
    Domain,
    Integers,
    ParameterError,
    SeededRandomWords,
    create_survey,
    find_hitters,
    mechanism_for,
)
from hubbub.inputs.owners import draw_slots, first_of_each, number_owners
from hubbub.numeric.count_law import gaussian_law, laplace_law, match_law
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import assert_binomial, public_seed

NAMES = [f"site{number}" for number in range(12)]


def crowd(people: int, rng: np.random.Generator) -> list[tuple[int, str]]:
    """Everybody has none to four of the sites, the first ones more often; some rows are there twice."""
    chances = 1 / np.arange(1, len(NAMES) + 1)
    rows = []
    for person in range(people):
        some = rng.choice(len(NAMES), rng.integers(0, 5), replace=False, p=chances / chances.sum())
        rows += [(person, NAMES[number]) for number in some]
        if len(some) and rng.random() < 0.5:
            rows.append((person, NAMES[some[0]]))
    return rows


def test_each_value_has_a_slot_and_one_slot_is_drawn() -> None:
    """Each of d values with a chance of 1/K, nothing with the rest; of somebody with more than K, each with 1/d."""
    people, slots = 60_000, 3
    rows = [(person, value) for person in range(people) for value in ("aab", "abcde", "")[person % 3]]
    owners = number_owners(rows)
    assert owners.people == 2 * people // 3  # who is in no row cannot be known
    domain = Categories([*"abcde"])
    items, empty = domain.encode([value for _, value in rows]), domain.encode([None])
    drawn, over = draw_slots(items, owners, empty, slots, SeededRandomWords(1))
    assert len(drawn) == owners.people
    assert over == people // 3
    few, many = Counter(domain.decode(drawn[::2])), Counter(domain.decode(drawn[1::2]))
    each = people // 3
    for value in ("a", "b", "(other)"):
        assert_binomial(few[value], each, 1 / 3)
    for value in "abcde":
        assert_binomial(many[value], each, 1 / 5)


def test_people_without_a_value_report_an_empty_slot() -> None:
    """They are people all the same, and their rows are missing values; what is not in the domain is empty, too."""
    owners = number_owners([("ann", None), ("bob", "a"), ("cid", "zzz"), ("ann", None)])
    assert (owners.people, owners.missing, owners.of_row.tolist()) == (3, 2, [1, 2])
    domain = Categories(["a", "b"])
    drawn, over = draw_slots(domain.encode(["a", "zzz"]), owners, domain.encode([None]), 1, SeededRandomWords(1))
    assert domain.decode(drawn) == ["(other)", "a", "(other)"]
    assert over == 0


def test_the_first_row_of_each_value_of_each_person_counts() -> None:
    """Rows that repeat a value of the same person are not marked."""
    owners, items = np.array([0, 0, 1, 0, 1]), np.array([[5], [5], [5], [6], [5]], np.uint64)
    assert first_of_each(items, owners).tolist() == [True, False, True, True, False]


@pytest.mark.parametrize("law", [match_law(50, 0.6, 0.2, 0.4), gaussian_law(50), laplace_law(50, 1.0)])
@pytest.mark.parametrize("slots", [2, 7])
def test_the_law_with_slots_is_that_of_a_mixture(law, slots: int) -> None:
    """Its cumulants are those of a report that is a holder's with a chance of 1/K, times K: mean 1."""
    with_slots = law.with_slots(slots)
    t = np.linspace(-0.05, 0.05, 11)
    for one in (with_slots.own, with_slots.other):
        value, slope, bend = one(t)
        tiny = 1e-5
        assert slope == pytest.approx((one(t + tiny)[0] - one(t - tiny)[0]) / (2 * tiny), abs=1e-4)
        assert bend == pytest.approx((one(t + tiny)[1] - one(t - tiny)[1]) / (2 * tiny), abs=1e-3)
        assert value[5] == pytest.approx(0, abs=1e-12)
    expected = np.log(np.exp(law.own(slots * t)[0]) / slots + (1 - 1 / slots) * np.exp(law.other(slots * t)[0]))
    assert with_slots.own(t)[0] == pytest.approx(expected, abs=1e-12)
    zero = np.zeros(1)
    assert with_slots.own(zero)[1] == pytest.approx([1])
    own, other = law.own(zero)[2][0], law.other(zero)[2][0]
    assert with_slots.own(zero)[2] == pytest.approx([slots * own + (slots**2 - slots) * other + slots - 1])
    assert law.with_slots(1) is law


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "mechanism"),
    [(Categories(NAMES), "subset"), (Categories(NAMES), "jl"), (Integers(10), "tree")],
    ids=["subset", "jl", "tree"],
)
def test_counts_are_of_people_and_intervals_hold(domain: Domain, mechanism: str) -> None:
    """Over many surveys of one crowd: the mean is the truth, the spread the standard error, and intervals hold.

    Intervals that leave out that chance decides who speaks of what are too short: they are the mutant.
    """
    people, slots, runs, epsilon = 1_500, 4, 150, 5
    rows = crowd(people, np.random.default_rng(1))
    owners = number_owners([*rows, *((person, None) for person in range(people))])
    named = [int(value.removeprefix("site")) if mechanism == "tree" else value for _, value in rows]
    truth = Counter(name for _, name in {(person, name) for (person, _), name in zip(rows, named, strict=True)})
    items, empty = domain.encode(named), domain.encode([None])
    deviations, widths, missed = [], [], 0
    for run in range(runs):
        survey = create_survey("s", domain, epsilon, None, mechanism, {}, people, public_seed=public_seed(run))
        built = mechanism_for(survey)
        drawn, over = draw_slots(items, owners, empty, slots, SeededRandomWords(run))
        assert over == 0
        tally = rehearse(built, [drawn], SeededRandomWords(1000 + run))
        asked = None if mechanism != "tree" else sorted(truth)
        answer = find_hitters(
            survey, tally, values_per_person=slots, decoder=built, candidates=asked, all_candidates=asked is not None
        )
        assert answer.values_per_person == slots
        assert answer.reports == people
        shown = {hitter.value: hitter for hitter in answer.hitters}
        assert "(other)" not in shown
        wrong = False
        for value, held in truth.items():
            hitter = shown[value]
            deviations.append((hitter.count - held) / hitter.stderr)
            widths.append((hitter.count - held) / math.sqrt(max(hitter.stderr**2 - (slots - 1) * held, 1.0)))
            assert hitter.share == pytest.approx(hitter.count / people)
            wrong |= not hitter.low <= held <= hitter.high
        missed += wrong
    count = len(deviations)
    assert abs(np.mean(deviations)) < 6 / math.sqrt(count)
    assert np.std(deviations) == pytest.approx(1, abs=6 / math.sqrt(2 * count))
    if mechanism == "subset":  # where the noise is small enough to notice what is left out
        assert np.std(widths) > 1 + 6 / math.sqrt(2 * count)
    assert missed <= 0.05 * runs + 6 * math.sqrt(0.05 * runs)


@pytest.mark.slow
def test_limits_are_in_people() -> None:
    """A value that as many people have as the limit says is found about as often as it should be."""
    domain, people, slots = Integers(14), 20_000, 3
    found = false = 0
    for run in range(30):
        survey = create_survey("s", domain, 3, None, "tree", {}, people, public_seed=public_seed(run))
        built = mechanism_for(survey)
        empty = find_hitters(
            survey,
            rehearse(built, [domain.encode([None] * people)], SeededRandomWords(run)),
            values_per_person=slots,
            decoder=built,
        )
        false += bool(empty.hitters)
        limit = math.ceil(empty.detection_limit)
        assert empty.limit_for(123) == pytest.approx(empty.detection_limit)
        owners = number_owners((person, 123 if person < limit else None) for person in range(people))
        drawn, _ = draw_slots(
            domain.encode([123] * limit), owners, domain.encode([None]), slots, SeededRandomWords(run)
        )
        tally = rehearse(built, [drawn], SeededRandomWords(500 + run))
        answer = find_hitters(survey, tally, values_per_person=slots, decoder=built)
        found += any(hitter.value == 123 for hitter in answer.hitters)
    assert found >= 24  # of 30, at a stated chance of about 95 %
    assert false <= 6  # of 30, at a stated chance of at most 2.5 %


def test_a_closed_list_has_no_empty_slot() -> None:
    """Silence would be a vote for one of its names, so it is refused; so are numbers of slots that cannot be."""
    survey = create_survey("s", Categories(["yes", "no"], other=False), 1)
    mechanism = mechanism_for(survey)
    tally = rehearse(mechanism, [survey.domain.encode(["yes"] * 9)], SeededRandomWords(1))
    with pytest.raises(ParameterError, match=r"must be 1 for a list without \"\(other\)\", got values_per_person=2"):
        find_hitters(survey, tally, values_per_person=2)
    for slots in (0, 1001, True, "3"):
        with pytest.raises(ParameterError, match="values_per_person must be a whole number from 1 to 1,000"):
            find_hitters(survey, tally, values_per_person=slots)
