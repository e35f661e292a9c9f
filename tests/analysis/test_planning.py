"""Plans: any two of people, ε and share give the third, and all that is predicted comes from the mechanism."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest

import hubbub
from hubbub import (
    Categories,
    Domain,
    Hostnames,
    Integers,
    ParameterError,
    Question,
    create_survey,
    mechanism_for,
    names,
    plan,
)
from hubbub.analysis.outlook import Outlook, chance_to_see, what_is_needed
from hubbub.analysis.person import about_one_person, beliefs, years
from hubbub.analysis.plan_words import verdict
from hubbub.analysis.planning import Limit
from hubbub.analysis.shuffle import ASSUMPTION, about_sums, seen_from_outside
from hubbub.mechanisms.tree.limits import RowDraws
from hubbub.model.estimates import Query
from hubbub.numeric.shuffling import shuffled_delta
from hubbub.testing import assert_binomial

POLL = Categories(["yes", "no", "unsure"], other=False)
DRAWN = 0.01  # chances of a tree are drawn, so they are known to about half a point


@pytest.mark.parametrize(
    ("domain", "candidates"),
    [
        (POLL, 0),
        (Integers(16), 0),
        pytest.param(Integers(64), 0, marks=pytest.mark.slow),
        pytest.param(Hostnames(), 200, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_two_give_the_third(domain: object, candidates: int) -> None:
    """The share that is found for people and ε leads back to those people and to that ε."""
    share = plan(domain, people=20_000, epsilon=1, candidates=candidates).share
    assert plan(domain, epsilon=1, share=share, candidates=candidates).people == pytest.approx(20_000, rel=0.12)
    assert plan(domain, people=20_000, share=share, candidates=candidates).epsilon == pytest.approx(1, rel=0.03)


def test_the_third_has_the_wanted_chance() -> None:
    """At the share that is found the chance is the wanted one, and all three may be given to see it."""
    for wanted in (0.5, 0.95):
        made = plan(POLL, people=2_000, epsilon=1, chance=wanted)
        assert wanted <= made.chance < wanted + 0.03
        again = plan(POLL, people=2_000, epsilon=1, share=made.share, chance=wanted)
        assert again.solved is None
        assert again.chance == pytest.approx(made.chance)


@pytest.mark.slow
def test_chances_of_a_list_are_those_of_its_answers() -> None:
    """Of a list, the predicted chance that a value stands out is how often it does, by an exact tail."""
    survey = create_survey("poll", Categories([f"v{k}" for k in range(20)], other=False), 1, public_seed=bytes(32))
    mechanism, rng = mechanism_for(survey), np.random.default_rng(3)
    counts = np.full(20, 40)
    counts[0] = 1_000 - 19 * 40
    crowd = hubbub.Histogram(np.arange(20, dtype=np.uint64)[:, np.newaxis], counts)
    answers = (
        hubbub.find_hitters(survey, mechanism.sample_tally(crowd, rng), decoder=mechanism).hitters for _ in range(300)
    )
    seen = sum(any(row.stands_out and row.value == "v0" for row in rows) for rows in answers)
    assert_binomial(seen, 300, chance_to_see(mechanism, 1_000, 240.0))
    with pytest.raises(AssertionError):  # the chance of a smaller share is told apart
        assert_binomial(seen, 300, chance_to_see(mechanism, 1_000, 190.0))


@pytest.mark.parametrize(
    ("name", "bits"), [("tree", 40), ("tree", 12), ("subset", 6), ("jl", 12), ("bucket", 24), ("naive-laplace", 8)]
)
def test_every_mechanism_predicts(name: str, bits: int) -> None:
    """Chances rise from 0 to 1 with the holders and never fall, errors are above 0, sizes are those of its arrays."""
    mechanism = mechanism_for(create_survey("x", Integers(bits), 2, None, name, public_seed=bytes(32)))
    chances = [mechanism.found_chance(5_000, held, Query()) for held in np.linspace(0, 5_000, 9)]
    assert chances[0] < 0.01
    assert chances[-1] > 0.99
    assert all(later >= sooner - 1e-9 for sooner, later in pairwise(chances))
    assert mechanism.predicted_stderr(5_000, 100) == pytest.approx(mechanism.noise_stderr(5_000), rel=0.25)
    assert mechanism.report_bytes == mechanism.report_dtype.itemsize
    assert mechanism.tally_bytes == np.zeros(mechanism.cells_shape, np.int64).nbytes
    assert 0 < mechanism.decode_seconds < 60


@pytest.mark.slow
def test_long_texts_are_harder() -> None:
    """A plan for texts says what a long one needs; a number has no length."""
    made = plan(Hostnames(), people=50_000, epsilon=2)
    assert made.long_share > made.share
    assert plan(Integers(32), people=50_000, epsilon=2).long_share is None


@pytest.mark.slow
def test_candidates_are_seen_from_less() -> None:
    """A value that is named needs a smaller share than one that is searched for, and the plan shows both."""
    made = plan(Integers(64), people=8_000, epsilon=1, candidates=1_000)
    assert made.share < 0.7 * plan(Integers(64), people=8_000, epsilon=1).share
    here = next(limit for limit in made.limits if limit.epsilon == 1)
    assert here.candidate_share == pytest.approx(made.share, rel=0.01)
    assert here.share > made.share
    assert "without the list" in made.words[1]


@pytest.mark.slow
def test_what_cannot_be_is_said() -> None:
    """Where nothing is enough the third is None, and a sentence says so."""
    nobody = plan(Integers(64), people=100, epsilon=1)
    assert (nobody.share, nobody.chance) == (None, None)
    assert "not even a value that all of them hold" in nobody.words[0]
    weak = plan(Integers(64), people=50, share=0.1)
    assert weak.epsilon is None
    assert "not even ε = 6 is enough" in weak.words[0]
    json.dumps([nobody.to_json(), weak.to_json()], allow_nan=False)


@pytest.mark.slow
def test_what_would_do_instead_is_said() -> None:
    """Where no number is enough, a sentence says what would be, and it is; these people's limits are there too."""
    nobody = plan(Integers(64), people=100, epsilon=1)
    assert nobody.words[1] == nobody.instead
    people = int(nobody.instead.partition("about ")[2].partition(" people")[0].replace(",", ""))
    assert plan(Integers(64), people=people, epsilon=1, share=0.5).chance >= 0.95 - DRAWN
    weak = plan(Integers(64), people=1_000, share=0.01)
    assert weak.epsilon is None
    people = int(weak.instead.partition("about ")[2].partition(" people")[0].replace(",", ""))
    assert plan(Integers(64), people=people, epsilon=4, share=0.01).chance >= 0.95
    assert [limit.epsilon for limit in weak.limits] == [0.5, 1, 2, 4]


