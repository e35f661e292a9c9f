"""The answer to a list: every value has a row, intervals hold together, and whoever is called ahead is ahead."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from hubbub import (
    Categories,
    Histogram,
    Integers,
    ParameterError,
    Question,
    create_survey,
    find,
    find_hitters,
    mechanism_for,
)
from hubbub.analysis.answer import Answer
from hubbub.model.tally import Tally
from hubbub.testing import assert_binomial, public_seed


def crowd_of(values: int, people: int, kind: str) -> np.ndarray:
    """Everybody holds one value; or all values are held equally often; or one is held by 1 % and one by the rest."""
    counts = np.zeros(values, np.int64)
    if kind == "even":
        counts[:] = people // values
        counts[0] += people - counts.sum()
    else:
        counts[0] = people if kind == "one" else max(1, people // 100)
        counts[1] = people - counts[0]
    return counts


def answers(values: int, epsilon: float, counts: np.ndarray, runs: int, mechanism: str | None = None) -> list[Answer]:
    """Answers to a list whose values are v0, v1 and so on; equal tallies have equal answers, computed once."""
    domain = Categories([f"v{k}" for k in range(values)], other=False)
    survey = create_survey("list", domain, epsilon, mechanism=mechanism, public_seed=public_seed(1))
    decoder, rng = mechanism_for(survey), np.random.default_rng([values, runs])
    crowd = Histogram(np.arange(values, dtype=np.uint64)[:, np.newaxis], counts)
    tallies = [decoder.sample_tally(crowd, rng) for _ in range(runs)]
    computed = {tally.cells.tobytes(): find_hitters(survey, tally, decoder=decoder) for tally in _distinct(tallies)}
    return [computed[tally.cells.tobytes()] for tally in tallies]


def _distinct(tallies: list[Tally]) -> Iterable[Tally]:
    return {tally.cells.tobytes(): tally for tally in tallies}.values()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one", "even", "1 %"])
@pytest.mark.parametrize("people", [50, 500, 5_000])
@pytest.mark.parametrize(("values", "epsilon"), [(2, 1.0), (2, 4.0), (3, 1.0), (10, 2.0)])
def test_lists_are_right(values: int, epsilon: float, people: int, kind: str) -> None:
    """Intervals miss, and values are called ahead that are not, in at most 2.5 % of the answers each."""
    counts, runs = crowd_of(values, people, kind), 150
    missed = wrong = 0
    for answer in answers(values, epsilon, counts, runs):
        rows = [(int(str(row.value)[1:]), row) for row in answer.hitters]
        assert answer.whole_list
        assert sorted(value for value, _ in rows) == list(range(values))
        assert [row.count for _, row in rows] == sorted((row.count for _, row in rows), reverse=True)
        assert all(row.stands_out == (row.low > 0) for _, row in rows)
        missed += any(not row.low - 1e-9 <= counts[value] <= row.high + 1e-9 for value, row in rows)
        # With the same variance for all pairs, a value is ahead of those with the least counts.
        behind = ((value, [other for other, _ in rows[len(rows) - (row.ahead_of or 0) :]]) for value, row in rows)
        wrong += any(counts[other] >= counts[value] for value, others in behind for other in others)
    for count in (missed, wrong):
        if count > 0.025 * runs:
            assert_binomial(count, runs, 0.025, false_alarm=1e-4)


@pytest.mark.slow
def test_a_mutant_with_narrow_intervals_is_noticed() -> None:
    """Intervals of one standard error miss far more often than a test of coverage lets pass."""
    counts, runs = crowd_of(3, 5_000, "even"), 300
    missed = sum(
        any(abs(row.count - counts[int(str(row.value)[1:])]) > row.stderr for row in answer.hitters)
        for answer in answers(3, 1.0, counts, runs)
    )
    with pytest.raises(AssertionError):
        assert_binomial(missed, runs, 0.025, false_alarm=1e-4)


@pytest.mark.parametrize("mechanism", ["tree", "jl"])
def test_other_mechanisms_answer_lists_too(mechanism: str) -> None:
    """Every value has a row whose interval holds it, and the giant is ahead of all others."""
    counts = np.array([15_000, 3_000, 2_000, 0])
    domain = Categories([f"v{k}" for k in range(4)], other=False)
    survey = create_survey("list", domain, 2, mechanism=mechanism, public_seed=public_seed(1))
    values = [f"v{k}" for k in np.repeat(np.arange(4), counts)]
    answer = find(values, 2, domain, mechanism, seed=1)
    assert survey.mechanism == mechanism
    assert answer.hitters[0].value == "v0"
    assert all(row.low <= counts[int(str(row.value)[1:])] <= row.high for row in answer.hitters)
    assert answer.hitters[0].ahead_of == 3


def test_the_old_form() -> None:
    """With `hitters_only` the values that stand out; candidates and other domains are answered as ever."""
    values = ["yes"] * 900 + ["no"] * 100
    domain = Categories(["yes", "no", "maybe"])
    whole = find(values, 4, domain, seed=1)
    assert {row.value for row in whole.hitters} == {"yes", "no", "maybe", "(other)"}
    assert whole.limit_for("yes") == whole.detection_limit < 1000
    assert whole.limit_for("elsewhere") == np.inf
    some = find(values, 4, domain, seed=1, hitters_only=True)
    assert [row.value for row in some.hitters] == ["yes", "no"]
    assert not some.whole_list
    assert not find(values, 4, domain, candidates=["no"], seed=1).whole_list
    assert not find([7] * 1000, 4, Integers(8), seed=1).whole_list
    with pytest.raises(ParameterError, match="hitters_only must be True or False, got hitters_only=1"):
        Question(hitters_only=1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_polls_are_as_exact_as_promised() -> None:
    """Over 1,000 seeds, two options of 20,000 people at ε = 4 have 1.1 times the least mean square error at most."""
    for other, least in ((True, 0.0287), (False, 0.0190)):
        domain = Categories(["yes", "no"], other=other)
        total, counts = 0.0, np.array([11_000, 9_000] + [0] * other)
        for seed in range(1_000):
            survey = create_survey("poll", domain, 4, public_seed=public_seed(seed))
            decoder = mechanism_for(survey)
            crowd = Histogram(np.arange(len(counts), dtype=np.uint64)[:, np.newaxis], counts)
            tally = decoder.sample_tally(crowd, np.random.default_rng(seed))
            estimates = decoder.estimate(tally, np.arange(2, dtype=np.uint64)[:, np.newaxis])
            total += float(((estimates.counts - counts[:2]) ** 2).mean()) / 20_000 / 1_000
        assert total <= 1.1 * least


def test_an_answer_says_who_is_ahead() -> None:
    """The sentences below a list, as text and HTML, say who is surely ahead of whom; a hostile name is spelled out."""
    names = ["\x1b[2J", "no", "never"]
    domain = Categories(names, other=False)
    answer = find([names[0]] * 3_000 + ["no"] * 1_000, 2, domain, seed=1)
    assert "\\x1b[2J is surely ahead of all below it.\nno is surely ahead of never." in str(answer)
    assert "no is surely ahead of never." in answer._repr_html_()
    assert "No value is surely ahead of another." in str(find(["no", "never"], 1, domain, seed=1))
