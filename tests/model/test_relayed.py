"""Surveys through a relay: their fields come together, and surveys without them keep their bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from hubbub import Integers, ParameterError, Survey, create_survey, load_survey

CLOSES = datetime(2030, 1, 31, tzinfo=UTC)
KEY = "ab" * 32
GOOD = {"closes": CLOSES, "through": "relay", "crowd": 1000, "key": KEY}


def relayed(**changes: object) -> Survey:
    """A survey through a relay, with some arguments changed."""
    facts = {"domain": Integers(16), "epsilon": 4, "public_seed": bytes(32), **GOOD, **changes}
    return create_survey("referrers", **facts)


def test_the_fields_are_in_the_document_and_come_back() -> None:
    """All three are in the canonical bytes and belong to the id."""
    survey = relayed()
    document = json.loads(survey.to_json())
    assert {name: document[name] for name in ("through", "crowd", "key")} == {
        "through": "relay",
        "crowd": 1000,
        "key": KEY,
    }
    again = load_survey(survey.to_json())
    assert (again, again.crowd, again.key) == (survey, 1000, KEY)
    assert len({relayed(crowd=crowd).survey_id for crowd in (2, 3, 10**6)}) == 3


def test_surveys_without_a_relay_have_none_of_the_fields() -> None:
    """The new fields are left out where they are unused, also from the canonical bytes."""
    survey = create_survey("referrers", Integers(16), 4, public_seed=bytes(32))
    assert not {"through", "crowd", "key"} & set(json.loads(survey.to_json()))
    spelled = json.dumps({**json.loads(survey.to_json()), "key": None}, sort_keys=True, separators=(",", ":"))
    with pytest.raises(ParameterError, match="canonical form"):
        load_survey(spelled)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"through": None}, "through must be"),
        ({"through": "post"}, "through must be"),
        ({"crowd": None}, "crowd must be"),
        ({"crowd": 1}, "crowd must be"),
        ({"crowd": 0}, "crowd must be"),
        ({"crowd": 10**6 + 1}, "crowd must be"),
        ({"crowd": True}, "crowd must be"),
        ({"crowd": 2.0}, "crowd must be"),
        ({"crowd": "5"}, "crowd must be"),
        ({"key": None}, "key must be"),
        ({"key": KEY.upper()}, "key must be"),
        ({"key": KEY[:-1]}, "key must be"),
        ({"key": "٣" * 64}, "key must be"),
        ({"key": 7}, "key must be"),
        ({"closes": None}, "must say when it closes"),
        ({"opens": datetime(2029, 1, 1, tzinfo=UTC)}, "within 366 days"),
        ({"mechanism": "naive-laplace", "domain": Integers(6)}, "at most 63 bytes"),
    ],
)
def test_fields_that_do_not_fit_are_refused(changes: dict, rule: str) -> None:
    """Two of three fields, other types, a survey without an end or open for too long, and long reports."""
    with pytest.raises(ParameterError, match=rule):
        relayed(**changes)
