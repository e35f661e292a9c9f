"""Slow, silent and too many peers: each is told or cut off in time, and the others are served."""

from __future__ import annotations

import asyncio
import http.client
import json
import resource
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import PATIENCE, Service, running, wait_until

from hubbub import Categories, create_survey
from hubbub.collector.bodies import Budget
from hubbub.collector.connections import refuse_as_busy
from hubbub.collector.owner_check import MOST_FAILURES
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

CELLS = 100


def connect(url: str, said: bytes = b"") -> socket.socket:
    """A connection on which this was said."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.sendall(said)
    return connection


def is_cut_off(connection: socket.socket) -> bool:
    """Wait until the other side ends the connection without a reply."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "said",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /hea"],
    ids=["silent", "half a head", "half a second head"],
)
def test_a_head_that_does_not_come(tmp_path: Path, said: bytes) -> None:
    """A connection on which no whole head arrives in time is closed, also after a request that was served."""
    served = said.count(b"GET") == 2
    seconds = 2.0 if served else 0.3  # the first head, which comes at once, must be in time on a slow machine, too
    with running(str(tmp_path / "a.db"), head_seconds=seconds) as service, connect(service.url, said) as connection:
        if served:
            heard = b""
            while not heard.endswith(b"ok\n"):
                heard += connection.recv(1000)
        assert is_cut_off(connection)