@pytest.mark.slow
def test_candidates_are_offered() -> None:
    """A plan of a search says what 1,000 candidates would do, as a plan with so many does; a list needs none."""
    made = plan(Integers(64), people=8_000, epsilon=1)
    assert made.named_share == plan(Integers(64), people=8_000, epsilon=1, candidates=1_000).share
    assert "if you name up to 1,000 values to look for" in made.words[1]
    assert plan(POLL, people=8_000, epsilon=1).named_share is None
    assert plan(Integers(8), people=8_000, epsilon=1).named_share is None  # which has no 1,000 values


def test_nobody_is_less_than_one_person() -> None:
    """No share is smaller than one of the people, in the answer and in the table."""
    made = plan(Categories(["a", "b"], other=False), people=2, epsilon=6)
    assert made.share == 0.5
    assert min(row.held for row in made.rows) >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("people", "have", "slots"), [(3_000, 1_200, 3), (2_000, 1_400, 5)])
def test_chances_of_several_values_are_those_of_answers(people: int, have: int, slots: int) -> None:
    """Where everybody reports one slot of several, values stand out as often as predicted, with the predicted error."""
    names = [f"v{k}" for k in range(8)]
    survey = create_survey("sites", Categories(names), 1, public_seed=bytes(32))
    mechanism, rng = mechanism_for(survey), np.random.default_rng(4)
    items = survey.domain.encode([names[0], None])
    found = []
    for _ in range(300):
        speak = rng.binomial(have, 1 / slots)
        crowd = hubbub.Histogram(items, np.array([speak, people - speak]))
        tally = mechanism.sample_tally(crowd, rng)
        answer = hubbub.find_hitters(survey, tally, values_per_person=slots, decoder=mechanism)
        found.append(next(row for row in answer.hitters if row.value == names[0]))
    outlook = Outlook(survey.domain, slots=slots)
    predicted = outlook.chance(people, 1.0, have / people)
    assert 0.3 < predicted < 0.99
    assert_binomial(sum(row.stands_out for row in found), 300, predicted)
    errors = np.array([row.count - have for row in found])
    assert errors.std() == pytest.approx(outlook.stderr(people, 1.0, have / people), rel=0.15)


