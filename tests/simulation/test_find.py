"""`hubbub.find`: a whole survey in one call."""

from __future__ import annotations

import math
import random
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import hubbub
from hubbub import (
    Bytes,
    Categories,
    Hostnames,
    HubbubError,
    InputError,
    Intake,
    Integers,
    ParameterError,
    Question,
    SeededRandomWords,
    Text,
    find,
    find_hitters,
)
from hubbub.cli.domains import parse_domain
from hubbub.finding import default_domain, plan_rehearsal
from hubbub.inputs.crowd import Crowd, read_crowd
from hubbub.mechanisms.tree import Tree
from hubbub.simulation.rehearsal import rehearse

PEOPLE = [7] * 3000 + [9] * 1000 + [k % 60 for k in range(1500)]


@pytest.mark.parametrize("mechanism", ["tree", "jl", "bucket", "glps", "naive-laplace"])
def test_the_heavy_values_are_found(mechanism: str) -> None:
    """Every mechanism finds the heaviest value, with an interval that holds its count."""
    answer = find(PEOPLE, 3, Integers(8), mechanism, seed=1)
    assert answer.reports == len(PEOPLE)
    assert answer.candidate_limit is None
    first = answer.hitters[0]
    assert first.value == 7
    assert first.low <= Counter(PEOPLE)[7] <= first.high
    assert not first.listed


def test_values_may_come_from_anywhere() -> None:
    """A generator is taken as well as a list, and the crowd is as large as it is long."""
    values = ("tea" if k % 3 else "coffee" for k in range(30_000))
    answer = find(values, 2, Categories(["coffee", "tea"], other=False), seed=1)
    assert answer.reports == 30_000
    assert [hitter.value for hitter in answer.hitters] == ["tea", "coffee"]


@pytest.mark.slow
def test_the_domain_is_that_of_the_command() -> None:
    """Without a domain, whole numbers are `Integers(64)` and everything else is `Text()`."""
    assert default_domain(["a", "b"]) == parse_domain("text") == Text()
    for numbers in ([7, 8], ["7", "8.0"], [0, 2**64 - 2]):
        assert default_domain(numbers) == Integers(64)
    for others in ([7, "x"], [-1], [2**64 - 1], ["1.5"], ["7x"], ["007"], ["9" * 30]):
        assert default_domain(others) == Text()
    assert {row.value for row in find([7] * 5_000 + ["8"] * 5_000, 4, seed=1).hitters} == {7, 8}
    assert [row.value for row in find(["tea"] * 900 + [8] * 100, 4, seed=1).hitters][:1] == ["tea"]


@pytest.mark.slow
def test_three_sites_of_a_hundred_thousand_people_are_seen() -> None:
    """With no domain, no candidates and ε = 1, all three are found (in all of seeds 0 to 19; here a few)."""
    values = ["search.example"] * 60_000 + ["news.example"] * 30_000 + ["blog.example"] * 10_000
    for seed in (0, 7, 19):
        found = [row.value for row in find(values, epsilon=1, seed=seed).hitters]
        assert found == ["search.example", "news.example", "blog.example"]


def test_a_seed_repeats_everything_and_no_seed_nothing() -> None:
    """With a seed the answer is the same each time; without one, random words and survey are fresh."""
    once, again, other = (find(PEOPLE, 3, Integers(8), seed=seed) for seed in (1, 1, 2))
    assert once == again != other
    # Two counts of one value agree once in a hundred runs; those of fifty values do not.
    first, second = (find(PEOPLE, 3, Integers(8), candidates=range(50), all_candidates=True) for _ in range(2))
    assert [hitter.count for hitter in first.hitters] != [hitter.count for hitter in second.hitters]


def test_candidates_and_level_are_passed_on() -> None:
    """Named values are marked, all of them if asked, and a smaller level asks for larger counts."""
    named = find(PEOPLE, 3, Integers(8), candidates=[9, 200], all_candidates=True, seed=1)
    assert [hitter.value for hitter in named.hitters if hitter.listed] == [9, 200]
    strict = find(PEOPLE, 3, Integers(8), candidates=[9, 200], level=0.001, top=1, seed=1)
    assert strict.candidate_limit > named.candidate_limit
    assert strict.detection_limit > named.detection_limit
    assert len(strict.hitters) == 1


