"""What sentences say of an answer, and of which kinds they are."""

from __future__ import annotations

import math
import re

from hypothesis import given, settings
from tests.analysis.test_documents import answers

from hubbub import Answer, Hitter, Words
from hubbub.analysis.sentences import BELOW, Sentence, told
from hubbub.model.estimates import Intake

ROW = Hitter("direct", count=190, share=0.95, stderr=20, low=120, high=200, confidence=0.99)


def test_what_was_found_could_be_found() -> None:
    """Where a value stands out, no sentence says that nothing could have been found."""
    assert told(Answer(200, math.inf, (ROW,)))[0].startswith(
        "Too few people: a search finds only a value that nearly everybody holds."
    )
    assert "nothing could have been found" in told(Answer(200, math.inf, ()))[0]


@settings(max_examples=50, deadline=None)
@given(answers)
def test_every_sentence_has_a_kind_that_is_explained(answer: Answer) -> None:
    """The kinds are those that the documentation lists, and a document has the texts of the usual ones."""
    known = set(re.findall(r'"([a-z]+)"', Sentence.__doc__ or ""))
    said = answer.sentences()
    assert {each.kind for each in said} <= known >= set(BELOW)
    assert answer.to_document()["sentences"] == [text for kind, text in said if kind in BELOW]


def test_a_domain_says_more_about_the_intake() -> None:
    """With the domain, each way in which a value was not counted as given has a sentence of its own."""
    answer = Answer(200, 50.0, (ROW,), intake=Intake(missing=1, cut=2, other=3))
    assert told(answer, ["intake"]) == [
        "Of the values given, 1 was missing or without a person; 2 were too long, and cut; "
        "3 were not in the domain, and counted as something else."
    ]
    each = told(answer, ["intake"], domain=Words())
    assert [text.partition(" ")[0] for text in each] == ["1", "2", "3"]
