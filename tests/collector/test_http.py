"""The collector through real HTTP, on SQLite and on PostgreSQL: what it takes, what it refuses, what it answers."""

from __future__ import annotations

import gzip
import html
import http.client
import itertools
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running
from tests.collector.test_openapi import OPERATIONS

from hubbub import (
    Answer,
    Hostnames,
    Integers,
    SeededRandomWords,
    Survey,
    create_survey,
    find_hitters,
    load_survey,
    mechanism_for,
)
from hubbub.collector.bodies import MAX_BATCH_BYTES, MAX_DOCUMENT_BYTES, Budget
from hubbub.mechanisms.registry import REGISTRY
from hubbub.wire.report_batch import encode_batch
from hubbub.wire.tally_file import parse_tally

CELLS = 1000
NUMBERS = itertools.count()
NEW = {"name": "ids", "domain": {"kind": "integers", "bits": 16}, "epsilon": "2"}


@pytest.fixture
def service(database: str) -> Iterator[Service]:
    """A collector of one's own, without surveys."""
    with running(database) as started:
        yield started


@pytest.fixture(scope="module")
def shared(kept_database: str) -> Iterator[Service]:
    """A collector that many tests use, each with surveys of its own."""
    with running(kept_database) as started:
        yield started


class Sharing:
    """Tests that have enough in a collector that others have used."""

    @pytest.fixture
    def service(self, shared: Service) -> Service:
        """The collector."""
        return shared


@pytest.fixture
def survey(service: Service) -> Survey:
    """A survey whose every report has a cell of its own."""
    return service.store.add_survey(own_cell_survey(CELLS, f"survey {next(NUMBERS)}")).survey


def batch(survey: Survey, cells: list[int], seed: int = 1) -> bytes:
    """A batch of reports to these cells."""
    return encode_batch(survey.survey_id, some_reports(cells, seed))


def half_an_upload(service: Service, survey: Survey, size: int) -> socket.socket:
    """A connection on which so many bytes of a longer upload were sent."""
    host, port = service.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
    connection.sendall(
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size + 100}\r\n\r\n".encode() + bytes(size)
    )
    return connection


def counted(service: Service, survey: Survey) -> list[int]:
    """The cells that the collector has counted, by its own tally route where the mechanism allows."""
    reply = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/tally", owner=True)
    assert reply.status == 200
    tally = parse_tally(reply.body, survey.survey_id, (CELLS,))
    assert tally.count == tally.cells.sum()
    return [int(cell) for cell in np.repeat(np.arange(CELLS), tally.cells)]


def test_what_is_no_http_gets_a_problem_document(shared: Service) -> None:
    """Also a request that cannot be parsed is refused as every other is, and the connection is closed."""
    host, port = shared.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n")
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        document = json.loads(reply.read())
        assert (reply.status, reply.getheader("content-type")) == (400, "application/problem+json")
        assert (document["type"], document["status"]) == ("urn:hubbub:problem:bad-request", 400)
        assert connection.recv(1) == b""


class TestOneCollector:
    """From a survey to its answer, in a collector that has nothing else."""

    def test_the_whole_protocol(self, service: Service) -> None:
        """A survey is created, read by devices, reported to, answered, closed and deleted."""
        # With a seed from the system the search would report a value that nobody holds as often as its level allows.
        made = service.ask("POST", "/v1/surveys", {**NEW, "public_seed": bytes(range(32)).hex()}, owner=True)
        assert made.status == 201
        path = made.headers["location"]
        document = service.ask("GET", path)
        survey = load_survey(document.body)
        assert survey.public_seed == bytes(range(32))
        assert survey.survey_id.hex() == made.json["survey_id"]
        mechanism = mechanism_for(survey)
        items = survey.domain.encode([7] * 6000 + list(range(4000)))
        reports = mechanism.randomize(items, SeededRandomWords(1).draw(len(items), mechanism.random_words_per_report))
        for start in range(0, len(reports), 2500):
            sent = service.upload(survey.survey_id, encode_batch(survey.survey_id, reports[start : start + 2500]))
            assert (sent.status, sent.json["accepted"]) == (200, 2500)
        answer = service.ask("GET", f"{path}/hitters?top=3&level=0.01", owner=True).json
        tally = parse_tally(
            service.ask("GET", f"{path}/tally", owner=True).body, survey.survey_id, mechanism.cells_shape
        )
        cells = np.zeros(mechanism.cells_shape, np.int64)
        mechanism.accumulate(cells, reports)
        assert np.array_equal(tally.cells, cells)
        expected = find_hitters(survey, tally, top=3, level=0.01)
        assert (answer["reports"], answer["detection_limit"]) == (10_000, expected.detection_limit)
        assert [hitter["value"] for hitter in answer["hitters"]] == [hitter.value for hitter in expected.hitters] == [7]
        asked = {"candidates": ["7", "8"], "all_candidates": True}
        named = service.ask("POST", f"{path}/hitters", asked, owner=True).json
        expected = find_hitters(survey, tally, candidates=["7", "8"], all_candidates=True)
        assert (
            [hitter["value"] for hitter in named["hitters"]] == [hitter.value for hitter in expected.hitters] == [7, 8]
        )
        assert service.ask("POST", f"{path}/close", owner=True).json["state"] == "closed"
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, reports[:1])).kind == "closed"
        assert service.ask("GET", f"{path}/status", owner=True).json["reports"] == 10_000
        assert service.ask("DELETE", path, owner=True).status == 204
        assert service.ask("GET", path).kind == "unknown-survey"
        assert service.ask("GET", "/v1/surveys", owner=True).json == {"surveys": []}

    def test_folding_goes_on_by_itself(self, service: Service, survey: Survey) -> None:
        """Nobody asks, and still the reports leave the pending table."""
        from sqlalchemy import func, select

        from hubbub.store.schema import pending, reading

        service.upload(survey.survey_id, batch(survey, [1]))
        patience = time.monotonic() + 60
        while time.monotonic() < patience:
            with reading(service.store.engine) as connection:
                if connection.scalar(select(func.count()).select_from(pending)) == 0:
                    break
            time.sleep(0.02)
        else:
            pytest.fail("pending reports were not folded")
        assert "hubbub_folds_total" in service.ask("GET", "/metrics").body.decode()