def test_it_is_the_protocol_step_by_step() -> None:
    """The one call gives what the survey, the reports, the tally and the answer give one after the other."""
    domain = Categories(["a", "b"])
    values = ["a"] * 900 + ["b"] * 300
    crowd = Crowd(len(values), 0, lambda _: iter([values[:500], values[500:]]))
    rehearsal = plan_rehearsal(crowd, Question(), domain, 2, seed=5)
    survey = rehearsal.mechanism.survey
    tally = rehearse(rehearsal.mechanism, [domain.encode(values)], SeededRandomWords(5))
    by_hand = replace(find_hitters(survey, tally, top=20, level=0.05), intake=Intake())
    assert find_hitters(survey, tally, Question(20, 0.05)) == find_hitters(survey, tally)
    assert rehearsal.run() == by_hand
    assert find(values, 2, domain, seed=5) == find(values, 2, domain, question=Question(), seed=5) == by_hand


def test_a_question_is_given_once() -> None:
    """As a whole or in parts, and not both."""
    with pytest.raises(ParameterError, match="question must come without top, level, got both"):
        find(PEOPLE, question=Question(), top=3, level=0.1)


@pytest.mark.parametrize("named", [None, ["a"]])
def test_a_mechanism_is_built_when_it_is_needed(named: list[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call of `find` builds a tree to check its survey and one to use it; `find_hitters` builds one."""
    built = []
    build = Tree.__init__
    monkeypatch.setattr(Tree, "__init__", lambda self, survey: built.append(1) or build(self, survey))
    find(["a"] * 20, 2, Bytes(4), candidates=named, seed=5)
    assert len(built) == 2
    rehearsal = plan_rehearsal(read_crowd(["a"] * 20, None, 5), Question(), Bytes(4), 2, seed=5)
    survey = rehearsal.mechanism.survey
    find_hitters(survey, rehearse(rehearsal.mechanism, [], SeededRandomWords(5)), candidates=named)
    assert len(built) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"domain": "bytes:32"}, "domain must be a Domain"),
        ({"mechanism": "magic"}, "mechanism must be one of"),
        ({"options": {"size": "huge"}}, "size"),
        ({"top": 0}, "top must be"),
        ({"level": 2}, "level must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"candidates": []}, "candidates must name at least one value"),
        ({"candidates": "abc"}, "candidates must be a list"),
        ({"all_candidates": True}, "all_candidates must come with candidates"),
    ],
)
def test_bad_arguments(arguments: dict, said: str) -> None:
    """What cannot be is refused by name, before any report is made."""
    with pytest.raises(ParameterError, match=said):
        find(**{"values": ["a"] * 10, **arguments})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "values must hold at least one person's value, got none$"),
        ([None, "", float("nan")], "values must hold at least one person's value, got none, and 3 missing$"),
        ("text", "values must be a list of values, one of each person, got str: put the values in a list"),
        ([["private"]], "each value must be one text, number or date, got a value of type list"),
    ],
)
def test_what_is_not_a_column_of_values(values: object, said: str) -> None:
    """Values that nobody can hold are refused with a hint, and no value is quoted."""
    with pytest.raises(InputError, match=said) as caught:
        find(values)
    assert "private" not in str(caught.value)


def test_the_intake_is_told() -> None:
    """Missing values are nobody, and what was missing, cut or not in the domain is counted."""
    answer = find(["a" * 9, "b", None, float("nan"), "", 12.0], domain=Bytes(8), seed=1)
    assert (answer.reports, answer.intake) == (3, Intake(missing=3, cut=1, other=0))
    answer = find([1.0, 2, "3.0", "300", "x", None], domain=Integers(8), seed=1)
    assert (answer.reports, answer.intake) == (5, Intake(missing=1, other=2, better_domain="text", better_share=1.0))


def test_a_column_with_gaps_is_one_of_integers() -> None:
    """Whole numbers that became floats because some are missing are found as whole numbers, in any form."""
    forms = [[13] * 3000, [13.0] * 3000 + [math.nan] * 99, ["13.0"] * 3000 + [""] * 99, np.full(3000, 13.0)]
    for values in forms:
        answer = find(values, 3, Integers(8), candidates=["13.0", None], seed=1)
        assert [(hitter.value, hitter.listed) for hitter in answer.hitters] == [(13, True)]
        assert answer.reports == 3000


def unread(_: int) -> Iterator[list[object]]:
    """The values of a crowd that nobody may read."""
    raise AssertionError("read")


def test_too_many_people_for_a_tree() -> None:
    """Where nothing draws the sums of such a crowd, the advice is a sample, and not a command that refuses too."""
    with pytest.raises(ParameterError, match="take a random sample of at most 200,000,000 people"):
        plan_rehearsal(Crowd(200_000_001, 0, unread), Question(), Integers(8), 1, seed=1)


def test_nothing_is_reported_before_the_request_is_checked() -> None:
    """A list that names nothing is refused before the first chunk is read."""
    with pytest.raises(ParameterError, match="candidates"):
        plan_rehearsal(Crowd(10, 0, unread), Question(candidates=["nowhere"]), Integers(8), 1, seed=1)


def test_it_is_public() -> None:
    """`hubbub.find` is the function, although there are modules of that name."""
    assert callable(hubbub.find)


@pytest.mark.slow
def test_a_value_that_the_domain_does_not_have_is_never_found() -> None:
    """Its limit is infinite, whatever it is; that of "(other)", and of values there are, is not."""
    long = "very-long-subdomain.department.university.ac.uk"
    answer = find([long] * 1_000, domain=Hostnames(), epsilon=4, seed=1)
    assert [hitter.value for hitter in answer.hitters] == ["(other)"]
    for value in (long, "not a host!!", "", None, ["a"]):
        assert answer.limit_for(value) == math.inf
    assert answer.limit_for("(other)") < answer.limit_for("google.com") < 1_000


def test_a_limit_that_nobody_can_reach_is_infinite() -> None:
    """A universe that is scored value by value says "too few people" as a searched one does."""
    answer = find([7] * 5, domain=Integers(8), epsilon=1, seed=1, candidates=[7])
    assert answer.detection_limit == answer.candidate_limit == answer.limit_for(7) == math.inf
    answer = find([7] * 5_000, domain=Integers(8), epsilon=1, seed=1)
    assert answer.detection_limit == answer.limit_for(7) < 5_000
    assert answer.limit_for(999) == math.inf


@pytest.mark.slow
def test_addresses_that_begin_alike_have_whole_counts() -> None:
    """Four addresses of 700 people among 2,500 others that begin as they do: found, with intervals that hold."""
    rng = random.Random(4)

    def host() -> str:
        name = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(5, 12)))
        return name + rng.choice([".com", ".org", ".net", ".de", ".io"])

    sites = [f"https://www.{name}.com/" for name in ("alpha", "beta", "gamma", "delta")]
    people = [site for site in sites for _ in range(700)] + [f"https://www.{host()}" for _ in range(2_500)]
    answer = find(people, epsilon=4, seed=124)
    assert sorted(hitter.value for hitter in answer.hitters) == sorted(sites)
    assert all(hitter.low <= 700 <= hitter.high and hitter.confidence > 0.99 for hitter in answer.hitters)


@pytest.mark.parametrize(
    "call",
    [
        lambda: find([1], domain=Integers(8), options=5),
        lambda: find([1], domain=Integers(8), candidates=5),
        lambda: Categories(5),
        lambda: SeededRandomWords(-1),
        lambda: SeededRandomWords(None),
    ],
)
def test_wrong_kinds_of_arguments_are_refused_in_a_sentence(call: Callable[[], object]) -> None:
    """An error of ours that says what is wanted, not one of Python's."""
    with pytest.raises(HubbubError, match="must be a"):
        call()
