"""The largest estimates, whether they stand out or not: as many as were asked for."""

from __future__ import annotations

import pytest

from hubbub import Domain, Integers, SeededRandomWords, Words, create_survey, mechanism_for, tally_of
from hubbub.model.estimates import Query

HELD = (900, 700, 500, 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "options", "domain", "least"),
    [
        ("tree", {}, Integers(10), 20),
        ("tree", {}, Integers(64), 20),
        ("tree", {}, Words("de"), 15),  # not every path that a guess ends on is a word
        ("subset", {}, Integers(6), 20),
        ("jl", {}, Integers(10), 20),
        ("naive-laplace", {}, Integers(6), 20),
        ("bucket", {}, Integers(24), 20),
        ("glps", {}, Integers(12), 4),  # it recovers so many
    ],
)
def test_as_many_as_asked_for(mechanism: str, options: dict[str, str], domain: Domain, least: int) -> None:
    """Values that many hold come first, then guesses; one value is asked for, and the largest comes."""
    values = ["tee", "kaffee", "milch", "saft"] if isinstance(domain, Words) else [3, 5, 8, 11]
    crowd = [value for value, held in zip(values, HELD, strict=True) for _ in range(4 * held)]
    survey = create_survey("x", domain, 4, None, mechanism, options, len(crowd), public_seed=bytes(32))
    built = mechanism_for(survey)
    words = SeededRandomWords(1).draw(len(crowd), built.random_words_per_report)
    tally = tally_of(built, domain.encode(crowd), words)
    standing = built.discover(tally, Query())
    guessed = built.discover(tally, Query(top=20, best_guess=True))
    assert domain.decode(standing.items)[:3] == values[:3]
    assert domain.decode(guessed.items)[:3] == values[:3]
    assert least <= len(guessed) <= 20
    assert guessed.counts.tolist() == sorted(guessed.counts, reverse=True)
    assert domain.decode(built.discover(tally, Query(top=1, best_guess=True)).items) == values[:1]