class TestUploads(Sharing):
    """What becomes of reports."""

    def test_a_status_for_each_report(self, service: Service, survey: Survey) -> None:
        """Accepted, duplicate and invalid are told apart, each in its place."""
        service.upload(survey.survey_id, batch(survey, [1]))
        reports = np.concatenate([some_reports([1]), some_reports([2, CELLS, 3], seed=2)])
        reply = service.upload(survey.survey_id, encode_batch(survey.survey_id, reports))
        assert reply.json == {
            "accepted": 2,
            "duplicate": 1,
            "invalid": 1,
            "statuses": ["duplicate", "accepted", "invalid", "accepted"],
        }
        assert counted(service, survey) == [1, 2, 3]

    def test_retries_change_nothing(self, service: Service, survey: Survey) -> None:
        """The same batch again, and again after a fold, is all duplicates."""
        body = batch(survey, [4, 5])
        assert service.upload(survey.survey_id, body).json["accepted"] == 2
        assert service.upload(survey.survey_id, body).json["duplicate"] == 2
        assert counted(service, survey) == [4, 5]
        assert service.upload(survey.survey_id, body).json["statuses"] == ["duplicate", "duplicate"]
        assert counted(service, survey) == [4, 5]

    @pytest.mark.parametrize("content_type", ["", "text/plain", "application/octet-stream", "a b c"])
    def test_any_content_type(self, service: Service, survey: Survey, content_type: str) -> None:
        """A browser's beacon needs no content type of ours."""
        reply = service.upload(survey.survey_id, batch(survey, [1]), Content_Type=content_type)
        assert reply.status == 200

    def test_an_empty_batch(self, service: Service, survey: Survey) -> None:
        """A batch without reports is a batch."""
        reply = service.upload(survey.survey_id, batch(survey, []))
        assert (reply.status, reply.json["statuses"]) == (200, [])

    def test_an_upload_does_not_write_the_survey_again(
        self, service: Service, survey: Survey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A survey may have a hundred thousand names: its id is computed when it is read, not for each upload."""
        assert service.upload(survey.survey_id, batch(survey, [1])).status == 200
        path, body = f"/v1/surveys/{survey.survey_id.hex()}/reports", batch(survey, [2], seed=2)

        def fail(_: Survey) -> bytes:
            raise AssertionError("the survey was written again")

        with monkeypatch.context() as patch:
            patch.setattr(Survey, "to_json", fail)
            assert service.ask("POST", path, body).status == 200
        assert counted(service, survey) == [1, 2]


class TestRefusals(Sharing):
    """A clear 4xx, and nothing is tallied."""

    @pytest.mark.parametrize(
        ("case", "status", "kind"),
        [
            ("empty", 400, "malformed-batch"),
            ("version", 400, "malformed-batch"),
            ("short", 400, "malformed-batch"),
            ("truncated", 400, "malformed-batch"),
            ("left over", 400, "malformed-batch"),
            ("wrong survey", 422, "wrong-survey"),
            ("out of range", 422, "invalid-reports"),
            ("too large", 413, "too-large"),
        ],
    )
    def test_bad_batches(self, service: Service, survey: Survey, case: str, status: int, kind: str) -> None:
        """Each way a batch can be wrong is told, and no report of it is counted."""
        good = batch(survey, [1, 2])
        body = {
            "empty": b"",
            "version": b"\x02" + good[1:],
            "short": good[:20],
            "truncated": good[:-1],
            "left over": good + b"\0",
            "wrong survey": good[:1] + bytes(32) + good[33:],
            "out of range": batch(survey, [CELLS, CELLS + 1]),
            "too large": good + bytes(MAX_BATCH_BYTES),
        }[case]
        reply = service.upload(survey.survey_id, body)
        assert (reply.status, reply.kind) == (status, kind)
        assert counted(service, survey) == []

    def test_a_stream_without_a_length_is_cut_off(self, service: Service, survey: Survey) -> None:
        """A chunked body is refused as soon as it is too large."""
        host, port = service.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(head.encode())
            part = b"10000\r\n" + bytes(0x10000) + b"\r\n"
            try:
                for _ in range(MAX_BATCH_BYTES // 0x10000 + 1):
                    connection.sendall(part)
            except OSError:
                pass  # it may hang up before it has heard everything
            assert b" 413 " in connection.recv(1000).split(b"\r\n")[0]

    @pytest.mark.parametrize("name", ["0" * 64, "xyz", "0" * 63, "AB" * 32, "%00", "é"])
    def test_unknown_surveys(self, service: Service, name: str) -> None:
        """A survey that is not here is 404 wherever it is named."""
        from urllib.parse import quote

        for method, path in [
            ("GET", ""),
            ("POST", "/reports"),
            ("GET", "/hitters"),
            ("GET", "/trend"),
            ("GET", "/tally"),
            ("GET", "/status"),
            ("POST", "/close"),
            ("DELETE", ""),
            ("OPTIONS", "/reports"),
        ]:
            reply = service.ask(method, f"/v1/surveys/{quote(name, safe='%')}{path}", owner=True)
            assert (reply.status, reply.kind) == (404, "unknown-survey"), (method, path)

    def test_not_yet_open(self, service: Service) -> None:
        """Before a survey opens it takes nothing, and says when to come back."""
        opens = datetime.now(UTC) + timedelta(hours=1)
        survey = service.store.add_survey(own_cell_survey(CELLS, opens=opens)).survey
        reply = service.upload(survey.survey_id, batch(survey, [1]))
        assert (reply.status, reply.kind) == (409, "not-yet-open")
        assert 3000 < int(reply.headers["retry-after"]) <= 3601
        assert counted(service, survey) == []

    def test_closed_by_the_clock(self, service: Service) -> None:
        """After its last moment a survey takes nothing and says that it is closed. test_clock.py has the rest."""
        closes = datetime.now(UTC) - timedelta(seconds=1)
        survey = service.store.add_survey(own_cell_survey(CELLS, closes=closes)).survey
        reply = service.upload(survey.survey_id, batch(survey, [1]))
        assert (reply.status, reply.kind) == (410, "closed")
        listed = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/status", owner=True).json
        assert listed["state"] == "closed"

    def test_closing_in_the_past(self, service: Service) -> None:
        """A survey that is over before it begins is refused."""
        reply = service.ask("POST", "/v1/surveys", {**NEW, "closes": "2020-01-01T00:00:00Z"}, owner=True)
        assert (reply.status, reply.kind) == (422, "invalid-request")
        assert reply.json["detail"] == "closes must be in the future, got closes=2020-01-01T00:00:00Z"

    def test_a_close_that_another_collector_made(self, service: Service, survey: Survey, kept_database: str) -> None:
        """What a collector remembers of a survey does not make it take reports after the close."""
        from tests.collector.own_cell import build

        from hubbub.store.life_cycle import close_survey, purge
        from hubbub.store.store import Store

        assert service.upload(survey.survey_id, batch(survey, [1])).status == 200
        with Store(kept_database, build) as other:
            close_survey(other, survey.survey_id)
            purge(other)
        assert service.upload(survey.survey_id, batch(survey, [1])).kind == "closed"
        assert service.upload(survey.survey_id, batch(survey, [2], seed=2)).kind == "closed"
        assert counted(service, survey) == [1]

    def test_other_paths_and_methods(self, service: Service, survey: Survey) -> None:
        """Whatever is not here has the same shape of error."""
        path = f"/v1/surveys/{survey.survey_id.hex()}"
        assert service.ask("GET", "/").kind == "not-found"
        assert service.ask("GET", "/v1/nothing").kind == "not-found"
        assert service.ask("PUT", path).kind == "method-not-allowed"
        assert service.ask("GET", f"{path}/reports").kind == "method-not-allowed"


class TestLimits:
    """The bounded queue."""

    def test_a_full_queue_is_503_with_retry_after(self, tmp_path: object) -> None:
        """When too many bytes wait, an upload is told to come back, and is taken when it does."""
        budget = Budget(limit=200)
        with running(f"{tmp_path}/a.db", budget) as service:
            survey = service.store.add_survey(own_cell_survey(CELLS)).survey
            refused = service.upload(survey.survey_id, batch(survey, list(range(20))))
            assert (refused.status, refused.kind) == (503, "busy")
            assert int(refused.headers["retry-after"]) > 0
            assert budget.waiting == 0
            assert service.upload(survey.survey_id, batch(survey, [1])).status == 200
            assert counted(service, survey) == [1]

    def test_a_stalled_upload_makes_room_for_others(self, tmp_path: object) -> None:
        """An upload that stops half-way is ended, and what it took of the queue is free again."""
        budget = Budget(limit=200, seconds=0.5)
        with running(f"{tmp_path}/a.db", budget) as service:
            survey = service.store.add_survey(own_cell_survey(CELLS)).survey
            with half_an_upload(service, survey, 150) as connection:
                assert b" 408 " in connection.recv(1000).split(b"\r\n")[0]
            assert budget.waiting == 0
            assert service.upload(survey.survey_id, batch(survey, [1])).status == 200

    def test_documents_wait_in_the_queue(self, tmp_path: object) -> None:
        """What the owner sends is counted as what devices send is, in a room of its own."""
        with running(f"{tmp_path}/a.db") as service:
            budget = service.collector.owner_budget = Budget(limit=200)
            reply = service.ask("POST", "/v1/surveys", bytes(201), owner=True, Content_Type="application/json")
            assert (reply.status, reply.kind, budget.waiting) == (503, "busy", 0)
            assert service.ask("POST", "/v1/surveys", NEW, owner=True).status == 201
            assert budget.waiting == 0


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic abc", "Bearer é"])
def test_strangers_are_refused(service: Service, survey: Survey, header: str) -> None:
    """Every route of the owner needs the token. The collector is new, since wrong guesses are limited."""
    path = f"/v1/surveys/{survey.survey_id.hex()}"
    for method, where in [
        ("POST", "/v1/surveys"),
        ("GET", "/v1/surveys"),
        ("GET", f"{path}/status"),
        ("POST", f"{path}/close"),
        ("DELETE", path),
        ("GET", f"{path}/hitters"),
        ("POST", f"{path}/hitters"),
        ("GET", f"{path}/tally"),
    ]:
        body = NEW if where == "/v1/surveys" else {"candidates": ["1"]}
        given = {"Authorization": header.encode("utf-8").decode("latin-1")} if header else {}
        reply = service.ask(method, where, None if method != "POST" else body, **given)
        assert (reply.status, reply.kind) == (401, "unauthorized"), (method, where)
        assert reply.headers["www-authenticate"] == "Bearer"
    assert not service.store.survey(survey.survey_id).closed


class TestTheOwner(Sharing):
    """Who may ask."""

    def test_large_documents(self, service: Service) -> None:
        """A document for the owner's routes is refused before anybody parses it."""
        large, json_type = b"[" * (MAX_DOCUMENT_BYTES + 1), {"Content_Type": "application/json"}
        assert service.ask("POST", "/v1/surveys", large, owner=True, **json_type).kind == "too-large"
        deep = service.ask("POST", "/v1/surveys", b"[" * 100_000, owner=True, **json_type)
        assert deep.status in (400, 422)

    @pytest.mark.parametrize("path", ["/v1/surveys", f"/v1/surveys/{'0' * 64}/hitters"])
    def test_documents_of_strangers_are_not_read(self, service: Service, path: str) -> None:
        """Who has no token is refused before the body has come."""
        host, port = service.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            headers = "Host: x\r\nContent-Type: application/json\r\nContent-Length: 1000"
            connection.sendall(f"POST {path} HTTP/1.1\r\n{headers}\r\n\r\n[".encode())
            assert b" 401 " in connection.recv(1000).split(b"\r\n")[0]

    @pytest.mark.parametrize(
        "change",
        [
            {"epsilon": 0},
            {"epsilon": "x"},
            {"epsilon": True},
            {"name": ""},
            {"domain": {"kind": "nothing"}},
            {"domain": "integers"},
            {"mechanism": "own-cell"},
            {"options": {"size": "huge"}},
            {"expected_reports": 0},
            {"closes": "yesterday"},
            {"closes": "9999-12-31T23:59:59-23:59"},
            {"opens": "0001-01-01T00:00:00+23:59"},
            {"every": 0},
            {"every": "28"},
            {"every": True},
            {"every": 10},
            {"every": 7},
            {"every": 28, "opens": "2030-01-01T00:00:00Z"},
            {"origins": ["javascript:alert(1)"]},
            {"public_seed": "00"},
            {"surprise": 1},
            {"mechanism": "naive-laplace", "domain": {"kind": "integers", "bits": 24}},
        ],
        ids=str,
    )
    def test_bad_surveys(self, service: Service, change: dict) -> None:
        """A survey that cannot be is refused in one sentence, and none is made."""

        def listed() -> list[str]:
            return [each["survey_id"] for each in service.ask("GET", "/v1/surveys", owner=True).json["surveys"]]

        before = listed()
        reply = service.ask("POST", "/v1/surveys", {**NEW, **change}, owner=True)
        assert (reply.status, reply.kind) == (422, "invalid-request")
        assert listed() == before

    def test_a_repeatable_survey_is_made_once(self, service: Service) -> None:
        """With a public seed of one's own the same survey has the same id, and cannot be made twice."""
        seed = bytes(range(32))
        reply = service.ask("POST", "/v1/surveys", {**NEW, "public_seed": seed.hex()}, owner=True)
        assert reply.json["survey_id"] == create_survey("ids", Integers(16), 2, public_seed=seed).survey_id.hex()
        again = service.ask("POST", "/v1/surveys", {**NEW, "public_seed": seed.hex()}, owner=True)
        assert (again.status, again.kind) == (422, "invalid-request")

    @pytest.mark.parametrize(
        "query",
        [*("top=0", "top=x", "top=10001"), *(f"level={level}" for level in ("0", "1", "nan", "5e-324", "1e-101"))],
    )
    def test_bad_questions(self, service: Service, survey: Survey, query: str) -> None:
        """A question that has no answer is refused."""
        reply = service.ask("GET", f"/v1/surveys/{survey.survey_id.hex()}/hitters?{query}", owner=True)
        assert (reply.status, reply.kind) == (422, "invalid-request")

    def test_names(self, service: Service) -> None:
        """A survey is made with names, spelled as it counts them; they are read and replaced, and used in answers."""
        new = {"name": "x", "domain": Hostnames().to_json(), "epsilon": "1", "names": ["www.my.example"]}
        made = service.ask("POST", "/v1/surveys", new, owner=True).json
        assert made["sentences"] == ["www.my.example is counted as my.example."]
        path = f"/v1/surveys/{made['survey_id']}"
        kept = service.ask("GET", f"{path}/names", owner=True).json
        assert (kept["fixed"], kept["later"], kept["sentences"]) == (["my.example"], [], [])
        rows = service.ask("GET", f"{path}/hitters?all_candidates=true", owner=True).json["hitters"]
        assert [row["value"] for row in rows] == ["my.example"]
        reply = service.ask("PUT", f"{path}/names", {"names": ["a.example"]}, owner=True)
        assert (reply.status, reply.json["fixed"]) == (200, ["a.example"])
        assert service.ask("PUT", f"{path}/names", {"names": [""] * 10_001}, owner=True).status == 422
        assert service.ask("GET", f"{path}/names").kind in ("unauthorized", "too-many-attempts")

    def test_groups_of_a_survey(self, service: Service) -> None:
        """A survey keeps groups: answers have them unless they ask for none, and public ones if they ask for them."""
        new = {"name": "x", "domain": Hostnames().to_json(), "epsilon": "1"}
        made = service.ask("POST", "/v1/surveys", {**new, "groups": {"Us": ["www.a.example", "b.example"]}}, owner=True)
        assert made.json["sentences"] == ["www.a.example is counted as a.example."]
        path = f"/v1/surveys/{made.json['survey_id']}"
        kept = service.ask("GET", f"{path}/names", owner=True).json
        assert (kept["fixed"], kept["groups"]) == ([], {"Us": ["a.example", "b.example"]})
        for asked, names in (("", ["Us"]), ("?groups=own", ["Us"]), ("?groups=auto", ["Us"]), ("?groups=none", [])):
            answer = service.ask("GET", f"{path}/hitters{asked}", owner=True).json
            assert [group["name"] for group in answer["groups"]] == names
        several = service.ask("GET", f"{path}/hitters?values_per_person=2", owner=True)
        assert (several.status, several.kind) == (422, "invalid-request")
        assert service.ask("GET", f"{path}/hitters?values_per_person=2&groups=none", owner=True).status == 200
        reply = service.ask("PUT", f"{path}/names", {"groups": {"Google": ["google.com"]}}, owner=True).json
        assert reply["groups"] == {"Google": ["google.com"]}
        answer = service.ask("GET", f"{path}/hitters?groups=auto", owner=True).json
        assert [(group["name"], group["members"]) for group in answer["groups"]] == [("Google", 1)]  # its own
        for wrong in ({"x": "a.example"}, {"x": ["no host!"]}, {"": ["a.example"]}, ["a.example"], {"x": ["\ud800"]}):
            refused = service.ask("PUT", f"{path}/names", {"groups": wrong}, owner=True)
            assert refused.status == 422, wrong
            assert service.ask("POST", "/v1/surveys", {**new, "groups": wrong}, owner=True).status == 422, wrong
        assert service.ask("GET", f"{path}/names", owner=True).json["groups"] == {"Google": ["google.com"]}

    def test_unknown_parameters(self, service: Service, survey: Survey) -> None:
        """A parameter that no route has is named, and nothing is done; strangers hear of their missing token first."""
        path = f"/v1/surveys/{survey.survey_id.hex()}"
        for method, route in (
            *(("GET", each) for each in ("/v1/surveys", f"{path}/status", f"{path}/hitters", f"{path}/tally")),
            ("GET", f"{path}/trend"),
            *(("POST", each) for each in ("/v1/surveys", f"{path}/hitters", f"{path}/tallies", f"{path}/close")),
            ("DELETE", path),
        ):
            refused = service.ask(method, f"{route}?Top=5", owner=True)
            assert (refused.status, refused.kind) == (422, "invalid-request")
            assert refused.json["detail"].endswith("got 'Top'")
        refused = service.ask("GET", f"{path}/hitters?top=5&tops=5", owner=True)
        knobs = (
            "(all_candidates, forged, from, groups, guesses, hitters_only, last, level, mode, names, share, to, top, "
        )
        knobs += "values_per_person)"
        assert f"{knobs}, got 'tops'" in refused.json["detail"]
        assert service.ask("GET", f"{path}/status?x", owner=True).status == 422
        assert service.ask("GET", f"{path}/status", owner=True).json["state"] == "open"
        assert service.ask("DELETE", f"{path}?Top=5").kind in ("unauthorized", "too-many-attempts")

    @pytest.mark.parametrize("mechanism", sorted(REGISTRY))
    def test_the_smallest_level(self, service: Service, mechanism: str) -> None:
        """Every mechanism answers at the smallest level, and none below it."""
        new = {**NEW, "mechanism": mechanism, "domain": {"kind": "integers", "bits": 8}}
        made = service.ask("POST", "/v1/surveys", new, owner=True).json["survey_id"]
        survey = load_survey(service.ask("GET", f"/v1/surveys/{made}").body)
        built = mechanism_for(survey)
        items = survey.domain.encode([7] * 40)
        reports = built.randomize(items, SeededRandomWords(1).draw(len(items), built.random_words_per_report))
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, reports)).status == 200
        path = f"/v1/surveys/{made}/hitters"
        for level, status in (("1e-100", 200), ("9e-101", 422), ("5e-324", 422)):
            assert service.ask("GET", f"{path}?level={level}", owner=True).status == status
            named = {"candidates": [7, 9], "all_candidates": True, "level": float(level)}
            assert service.ask("POST", path, named, owner=True).status == status

    def test_no_reports_yet(self, service: Service) -> None:
        """Without reports there is no limit to state, and JSON has no infinity."""
        made = service.ask("POST", "/v1/surveys", NEW, owner=True).json["survey_id"]
        answer = service.ask("GET", f"/v1/surveys/{made}/hitters", owner=True).json
        heading = {"mechanism": "tree size=auto", "privacy": "ε = 2", "long_example": "", "period": ""}
        assert answer == {
            "survey_id": made,
            "heading": {"domain": "whole numbers below 2^16 − 1", **heading},
            "reports": 0,
            "detection_limit": None,
            "long_limit": None,
            "candidate_limit": None,
            "out_of_reach": ["detection_limit"],
            "whole_list": False,
            "post_processing": "none",
            "values_per_person": 1,
            "not_shown": 0,
            "foreign_candidates": 0,
            "known_names": 0,
            "own_names": 0,
            "remembered_names": 0,
            "guessed_from": None,
            "mode": "no-false-positives",
            "share": 0.0,
            "forged": 0,
            "sentences": answer["sentences"],
            "hitters": [],
            "guesses": [],
            "groups": [],
        }

    def test_groups_and_modes(self, service: Service) -> None:
        """Groups of one's own come in a body; a mode has its share; what is given twice, or is no group, is refused."""
        path = f"/v1/surveys/{service.ask('POST', '/v1/surveys', NEW, owner=True).json['survey_id']}/hitters"
        asked = service.ask("POST", path, {"groups": {"x": [7, "8"]}}, owner=True).json
        assert [(group["name"], group["members"]) for group in asked["groups"]] == [("x", 2)]
        mode = service.ask("GET", f"{path}?mode=no-false-negatives&share=0.5", owner=True).json
        assert (mode["mode"], mode["share"], mode["groups"]) == ("no-false-negatives", 0.5, [])
        for body in ({}, {"groups": "auto"}, {"groups": {}}, {"groups": {"x": []}}, {"groups": {"x": [[]]}}):
            assert service.ask("POST", path, body, owner=True).status == 422
        for query in ("mode=no-false-negatives", "mode=x", "share=2", "groups=x", "names=auto&names=none"):
            assert service.ask("GET", f"{path}?{query}", owner=True).status == 422
        twice = service.ask("GET", f"{path}?names=none&names=none", owner=True)
        assert twice.json["detail"].endswith("a parameter must be given once, got 'names' twice")


