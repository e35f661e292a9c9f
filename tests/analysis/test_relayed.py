"""Three figures of a survey through a relay, and the condition that goes with them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hubbub import Hostnames, Integers, create_survey, mechanism_for
from hubbub.analysis.relayed import CONDITION, DELTA, through_relay
from hubbub.mechanisms.survey_mechanism import SurveyMechanism


def relayed(epsilon: int = 6, **more: object) -> SurveyMechanism:
    """The mechanism of a survey through a relay."""
    facts = {"closes": datetime(2030, 1, 31, tzinfo=UTC), "through": "relay", "crowd": 1000, "key": "ab" * 32, **more}
    return mechanism_for(create_survey("referrers", Hostnames(), epsilon, **facts))


def test_the_figures_until_a_crowd_is_out_are_the_local_one() -> None:
    """Without a release, and with releases of one or two people, nobody is hidden."""
    for people in (0, 1, 2):
        figures = through_relay(relayed(), people)
        assert figures.collector == pytest.approx(6)
        assert figures.both == 6
    assert "until a crowd of 1,000 has come together" in through_relay(relayed(), 0).words[0]


def test_a_crowd_hides() -> None:
    """10,000 reports at ε = 6 are at most ε = 1.2 to the collector alone, and a larger crowd hides better."""
    figures = [through_relay(relayed(), people) for people in (1_000, 10_000, 100_000)]
    assert figures[0].collector > figures[1].collector > figures[2].collector
    assert 1.0 < figures[1].collector <= 1.2
    assert {each.both for each in figures} == {6}
    assert {each.delta for each in figures} == {DELTA}


def test_a_survey_that_repeats_says_what_a_year_costs() -> None:
    """ε and δ add up over the answers of a year."""
    opens = datetime(2029, 6, 4, tzinfo=UTC)
    figures = through_relay(relayed(epsilon=2, every=28, opens=opens), 10_000)
    assert figures.collector_year == pytest.approx(14 * figures.collector)
    assert figures.delta_year == pytest.approx(14 * DELTA)
    assert "in a year of answers" in figures.words[0]
    assert through_relay(relayed(), 10_000).collector_year is None


def test_the_figures_are_shown_together_with_their_condition() -> None:
    """The sentences name all three and end with the condition; the JSON has them, too."""
    figures = through_relay(relayed(), 10_000)
    assert [sentence.partition(":")[0] for sentence in figures.words[:3]] == [
        "To the collector alone",
        "To the relay alone",
        "To both together",
    ]
    assert figures.words[3] == CONDITION
    assert figures.to_json()["words"] == list(figures.words)


def test_a_mechanism_whose_law_is_not_known_has_the_local_figure() -> None:
    """If δ is above 0, nothing is claimed of the crowd."""
    facts = {"closes": datetime(2030, 1, 31, tzinfo=UTC), "through": "relay", "crowd": 1000, "key": "ab" * 32}
    survey = create_survey("ids", Integers(8), 4, "1e-6", **facts)
    figures = through_relay(mechanism_for(survey), 10_000)
    assert (figures.collector, figures.delta) == (4, 1e-6)
