"""Far more reports than expected are noticed, and then refused, so that devices keep theirs."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Reply, Service, running, wait_until

from hubbub import Integers, SeededRandomWords, create_survey, mechanism_for
from hubbub.client import Client, Ledger, Result
from hubbub.collector import metrics, rates
from hubbub.collector.problems import Problem
from hubbub.collector.rates import BURST_SECONDS, Rates
from hubbub.dashboard.app import create_app
from hubbub.store.keys import make_code, open_session
from hubbub.store.store import StoredSurvey
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

EXPECTED = 10


def send(service: Service, stored: StoredSurvey, count: int, seed: int) -> Reply:
    """Send so many reports."""
    cells = [number % EXPECTED for number in range(count)]
    return service.upload(stored.survey_id, encode_batch(stored.survey_id, some_reports(cells, seed)))


def test_many_times_the_expected_reports(tmp_path: Path) -> None:
    """At the limit new reports get 429 and are not stored; repeated ones do not bring it nearer; others are served."""
    with running(str(tmp_path / "a.db"), rates=Rates(times=20)) as service:
        stored = service.store.add_survey(own_cell_survey(EXPECTED))
        other = service.store.add_survey(own_cell_survey(EXPECTED, "other"))
        assert send(service, stored, 99, seed=1).json["accepted"] == 99
        for _ in range(3):
            assert send(service, stored, 99, seed=1).json["duplicate"] == 99
        assert send(service, stored, 102, seed=2).status == 429
        assert send(service, stored, 101, seed=2).json["accepted"] == 101
        reply = send(service, stored, 1, seed=3)
        assert (reply.status, reply.kind) == (429, "too-many-reports")
        assert 1800 <= int(reply.headers["retry-after"]) <= 3600
        assert reply.headers["access-control-allow-origin"] == "*"
        assert send(service, other, 1, seed=4).status == 200
        assert service.store.tally(stored.survey_id).count == 200
        text = service.ask("GET", "/metrics").body.decode()
        assert 'hubbub_refused_uploads_total{problem="too-many-reports"} 2.0' in text.splitlines()
    # A collector that starts knows what came before.
    with running(str(tmp_path / "a.db"), rates=Rates(times=20)) as service:
        assert send(service, stored, 1, seed=3).status == 429
    with running(str(tmp_path / "a.db"), rates=Rates(times=0)) as service:
        assert send(service, stored, 1, seed=3).json["accepted"] == 1


def test_a_device_keeps_what_is_refused(tmp_path: Path) -> None:
    """The report of a client that got 429 is pending, and the same bytes are counted when there is room again."""
    survey = create_survey("numbers", Integers(8), 1, expected_reports=1)
    words = SeededRandomWords(1).draw(1, mechanism_for(survey).random_words_per_report)
    first = mechanism_for(survey).randomize(survey.domain.encode([1]), words)
    options = {"first_retry": 0.005, "last_retry": 0.02, "timeout": 30.0, "spread": 0}
    ledger, survey_id = tmp_path / "ledger.json", survey.survey_id.hex()
    with running(str(tmp_path / "a.db"), rates=Rates(times=1)) as service:
        service.store.add_survey(survey)
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, first)).status == 200
        with Client(f"{service.url}/v1/surveys/{survey_id}", ledger=ledger, **options) as client:
            client.report(7)
            wait_until(lambda: "429" in client.flush(0.01).detail)
            assert client.flush(0.01).status == "queued"
        kept = Ledger(ledger).read()[survey_id]
        assert kept["state"] == "pending"
        service.collector.rates = Rates(times=2)
        with Client(f"{service.url}/v1/surveys/{survey_id}", ledger=ledger, **options) as client:
            assert client.flush(60.0) == Result("sent")
        assert service.store.tally(survey.survey_id).count == 2


def test_a_rate(tmp_path: Path) -> None:
    """A quiet survey takes ten seconds' worth at once; after that so many a second, and 429 says for how long."""
    now = [0.0]
    with running(str(tmp_path / "a.db"), rates=Rates(0, 4, lambda: now[0])) as service:
        stored = service.store.add_survey(own_cell_survey(EXPECTED))
        assert send(service, stored, 4 * BURST_SECONDS + 1, seed=1).status == 413
        assert send(service, stored, 4 * BURST_SECONDS - 1, seed=1).status == 200
        for _ in range(3):  # what is stored already, or is no report, takes no room
            assert send(service, stored, 1, seed=1).json["duplicate"] == 1
            junk = encode_batch(stored.survey_id, some_reports([EXPECTED] * 1000, 9))
            assert service.upload(stored.survey_id, junk).status == 422
        reply = send(service, stored, 17, seed=2)
        assert (reply.status, reply.kind) == (429, "too-fast")
        assert 4 <= int(reply.headers["retry-after"]) <= 30
        now[0] = 3.75
        assert send(service, stored, 17, seed=2).status == 429
        now[0] = 4.0
        assert send(service, stored, 17, seed=2).status == 200
        assert send(service, stored, 1, seed=4).status == 429
        now[0] = 1e6
        assert send(service, stored, 4 * BURST_SECONDS, seed=5).status == 200
        assert send(service, stored, 1, seed=6).status == 429


