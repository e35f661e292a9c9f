"""What an answer certifies against forged reports: no attack breaks it, and attacks that are hardly larger do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from benchmarks.certified import ATTACKS, KINDS, broken, built, crowd, forge, try_crowd, with_reports

from hubbub import (
    Answer,
    Categories,
    Integers,
    ParameterError,
    Question,
    SeededRandomWords,
    Tally,
    create_survey,
    find,
    find_hitters,
    mechanism_for,
)
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.mechanisms.tree import Tree
from hubbub.mechanisms.tree.fit import refit
from hubbub.mechanisms.tree.forged import moves_of
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

SEED = 3207


def attacked(kind: str, epsilon: float, many: int, attack: str, number: int) -> tuple[SurveyMechanism, Answer, Answer]:
    """The mechanism of a kind, the answer to the honest crowd, and the one that supposes its forged reports."""
    rng = np.random.default_rng([SEED, number])
    mechanism, _, _ = built(kind, epsilon)
    _, tally = crowd(kind, epsilon, rng)
    ask = partial(find_hitters, mechanism.survey, decoder=mechanism, top=100, **KINDS[kind].knobs)
    forged = forge(kind, epsilon, attack, many, rng)
    return mechanism, ask(tally=tally), ask(tally=with_reports(mechanism, tally, forged), forged=many)


@pytest.mark.parametrize("kind", ["subset, a list", "jl, a list", "tree, a list"])
def test_a_list_is_certified_in_an_attacked_crowd(kind: str) -> None:
    """Under the strongest attack no row, place or interval that is certified is wrong."""
    _, honest, certified = attacked(kind, 2.0, 20, "MGA", 1)
    assert certified.forged == 20
    assert broken(honest, certified, {}, is_list=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("tree, sites", "tree, candidates")])
def test_nothing_that_is_certified_is_broken(kind: str) -> None:
    """A few crowds of every kind; benchmarks/certified.py attacks 10,000."""
    for number in range(6):
        assert try_crowd(number, SEED, (kind,)).wrong == []


@pytest.mark.slow
def test_what_is_not_certified_is_broken() -> None:
    """The check has teeth: of answers that claim to withstand more, some are wrong in every way."""
    wrong = []
    for number in range(24):
        _, honest, certified = attacked("subset, a list", 1.0, 60, ATTACKS[number % len(ATTACKS)], number)
        rows = [replace(row, stands_to=row.stands_to and 60, first_to=60) for row in certified.hitters]
        wrong += broken(honest, replace(certified, hitters=tuple(rows)), {}, is_list=True)
        narrow = tuple(replace(row, low=row.count, high=row.count) for row in certified.hitters)
        wrong += broken(honest, replace(certified, hitters=narrow), {}, is_list=True)
    said = " ".join(wrong)
    assert all(text in said for text in ("does not stand", "the first 1", "wider interval"))


def lone(mechanism: SurveyMechanism, holders: int) -> Tally:
    """The tally of a crowd in which so many hold the first value, and each other value is held by 20."""
    domain = mechanism.survey.domain
    counts = [holders, *[20] * (domain.size - 1)]
    items = np.repeat(np.arange(domain.size, dtype=np.uint64)[:, np.newaxis], counts, axis=0)
    return rehearse(mechanism, [items], SeededRandomWords(4))


@pytest.mark.parametrize("name", ["subset", "tree", "jl"])
def test_certificates_are_tight(name: str) -> None:
    """One and a half times as many forged reports as certified can be what a row rests on, and the first place."""
    survey = create_survey("tight", Categories(list("abcdefg")), 2, None, name, {}, 500, public_seed=public_seed(3))
    mechanism = mechanism_for(survey)
    tally = lone(mechanism, 360)
    ask = partial(find_hitters, survey, decoder=mechanism)
    first, second = ask(tally=tally).hitters[:2]
    assert first.value == "a"
    random_words = SeededRandomWords(9).draw(100, mechanism.random_words_per_report)
    random_words[:, 2] = 0  # the truth is told
    alone = mechanism.randomize(np.zeros((100, 1), np.uint64), random_words)
    pair = mechanism.survey.domain.encode(["a", second.value])
    nothing = Tally(mechanism.survey_id, 0, np.zeros(mechanism.cells_shape, np.int64))
    gains = [
        float(-np.diff(mechanism.estimate(with_reports(mechanism, nothing, one[np.newaxis]), pair).counts)[0])
        for one in alone
    ]
    reports = np.tile(alone[np.array(gains) > 0.99 * max(gains)], 100)  # those that tell the two apart
    for certified, is_gone in (
        (first.stands_to, lambda answer: not any(row.value == "a" and row.stands_out for row in answer.hitters)),
        (first.first_to, lambda answer: answer.hitters[0].value != "a"),
    ):
        assert certified
        more = int(1.5 * certified) + 3
        assert is_gone(ask(tally=with_reports(mechanism, tally, reports[:more], -1)))
        assert not is_gone(ask(tally=with_reports(mechanism, tally, reports[:certified], -1)))


def test_a_fit_moves_by_what_is_stated() -> None:
    """No report of any row moves a fitted count by more; one does by nearly as much."""
    survey = create_survey("moves", Integers(16), 1, None, "tree", {}, 2_000, public_seed=public_seed(4))
    tree = mechanism_for(survey)
    assert isinstance(tree, Tree)
    items = np.array([[7], [6], [5], [260], [9_999]], np.uint64)
    tally = rehearse(tree, [np.repeat(items, [900, 500, 300, 200, 100], axis=0)], SeededRandomWords(2))
    buckets = tree.code.buckets(items)
    fit = refit(tree.law, tree.row_counts(tally), buckets)
    stated = moves_of(fit, tree.influence)
    random_words = SeededRandomWords(3).draw(300, 4)
    reports = tree.randomize(items[np.arange(300) % len(items)], random_words)
    steps = np.array(
        [
            refit(tree.law, tree.row_counts(with_reports(tree, tally, one[np.newaxis])), buckets).counts - fit.counts
            for one in reports
        ]
    )
    assert (steps <= stated[:, 0] * 1.02 + 0.02).all()
    assert (steps >= stated[:, 1] * 1.02 - 0.02).all()
    assert (steps.max(axis=0) >= 0.75 * stated[:, 0]).all()


@pytest.mark.parametrize("forged", [-1, 1.5, True, "3", None, 10**30, float("nan")])
def test_what_is_no_number_of_reports(forged: object) -> None:
    """A sentence says what was given, wherever it is given."""
    domain = Categories(["a", "b"])
    with pytest.raises(ParameterError, match="forged must be"):
        find(["a"] * 30, 1, domain, seed=1, forged=forged)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="forged must be"):
        find(["a"] * 30, 1, domain, seed=1).if_forged(forged)  # type: ignore[arg-type]


def test_what_cannot_be_supposed() -> None:
    """All reports, a mechanism without certificates, an answer from a document, one that supposes some already."""
    answer = find(["a"] * 30, 1, Categories(["a", "b"]), seed=1)
    assert answer.if_forged(0) is answer
    for wrong, match in (
        (lambda: answer.if_forged(30), "below the 30 reports"),
        (lambda: find([3] * 30, 1, Integers(8), mechanism="bucket", seed=1, forged=1), "certifies nothing"),
        (lambda: Answer.from_document(answer.to_document()).if_forged(1), "from a document"),
        (lambda: answer.if_forged(2).if_forged(3), "supposes 2"),
        (lambda: Question(forged=1, guesses=1), "come without guesses"),
        (lambda: Question(forged=1, share=0.1), "come without guesses"),
    ):
        with pytest.raises(ParameterError, match=match):
            wrong()
    assert find([3] * 900, 4, Integers(8), mechanism="bucket", seed=1).hitters[0].stands_to is None


@pytest.mark.parametrize("people", [0, 1, 2, 3])
def test_very_small_crowds(people: int) -> None:
    """Everything that can be supposed of a crowd of so many has an answer, with intervals from 0 to all."""
    for domain in (Categories(["a", "b"]), Integers(32)):
        survey = create_survey("few", domain, 4, public_seed=public_seed(people))
        mechanism = mechanism_for(survey)
        tally = rehearse(mechanism, [domain.encode([0] * people)], SeededRandomWords(1))
        for forged in range(people):
            answer = find_hitters(survey, tally, decoder=mechanism, forged=forged)
            assert all(0 <= row.low <= row.high <= people for row in answer.hitters)


def test_nobody_but_the_others_is_counted() -> None:
    """Where everybody seems to hold a value, the interval still goes down to the number of honest people."""
    domain = Categories(["a", "b"])
    survey = create_survey("all", domain, 6, public_seed=public_seed(2))
    tally = rehearse(mechanism_for(survey), [domain.encode(["a"] * 300)], SeededRandomWords(1))
    assert find_hitters(survey, tally, values_per_person=3).hitters[0].low == 300
    for slots in (1, 3):
        assert find_hitters(survey, tally, values_per_person=slots, forged=20).hitters[0].low <= 280


def test_intervals_grow_with_what_is_forged() -> None:
    """More forged reports never make an interval narrower, and all rows fall in the end."""
    answer = find(["a"] * 300 + ["b"] * 200 + ["c"] * 20, 2, Categories(["a", "b", "c"]), seed=1)
    before = answer
    for forged in (1, 5, 25, 125, 519):
        now = answer.if_forged(forged)
        for row, wider in zip(before.hitters, now.hitters, strict=True):
            assert wider.low <= row.low <= row.high <= wider.high
        before = now
    assert "these rows may not stand: a, b" in repr(before)
    assert "no, to" in repr(before)
    assert before.hitters[0].low == 0
