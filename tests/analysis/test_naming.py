"""Names of a survey: how they are spelled, and that naming after looking gains nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import (
    Bytes,
    Categories,
    Histogram,
    Hostnames,
    Integers,
    Question,
    Tally,
    Text,
    create_survey,
    mechanism_for,
)
from hubbub.analysis.answer import Answer
from hubbub.analysis.asking import answer_question
from hubbub.analysis.naming import spell_names
from hubbub.analysis.question import SurveyNames
from hubbub.errors import ParameterError
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.numeric.tails import binomial_tail
from hubbub.testing import public_seed

PEOPLE, GUESSES = 3_000, 10


def test_spelling() -> None:
    """What is counted in another form is told in words, what cannot be an answer is left out, and a list has none."""
    named = spell_names(Hostnames(), ["www.reddit.com", "reddit.com", " Lobste.rs ", "", "no host!"])
    assert named.names == ("reddit.com", "lobste.rs")
    assert named.sentences == (
        "www.reddit.com is counted as reddit.com.",
        "1 name cannot be an answer to this survey and was left out: no host!.",
    )
    assert spell_names(Integers(8), ["7", 300, 7.0]).names == ("7",)
    with pytest.raises(ParameterError, match="got a list, of which all are counted"):
        spell_names(Categories(["a", "b"]), ["a"])
    assert spell_names(Categories(["a", "b"]), []) == ((), ())
    assert spell_names(Bytes(4), ["Tea"]) == (("Tea",), ())
    with pytest.raises(ParameterError, match="names must be texts that UTF-8 can write"):
        spell_names(Text(), ["a\ud800"])


def crowd(seed: int, bits: int = 12) -> tuple[SurveyMechanism, Tally]:
    """A survey that everybody answered with 0, so that whatever else stands out is an error."""
    survey = create_survey("x", Integers(bits), 2, None, "tree", None, PEOPLE, public_seed=public_seed(seed))
    built = mechanism_for(survey)
    people = Histogram(survey.domain.encode([0]), np.array([PEOPLE]))
    return built, built.sample_tally(people, np.random.default_rng([seed, 28]))


def answer(built: SurveyMechanism, tally: Tally, names: SurveyNames, **knobs: object) -> Answer:
    """The answer with names that stay with the survey."""
    return answer_question(built, tally, Question(**knobs).about(built.survey.domain, names))


def wrong_crowds(late: bool, crowds: int) -> int:
    """In how many crowds a value stands out that nobody holds, if the owner looks first and names the best guesses."""
    wrong = 0
    for seed in range(crowds):
        built, tally = crowd(seed)
        guesses = tuple(map(str, np.argsort(-built.counts_of_all(tally)[1:])[:GUESSES] + 1))
        found = answer(built, tally, SurveyNames(later=guesses) if late else SurveyNames(fixed=guesses))
        wrong += any(hitter.stands_out and hitter.value != 0 for hitter in found.hitters)
    return wrong


@pytest.mark.slow
def test_naming_the_guesses_gains_nothing() -> None:
    """Errors are within the level, by the exact tail; a mutant that takes the guesses for names in advance is seen."""
    assert binomial_tail(wrong_crowds(late=True, crowds=30), 30, 0.05) > 1e-9
    assert binomial_tail(wrong_crowds(late=False, crowds=30), 30, 0.05) < 1e-9


@pytest.mark.parametrize("bits", [12, 32])
def test_the_same_values_stand_out(bits: int) -> None:
    """Whatever is named after looking, what stands out is what the search finds, and the level is never larger."""
    built, tally = crowd(1, bits)
    names = SurveyNames(later=("0", "7", "8"))
    found = answer(built, tally, names, all_candidates=True)
    alone = answer(built, tally, SurveyNames())
    assert [hitter.value for hitter in found.hitters if hitter.stands_out] == [h.value for h in alone.hitters] == [0]
    rows = {hitter.value: hitter for hitter in found.hitters}
    assert all(rows[value].late and not rows[value].listed for value in (0, 7, 8))
    assert all(rows[value].low == 0 and rows[value].confidence == 0 for value in (7, 8))
    assert [hitter.value for hitter in answer(built, tally, names).hitters] == [0]
    queries = Question(level=0.01).about(built.survey.domain, SurveyNames(("1",), ("7",))).queries(20)
    assert math.isclose(sum(query.level for query in queries), 0.01)


def test_late_names_are_marked_in_every_rendering() -> None:
    """Text, HTML and JSON name them in a sentence; CSV and JSON have a column."""
    built, tally = crowd(1)
    found = answer(built, tally, SurveyNames(("5",), ("7",)), all_candidates=True)
    said = "Named after looking: 7. They must stand out as if nobody had named them."
    document = found.to_document()
    assert said in repr(found)
    assert said in found._repr_html_()
    assert said in document["sentences"]
    assert (document["own_names"], document["known_names"]) == (1, 0)
    assert [row["value"] for row in document["hitters"] if row["late"]] == [7]
    assert "late" in found.to_csv().splitlines()[0]


def test_names_join_the_public_list() -> None:
    """Names of the survey are looked for beside public ones; one that is public is not named after looking."""
    domain = Hostnames()
    asked = Question().about(domain, SurveyNames(("my.example", "reddit.com"), ("google.com", "late.example")))
    public = Question().about(domain)
    assert (public.own, asked.own) == (0, 2)
    assert asked.candidates == public.candidates + 1  # reddit.com is on the list
    assert domain.decode(asked.late) == ["late.example"]
    assert Question(names="none").about(domain, SurveyNames(("my.example",))).named is None
    with pytest.raises(ParameterError, match="all_candidates must come with candidates, got none"):
        Question(all_candidates=True).about(domain)