@pytest.mark.slow
def test_several_values_cost() -> None:
    """A plan says what the slots cost; with more of them more people must have a value."""
    made = plan(Hostnames(), people=50_000, epsilon=2, values_per_person=3)
    assert made.share > 2.5 * made.one_value_share
    assert made.one_value_share == plan(Hostnames(), people=50_000, epsilon=2).share
    assert any("one of 3 slots" in sentence for sentence in made.words)
    with pytest.raises(ParameterError, match="values_per_person must be 1 for a list without"):
        plan(POLL, people=100, epsilon=1, values_per_person=2)


def test_json_holds_the_plan() -> None:
    """Every number of the plan is in its JSON object, and the assumption beside the figure that needs it."""
    made = plan(POLL, people=2_000, epsilon=1)
    document = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert document["share"] == made.share
    assert document["rows"][0]["chance"] == made.rows[0].chance
    assert document["outside"]["assumption"] == ASSUMPTION
    assert document["words"] == list(made.words)
    assert ASSUMPTION in made.words


def test_curves_rise_through_the_wanted_chance() -> None:
    """Each curve of the figure starts below the wanted chance and ends above it."""
    curves = plan(POLL, people=2_000, epsilon=1).curves()
    assert 1.0 in curves
    for points in curves.values():
        assert points[0][1] < 0.95 < points[-1][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"people": 100}, "two of people, epsilon and share must be given, got only people"),
        ({"people": 0, "epsilon": 1}, "people must be"),
        ({"people": 100, "epsilon": -1}, "epsilon must be above 0"),
        ({"people": 100, "share": 0}, "share must be above 0"),
        ({"people": 100, "share": 1.5}, "share must be above 0 and at most 1"),
        ({"people": 100, "epsilon": 1, "candidates": -1}, "candidates must be"),
        ({"people": 100, "epsilon": 1, "chance": 1.0}, "chance must be between 0 and 1"),
        ({"people": 100, "epsilon": 1, "level": 0.0}, "level must be"),
        ({"people": 100, "epsilon": 1, "mechanism": "none"}, "mechanism must be one of"),
        ({"people": 100, "epsilon": 1, "candidates": 4}, "candidates must be at most the 3 values of the domain"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, object], said: str) -> None:
    """One sentence with the rule and the value."""
    with pytest.raises(ParameterError, match=said):
        plan(POLL, **arguments)


@pytest.mark.parametrize("others", [{}, {"candidates": 2}, {"values_per_person": 2}])
def test_the_name_of_a_domain_is_refused(others: dict[str, int]) -> None:
    """As `find` and `create_survey` refuse it."""
    with pytest.raises(ParameterError, match=r"domain must be a Domain, such as hubbub.Hostnames\(\), got domain='x'"):
        plan("x", people=100, epsilon=1, **others)


def test_odds_of_one_report() -> None:
    """No event of a pure report moves a belief further than the table says: Bayes' rule with a ratio of e^ε."""
    for belief in beliefs(2.0):
        odds = belief.before / (1 - belief.before) * math.exp(2.0)
        assert belief.after == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize("epsilon", [1e-5, 0.3, 1.0, 1.1, 2.0, 2.3, 4.0, 6.0])
def test_bounds_in_words_are_rounded_up(epsilon: float) -> None:
    """What is said to be the most is never less than it is."""
    said = about_one_person(epsilon)
    factor, even, rare = (float(text.replace(",", "")) for text in re.findall(r"at most ([0-9,.]*[0-9])", said))
    assert math.exp(epsilon) <= factor < 1.1 * math.exp(epsilon)
    assert beliefs(epsilon)[3].after <= even / 100 < beliefs(epsilon)[3].after + 0.001
    assert beliefs(epsilon)[1].after <= rare / 100 < beliefs(epsilon)[1].after + 0.001


