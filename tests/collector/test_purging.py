"""Purging on PostgreSQL: no old statistics make it slow, and nobody waits for it."""

from __future__ import annotations

import re

import psycopg
import pytest
from sqlalchemy import func, select
from tests.collector.old_statistics import purge_with_old_statistics
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running, wait_until
from tests.databases import emptied

from hubbub.collector import purging
from hubbub.store import life_cycle
from hubbub.store.reports import Upload, append
from hubbub.store.schema import report_ids
from hubbub.store.store import Store
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

IDS = 30_000
STEPS = 15


@pytest.fixture
def database(postgresql: str) -> str:
    """An empty database of PostgreSQL."""
    return emptied(postgresql)


def test_old_statistics_cost_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each id is read a few times, whatever the database believes about the table; and other surveys keep theirs."""
    monkeypatch.setattr(life_cycle, "IDS_AT_ONCE", IDS // STEPS)
    assert purge_with_old_statistics(database, IDS) >= 1


def metric(service: Service, name: str) -> float:
    """The value of a metric."""
    found = re.search(rf"^{name} (\S+)$", service.ask("GET", "/metrics").body.decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_nobody_waits_for_a_purge(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A step that does not end holds up no upload, no fold and no end of the collector; metrics and readiness tell."""
    monkeypatch.setattr(purging, "STALLED_SECONDS", 0.5)
    with psycopg.connect(database) as holder:
        with running(database, fold_seconds=0.1) as service:
            ending, other = (service.store.add_survey(own_cell_survey(10, name)) for name in ("ending", "other"))
            append(service.store.engine, [Upload(ending.key, some_reports([1]))])
            assert service.ask("GET", "/readyz").status == 200
            assert metric(service, "hubbub_purge_age_seconds") == 0
            holder.execute("SELECT * FROM hubbub_report_ids FOR UPDATE")
            path = f"/v1/surveys/{ending.survey_id.hex()}"
            assert service.ask("DELETE", path, owner=True).status in (200, 204)
            wait_until(lambda: metric(service, "hubbub_purge_age_seconds") > 0.5)
            wait_until(lambda: service.ask("GET", "/readyz").status == 503)
            assert "deleting the ids of a survey that ended has been stuck" in caplog.text
            body = encode_batch(other.survey_id, some_reports([2], seed=2))
            assert service.upload(other.survey_id, body).json["accepted"] == 1
            wait_until(lambda: metric(service, "hubbub_pending_reports") == 0)
        assert "a purge was left to the next start" in caplog.text
    with running(database, fold_seconds=0.1) as service:
        wait_until(lambda: count(service.store) == 1)
        wait_until(lambda: metric(service, "hubbub_purge_age_seconds") == 0)
        assert service.ask("GET", "/readyz").status == 200


def count(store: Store) -> int:
    """How many ids are stored."""
    with store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(report_ids)) or 0
