"""Shuffled reports: never below the bound of the theorem or what an attacker learns, and near both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import e, exp, factorial, log, prod
from pathlib import Path

import numpy as np
import pytest

from hubbub import Categories, Integers, ParameterError, create_survey
from hubbub.mechanisms.registry import mechanism_for
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.numeric.randomness import SeededRandomWords
from hubbub.numeric.shuffling import MOST_PEOPLE, Kind, match_kinds, pure_kinds, shuffled_delta, shuffled_epsilon
from hubbub.testing.assertions import assert_mean_zero

PUBLISHED = [
    # people, ε₀, δ, and the lower bound on ε that the program of "Hiding among the clones" gives for its own bound.
    (1_000, 1.0, 1e-6, 0.1824076343),
    (10_000, 2.0, 1e-6, 0.1550152478),
    (10_000, 0.5, 1e-8, 0.0272330469),
    (100_000, 4.0, 1e-6, 0.1675385583),
    (1_000_000, 1.0, 1e-6, 0.0043338730),
    (1_000_000, 6.0, 1e-6, 0.1489840741),
]
SYMBOLS = {0.5: 2, 1.0: 4, 2.0: 8, 4.0: 64, 6.0: 256}
"""How many symbols `tree` has at each ε."""


def tree_kinds(local: float) -> list[Kind]:
    """The kinds of `tree`, by hand."""
    symbols = SYMBOLS[local]
    return match_kinds((exp(local) - 1) / (exp(local) + symbols - 1), 1 / symbols, 1 / symbols**2)


def attacked_kinds(local: float) -> list[Kind]:
    """How likely each report of `tree` is for two values, compared with a third that everybody else holds.

    The coins of a report give each of the three values a symbol. What matters is which of them is the one said.
    """
    symbols, kinds = SYMBOLS[local], defaultdict[tuple[float, float], float](float)
    grown = exp(local)
    for first, second, third in product((True, False), repeat=3):
        chance = (grown if third else symbols - 1) / (grown + symbols - 1)
        for hit in (first, second):
            chance *= 1 / symbols if hit else 1 - 1 / symbols
        ratios = [(grown if hit else 1.0) / (grown if third else 1.0) for hit in (first, second)]
        kinds[round(ratios[0], 12), round(ratios[1], 12)] += chance
    return [Kind(*ratios, chance) for ratios, chance in kinds.items()]


def exact_delta(epsilon: float, kinds: Sequence[Kind], people: int) -> Fraction:
    """(1/n)·E[(Y₁ + … + Yₙ)⁺], outcome by outcome, in fractions.

    For `attacked_kinds` it is by definition what the attacker learns: if she holds the first value, a list of reports
    has the chance that all come from others, times the mean of the ratios of the first value; likewise for the second.
    """
    factor, total = Fraction(exp(epsilon)), Fraction(0)
    values = [Fraction(kind.first) - factor * Fraction(kind.second) for kind in kinds]
    chances = [Fraction(kind.chance) for kind in kinds]
    for numbers in _parts(people, len(kinds)):
        pairs = list(zip(values, chances, numbers, strict=True))
        excess = sum(value * number for value, _, number in pairs)
        if excess > 0:
            ways = Fraction(factorial(people), prod(factorial(number) for number in numbers))
            total += excess * ways * prod(chance**number for _, chance, number in pairs)
    return total / people


def _parts(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered sum."""
    if kinds == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _parts(total - first, kinds - 1))


def holds(found: float, epsilon: float, kinds: Sequence[Kind], people: int) -> bool:
    """Whether a bound is an upper one, and not above that of an ε that is smaller by a thousandth of the reports'."""
    near = max(0.0, epsilon - 0.001 * log(kinds[0].first))
    most = exact_delta(near, kinds, people) * Fraction(1001, 1000) + Fraction(1, 10**9)
    return exact_delta(epsilon, kinds, people) <= Fraction(found) <= most