def test_surveys_of_a_year_add_up() -> None:
    """The sum always holds; with a small δ less may be enough, never more."""
    found = years(0.1)
    assert [year.surveys for year in found] == [1, 4, 12, 52]
    assert all(year.epsilon_composed <= year.epsilon == pytest.approx(0.1 * year.surveys) for year in found)
    assert found[-1].epsilon_composed < 0.8 * found[-1].epsilon


def test_the_smallest_slice_says_how_private_the_sums_are() -> None:
    """Every slice is a sum of its own; in a survey that repeats, those of a browser's year add up."""
    once = mechanism_for(create_survey("once", Categories(["a", "b"]), 1, mechanism="subset"))
    smallest, all_of_them = seen_from_outside(once, 300), seen_from_outside(once, 10_300)
    assert smallest is not None
    assert all_of_them is not None
    assert smallest.epsilon > all_of_them.epsilon  # so that a mutant that takes all reports is seen
    assert about_sums(once, [300]) == f"{smallest.words} {ASSUMPTION}"
    assert about_sums(once, [10_000, 300]) == (
        f"{smallest.words} That is the slice of time with the fewest reports. {ASSUMPTION}"
    )
    monday = datetime(2026, 10, 5, tzinfo=UTC)
    weekly = create_survey("weekly", Categories(["a", "b"]), "0.5", mechanism="subset", opens=monday, every=7)
    year = seen_from_outside(mechanism_for(weekly), 300, times=3)
    assert year is not None
    assert year.words in about_sums(mechanism_for(weekly), [300, 300, 900])


def test_sums_are_more_private_from_outside() -> None:
    """The central figure is the bound for as many honest reports; surveys with δ above 0 have none."""
    pure = mechanism_for(create_survey("x", Integers(64), 1))
    outside = seen_from_outside(pure, 100_000)
    assert outside.epsilon < 0.0117
    assert shuffled_delta(outside.epsilon, pure.report_kinds, 100_000) <= outside.delta == 1e-8
    assert "hide nobody" in seen_from_outside(pure, 3).words
    assert "learns much less about one person: ε = 0.012, δ = 1e-08," in outside.words
    assert "learns less about one person: ε = 0.56, " in seen_from_outside(pure, 60).words
    year = plan(Integers(16), people=400_000, epsilon=1, every=28)
    assert (year.outside.people, year.outside.times) == (100_000, 14)
    assert year.outside.epsilon == pytest.approx(outside.epsilon, rel=1e-3)
    assert "is in up to 14, which add up to ε = 0.17, δ = 1.4e-07, instead of ε = 14." in year.outside.words
    assert plan(Integers(16), people=400_000, epsilon=1).outside.times == 1
    assert seen_from_outside(mechanism_for(create_survey("x", Integers(8), 1, None, "naive-laplace")), 1_000) is None
    plain = mechanism_for(create_survey("x", Integers(8), 200, None, "jl", {"calibration": "onebit"}))
    assert seen_from_outside(plain, 1_000).epsilon == pytest.approx(200)