class TestRepeating(Sharing):
    """Surveys that are asked again."""

    def test_it_opens_at_once_with_its_slice(self, service: Service) -> None:
        """Without `opens` the first period has begun with the week, or with the day."""
        for every, length in ((28, "week"), (10, "day"), (14, "day")):
            asked = {**NEW, "epsilon": "0.5", "every": every, "slice": length}
            made = service.ask("POST", "/v1/surveys", asked, owner=True)
            assert (made.status, made.json["every"], made.json["state"]) == (201, every, "open")
            opens = datetime.fromisoformat(made.json["opens"])
            assert (opens.hour, opens.minute, opens.weekday() if every % 7 == 0 else 0) == (0, 0, 0)
            assert datetime.now(UTC) - opens < timedelta(days=7 if every % 7 == 0 else 2)
            document = service.ask("GET", f"/v1/surveys/{made.json['survey_id']}").json
            assert document["every"] == every
        plain = service.ask("POST", "/v1/surveys", NEW, owner=True).json
        assert plain["every"] is None
        assert "every" not in service.ask("GET", f"/v1/surveys/{plain['survey_id']}").json

    def test_what_would_fit(self, service: Service) -> None:
        """A survey beyond the budget is refused in a sentence that names an ε and a number of days that fit."""
        reply = service.ask("POST", "/v1/surveys", {**NEW, "every": 7}, owner=True)
        assert reply.status == 422
        assert "at most ε = 0.528" in reply.json["detail"]
        assert reply.json["detail"].endswith("got ε = 2; ε = 2 fits every 28 days")
        reply = service.ask("POST", "/v1/surveys", {**NEW, "epsilon": "0.5", "every": 10}, owner=True)
        assert reply.json["detail"] == "every must be whole slices of 7 days, got every=10; slices may be days"