@pytest.mark.parametrize("local", [0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("people", [1, 2, 3, 7, 25])
def test_bound_of_the_worst_mechanism_is_rounded_upwards(local: float, people: int) -> None:
    """δ is at least what the theorem says in exact arithmetic, and hardly more."""
    kinds = pure_kinds(local)
    for part in (0.0, 0.1, 0.5, 0.9, 0.99):
        assert holds(shuffled_delta(part * local, kinds, people), part * local, kinds, people)


@pytest.mark.parametrize("local", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("people", [1, 2, 6])
def test_bound_of_tree_is_rounded_upwards(local: float, people: int) -> None:
    """The same for a mechanism with more kinds."""
    kinds = tree_kinds(local)
    for part in (0.0, 0.1, 0.5, 0.9):
        assert holds(shuffled_delta(part * local, kinds, people), part * local, kinds, people)


def test_a_wrong_bound_is_noticed() -> None:
    """The same check rejects a slightly smaller ε₀, a person more, and reports that hide a little better."""
    worst, own = pure_kinds(1.0), match_kinds(0.3, 1 / 4, 1 / 16)
    assert not holds(shuffled_delta(0.3, pure_kinds(0.97), 25), 0.3, worst, 25)
    assert not holds(shuffled_delta(0.3, worst, 26), 0.3, worst, 25)
    assert not holds(shuffled_delta(0.3, match_kinds(0.29, 1 / 4, 1 / 16), 6), 0.3, own, 6)


@pytest.mark.parametrize("local", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("people", [1, 2, 5, pytest.param(12, marks=pytest.mark.slow)])
def test_an_attacker_learns_no_more(local: float, people: int) -> None:
    """What all reports of a small crowd reveal is within the bound; it is not within that of a larger blanket."""
    parts = (0.05, 0.5, 0.8) if people < 12 else (0.1,)
    real = [float(exact_delta(part * local, attacked_kinds(local), people)) for part in parts]
    bound = [shuffled_delta(part * local, tree_kinds(local), people) for part in parts]
    larger = match_kinds(0.8 * tree_kinds(local)[-1].chance, 1 / SYMBOLS[local], 1 / SYMBOLS[local] ** 2)
    mutant = [shuffled_delta(part * local, larger, people) for part in parts]
    assert all(one <= other + 1e-12 for one, other in zip(real, bound, strict=True))
    assert not all(one <= other + 1e-12 for one, other in zip(real, mutant, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("local", "most"), [(0.5, 1.13), (1.0, 1.10), (2.0, 1.07), (4.0, 1.012), (6.0, 1.01)])
@pytest.mark.parametrize("people", [1_000, 100_000])
def test_bound_is_near_an_attack(local: float, most: float, people: int) -> None:
    """In larger crowds the best attack known needs an ε not far below the bound."""
    bound, attack = (shuffled_epsilon(1e-8, kinds(local), people) for kinds in (tree_kinds, attacked_kinds))
    assert attack <= bound <= most * attack


@pytest.mark.parametrize(("people", "local", "delta", "published"), PUBLISHED)
def test_smaller_than_what_was_published_before(people: int, local: float, delta: float, published: float) -> None:
    """ε of the worst mechanism is below that of the first paper on clones, which knows less of them."""
    assert 0.4 * published < shuffled_epsilon(delta, pure_kinds(local), people) < published


@pytest.mark.slow
def test_table_of_the_docs() -> None:
    """The table in docs/planning.md has the figures that the code computes, rounded upwards."""
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.count("|") == 6 and line[2:3].isdigit()]
    assert len(rows) == 6
    for local, people, *stated in rows:
        reports, size = int(people.replace(",", "")), float(local)
        for text, kinds in zip(stated, (tree_kinds, attacked_kinds, pure_kinds), strict=True):
            found, last = shuffled_epsilon(1e-8, kinds(size), reports), 10.0 ** -len(text.strip().partition(".")[2])
            assert found <= float(text) < found + last * 1.01


@pytest.mark.slow
def test_bound_is_monotone() -> None:
    """More people, a larger δ and a smaller ε of each report never make ε larger."""
    numbers = (1, 3, 100, 10**5, 10**9)
    people = [shuffled_epsilon(1e-8, tree_kinds(2.0), number) for number in numbers]
    delta = [shuffled_epsilon(10.0**power, tree_kinds(2.0), 1_000) for power in (-11, -8, -5, -2)]
    local = [shuffled_epsilon(1e-8, tree_kinds(size), 10**4) for size in (6.0, 2.0, 0.5)]
    for found in (people, delta, local):
        assert found == sorted(found, reverse=True)
        assert found[0] > found[-1]


def told_apart(mechanism: SurveyMechanism, items: np.ndarray, draws: int) -> np.ndarray:
    """For each of some random coins: the total variation between the reports of two items, from what the truth says."""
    words = SeededRandomWords(5).draw(draws, mechanism.random_words_per_report)
    words[:, 2] = 0  # the truth is told
    field, ways = mechanism.report_dtype.names[1], getattr(mechanism, "window", 1)
    said = np.empty((2, ways, draws), np.int64)
    for item, way in product(range(2), range(ways)):
        words[:, 3] = np.uint64(((2 * way + 1) << 63) // ways)
        said[item, way] = mechanism.randomize(np.repeat(items[item : item + 1], draws, axis=0), words)[field]
    only_first = (said[0][:, np.newaxis] != said[1][np.newaxis]).all(axis=1).sum(axis=0)
    threshold = int(mechanism.survey.parameters["keep_threshold"])
    return np.asarray(threshold / 2.0**64 * only_first / ways)


@pytest.mark.parametrize(
    ("domain", "values"),
    [(Integers(64), [3, 701]), (Integers(12), [3, 701]), (Categories([f"v{k}" for k in range(30)]), ["v1", "v8"])],
)
@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_mechanisms_know_their_kinds(domain: Integers | Categories, values: list[object], epsilon: float) -> None:
    """The kinds that a mechanism states have the total variation of its reports, and its ε."""
    name = "subset" if isinstance(domain, Categories) else "tree"
    mechanism = mechanism_for(create_survey("x", domain, epsilon, mechanism=name))
    found = told_apart(mechanism, domain.encode(values), 40_000)
    kinds = mechanism.report_kinds
    variation = sum(max(kind.first - kind.second, 0.0) * kind.chance for kind in kinds)
    assert_mean_zero(found - variation)
    with pytest.raises(AssertionError):
        assert_mean_zero(found - 1.05 * variation)
    assert sum(kind.chance for kind in kinds) == pytest.approx(1.0)
    assert sum(kind.first * kind.chance for kind in kinds) == pytest.approx(1.0)
    assert log(kinds[0].first) == pytest.approx(float(mechanism.guarantee.epsilon), rel=1e-9)


def test_one_person_is_not_hidden() -> None:
    """Alone, she has her own ε₀: δ at ε is that of her report."""
    assert shuffled_delta(0.5, pure_kinds(1.0), 1) == pytest.approx((e - exp(0.5)) / (e + 1), rel=1e-6)
    assert shuffled_delta(1.0, pure_kinds(1.0), 1) == 0.0
    assert shuffled_epsilon(1e-9, pure_kinds(log(3)), 1) == pytest.approx(log(3), rel=1e-4)
    assert 15 < shuffled_epsilon(1e-4, pure_kinds(16.0), 30) <= 16  # nobody hides reports that hide nothing


def test_more_people_hide_better() -> None:
    """ε falls with the people, about as their root; beyond 10⁹ it is that of 10⁹."""
    kinds = tree_kinds(1.0)
    some, more = shuffled_epsilon(1e-6, kinds, 10**5), shuffled_epsilon(1e-6, kinds, 10**7)
    assert 9 < some / more < 14
    assert shuffled_delta(1e-5, kinds, 10**12) == shuffled_delta(1e-5, kinds, MOST_PEOPLE)


def test_nonsense_is_refused() -> None:
    """Each argument has its rule."""
    kinds = pure_kinds(1.0)
    for epsilon, people in ((-0.1, 10), (float("nan"), 10), (0.1, 0)):
        with pytest.raises(ParameterError, match="must be"):
            shuffled_delta(epsilon, kinds, people)
    for local in (0.0, 16.1, float("inf"), float("nan")):
        with pytest.raises(ParameterError, match="local must be"):
            pure_kinds(local)
    with pytest.raises(ParameterError, match="delta must be"):
        shuffled_epsilon(0.0, kinds, 10)


def test_reports_that_differ_by_less_than_delta_are_alike() -> None:
    """With ε = 0 nothing is told but for a chance of δ: no smaller number is searched for."""
    assert shuffled_epsilon(1e-6, pure_kinds(1e-6), 8_000) == 0.0
    assert shuffled_delta(0.0, pure_kinds(1e-6), 8_000) <= 1e-6
