"""Requests made up from the OpenAPI document: whatever comes, the collector has an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.collector.service import Service, running

pytestmark = pytest.mark.slow

NEW = {"name": "ids", "domain": {"kind": "integers", "bits": 8}, "epsilon": "2"}
OPERATIONS = [
    ("POST", "/v1/surveys"),
    ("GET", "/v1/keys/{key}"),
    ("POST", "/v1/releases"),
    ("GET", "/v1/surveys"),
    ("GET", "/v1/surveys/{survey_id}"),
    ("DELETE", "/v1/surveys/{survey_id}"),
    ("GET", "/v1/surveys/{survey_id}/open"),
    ("POST", "/v1/surveys/{survey_id}/reports"),
    ("GET", "/v1/surveys/{survey_id}/status"),
    ("POST", "/v1/surveys/{survey_id}/close"),
    ("GET", "/v1/surveys/{survey_id}/hitters"),
    ("POST", "/v1/surveys/{survey_id}/hitters"),
    ("GET", "/v1/surveys/{survey_id}/hitters.csv"),
    ("GET", "/v1/surveys/{survey_id}/published"),
    ("GET", "/v1/surveys/{survey_id}/published.svg"),
    ("GET", "/v1/surveys/{survey_id}/published.atom"),
    ("GET", "/v1/surveys/{survey_id}/page"),
    ("PATCH", "/v1/surveys/{survey_id}/page"),
    ("GET", "/v1/tokens"),
    ("POST", "/v1/tokens"),
    ("DELETE", "/v1/tokens/{token_id}"),
    ("GET", "/v1/surveys/{survey_id}/names"),
    ("PUT", "/v1/surveys/{survey_id}/names"),
    ("GET", "/v1/surveys/{survey_id}/slices"),
    ("GET", "/v1/surveys/{survey_id}/trend"),
    ("GET", "/v1/surveys/{survey_id}/tally"),
    ("POST", "/v1/surveys/{survey_id}/tallies"),
    ("GET", "/v1/sites"),
    ("POST", "/v1/sites"),
    ("GET", "/v1/sites/{site}"),
    ("PATCH", "/v1/sites/{site}"),
    ("DELETE", "/v1/sites/{site}"),
    ("GET", "/v1/sites/{site}/status"),
    ("POST", "/v1/sites/{site}/questions"),
    ("PUT", "/v1/sites/{site}/questions"),
    ("DELETE", "/v1/sites/{site}/questions/{survey_id}"),
    ("POST", "/v1/sites/{site}/surveys"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector."""
    folder: Path = tmp_path_factory.mktemp("openapi")
    with running(str(folder / "a.db")) as started:
        yield started


@pytest.fixture(scope="module")
def schema(service: Service) -> object:
    """Its OpenAPI document."""
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


def test_every_operation_is_tried(schema: object) -> None:
    """The list above is all there is."""
    assert sorted(OPERATIONS) == sorted(
        (result.ok().method.upper(), result.ok().path) for result in schema.get_all_operations()
    )


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=str)
def test_no_request_is_too_much(service: Service, schema: object, method: str, path: str) -> None:
    """No request ends in a 5xx; every refusal is a problem document."""
    operation = schema[path][method]
    made = service.ask("POST", "/v1/surveys", NEW, owner=True).json["survey_id"]

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), real=st.booleans(), owner=st.sampled_from([True, True, False]))
    def attempt(case: schemathesis.Case, real: bool, owner: bool) -> None:
        if real and "survey_id" in case.path_parameters:
            case.path_parameters["survey_id"] = made
        headers = {"Authorization": f"Bearer {service.token}"} if owner else {}
        reply = case.call(headers=headers)
        assert reply.status_code < 500, reply.text
        if reply.status_code >= 400 and reply.headers:
            assert reply.headers["content-type"][0].startswith("application/problem+json"), reply.text

    attempt()