class TestPages(Sharing):
    """What browsers need."""

    def test_a_survey_that_is_over_is_empty(self, service: Service, survey: Survey) -> None:
        """Pages learn that a survey is closed, deleted or not yet open from a reply that is no error."""
        path = f"/v1/surveys/{survey.survey_id.hex()}"
        opened = service.ask("GET", f"{path}/open", Origin="https://a.example")
        assert (opened.status, opened.body) == (200, service.ask("GET", path).body)
        later = service.store.add_survey(own_cell_survey(CELLS, "later", opens=datetime.now(UTC) + timedelta(days=1)))
        assert service.ask("POST", f"{path}/close", owner=True).status == 200
        gone = [path, f"/v1/surveys/{later.survey_id.hex()}", f"/v1/surveys/{'0' * 64}"]
        for each in gone:
            reply = service.ask("GET", f"{each}/open", Origin="https://a.example")
            assert (reply.status, reply.body) == (204, b"")
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["cache-control"] == "public, max-age=300"
        assert service.ask("GET", path).status == 200  # its document stays

    def test_the_survey_can_be_cached(self, service: Service, survey: Survey) -> None:
        """The document is served as it is, with a tag that is its id."""
        path = f"/v1/surveys/{survey.survey_id.hex()}"
        reply = service.ask("GET", path)
        assert (reply.status, reply.body) == (200, survey.to_json())
        assert reply.headers["content-type"] == "application/json"
        assert "max-age" in reply.headers["cache-control"]
        packed = service.ask("GET", path, Accept_Encoding="gzip, br")
        assert (gzip.decompress(packed.body), packed.headers["content-encoding"]) == (reply.body, "gzip")
        assert reply.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
        again = service.ask("GET", path, If_None_Match=reply.headers["etag"])
        assert (again.status, again.body) == (304, b"")

    def test_origins(self, service: Service) -> None:
        """A survey says whose pages may report; programs, which have no origin, always may."""
        stored = service.store.add_survey(own_cell_survey(CELLS, "origins"), ["https://a.example"])
        survey, path = stored.survey, f"/v1/surveys/{stored.survey.survey_id.hex()}"
        for method, where in [("GET", path), ("OPTIONS", f"{path}/reports"), ("POST", f"{path}/reports")]:
            body = batch(survey, [1]) if method == "POST" else None
            mine = service.ask(method, where, body, Origin="https://a.example")
            assert mine.status in (200, 204)
            assert mine.headers["access-control-allow-origin"] == "https://a.example"
            assert mine.headers["vary"].endswith("Origin")
            other = service.ask(method, where, body, Origin="https://b.example")
            assert (other.status, other.kind) == (403, "origin-not-allowed")
            assert other.headers["access-control-allow-origin"] == "*"  # its script must know why
        program = service.upload(survey.survey_id, batch(survey, [2], seed=2))
        assert (program.status, program.headers["vary"]) == (200, "Origin")
        assert counted(service, survey) == [1, 2]

    def test_any_origin(self, service: Service, survey: Survey) -> None:
        """By default every page may report, and read what becomes of it, also of a refusal."""
        good = service.upload(survey.survey_id, batch(survey, [1]), Origin="https://c.example")
        bad = service.upload(survey.survey_id, b"", Origin="https://c.example")
        assert (good.status, bad.status) == (200, 400)
        assert good.headers["access-control-allow-origin"] == bad.headers["access-control-allow-origin"] == "*"
        assert bad.headers["access-control-expose-headers"] == "Retry-After"


