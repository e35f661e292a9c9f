"""Shuffled reports: never below the bound of the theorem, and near it."""

from __future__ import annotations

from fractions import Fraction
from math import comb, e, exp, log

import pytest

from hubbub import ParameterError
from hubbub.numeric.shuffling import MOST_PEOPLE, shuffled_delta, shuffled_epsilon

PUBLISHED = [
    # people, ε₀, δ, and between what the authors' own program finds ε, with these steps: its lower and upper bound.
    (1_000, 1.0, 1e-6, 0.1824076343, 0.1902451524),
    (10_000, 2.0, 1e-6, 0.1550152478, 0.1613811614),
    (10_000, 0.5, 1e-8, 0.0272330469, 0.0281142597),
    (100_000, 4.0, 1e-6, 0.1696699684, 0.1769251806),
    (1_000_000, 1.0, 1e-6, 0.0043338730, 0.0045293153),
    (1_000_000, 6.0, 1e-6, 0.1489840741, 0.1541541512),
    (100_000, 4.0, 1e-6, 0.1675385583, 0.1727905508),  # as their README prints it
]


def exact_delta(epsilon: float, local: float, people: int) -> Fraction:
    """The theorem as it stands: the divergence of the two pairs of numbers, outcome by outcome, in fractions."""
    clone, truth, factor = Fraction(exp(-local)), Fraction(exp(local)), Fraction(exp(epsilon))
    truth /= truth + 1
    total = Fraction(0)
    for clones in range(people):
        chance = comb(people - 1, clones) * clone**clones * (1 - clone) ** (people - 1 - clones)
        for first in range(clones + 2):
            one = Fraction(comb(clones, first - 1) if first else 0, 2**clones)
            other = Fraction(comb(clones, first), 2**clones)
            left, right = truth * one + (1 - truth) * other, (1 - truth) * one + truth * other
            total += chance * max(left - factor * right, Fraction(0))
    return total


CASES = [
    (epsilon * local, local, people)
    for local in (0.2, 1.0, 3.0, 8.0)
    for people in (1, 2, 7, 40)
    for epsilon in (0.0, 0.1, 0.5, 0.9)
] + [(part * local, local, people) for local in (20.0, 100.0, 690.0) for people in (1, 7) for part in (0.3, 0.7, 0.99)]


def holds(found: float, exact: Fraction) -> bool:
    """Whether a bound is an upper one, and hardly more."""
    return exact <= Fraction(found) <= exact * Fraction(101, 100) + Fraction(1, 10**15)


@pytest.mark.parametrize(("epsilon", "local", "people"), CASES)
def test_bound_is_the_theorems_rounded_upwards(epsilon: float, local: float, people: int) -> None:
    """δ is at least what the theorem says in exact arithmetic, and at most 1 % more."""
    assert holds(shuffled_delta(epsilon, local, people), exact_delta(epsilon, local, people))


def test_a_wrong_bound_is_noticed() -> None:
    """The same check rejects somewhat more clones, and a person more."""
    assert not holds(shuffled_delta(0.3, 0.97, 40), exact_delta(0.3, 1.0, 40))
    assert not holds(shuffled_delta(0.3, 1.0, 42), exact_delta(0.3, 1.0, 40))


@pytest.mark.parametrize(("people", "local", "delta", "low", "high"), PUBLISHED)
def test_published_figures(people: int, local: float, delta: float, low: float, high: float) -> None:
    """ε is between what the authors' program gives as lower and upper bounds of the same quantity."""
    assert low <= shuffled_epsilon(delta, local, people) <= high


@pytest.mark.parametrize("people", [1, 30, 4_000, 10**6])
def test_epsilon_keeps_delta(people: int) -> None:
    """At the ε that is returned, δ is within what was asked for; and shuffling never costs privacy."""
    epsilon = shuffled_epsilon(1e-7, 2.0, people)
    assert epsilon <= 2.0
    assert 799 < shuffled_epsilon(1e-7, 800.0, people) <= 800  # reports that hide nothing, which no crowd hides either
    assert shuffled_delta(epsilon, 2.0, people) <= 1e-7


def test_more_people_hide_better() -> None:
    """ε falls with the people, about as their root; beyond 10⁹ it is that of 10⁹."""
    some, more = shuffled_epsilon(1e-6, 1.0, 10**5), shuffled_epsilon(1e-6, 1.0, 10**7)
    assert 9 < some / more < 14
    assert shuffled_epsilon(1e-6, 1.0, 10**12) == shuffled_epsilon(1e-6, 1.0, MOST_PEOPLE)


def test_one_person_is_not_hidden() -> None:
    """Alone, she has her own ε₀: δ at ε is that of her report."""
    assert shuffled_delta(0.5, 1.0, 1) == pytest.approx((e - exp(0.5)) / (e + 1), rel=1e-6)
    assert shuffled_delta(1.0, 1.0, 1) == 0.0
    assert shuffled_epsilon(1e-9, log(3), 1) == pytest.approx(log(3), rel=1e-6)


@pytest.mark.parametrize("arguments", [(-0.1, 1.0, 10), (0.1, 0.0, 10), (0.1, float("inf"), 10), (0.1, 1.0, 0)])
def test_nonsense_is_refused(arguments: tuple[float, float, int]) -> None:
    """Each argument has its rule."""
    with pytest.raises(ParameterError, match="must be"):
        shuffled_delta(*arguments)
    with pytest.raises(ParameterError, match="delta must be"):
        shuffled_epsilon(0.0, 1.0, 10)


def test_reports_that_differ_by_less_than_delta_are_alike() -> None:
    """With ε = 0 nothing is told but for a chance of δ: no smaller number is searched for."""
    assert shuffled_epsilon(1e-6, 1e-6, 8_000) == 0.0
    assert shuffled_delta(0.0, 1e-6, 8_000) <= 1e-6
