"""Devices with the standard-library client against a running collector: from a value to an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.collector.service import running, wait_until

from hubbub import Categories, create_survey
from hubbub.client import Client

pytestmark = pytest.mark.slow

VALUES = ["mail.example", "news.example", "search.example"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def test_every_device_is_counted_once(tmp_path: Path) -> None:
    """Forty devices answer, each twice; the collector has forty reports."""
    with running(str(tmp_path / "reports.db")) as service:
        survey = create_survey("referrers", Categories(VALUES), 2, expected_reports=40)
        stored = service.store.add_survey(survey)
        url = f"{service.url}/v1/surveys/{survey.survey_id.hex()}"
        for device in range(40):
            with Client(url, ledger=tmp_path / f"{device}.json") as client:
                client.report("search.example")
                assert client.flush().status == "sent"
                assert client.report("news.example").status == "already"
        reply = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/status", owner=True)
        assert reply.json["reports"] == 40
        tally = service.store.tally(survey.survey_id)
        assert tally.count == 40
        assert tally.cells.sum() == 40 * stored.mechanism.window  # every report matches as many values


def test_a_device_offline_delivers_later_and_a_closed_survey_takes_nothing(tmp_path: Path) -> None:
    """A report waits in the ledger until it can be sent; one for a closed survey is kept but not counted."""
    database = str(tmp_path / "reports.db")
    refused = re.compile(r'^hubbub_refused_uploads_total\{problem="closed"\} [1-9]', re.MULTILINE)  # it tries again
    survey = create_survey("referrers", Categories(VALUES), 1, expected_reports=10)
    with running(database) as service:
        service.store.add_survey(survey)
        url = f"{service.url}/v1/surveys/{survey.survey_id.hex()}"
        document = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}").body
        offline = tmp_path / "offline.json"
        nowhere = f"http://127.0.0.1:9/v1/surveys/{survey.survey_id.hex()}"
        with Client(document, url=nowhere, ledger=offline, timeout=2) as client:
            assert client.report("mail.example").status == "queued"
        offline.write_text(offline.read_text().replace(nowhere, url))
        with Client(url, ledger=offline) as client:
            assert client.flush().status == "sent"
        assert service.ask("POST", f"/v1/surveys/{survey.survey_id.hex()}/close", owner=True).status == 200
        with Client(document, url=url, ledger=tmp_path / "late.json") as client:
            client.report("mail.example")
            wait_until(lambda: refused.search(service.ask("GET", "/metrics").body.decode()) is not None)
            assert client.flush(timeout=0.2).status == "queued"
        reply = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/status", owner=True)
        assert reply.json["reports"] == 1
