"""One suite for every registered mechanism, with every combination of its options, found by introspection."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from hubbub import ParameterError, SeededWords, mechanism_for
from hubbub.mechanisms.registry import REGISTRY, create_survey
from hubbub.model.domain import Categories, Integers
from hubbub.model.survey import Survey
from hubbub.testing import CHECKS, MakeSurvey, public_seed


def option_sets(name: str) -> Iterator[dict[str, str]]:
    """All combinations of the options that are words."""
    worded = [option for option in REGISTRY[name].about.options if option.choices]
    for values in itertools.product(*(option.choices for option in worded)):
        yield {option.name: value for option, value in zip(worded, values, strict=True)}


def maker(name: str, options: dict[str, str]) -> MakeSurvey:
    """Surveys over 37 values (not a power of two), at an epsilon at which twenty thousand people suffice."""
    domain = Categories([f"value {number}" for number in range(36)])

    def make(seed: bytes) -> Survey:
        return create_survey("test", domain, 4, None, name, options, expected_reports=2_000, public_seed=seed)

    return make


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance_of_a_hashed_tree(check) -> None:
    """The tree promises the same where its universe is too large to count directly."""

    def make(seed: bytes) -> Survey:
        return create_survey("test", Integers(30), 4, None, "tree", {"size": "small"}, 2_000, public_seed=seed)

    check(make)


CASES = [
    pytest.param(name, options, id=" ".join([name, *options.values()]))
    for name in sorted(REGISTRY)
    for options in option_sets(name)
]


def test_there_are_cases() -> None:
    """Introspection finds every mechanism, so that an empty suite cannot pass."""
    assert {case.values[0] for case in CASES} == set(REGISTRY)
    assert len(CASES) >= 13


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_conformance(name: str, options: dict[str, str], check) -> None:
    """Every registered mechanism keeps every promise of the interface."""
    check(maker(name, options))


@pytest.mark.parametrize(("name", "options"), CASES)
def test_sums_of_another_kind_are_refused(name: str, options: dict[str, str]) -> None:
    """Cells of another dtype or shape raise, and nothing is added: they would overflow, round, or be cut."""
    survey = maker(name, options)(public_seed(1))
    mechanism = mechanism_for(survey)
    reports = mechanism.randomize(
        survey.domain.encode(["value 1"] * 3), SeededWords(1).draw(3, mechanism.words_per_report)
    )
    shape = mechanism.cells_shape
    for dtype in ("int32", "uint64", "float64"):
        cells = np.zeros(shape, dtype)
        with pytest.raises(ParameterError, match=r"cells must be int64 of shape"):
            mechanism.accumulate(cells, reports)
        assert not cells.any()
    with pytest.raises(ParameterError, match=r"cells must be int64 of shape"):
        mechanism.accumulate(np.zeros((*shape, 2), np.int64), reports)
    fixed = np.zeros(shape, np.int64)
    fixed.setflags(write=False)
    with pytest.raises(ParameterError, match="cells must be writable"):
        mechanism.accumulate(fixed, reports)
    with pytest.raises(ParameterError, match="cells must be int64"):
        mechanism.accumulate([0], reports)
    with pytest.raises(ParameterError, match="reports must be a vector"):
        mechanism.accumulate(np.zeros(shape, np.int64), None)
