"""What is printed as proved: the numbers of the theorems, for the surveys that they are about and no others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import Categories, Hostnames, Integers, create_survey
from hubbub.errors import ParameterError
from hubbub.model.domain import Domain
from hubbub.paper import theory_of_tree as theory
from hubbub.paper.path_bound import PathBound
from hubbub.paper.proved_search import BITS, guarantee_of_search, limits_at


def test_what_is_printed_is_theorem_d() -> None:
    """The larger of T and D, the exhaustive limit and the converse, of the clean mechanism; in words too."""
    for bits, people, epsilon in ((32, 100_000, 1), (64, 1_000_000, 4)):  # at ε = 4, D is the larger one
        found = guarantee_of_search(create_survey("s", Integers(bits), epsilon), people)
        bound = PathBound(people, epsilon, bits)
        assert found.alpha == math.ceil(max(bound.threshold(), bound.comparison()))
        assert found.exhaustive == math.ceil(theory.exhaustive_limit(people, epsilon, bits, 0.05))
        assert found.converse == math.floor(theory.converse(people, epsilon, bits, 0.05))
        assert found.root_bits == bound.root_bits
        said = " ".join(found.words)
        for number in (people, found.alpha, found.exhaustive, found.converse):
            assert f"{number:,}" in said


def test_a_smaller_chance_of_failure_costs_more() -> None:
    """The bound depends on β, which the words state."""
    survey = create_survey("s", Integers(32), 1)
    usual, sure = (guarantee_of_search(survey, 100_000, beta) for beta in (0.05, 0.01))
    assert sure.alpha > usual.alpha
    assert "at least 0.99" in sure.words[0]


@pytest.mark.parametrize(
    ("domain", "people", "beta", "said"),
    [
        (Categories(["yes", "no"]), 1000, 0.05, "the mechanism must be tree .* got 'subset'"),
        (Hostnames(), 10**6, 0.05, "the theorem about texts .* got texts"),
        (Integers(20), 10**6, 0.05, "there must be a search: .* got 20 bits"),
        (Integers(257), 10**6, 0.05, "at most 256 bits .* got 257 bits"),
        (Integers(24), 10**6, 0.05, "two bits more than roots, which have 23, got 24 bits"),
        (Integers(64), 1, 0.05, "people must be more for a bound to exist, got people=1"),
        (Integers(64), 2000, 0.05, "people must be more for a bound to exist, got people=2000"),
        (Integers(64), 10**6, 0.001, "the chance of failure must be 0.01 to 0.5 for a bound, got 0.001"),
    ],
)
def test_where_nothing_is_proved_it_says_why(domain: Domain, people: int, beta: float, said: str) -> None:
    """One sentence, at once: other mechanisms, texts, no search, no room for roots, too few people, a strange β."""
    with pytest.raises(ParameterError, match=said):
        guarantee_of_search(create_survey("s", domain, 1), people, beta)


def test_the_figure_has_what_is_proved_above_what_is_stated() -> None:
    """For one crowd: converse, exhaustive limit, what tree states, and α, in this order."""
    row = limits_at(1_000_000, np.random.default_rng(1))
    assert row.converse < row.exhaustive < row.stated < row.alpha
    assert row.alpha == guarantee_of_search(create_survey("s", Integers(BITS), 1), 1_000_000).alpha
