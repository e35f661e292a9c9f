"""Groups of people instead of composition: what pooling finds, and that one survey of everybody is as good."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub import Histogram, Integers, create_survey, mechanism_for
from hubbub.errors import ParameterError
from hubbub.model.estimates import Query
from hubbub.paper.groups import discover_median, discover_pooled, group_surveys, groups_for
from hubbub.simulation import population
from hubbub.testing import public_seed

OPTIONS = {"layout": "lean", "sparsity": 1, "calibration": "tight"}
BEST = Query(top=1, best_guess=True)


def whole_survey(people: int, seed: int = 1, options: dict | None = None, mechanism: str = "glps"):
    """One survey of everybody."""
    chosen = OPTIONS if options is None else options
    return create_survey("x", Integers(32), 1, None, mechanism, chosen, people, public_seed=public_seed(seed))


def test_groups_for_a_chance_of_failure() -> None:
    """⌈8·ln(1/β)⌉, as in the Bucket mechanism."""
    assert [groups_for(beta) for beta in (0.5, 0.1, 0.01)] == [6, 19, 37]
    with pytest.raises(ParameterError, match="beta must be between 0 and 1"):
        groups_for(1)


def test_groups_share_everything_but_the_seed() -> None:
    """Same question and privacy, parameters for a part of the people, another operator each."""
    survey = whole_survey(900_000, options={"calibration": "tight"})
    groups = group_surveys(survey, 3)
    assert {group.expected_reports for group in groups} == {300_000}
    assert {(group.epsilon, group.delta, group.domain) for group in groups} == {(1, survey.delta, survey.domain)}
    assert len({group.survey_id for group in [survey, *groups]}) == 4
    assert group_surveys(survey, 3) == groups
    for wrong in (0, 900_001, True, 1.5):
        with pytest.raises(ParameterError, match="groups must be from 1"):
            group_surveys(survey, wrong)


@pytest.mark.slow
def test_pooling_amplifies_and_one_survey_is_at_least_as_good() -> None:
    """Groups of 350,000 find a fifth's value in some runs; three of them pooled in all; so does one survey of all."""
    single = pooled = median = whole = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        survey = whole_survey(1_050_000, seed)
        crowd = population.heavy(1_050_000, 0.2, 200, 32, rng)
        groups = [
            (group, mechanism_for(group).sample_tally(Histogram(crowd.items, crowd.counts // 3), rng))
            for group in group_surveys(survey, 3)
        ]
        everybody = mechanism_for(survey)
        answers = [
            mechanism_for(groups[0][0]).discover(groups[0][1], BEST),
            discover_pooled(groups, BEST),
            discover_median(groups, BEST),
            everybody.discover(everybody.sample_tally(crowd, rng), BEST),
        ]
        right = [len(answer) == 1 and np.array_equal(answer.items[0], crowd.items[0]) for answer in answers]
        single, pooled, median, whole = single + right[0], pooled + right[1], median + right[2], whole + right[3]
        if right[1]:
            assert abs(answers[1].counts[0] - crowd.counts[0]) < 6 * answers[1].stderrs[0]
    assert 3 <= single < median <= pooled == whole == 12


def test_pooled_counts_and_errors_are_sums() -> None:
    """For any mechanism: the pooled count of a value is the sum of the groups' counts, and what is weak is left out."""
    rng = np.random.default_rng(1)
    survey = whole_survey(200_000, options={}, mechanism="bucket")
    crowd = Histogram(population.random_items(1, 32, rng), np.array([60_000]), singletons=40_000)
    groups = [(group, mechanism_for(group).sample_tally(crowd, rng)) for group in group_surveys(survey, 2)]
    each = [mechanism_for(group).estimate(tally, crowd.items) for group, tally in groups]
    for answer in (discover_pooled(groups, Query()), discover_median(groups, Query())):
        assert np.array_equal(answer.items, crowd.items)
        assert answer.counts[0] > answer.threshold > 0
    pooled = discover_pooled(groups, Query())
    assert pooled.counts[0] == pytest.approx(sum(float(part.counts[0]) for part in each))
    assert pooled.stderrs[0] == pytest.approx(np.hypot(each[0].stderrs[0], each[1].stderrs[0]))
    nobody = [
        (group, mechanism_for(group).sample_tally(Histogram(crowd.items[:0], crowd.counts[:0]), rng))
        for group, _ in groups
    ]
    assert len(discover_pooled(nobody, Query())) == 0


def test_refusals() -> None:
    """No groups, one twice, and several domains."""
    survey = whole_survey(1000, options={})
    tally = mechanism_for(survey).sample_tally(
        Histogram(np.array([[5]], np.uint64), np.array([1000])), np.random.default_rng(1)
    )
    other = create_survey("x", Integers(16), 1, None, "glps", public_seed=public_seed(1))
    for groups, message in (
        ([], "at least one"),
        ([(survey, tally)] * 2, "a survey each"),
        ([(survey, tally), (other, tally)], "one domain"),
    ):
        with pytest.raises(ParameterError, match=message):
            discover_pooled(groups, BEST)
