"""What sentences say of an answer."""

from __future__ import annotations

import math

from hubbub import Hitter
from hubbub.analysis.answer import Answer
from hubbub.analysis.tables import sentences


def test_what_was_found_could_be_found() -> None:
    """Where a value stands out, no sentence says that nothing could have been found."""
    row = Hitter("direct", count=190, share=0.95, stderr=20, low=120, high=200, confidence=0.99)
    assert sentences(Answer(200, math.inf, (row,)))[0].startswith(
        "Too few people: a search finds only a value that nearly everybody holds."
    )
    assert "nothing could have been found" in sentences(Answer(200, math.inf, ()))[0]
