"""The whole protocol on one screen: from values to the answer."""

from __future__ import annotations

from hubbub import (
    Categories,
    Question,
    SeededRandomWords,
    create_survey,
    find_hitters,
    mechanism_for,
    run_protocol,
    tally_of,
)

SITES = ["search.example", "news.example", "blog.example"]


def test_it_goes_from_values_to_the_answer() -> None:
    """The answer is that of the tally of everybody's reports, to the last bit; nobody's values give an answer, too."""
    survey = create_survey("sites", Categories(SITES), 1, public_seed=bytes(32))
    mechanism = mechanism_for(survey)
    for people in (0, 1, 2, 3_000):
        held = [SITES[(0, 0, 0, 1, 1, 2)[k % 6]] for k in range(people)]
        words = SeededRandomWords(people).draw(people, mechanism.random_words_per_report)
        answer = run_protocol(mechanism, held, words, Question(top=2, hitters_only=True))
        tally = tally_of(mechanism, survey.domain.encode(held), words)
        assert answer.to_document() == find_hitters(survey, tally, top=2, hitters_only=True).to_document()
        assert answer.reports == people
    assert [hitter.value for hitter in answer.hitters] == ["search.example", "news.example"]
