"""How often a report does not fit its sender's value, as mechanisms state it."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub import Categories, Integers, SeededRandomWords, create_survey, mechanism_for, tally_of
from hubbub.mechanisms.registry import REGISTRY
from hubbub.testing import assert_binomial

PEOPLE = 20_000


@pytest.mark.parametrize("domain", [Integers(64), Categories([f"name {k}" for k in range(100)])], ids=str)
def test_symbols_of_a_tree_are_untrue_as_often_as_it_says(domain) -> None:
    """Beside the symbol of the same report whose third random word is 0, which keeps the truth."""
    mechanism = mechanism_for(create_survey("lies", domain, 1, mechanism="tree", public_seed=bytes(32)))
    items = np.full((PEOPLE, 1), 7, np.uint64)
    random_words = SeededRandomWords(1).draw(PEOPLE, mechanism.random_words_per_report)
    truthful = random_words.copy()
    truthful[:, 2] = 0
    sent, true = (mechanism.randomize(items, words)["symbol"] for words in (random_words, truthful))
    assert_binomial(int(np.count_nonzero(sent != true)), PEOPLE, mechanism.lie_chance)


@pytest.mark.slow
def test_windows_of_a_list_are_untrue_as_often_as_it_says() -> None:
    """A cell counts the windows that hold its value."""
    names = [f"name {k}" for k in range(30)]
    survey = create_survey("lies", Categories(names), 1, mechanism="subset", public_seed=bytes(32))
    mechanism = mechanism_for(survey)
    items = survey.domain.encode(["name 7"] * PEOPLE)
    random_words = SeededRandomWords(1).draw(PEOPLE, mechanism.random_words_per_report)
    tally = tally_of(mechanism, items, random_words)
    assert_binomial(PEOPLE - int(tally.cells[int(items[0, 0])]), PEOPLE, mechanism.lie_chance)


@pytest.mark.parametrize("name", sorted(set(REGISTRY) - {"tree", "subset"}))
def test_where_noise_covers_everything_nothing_is_said(name: str) -> None:
    """A response with noise, or about a row, is not simply true or untrue of the value."""
    assert mechanism_for(create_survey("lies", Integers(8), 1, mechanism=name)).lie_chance is None
