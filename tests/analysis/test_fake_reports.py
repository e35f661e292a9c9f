"""The number of crafted reports that would be enough: crafted reports really are, and fewer are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub import (
    Categories,
    Domain,
    Integers,
    SeededRandomWords,
    Tally,
    create_survey,
    find_hitters,
    mechanism_for,
)
from hubbub.mechanisms.survey_mechanism import SurveyMechanism
from hubbub.simulation.rehearsal import rehearse
from hubbub.testing import public_seed

pytestmark = pytest.mark.slow

TARGET = 77
TRIED = 4


def make(name: str, domain: Domain, people: int, epsilon: float = 1) -> SurveyMechanism:
    """The mechanism of a survey."""
    survey = create_survey("fakes", domain, epsilon, None, name, {}, people, public_seed=public_seed(5))
    return mechanism_for(survey)


def crafted(mechanism: SurveyMechanism, item: np.ndarray, many: int, seed: int) -> np.ndarray:
    """Reports that an honest device could send, each with the largest effect on one value.

    Ids are drawn at random, as honest ones are. What is said is the truth, without noise: what a forger with the public
    code can do. No other symbol lifts the value's count by more, which is tried for some of them.
    """
    random_words = SeededRandomWords(seed).draw(many, mechanism.random_words_per_report)
    random_words[:, 2] = 0  # this word decides whether the truth is told
    best = mechanism.randomize(np.repeat(item[np.newaxis], many, axis=0), random_words)
    symbol = best.dtype.names[-1]
    for place in range(TRIED):
        one = best[place : place + 1].copy()
        most = lift_of(mechanism, one, item)
        for value in range(256):
            one[symbol] = value
            assert not mechanism.validate(one).all() or lift_of(mechanism, one, item) <= most + 1e-9
    return best


def lift_of(mechanism: SurveyMechanism, report: np.ndarray, item: np.ndarray) -> float:
    """What one report adds to a count, alone."""
    cells = np.zeros(mechanism.cells_shape, np.int64)
    mechanism.accumulate(cells, report)
    return float(mechanism.estimate(Tally(mechanism.survey_id, 1, cells), item[np.newaxis]).counts[0])


def with_reports(mechanism: SurveyMechanism, tally: Tally, reports: np.ndarray) -> Tally:
    """The tally after some more reports."""
    cells = tally.cells.copy()
    mechanism.accumulate(cells, reports)
    return Tally(tally.survey_id, tally.count + len(reports), cells)


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("subset", Categories([str(number) for number in range(100)])),
        ("tree", Integers(8)),
        ("tree", Integers(64)),
        ("jl", Integers(8)),
        ("bucket", Integers(32)),
    ],
)
def test_so_many_crafted_reports_put_a_value_where_it_is(name: str, domain: Domain) -> None:
    """A value that nobody holds, lifted by as many crafted reports as a row says, gets the count of that row."""
    people, holders = 8_000, 3_000
    mechanism = make(name, domain, people)
    alone = domain.encode([number % 60 for number in range(people)])
    target = domain.encode([TARGET])
    honest = np.concatenate([alone[: people - holders], np.repeat(target, holders, axis=0)])
    survey = mechanism.survey
    tally = rehearse(mechanism, [honest], SeededRandomWords(1))
    rows = {str(hitter.value): hitter for hitter in find_hitters(survey, tally, decoder=mechanism).hitters}
    row = rows[str(TARGET)]
    assert 0 < row.fake_reports < row.count  # one crafted report is worth more than one person
    nobody = rehearse(mechanism, [alone], SeededRandomWords(2))
    before = float(mechanism.estimate(nobody, target).counts[0])
    # Where a neighbour can take its place, fewer make a difference; to give it its count takes as many as elsewhere.
    has_neighbours = name == "tree" and domain.bits > 20
    enough = math.ceil(row.count / mechanism.influence[0]) if has_neighbours else row.fake_reports
    forged = with_reports(mechanism, nobody, crafted(mechanism, target[0], enough, 3))
    rows = {str(hitter.value): hitter for hitter in find_hitters(survey, forged, decoder=mechanism).hitters}
    # The count is there but for what noise had made of nobody; of fitted counts, within their error.
    slack = 0.02 * row.count + (0 if name in ("subset", "jl") else 2 * row.stderr)
    assert rows[str(TARGET)].count - max(before, -row.stderr * 3) >= row.count - slack
    most = math.ceil(row.count / mechanism.influence[0] - 1e-9)
    assert row.fake_reports <= most if has_neighbours else row.fake_reports == most


def test_a_count_that_is_not_above_zero_needs_no_fakes() -> None:
    """A row that is shown because it was asked for by name says 0."""
    domain = Categories(["a", "b", "c", "d"])
    mechanism = make("subset", domain, 50, 0.1)
    tally = rehearse(mechanism, [domain.encode(["a"] * 50)], SeededRandomWords(4))
    rows = find_hitters(mechanism.survey, tally, decoder=mechanism).hitters
    assert any(row.count < 0 for row in rows)
    for row in rows:
        assert (row.fake_reports == 0) == (row.count <= 0)
