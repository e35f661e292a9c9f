"""Tallies that are merged into a survey's: once for each key, also when the collector is killed again and again."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from tests.collector.own_cell import build, own_cell_survey, some_reports
from tests.collector.service import Reply, Service, running
from tests.collector.simulation import Zygote, zygote

from hubbub import Survey, Tally
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token
from hubbub.store.upkeep import check
from hubbub.wire.report_batch import encode_batch
from hubbub.wire.tally_file import encode_tally

CELLS = 50


@pytest.fixture
def service(database: str) -> Iterator[Service]:
    """A collector."""
    with running(database) as started:
        yield started


@pytest.fixture
def survey(service: Service) -> Survey:
    """A survey whose every report has a cell of its own."""
    return service.store.add_survey(own_cell_survey(CELLS)).survey


def tally_of(survey: Survey, *cells: int) -> Tally:
    """The tally of one report to each of these cells."""
    sums = np.zeros(survey.parameters["cells"], np.int64)
    np.add.at(sums, list(cells), 1)
    return Tally(survey.survey_id, len(cells), sums)


def merge(service: Service, survey: Survey, key: str, body: bytes) -> Reply:
    """Send a tally."""
    path = f"/v1/surveys/{survey.survey_id.hex()}/tallies"
    return service.ask("POST", path, body, owner=True, Idempotency_Key=key)


def test_a_tally_is_added_once_for_its_key(service: Service, survey: Survey) -> None:
    """Beside reports that were uploaded; again, it changes nothing; another body under the key is refused."""
    service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([0, 1])))
    body = encode_tally(tally_of(survey, 1, 2, 3))
    assert [merge(service, survey, "monday", body).json["merged"] for _ in range(3)] == [True, False, False]
    refused = merge(service, survey, "monday", encode_tally(tally_of(survey, 4)))
    assert (refused.status, refused.kind) == (409, "key-reused")
    assert merge(service, survey, "tuesday", body).json == {
        "survey_id": survey.survey_id.hex(),
        "reports": 3,
        "merged": True,
    }
    assert service.store.tally(survey.survey_id) == tally_of(survey, 0, 1, 1, 1, 2, 2, 3, 3)
    assert check(service.store).problems == ()
    close_survey(service.store, survey.survey_id)
    assert merge(service, survey, "late", encode_tally(tally_of(survey, 9))).json["merged"]
    assert service.store.tally(survey.survey_id).count == 9


def test_a_tally_names_its_slice(service: Service, survey: Survey) -> None:
    """It is added to the slice that it names, unless the request names another; one of the future is refused."""
    path = f"/v1/surveys/{survey.survey_id.hex()}/tallies"
    named = replace(tally_of(survey, 1, 2), day=date(2026, 10, 7))
    assert merge(service, survey, "a", encode_tally(named)).json["merged"]
    body = encode_tally(replace(named, day=date(2026, 10, 8)))
    assert service.ask("POST", f"{path}?day=2026-09-30", body, owner=True, Idempotency_Key="b").json["merged"]
    assert [str(each.start) for each in service.store.slices(survey.survey_id)] == ["2026-09-28", "2026-10-05"]
    late = merge(service, survey, "c", encode_tally(replace(named, day=date(2999, 1, 1))))
    assert (late.status, "not in the future" in late.json["detail"]) == (422, True)


def test_keys_belong_to_a_survey(service: Service, survey: Survey) -> None:
    """Another survey may use the same key; a survey that is deleted takes its keys with it."""
    other = service.store.add_survey(own_cell_survey(CELLS, "other")).survey
    for each in (survey, other):
        assert merge(service, each, "monday", encode_tally(tally_of(each, 1))).json["merged"]
    delete_survey(service.store, other.survey_id)
    assert merge(service, other, "monday", encode_tally(tally_of(other, 1))).status == 404
    assert check(service.store).problems == ()


def test_many_at_once(service: Service, survey: Survey) -> None:
    """Each of eight tallies is sent three times at the same moment, while reports come in: all count once."""
    bodies = [encode_tally(tally_of(survey, number)) for number in range(8)] * 3

    def send(number: int) -> bool:
        if number % 5 == 0:
            batch = encode_batch(survey.survey_id, some_reports([10 + number], seed=number))
            assert service.upload(survey.survey_id, batch).status == 200
        return merge(service, survey, f"key {number % 8}".replace(" ", "-"), bodies[number]).json["merged"]

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(send, range(24))) == 8
    uploaded = [10 + number for number in range(0, 24, 5)]
    assert service.store.tally(survey.survey_id) == tally_of(survey, *range(8), *uploaded)


def test_what_is_refused(service: Service, survey: Survey) -> None:
    """A stranger, a tally without a key, damaged, too large, of another survey or with sums that do not fit."""
    body = encode_tally(tally_of(survey, 1))
    path = f"/v1/surveys/{survey.survey_id.hex()}/tallies"
    assert service.ask("POST", path, body, Idempotency_Key="a").kind == "unauthorized"
    assert service.ask("POST", path, body, owner=True).kind == "invalid-request"
    assert merge(service, survey, "x" * 201, body).kind == "invalid-request"
    assert merge(service, survey, "a", body[:-1] + b"?").kind == "bad-request"
    assert merge(service, survey, "a", b"").kind == "bad-request"
    assert merge(service, survey, "a", bytes(79 + 8 * CELLS)).kind == "too-large"
    assert (
        merge(service, survey, "a", encode_tally(Tally(bytes(32), 1, np.zeros(CELLS, np.int64)))).kind == "wrong-survey"
    )
    huge = np.full(CELLS, 2**63 - 1)
    assert merge(service, survey, "a", encode_tally(Tally(survey.survey_id, 1, huge))).json["merged"]
    assert merge(service, survey, "b", body).kind == "invalid-request"
    assert service.store.tally(survey.survey_id).count == 1


@pytest.fixture(scope="module")
def forks() -> Iterator[Zygote]:
    """What forks collectors."""
    with zygote() as made:
        yield made


def send_until_told(port: int, token: str, survey: Survey, numbers: list[int], done: threading.Event) -> None:
    """Merge tallies one after the other, each until a reply comes, whatever breaks meanwhile."""
    for number in numbers:
        body = encode_tally(tally_of(survey, number))
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"key-{number}"}
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                connection.request("POST", f"/v1/surveys/{survey.survey_id.hex()}/tallies", body, headers)
                if connection.getresponse().status == 200:
                    break
            except (OSError, http.client.HTTPException):
                time.sleep(0.005)
            finally:
                connection.close()
    done.set()


@pytest.mark.slow
def test_kills_lose_nothing_and_add_nothing_twice(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """A collector is killed again and again; 300 tallies are merged, each sent until a reply comes: all count once."""
    database, survey = str(tmp_path / "a.db"), own_cell_survey(300)
    with Store(database, build) as store:
        store.add_survey(survey)
        token = replace_token(store.engine)
    bound = forks.ask(do="bind")

    def start() -> int:
        return forks.ask(do="start", database=database, listener=bound["listener"])["pid"]

    done, rng, running_now = threading.Event(), random.Random(seed), start()
    sender = threading.Thread(
        target=send_until_told, args=(bound["port"], token, survey, list(range(300)), done), daemon=True
    )
    sender.start()
    kills = 0
    while not done.wait(0.05 + rng.random() * 0.2) and kills < 15:
        forks.ask(do="kill", pid=running_now)
        running_now = start()
        kills += 1
    assert done.wait(60)
    forks.ask(do="kill", pid=running_now)
    with Store(database, build) as store:
        assert store.tally(survey.survey_id) == tally_of(survey, *range(300))
        assert check(store).problems == ()
    assert kills > 3
