"""One suite for every registered mechanism, with every combination of its options, found by introspection."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from hubbub import Histogram, ParameterError, SeededRandomWords, mechanism_for, tally_of
from hubbub.mechanisms.registry import REGISTRY, create_survey
from hubbub.model.domain import Categories, Integers
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.testing import CHECKS, MakeSurvey, public_seed

# These are seen over many crowds, or in a large one; every other promise is checked in moments.
LONG = {"check_unbiased_with_honest_stderr", "check_sampler_has_the_law", "check_finds_planted"}
LAWS = {"check_unbiased_with_honest_stderr", "check_sampler_has_the_law"}
LONG_IF_HASHED = LONG | {"check_nothing_to_find", "check_smallest_level"}


def marked(long: set[str]) -> list[object]:
    """All checks; those that are named are slow."""
    return [
        pytest.param(check, id=check.__name__, marks=[pytest.mark.slow] if check.__name__ in long else [])
        for check in CHECKS
    ]


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


@pytest.mark.parametrize("check", marked(LONG_IF_HASHED))
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


def twin_of(name: str, options: dict[str, str]) -> dict[str, str]:
    """The first options with the same parameters: what is left to differ is how the tally is searched."""
    parameters = maker(name, options)(public_seed(1)).parameters
    return next(each for each in option_sets(name) if maker(name, each)(public_seed(1)).parameters == parameters)


def assert_same_numbers(make: MakeSurvey, make_twin: MakeSurvey) -> None:
    """Bit for bit the same reports, sums, drawn sums and estimates, for crowds of many sizes and public seeds."""
    for number in range(1, 13):
        survey, twin = make(public_seed(number)), make_twin(public_seed(number))
        one, other = mechanism_for(survey), mechanism_for(twin)
        items = survey.domain.encode([f"value {k % 40}" for k in range(7 * number)])
        words = SeededRandomWords(number).draw(len(items), one.random_words_per_report)
        assert one.randomize(items, words).tobytes() == other.randomize(items, words).tobytes()
        tally = tally_of(one, items, words)
        twin_tally = tally_of(other, items, words)
        assert np.array_equal(tally.cells, twin_tally.cells)
        crowd = Histogram(*np.unique(items, return_counts=True, axis=0))
        drawn, twin_drawn = (each.sample_tally(crowd, np.random.default_rng(number)) for each in (one, other))
        assert np.array_equal(drawn.cells, twin_drawn.cells)
        assert one.samples_at_once == other.samples_at_once
        found, twin_found = one.estimate(tally, items), other.estimate(twin_tally, items)
        assert np.array_equal(found.counts, twin_found.counts)
        assert np.array_equal(found.stderrs, twin_found.stderrs)


@pytest.mark.parametrize("check", marked(LONG))
@pytest.mark.parametrize(("name", "options"), CASES)
def test_conformance(name: str, options: dict[str, str], check) -> None:
    """Every registered mechanism keeps every promise of the interface.

    Laws are seen over hundreds of crowds. Where another case has the very same numbers, that is seen instead.
    """
    twin = twin_of(name, options) if check.__name__ in LAWS else options
    if twin == options:
        check(maker(name, options))
    else:
        assert_same_numbers(maker(name, options), maker(name, twin))


@pytest.mark.slow
def test_numbers_that_differ_are_seen() -> None:
    """Cases with other parameters are no twins, and their numbers are not the same."""
    assert twin_of("bucket", {"calibration": "onebit", "decoder": "soft"})["decoder"] == "hard"
    dense, hadamard = ({"calibration": "onebit", "projection": projection} for projection in ("dense", "hadamard"))
    assert twin_of("jl", dense) != twin_of("jl", hadamard)
    with pytest.raises(AssertionError):
        assert_same_numbers(maker("jl", dense), maker("jl", hadamard))


def forgeries(mechanism, items: np.ndarray) -> Iterator[np.ndarray]:
    """Valid reports, one at a time, of somebody who does not keep to the protocol but for the id."""
    report = mechanism.randomize(items[:1], SeededRandomWords(2).draw(1, mechanism.random_words_per_report))
    field = mechanism.report_dtype.names[1]
    contents: list = list(range(256))
    if field == "responses":
        patterns = mechanism.responses(items).astype(np.int64)
        extremes = [np.sign(2 * pattern - (pattern.min() >= 0)) * mechanism.channel.largest for pattern in patterns]
        contents = [sign * extreme for extreme in extremes for sign in (1, -1)]
    for content in contents:
        report[field] = content
        if mechanism.validate(report).all():
            yield report


@pytest.mark.parametrize(("name", "options"), CASES)
def test_one_report_moves_a_count_by_its_influence_at_most(name: str, options: dict[str, str]) -> None:
    """However a report is forged, no count moves by more than `influence`; the worst come within 2 % of it."""
    survey = maker(name, options)(public_seed(1))
    mechanism = mechanism_for(survey)
    items = survey.domain.encode([f"value {number}" for number in range(8)])
    tally = tally_of(mechanism, items, SeededRandomWords(3).draw(8, mechanism.random_words_per_report))
    before = mechanism.estimate(tally, items).counts
    moved = []
    for report in forgeries(mechanism, items):
        cells = tally.cells.copy()
        mechanism.accumulate(cells, report)
        moved.append(mechanism.estimate(Tally(survey.survey_id, 9, cells), items).counts - before)
    most, least = mechanism.influence
    assert 0.98 * most <= np.max(moved) <= most * (1 + 1e-5)
    assert 0.98 * least >= np.min(moved) >= least * (1 + 1e-5)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_facts_fit_together(name: str, options: dict[str, str]) -> None:
    """A bound is above the noise and grows with the people; the law of a count has the noise's variance."""
    survey = maker(name, options)(public_seed(1))
    mechanism = mechanism_for(survey)
    crowd = Histogram(survey.domain.encode(["value 1", "value 2"]), np.array([900, 100]))
    assert mechanism.error_bound(1000, crowd.norm, 0.05) > 1.9 * mechanism.noise_stderr(1000)
    assert mechanism.largest_error_bound(crowd, 0.05) > mechanism.noise_stderr(1000)
    assert mechanism.noise_stderr(4000) == pytest.approx(2 * mechanism.noise_stderr(1000))
    law = mechanism.count_law(1000)
    assert math.sqrt(law.variance(np.zeros(1))[0]) == pytest.approx(mechanism.noise_stderr(1000), rel=1e-3)
    assert mechanism.noise_draws <= mechanism.random_words_per_report
    tally = mechanism.sample_tally(crowd, np.random.default_rng(1))
    assert tally.count == 1000
    counts = mechanism.counts_of_all(tally)
    assert counts.shape == (survey.domain.size,)
    if mechanism.bounds_every_count:
        assert counts == pytest.approx(mechanism.estimate(tally, every_item(survey)).counts)


def every_item(survey: Survey) -> np.ndarray:
    """All items of a small universe."""
    return np.arange(survey.domain.size, dtype=np.uint64)[:, np.newaxis]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_sums_of_another_kind_are_refused(name: str, options: dict[str, str]) -> None:
    """Cells of another dtype or shape raise, and nothing is added: they would overflow, round, or be cut."""
    survey = maker(name, options)(public_seed(1))
    mechanism = mechanism_for(survey)
    reports = mechanism.randomize(
        survey.domain.encode(["value 1"] * 3), SeededRandomWords(1).draw(3, mechanism.random_words_per_report)
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