def test_a_damaged_survey_is_in_nobodys_way(service: Service, survey: Survey) -> None:
    """The others are listed, and the damaged one can be deleted."""
    from sqlalchemy import update

    from hubbub.store.schema import surveys, writing

    damaged = service.store.add_survey(own_cell_survey(CELLS, "damaged")).survey.survey_id
    with writing(service.store.engine) as connection:
        connection.execute(update(surveys).where(surveys.c.survey_id == damaged).values(document=b"{}"))
    service.store.forget_state(damaged)
    listed = service.ask("GET", "/v1/surveys", owner=True)
    assert [each["survey_id"] for each in listed.json["surveys"]] == [survey.survey_id.hex(), damaged.hex()]
    assert service.upload(damaged, batch(survey, [1])).kind == "damaged"
    listed = service.ask("GET", "/v1/surveys", owner=True)
    assert [each["state"] for each in listed.json["surveys"]] == ["open", "damaged"]
    assert service.ask("DELETE", f"/v1/surveys/{damaged.hex()}", owner=True).status == 204
    assert service.ask("DELETE", f"/v1/surveys/{damaged.hex()}", owner=True).kind == "unknown-survey"


def test_an_answer_does_not_hold_up_uploads(service: Service, survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an answer is being computed, however long it takes, reports are taken."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> Answer:
        begun.set()
        go_on.wait()
        return Answer(0, 1.0, ())

    monkeypatch.setattr("hubbub.collector.reading.answer_question", slow)
    with ThreadPoolExecutor(1) as pool:
        path = f"/v1/surveys/{survey.survey_id.hex()}/hitters"
        answer = pool.submit(service.ask, "GET", path, owner=True)
        begun.wait()
        try:
            assert service.upload(survey.survey_id, batch(survey, [1])).json["accepted"] == 1
            assert service.ask("GET", "/healthz").status == 200
            assert not answer.done()
        finally:
            go_on.set()
        assert answer.result().status == 200


class TestOperations:
    """Health, readiness, metrics."""

    def test_health(self, service: Service) -> None:
        """It lives and is ready."""
        assert service.ask("GET", "/healthz").body == b"ok\n"
        assert service.ask("GET", "/readyz").body == b"ready\n"

    def test_metrics(self, service: Service, survey: Survey) -> None:
        """The counters are in the format of Prometheus, and count."""
        service.upload(survey.survey_id, batch(survey, [1, 2]))
        service.upload(survey.survey_id, batch(survey, [1, 2]))
        service.upload(survey.survey_id, b"")
        text = service.ask("GET", "/metrics").body.decode()
        sample = re.compile(r'[a-z_]+(\{[a-z]+="[0-9A-Za-z.+-]+"\})? [0-9.e+-]+')
        assert all(line.startswith("# ") or sample.fullmatch(line) for line in text.splitlines())
        lines = text.splitlines()
        assert 'hubbub_reports_total{status="accepted"} 2.0' in lines
        assert 'hubbub_reports_total{status="duplicate"} 2.0' in lines
        assert 'hubbub_refused_uploads_total{problem="malformed-batch"} 1.0' in lines
        assert "hubbub_waiting_bytes 0.0" in lines
        assert "_created" not in text, "the time of a first report is nobody's business"

    def test_an_upload_that_is_cut_off_is_no_error(
        self, service: Service, survey: Survey, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A device that hangs up half-way is counted, and the log stays empty."""
        server_log = logging.getLogger("uvicorn.error")
        server_log.addHandler(caplog.handler)
        try:
            half_an_upload(service, survey, 50).close()
            patience = time.monotonic() + 60
            counter = 'hubbub_refused_uploads_total{problem="cut-off"} 1.0'
            while counter not in service.ask("GET", "/metrics").body.decode().splitlines():
                assert time.monotonic() < patience
                assert caplog.records == []
                time.sleep(0.02)
        finally:
            server_log.removeHandler(caplog.handler)
        assert caplog.records == []

    def test_the_documentation_is_there(self, service: Service) -> None:
        """OpenAPI describes all routes, the plain ones too; the page for people has them all, and loads nothing."""
        paths = service.ask("GET", "/openapi.json").json["paths"]
        methods = {(path, method) for path, entry in paths.items() for method in entry}
        reply = service.ask("GET", "/docs")
        text = reply.body.decode()
        for path, method in methods:
            assert f"<b>{method.upper()}</b> <code>{path}</code>" in text
            assert html.escape(paths[path][method]["description"]) in text
        assert not re.search(r"<(script|link|img|iframe)|(https?:)?//|url\(|@import", text)
        assert reply.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert methods == {(path, method.lower()) for method, path in OPERATIONS}