# A collector that may have 200 descriptors, and 300 peers that say nothing.
SMALL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
from hubbub.cli import run
sys.argv = ["hubbub", "serve", "--db", sys.argv[1], "--port", "0", "--json"]
run()
"""


def test_silent_peers_keep_nobody_out(tmp_path: Path) -> None:
    """More silent connections than there are descriptors: health, the owner and devices are served all the same."""
    command = [sys.executable, "-c", SMALL, str(tmp_path / "a.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = json.loads(process.stdout.readline())
            with ExitStack() as stack:
                for _ in range(300):
                    stack.enter_context(connect(said["url"]))
                for path in ("/healthz", "/readyz", "/metrics", "/v1/surveys"):
                    peer = http.client.HTTPConnection(said["url"].removeprefix("http://"), timeout=30)
                    peer.request("GET", path, headers={"Authorization": f"Bearer {said['token']}"})
                    assert peer.getresponse().status == 200
                    peer.close()
        finally:
            process.terminate()
            errors = process.communicate(timeout=60)[1]
    assert "Too many open files" not in errors
    assert process.returncode == 0


def test_uploads_that_do_not_come_keep_nobody_out(tmp_path: Path) -> None:
    """Uploads of which only a part arrives make room for whole ones."""
    with running(str(tmp_path / "a.db"), most=8) as service, ExitStack() as stack:
        survey = service.store.add_survey(own_cell_survey(CELLS)).survey
        path = f"/v1/surveys/{survey.survey_id.hex()}/reports"
        half = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf".encode()
        for _ in range(60):
            stack.enter_context(connect(service.url, half))
        assert service.upload(survey.survey_id, encode_batch(survey.survey_id, some_reports([1]))).status == 200
        assert service.ask("GET", "/healthz").status == 200


def test_a_reply_that_nobody_reads(tmp_path: Path) -> None:
    """A peer that asks for a long document and does not read it is cut off."""
    with running(str(tmp_path / "a.db"), read_seconds=0.3) as service:
        names = Categories([f"a name of some length, number {number}" for number in range(100_000)])
        document = service.store.add_survey(create_survey("names", names, 1))
        with connect(service.url) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            path = f"/v1/surveys/{document.survey_id.hex()}"
            mine = connection.getsockname()[1]
            wait_until(lambda: has_connection(mine))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 3)
            wait_until(lambda: not has_connection(mine))


def has_connection(port: int) -> bool:
    """Whether the collector, which is in this process, has a connection to this port."""
    return any(each.raddr and each.raddr.port == port for each in psutil.Process().net_connections("tcp"))


def test_a_wait_for_the_disk_ends_in_time(tmp_path: Path) -> None:
    """While another program holds the database an upload is told to come back, and it is not written afterwards."""
    database = str(tmp_path / "a.db")
    with running(database, Budget(commit_seconds=0.3)) as service:
        survey = service.store.add_survey(own_cell_survey(CELLS)).survey
        bodies = [encode_batch(survey.survey_id, some_reports([cell], cell)) for cell in range(3)]
        other = sqlite3.connect(database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        replies = [service.upload(survey.survey_id, bodies[0])]  # it waits for the lock
        with ThreadPoolExecutor(2) as pool:
            replies += pool.map(lambda body: service.upload(survey.survey_id, body), bodies[1:])
        assert {(reply.status, reply.kind) for reply in replies} == {(503, "busy")}
        assert all(2 <= int(reply.headers["retry-after"]) <= 30 for reply in replies)
        assert service.ask("GET", "/healthz").status == 200
        service.collector.budget.commit_seconds = PATIENCE  # from here on no slow disk may have an upload refused
        other.execute("ROLLBACK")
        other.close()
        # Neither the first one, which waited for the lock, nor those behind it were written for nobody.
        again = [service.upload(survey.survey_id, body).json for body in bodies]
        assert [each["accepted"] for each in again] == [1, 1, 1]
        assert service.store.tally(survey.survey_id).count == 3


def test_retries_are_spread() -> None:
    """Clients that are refused at the same moment are not told to come back at the same moment."""
    from hubbub.collector.problems import Problem

    assert len({Problem("busy", "").headers["Retry-After"] for _ in range(200)}) > 10


def test_strangers_are_slowed_down_and_the_owner_is_not(tmp_path: Path) -> None:
    """After many wrong tokens strangers get 429 and are counted; the owner is served at any time."""
    with running(str(tmp_path / "a.db")) as service:
        wrong = [service.ask("GET", "/v1/surveys", Authorization="Bearer x") for _ in range(MOST_FAILURES + 5)]
        assert [reply.kind for reply in wrong] == ["unauthorized"] * MOST_FAILURES + ["too-many-attempts"] * 5
        assert (wrong[-1].status, wrong[-1].headers["retry-after"]) == (429, "60")
        assert service.ask("GET", "/v1/surveys", owner=True).status == 200
        metrics = service.ask("GET", "/metrics").body.decode().splitlines()
        assert f"hubbub_owner_refusals_total {MOST_FAILURES + 5}.0" in metrics


def test_a_document_that_drips_in(tmp_path: Path) -> None:
    """The body of a request of the owner must arrive in time as well."""
    with running(str(tmp_path / "a.db"), Budget(seconds=0.3)) as service:
        head = f"POST /v1/surveys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        with connect(service.url, head.encode()) as connection:
            assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def replies(connection: socket.socket, count: int) -> list[tuple[int, dict]]:
    """So many replies with JSON: status and document of each."""
    file, found = connection.makefile("rb"), []
    for _ in range(count):
        status, size = int(file.readline().split()[1]), 0
        while line := file.readline().strip():
            size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length:") else size
        found.append((status, json.loads(file.read(size))))
    return found


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUPGRADE: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"


def test_an_offer_of_another_protocol_is_ignored(tmp_path: Path) -> None:
    """As Java's client makes it over plain HTTP, in any pieces. No body is changed or taken for the next request."""
    survey, reports = own_cell_survey(CELLS), some_reports([1, 2])
    reports["id"][1] = np.frombuffer(b"\r\nUpgrade: h2c\r\n"[:16], "<u8")  # a report that looks like an offer
    body = encode_batch(survey.survey_id, reports)
    path = f"/v1/surveys/{survey.survey_id.hex()}/reports".encode()
    size = b"Content-Length: %d\r\n\r\n" % len(body)
    plain = b"POST %b HTTP/1.1\r\nHost: x\r\n%b%b" % (path, size, body)
    offers = b"POST %b HTTP/1.1\r\nHost: x\r\n%b%b%b" % (path, OFFER, size, body)
    chunked = b"POST %b HTTP/1.1\r\nHost: x\r\n%bTransfer-Encoding: chunked\r\n\r\n" % (path, OFFER)
    chunked += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    inside = b"POST %b HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n" % (path, OFFER, len(plain)) + plain
    name, end = offers.index(b"GRADE"), offers.index(b"\r\n\r\n")
    pieces = [
        *([part] for part in (offers, chunked, plain)),
        *([offers[:cut], offers[cut:]] for cut in (name, name + 5, end + 1, end + 2, end + 3, end + 4, end + 40)),
        *([plain[:cut], plain[cut:]] for cut in range(len(plain) - len(body) - 3, len(plain) - len(body) + 1)),
        [offers[k : k + 1] for k in range(len(offers))],
        [plain + offers + chunked + offers],
        [offers + plain, offers[:name], offers[name:]],
    ]
    with running(str(tmp_path / "a.db")) as service:
        service.store.add_survey(survey)
        seen = []
        for parts in pieces:
            with connect(service.url) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for part in parts:
                    connection.sendall(part)
                    time.sleep(0.002 if len(parts) > 10 else 0.02)
                seen += replies(connection, b"".join(parts).count(b"POST "))
        with connect(service.url, inside[:name]) as connection:
            time.sleep(0.02)
            connection.sendall(inside[name:])
            assert replies(connection, 1)[0][0] == 400
        with connect(service.url, b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
            assert replies(connection, 1)[0][0] == 400
        assert service.store.tally(survey.survey_id).count == 2
    assert [status for status, _ in seen] == [200] * len(seen)
    assert [document["accepted"] for _, document in seen] == [2] + [0] * (len(seen) - 1)


def test_head_works(tmp_path: Path) -> None:
    """Whoever sends HEAD gets the head that a GET would get, on every route."""
    with running(str(tmp_path / "a.db")) as service:
        path = f"/v1/surveys/{service.store.add_survey(own_cell_survey(CELLS)).survey_id.hex()}"
        for asked in ("/healthz", "/readyz", "/metrics", "/docs", "/v1/surveys", path, f"{path}/status"):
            reply, whole = service.ask("HEAD", asked, owner=True), service.ask("GET", asked, owner=True)
            assert (reply.status, reply.body) == (200, b"")
            assert reply.headers["content-type"] == whole.headers["content-type"]
        assert service.ask("HEAD", "/v1/surveys").status == 401
        assert service.ask("HEAD", f"{path}/reports").status == 405


def test_health_needs_no_thread(tmp_path: Path) -> None:
    """Health is answered while every thread for requests is stuck behind the database."""
    database = str(tmp_path / "a.db")

    def ask(service: Service) -> int:
        return service.ask("GET", "/readyz").status

    with running(database) as service:
        other = sqlite3.connect(database, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor(60) as pool:
            stuck = [pool.submit(ask, service) for _ in range(60)]
            assert service.ask("GET", "/healthz").status == 200
            assert not all(each.done() for each in stuck)
            other.execute("ROLLBACK")
            other.close()
            assert {each.result() for each in stuck} <= {200, 503}


def test_the_limit_of_files_is_raised() -> None:
    """A process takes all descriptors that it may have."""
    from hubbub.collector.connections import most_connections

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert most_connections() >= 16
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(before[1], 4096)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_pages_can_read_that_it_is_busy() -> None:
    """The refusal of a connection that is too many lets the script of a page see why, like every other one."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(refuse_as_busy({"type": "http"}, None, send))  # type: ignore[arg-type]  # it reads nothing
    assert sent[0]["status"] == 503
    assert (b"access-control-allow-origin", b"*") in sent[0]["headers"]
