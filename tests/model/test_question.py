"""A question checks itself."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from hubbub import ParameterError, Question
from hubbub.model.estimates import Query


def test_it_is_data() -> None:
    """Equal questions are equal; candidates are kept as a tuple, whatever they came as; nothing can be changed."""
    once, again = Question(candidates=["a", "b"]), Question(candidates=iter(["a", "b"]))
    assert once == again
    assert once.candidates == ("a", "b")
    assert Question(candidates=np.array([3, 4])).candidates == (3, 4)
    assert Question(top=3, level=0.01).query == Query(3, 0.01)
    with pytest.raises(FrozenInstanceError):
        once.top = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"top": 0}, "top must be a whole number of at least 1, got top=0"),
        ({"level": 2}, "level must be between 0 and 1, got level=2"),
        ({"candidates": []}, "candidates must name at least one value of the domain, got none"),
        ({"candidates": "abc"}, "candidates must be a list of values, got str"),
        ({"candidates": b"abc"}, "candidates must be a list of values, got bytes"),
        ({"candidates": 5}, "candidates must be a list of values, got int"),
        ({"candidates": {"tea": 1}}, "candidates must be a list of values, got dict: pass one of its columns"),
        (
            {"candidates": np.array([["a"]])},
            "candidates must be a list of values, got ndarray: pass one of its columns",
        ),
        ({"top": np.bool_(True)}, "top must be a whole number of at least 1, got top=np.True_"),
        ({"candidates": ["a"], "all_candidates": 1}, "all_candidates must be True or False, got all_candidates=1"),
    ],
)
def test_what_cannot_be_asked(arguments: dict, said: str) -> None:
    """It is refused when the question is made, by name and with what was given."""
    with pytest.raises(ParameterError) as caught:
        Question(**arguments)
    assert str(caught.value) == said


def test_a_table_of_candidates() -> None:
    """To go through a table gives the names of its columns, which nobody asked for: it is refused with a hint."""
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ParameterError, match="candidates must be a list of values, got DataFrame: pass one of its col"):
        Question(candidates=pandas.DataFrame({"site": ["a", "b"]}))
    assert Question(candidates=pandas.Series(["a", "b"])).candidates == ("a", "b")


def test_numbers_of_numpy() -> None:
    """A number of `np.arange` or of a column is a number."""
    asked = Question(top=np.int32(3), level=np.float32(0.25), values_per_person=np.int64(2))
    assert asked == Question(top=3, level=0.25, values_per_person=2)
    assert [type(part) for part in (asked.top, asked.level, asked.values_per_person)] == [int, float, int]