def test_what_is_on_its_way_counts(tmp_path: Path) -> None:
    """Uploads at the same time take no more room together than one after the other."""
    for limits in (Rates(times=20), Rates(0, 20)):
        with running(str(tmp_path / f"{limits.times}.db"), rates=limits) as service:
            stored = service.store.add_survey(own_cell_survey(EXPECTED))
            assert send(service, stored, 1, seed=0).status == 200
            body = [encode_batch(stored.survey_id, some_reports([1] * 60, seed)) for seed in range(1, 9)]
            with ThreadPoolExecutor(8) as pool:
                replies = [reply.status for reply in pool.map(partial(service.upload, stored.survey_id), body)]
            assert sorted(replies) == [200] * 3 + [429] * 5
            assert service.store.tally(stored.survey_id).count == 181


def test_an_upload_costs_a_look_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is asked for the reports of a survey every five seconds, however many uploads there are."""
    asked: list[int] = []
    real, now = rates.reports_by_day, [0.0]
    monkeypatch.setattr(rates, "reports_by_day", lambda engine, key: asked.append(key) or real(engine, key))
    with running(str(tmp_path / "a.db"), rates=Rates(clock=lambda: now[0])) as service:
        stored = service.store.add_survey(own_cell_survey(EXPECTED))
        for seed in range(20):
            assert send(service, stored, 1, seed).status == 200
        assert asked == [stored.key]
        now[0] = 5.0
        assert send(service, stored, 1, seed=50).status == 200
        assert asked == [stored.key] * 2


def test_reports_of_other_collectors_count(tmp_path: Path) -> None:
    """What another process took is known within five seconds after it was folded."""
    now = [0.0]
    with running(str(tmp_path / "a.db"), rates=Rates(2, clock=lambda: now[0])) as service:
        stored = service.store.add_survey(own_cell_survey(EXPECTED))
        assert send(service, stored, 1, seed=1).status == 200
        with running(str(tmp_path / "a.db")) as other:
            assert send(other, stored, 2 * EXPECTED, seed=2).status == 200
        assert send(service, stored, 1, seed=3).status == 200
        now[0] = 5.0
        assert send(service, stored, 1, seed=4).status == 429
        with pytest.raises(Problem, match="the survey has 2 times the reports that were expected"):
            asyncio.run(Rates(2).check(service.store, stored))


def test_the_owner_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From three times the expected reports on, the survey's page has a notice and a metric counts the survey."""
    monkeypatch.setattr(metrics, "FACTS_SECONDS", 0.0)
    survey = create_survey("numbers", Integers(8), 1, expected_reports=EXPECTED)
    words = SeededRandomWords(1).draw(3 * EXPECTED, mechanism_for(survey).random_words_per_report)
    reports = mechanism_for(survey).randomize(survey.domain.encode([1] * len(words)), words)
    with running(str(tmp_path / "a.db"), build=create_app) as service:
        stored = service.store.add_survey(survey)
        key = open_session(service.store.engine, make_code(service.store.engine))
        cookie = f"hubbub-{service.url.rpartition(':')[2]}={key}"

        def above() -> tuple[bool, bool, float]:
            """Whether the page shows the notice, what its script is told, and the metric."""
            path = f"/surveys/{stored.survey_id.hex()}"
            page = service.ask("GET", path, Accept="text/html", Cookie=cookie).body.decode()
            told = service.ask("GET", f"{path}/state", Cookie=cookie).json["above"]
            text = service.ask("GET", "/metrics").body.decode()
            gauge = re.findall(r"^hubbub_surveys_above_expected (.*)$", text, re.MULTILINE)
            return re.search(r'<section[^>]* id="above"[^>]* hidden>', page) is None, told, float(gauge[0])

        for part, told in ((reports[:-1], (False, False, 0.0)), (reports[-1:], (True, True, 1.0))):
            assert service.upload(stored.survey_id, encode_batch(stored.survey_id, part)).status == 200
            service.store.tally(stored.survey_id)  # fold
            wait_until(lambda told=told: above()[2] == told[2])
            assert above() == told


def test_each_period_of_a_survey_that_repeats_expects_as_many(tmp_path: Path) -> None:
    """A survey that is asked every week for years is not stopped by the reports of its first months."""
    asked = {"opens": "2029-12-31T00:00:00Z", "expected_reports": EXPECTED}
    weekly, once = (create_survey("weeks", Integers(8), "0.5", every=every, **asked) for every in (7, None))
    begun = {"2029-12-01": 1, "2029-12-31": 1, "2030-01-06": 1, "2030-01-07": 2, "2030-12-30": 53}
    for day, periods in begun.items():
        now = datetime.fromisoformat(f"{day}T23:00:00+00:00")
        assert rates.expected_so_far(weekly, now) == periods * EXPECTED
        assert rates.expected_so_far(once, now) == EXPECTED
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0)
    repeating = own_cell_survey(EXPECTED, every=14, opens=today - timedelta(days=today.weekday() + 28))
    with running(str(tmp_path / "a.db"), rates=Rates(times=2)) as service:
        stored = service.store.add_survey(repeating)
        assert send(service, stored, 6 * EXPECTED, 1).json["accepted"] == 6 * EXPECTED  # three periods have begun
        assert send(service, stored, 1, 2).status == 429
