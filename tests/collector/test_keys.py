"""Surveys through a relay at the collector: made with a key, whose public half everybody may read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.collector.service import Service, running

from hubbub import SeededRandomWords, load_survey, mechanism_for
from hubbub.wire.report_batch import encode_batch

NEW = {"name": "ids", "domain": {"kind": "integers", "bits": 8}, "epsilon": "4", "relay": {"crowd": 3}}


def soon(days: int = 30) -> str:
    """A time in so many days."""
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pytest.fixture
def service(database: str) -> Iterator[Service]:
    """A collector of one's own."""
    with running(database) as started:
        yield started


def test_a_survey_through_a_relay_names_a_key_of_its_own(service: Service) -> None:
    """The key in the document is the hash of what the route gives, until the survey is closed."""
    made = [service.ask("POST", "/v1/surveys", {**NEW, "closes": soon()}, owner=True) for _ in range(2)]
    assert [reply.status for reply in made] == [201, 201]
    surveys = [load_survey(service.ask("GET", reply.headers["location"]).body) for reply in made]
    assert {(survey.through, survey.crowd) for survey in surveys} == {("relay", 3)}
    assert surveys[0].key != surveys[1].key
    for survey in surveys:
        reply = service.ask("GET", f"/v1/keys/{survey.key}")
        assert (reply.status, len(reply.body), reply.headers["access-control-allow-origin"]) == (200, 65, "*")
        assert hashlib.sha256(reply.body).hexdigest() == survey.key
        assert "immutable" in reply.headers["cache-control"]
    service.ask("POST", f"{made[0].headers['location']}/close", owner=True)
    assert service.ask("GET", f"/v1/keys/{surveys[0].key}").kind == "not-found"
    assert service.ask("GET", f"/v1/keys/{surveys[1].key}").status == 200
    for name in ("x", "ab" * 32, surveys[1].key.upper()):
        assert service.ask("GET", f"/v1/keys/{name}").status == 404


def test_reports_that_come_directly_are_refused(service: Service) -> None:
    """A survey through a relay takes nothing at the route for uploads; its sums stay empty."""
    reply = service.ask("POST", "/v1/surveys", {**NEW, "closes": soon()}, owner=True)
    survey = load_survey(service.ask("GET", reply.headers["location"]).body)
    mechanism = mechanism_for(survey)
    words = SeededRandomWords(1).draw(1, mechanism.random_words_per_report)
    batch = encode_batch(survey.survey_id, mechanism.randomize(survey.domain.encode([7]), words))
    refused = service.upload(survey.survey_id, batch)
    assert (refused.status, refused.kind) == (403, "relay-only")
    assert service.ask("GET", f"{reply.headers['location']}/status", owner=True).json["reports"] == 0


def test_choices_that_do_not_fit_are_refused(service: Service) -> None:
    """A survey through a relay needs an end within 366 days, a crowd, and short reports."""
    for changes, rule in (
        ({}, "must say when it closes"),
        ({"closes": soon(367)}, "within 366 days"),
        ({"closes": soon(), "relay": {"crowd": 1}}, "greater than or equal to 2"),
        ({"closes": soon(), "relay": {}}, "crowd"),
        ({"closes": soon(), "relay": {"crowd": 5, "key": "ab" * 32}}, "key"),
        ({"closes": soon(), "mechanism": "naive-laplace"}, "at most 63 bytes"),
    ):
        reply = service.ask("POST", "/v1/surveys", {**NEW, **changes}, owner=True)
        assert reply.status == 422, changes
        assert rule in reply.json["detail"]
