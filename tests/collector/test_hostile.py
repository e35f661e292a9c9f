"""Peers that mean harm: what they send has limits, they make room for others, and they leave no trace in the log."""

from __future__ import annotations

import http.client
import json
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.collector.hostile import MIB, Target, connect, flood, floods, half_upload, harass, target
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running, wait_until

from hubbub.collector.bodies import MAX_WAITING_BYTES, Budget
from hubbub.collector.framing import MAX_ADDRESS_BYTES, MAX_FIELDS, MAX_HEAD_BYTES
from hubbub.collector.rates import Rates
from hubbub.dashboard.app import create_app
from hubbub.store.keys import make_code
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

CELLS = 100


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A collector that is a process. In the end its log tells of no exception."""
    with target(tmp_path_factory.mktemp("victim")) as found:
        yield found
        assert found.failures() == []


def test_what_has_no_end_is_refused_and_not_kept(victim: Target) -> None:
    """64 MiB of a head, of trailers or of extensions: a problem, hardly any memory, and others are served."""
    rng = random.Random(1)
    kinds = floods(victim.path)
    assert victim.ask("POST", victim.path, victim.batch(rng))[0] == 200
    before = victim.memory()
    for name, kind in kinds.items():
        assert flood(victim, kind) == kind.status, name
        assert victim.ask("GET", "/healthz")[0] == 200
    assert victim.memory() - before < 16 * MIB
    assert victim.ask("POST", victim.path, victim.batch(rng))[0] == 200


def test_large_heads_within_the_limits_are_served(victim: Target) -> None:
    """As many and as large fields as are allowed, in one piece or in many; one more is refused."""
    few = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * (MAX_FIELDS - 1) + b"\r\n"
    empty = b"GET /healthz HTTP/1.1\r\nHost: x\r\na: %b\r\n\r\n"
    wide, wider = (empty % (b"b" * (size - len(empty) + 2)) for size in (MAX_HEAD_BYTES, MAX_HEAD_BYTES + 1))
    long = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * (MAX_ADDRESS_BYTES - 1))
    more = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * MAX_FIELDS + b"\r\n"
    for said, status in ((few, 200), (wide, 200), (wider, 431), (long, 404), (more, 431)):
        for size in (len(said), 700):
            with connect(victim.url) as connection:
                for first in range(0, len(said), size):
                    connection.sendall(said[first : first + size])
                assert int(connection.recv(12).split()[1]) == status


def test_small_chunks_are_taken(victim: Target) -> None:
    """A body in chunks of one byte is mostly frame, and is allowed; trailers are ignored, whatever they say."""
    body = victim.batch(random.Random(2), 100)
    head = f"POST {victim.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with connect(victim.url, head + chunks + b"0\r\nOrigin: https://other.example\r\n\r\n") as connection:
        assert connection.recv(15).startswith(b"HTTP/1.1 200")


def replies(connection: socket.socket) -> list[tuple[int, dict]]:
    """All replies until the other side ends the connection."""
    file, found = connection.makefile("rb"), []
    while line := file.readline():
        status, size = int(line.split()[1]), 0
        while line := file.readline().strip():
            size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length:") else size
        found.append((status, json.loads(file.read(size))))
    return found


def whole_upload(victim: Target, seed: int | str) -> bytes:
    """A request with one new report."""
    body = victim.batch(random.Random(seed))
    return f"POST {victim.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0\0\0",
        b"garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    ],
    ids=["zeros", "words", "no host", "no number"],
)
@pytest.mark.parametrize("uploads", [1, 3])
def test_garbage_after_uploads(victim: Target, garbage: bytes, uploads: int) -> None:
    """Uploads before it on the same connection are acknowledged, in order; then the garbage is refused."""
    said = b"".join(
        whole_upload(victim, random.Random(f"{garbage!r} {k} {uploads}").getrandbits(60)) for k in range(uploads)
    )
    with connect(victim.url, said + garbage) as connection:
        found = replies(connection)
    assert [status for status, _ in found] == [200] * uploads + [400]
    assert [each["accepted"] for _, each in found[:-1]] == [1] * uploads


def test_a_body_that_turns_into_garbage(victim: Target) -> None:
    """A chunk without a size: the request itself is refused, after those before it, and nothing of it is stored."""
    before = victim.counted()
    head = f"POST {victim.path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with connect(victim.url, whole_upload(victim, 31) + head + b"3\r\nabc\r\nxyz\r\n") as connection:
        assert [status for status, _ in replies(connection)] == [200, 400]
    with connect(victim.url, head + b"3\r\nabc\r\nxyz\r\n") as connection:
        assert [status for status, _ in replies(connection)] == [400]
    wait_until(lambda: victim.counted() == before + 1)


@pytest.mark.parametrize("uploads", [1, 4])
def test_a_peer_that_sends_no_more_gets_its_replies(victim: Target, uploads: int) -> None:
    """Somebody who closes one direction after a request, as `nc -N` does, reads the reply in the other."""
    with connect(victim.url, b"".join(whole_upload(victim, 100 * uploads + k) for k in range(uploads))) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert [status for status, _ in replies(connection)] == [200] * uploads
    with connect(victim.url, whole_upload(victim, 7)[:-1]) as connection:  # half a request has no reply
        connection.shutdown(socket.SHUT_WR)
        assert replies(connection) == []


@pytest.mark.parametrize(
    ("fields", "status"),
    [(b"", 400), (b"Host: x\r\nHost: x\r\n", 400), (b"Host: x\r\n", 200), (b"Host:\r\n", 200)],
    ids=["none", "two", "one", "empty"],
)
def test_a_request_has_one_host(victim: Target, fields: bytes, status: int) -> None:
    """RFC 9112 wants a request of HTTP/1.1 without exactly one Host field to be refused."""
    with connect(victim.url, b"GET /healthz HTTP/1.1\r\n%b\r\n" % fields) as connection:
        assert int(connection.recv(12).split()[1]) == status
    with connect(victim.url, b"GET /healthz HTTP/1.0\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_peers_that_leave_at_any_moment(victim: Target) -> None:
    """Whole, cut and garbled requests, and every way to leave: the collector serves on; its log is checked above."""
    rng = random.Random(4)
    login = b"POST /login HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 50\r\n\r\nhalf"
    connect(victim.url, login).close()
    for _ in range(200):
        harass(victim, rng)
    assert victim.ask("POST", victim.path, victim.batch(rng))[0] == 200


def test_many_requests_at_once_are_not_kept(victim: Target) -> None:
    """Peers that send thousands of small requests and read no reply: only a few of them are parsed."""
    before = victim.memory()
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(connect(victim.url))
            connection.setblocking(False)
            connection.send(b"GET /metrics HTTP/1.1\r\nHost:x\r\n\r\n" * 8000)
        assert victim.ask("GET", "/healthz")[0] == 200
        assert victim.memory() - before < 160 * MIB


def figures(service: Service) -> dict[str, float]:
    """The metrics of a collector."""
    lines = service.ask("GET", "/metrics").body.decode().splitlines()
    return {name: float(value) for name, value in (line.split(" ") for line in lines if line[0] != "#")}


def reply_on(connection: socket.socket) -> tuple[int, dict]:
    """The next reply."""
    reply = http.client.HTTPResponse(connection)
    reply.begin()
    return reply.status, json.loads(reply.read())


def test_half_uploads_make_room(tmp_path: Path) -> None:
    """Seventy uploads that stop or drip fill the room: others are taken, and one that makes progress is kept."""
    with running(str(tmp_path / "a.db"), build=create_app, rates=Rates(0, 0)) as service, ExitStack() as stack:
        survey = service.store.add_survey(own_cell_survey(CELLS)).survey
        path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
        body = encode_batch(survey.survey_id, some_reports([2] * 20_000, 2))
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        honest, step, others = stack.enter_context(connect(service.url, head)), -(-len(body) // 80), []
        for number in range(80):
            honest.sendall(body[number * step : (number + 1) * step])
            others.append(stack.enter_context(connect(service.url, half_upload(path, MIB - 1000))))
            if number == 55:  # before the room is full
                for other in others:
                    other.sendall(b"drip")
        assert reply_on(honest)[1]["accepted"] == 20_000
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([1]))).status == 200
        assert service.ask("GET", "/v1/surveys", owner=True).status == 200
        assert service.ask("GET", "/readyz").status == 200
        status, told = reply_on(others[0])
        assert (status, told["type"]) == (503, "urn:hubbub:problem:crowded-out")
        found = figures(service)
        assert MAX_WAITING_BYTES * 0.9 < found["hubbub_unfinished_bytes"] <= found["hubbub_waiting_bytes"]
        assert found["hubbub_waiting_bytes"] <= MAX_WAITING_BYTES
        assert found['hubbub_refused_uploads_total{problem="crowded-out"}'] >= 16


def test_a_room_that_is_full_of_whole_uploads(tmp_path: Path) -> None:
    """Uploads that have arrived are never given up for others: those are refused, and readiness says so."""
    with running(str(tmp_path / "a.db"), Budget(limit=1000)) as service:
        survey = service.store.add_survey(own_cell_survey(CELLS)).survey
        with service.collector.budget.room() as arrived:
            service.collector.budget.take(arrived, 990)
            refused = service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([1])))
            assert (refused.status, refused.kind) == (503, "busy")
            assert service.ask("GET", "/readyz").kind == "busy"
            assert service.ask("GET", "/v1/surveys", owner=True).status == 200
        assert service.ask("GET", "/readyz").status == 200


def test_strangers_keep_the_owner_from_nothing(tmp_path: Path) -> None:
    """A room full of uploads, and many half logins: the owner logs in, and devices report."""
    with running(str(tmp_path / "a.db"), build=create_app) as service, ExitStack() as stack:
        survey = service.store.add_survey(own_cell_survey(CELLS)).survey
        host = service.url.removeprefix("http://")
        login = f"POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {service.url}\r\nContent-Length: 4000\r\n\r\n"
        for _ in range(300):
            stack.enter_context(connect(service.url, login.encode() + bytes(3900)))
        arrived = stack.enter_context(service.collector.budget.room())
        service.collector.budget.take(arrived, MAX_WAITING_BYTES)
        wait_until(lambda: service.collector.login_budget.waiting > MIB * 0.9)
        code = json.dumps({"code": make_code(service.store.engine)}).encode()
        assert service.ask("POST", "/login", code, Origin=service.url).status == 204
        service.collector.budget.free(arrived)
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([1]))).status == 200
        large = service.ask("POST", "/login", bytes(5000), Origin=service.url)
        assert (large.status, large.kind) == (413, "too-large")