@pytest.mark.slow
def test_an_empty_answer_says_what_it_would_have_taken() -> None:
    """The people it names are enough for the share it names, and half as many are not."""
    survey = create_survey("x", Integers(64), 1)
    said = what_is_needed(survey, 300)
    assert said.startswith("To see a value that 50 % hold takes about ")
    people = int(said.partition("about ")[2].partition(" people")[0].replace(",", ""))
    outlook = Outlook(Integers(64))
    assert outlook.chance(people, 1.0, 0.5) >= 0.95 - DRAWN > outlook.chance(people // 2, 1.0, 0.5)
    assert what_is_needed(survey, 0) == ""


@pytest.mark.slow
def test_what_it_takes_to_see_a_candidate_is_said_of_candidates() -> None:
    """They need fewer people, so a sentence that meant any value would be wrong."""
    survey = create_survey("x", Integers(64), 1)
    assert what_is_needed(survey, 30, candidates=10).startswith("To see one of 10 candidates that 50 % hold takes ")
    assert plan(Integers(64), people=10, epsilon=1, candidates=1).words[1].startswith("To see the candidate that ")


@pytest.mark.parametrize("people", [5_000, 200_000])
def test_draws_of_a_way_have_the_law_of_a_count(people: int) -> None:
    """What the rows say of a value adds up to a count with the mean and the variance of its law: holders are given."""
    tree = mechanism_for(create_survey("ids", Integers(64), 4, public_seed=bytes(32)))
    held = people // 10
    counts = RowDraws(tree, people).counts(held).sum(axis=1)
    spread = math.sqrt(float(tree.count_law(people).variance(np.array([held]))[0]))
    assert counts.mean() == pytest.approx(held, abs=4 * spread / math.sqrt(len(counts)))
    assert counts.std() == pytest.approx(spread, rel=4 / math.sqrt(2 * len(counts)))


def test_a_candidate_of_a_tree_must_not_be_another_ones_shadow() -> None:
    """A count that shared buckets may explain is seen less often than noise alone would say; elsewhere as often."""
    tree = mechanism_for(create_survey("hosts", Hostnames(), 2, public_seed=bytes(32)))
    chance = math.log(0.0125) - math.log(1_000)
    assert 0.5 < tree.named_chance(100_000, 1_430, chance) < tree.passing_chance(100_000, 1_430, chance) - 0.02
    poll = mechanism_for(create_survey("poll", POLL, 1, public_seed=bytes(32)))
    assert poll.named_chance(1_000, 200, chance) == poll.passing_chance(1_000, 200, chance)


@pytest.mark.slow
def test_a_billion_people_and_more_see_smaller_shares() -> None:
    """Beyond 2^31 people, where a binomial tail of 32 bits ends, the share falls on with the square root."""
    shares = [plan(POLL, people=people, epsilon=1).share for people in (10**9, 10**11, 10**13, 10**15)]
    for larger, smaller in pairwise(shares):
        assert smaller == pytest.approx(larger / 10, rel=0.02)
    outlook = Outlook(POLL)
    chances = [outlook.chance(people, 1.0, 4 / math.sqrt(people)) for people in (10**12, 10**13, 10**14, 10**15)]
    assert chances == pytest.approx([chances[0]] * 4, abs=1e-3)


def test_a_chance_must_be_a_number() -> None:
    """A chance that is no number is told, not stumbled over."""
    with pytest.raises(ParameterError, match="chance must be between 0 and 1, got chance="):
        plan(POLL, people=100, epsilon=1, chance="often")


@pytest.mark.parametrize("domain", [Hostnames(), Integers(32)], ids=str)
def test_a_plan_has_the_level_of_the_search(domain: Domain) -> None:
    """A plan about a search is at the level that an answer's search has, beside names of a public list and without."""
    assert Outlook(domain).test_level == Question().about(domain).queries(1)[0].level


@pytest.mark.slow
def test_a_plan_states_both_limits() -> None:
    """A plan about hosts says from where on a site of the public list is seen, too, which is far earlier."""
    made = plan(Hostnames(), people=2_400, epsilon=2)
    assert made.known_names == len(names("sites"))
    assert made.words[1].startswith(f"One of the {made.known_names:,} names that everybody knows is seen if about ")
    assert made.named_share < 0.7 * made.share
    assert plan(Hostnames(), people=2_400, epsilon=2, candidates=5).known_names == 0


def test_the_verdict_names_the_least_that_helps() -> None:
    """Enough, names, a list, a larger ε, more people: in this order, each where those before do not suffice."""
    made = plan(Integers(16), people=50_000, epsilon=1)
    cases = [
        ({"share": 0.1}, 1.0, "Enough: "),
        ({"share": 0.2, "named_share": 0.1, "known_names": 9}, 1.0, "Enough for well-known names "),
        ({"share": 0.2, "named_share": 0.1}, 1.0, "Name the values that you expect"),
        ({"share": None, "named_share": 0.2}, 0.1, "Make a list of the answers"),
        ({"share": 0.2, "named_share": 0.2, "limits": (Limit(4.0, 0.05, None),)}, 1.0, "Too few people for so much"),
        ({"share": None, "named_share": None, "limits": ()}, math.inf, "More people are needed"),
    ]
    for facts, list_share, begins in cases:
        assert verdict(replace(made, **facts), list_share).startswith(begins)
