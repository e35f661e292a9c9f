"""The code lengths for which a tree states its limits."""

import pytest

from hubbub import Hostnames, Integers, Words, create_survey, mechanism_for
from hubbub.codes.shipped import LANGUAGES


def stated(domain: object) -> tuple[int, int | None]:
    """Code bits of a usual and of a long value of a survey."""
    return mechanism_for(create_survey("lengths", domain, 2.0, expected_reports=100_000)).stated_bits


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_lengths_of_its_own(language: str) -> None:
    """Its own table is shorter than the one for ten languages, so both limits are lower."""
    usual, long = stated(Words(language))
    assert usual < stated(Words())[0]
    assert usual < long < stated(Words())[1]


def test_lengths_fit_into_the_domain() -> None:
    """An item has no more bits than its domain; integers have no long value."""
    assert stated(Hostnames(width=40)) == (40, 40)
    assert stated(Integers(64)) == (64, None)
