"""A relay and a collector, each in a process or thread of its own: everything that was taken arrives once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.service import Service, running, wait_until
from tests.collector.test_gateway import Sealed, relayed
from tests.relay.running import relay_process

from hubbub.errors import ParameterError
from hubbub.relay.app import Relay
from hubbub.relay.peers import Peers
from hubbub.relay.sending import Collector
from hubbub.relay.waiting import Waiting
from hubbub.store.releases import released
from hubbub.store.tokens import replace_token

pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector."""
    with running(str(tmp_path / "collector.db")) as started:
        yield started


def count(service: Service, survey: Sealed) -> int:
    """The reports in the sums of a survey."""
    return service.store.tally(survey.stored.survey_id).count


def test_a_crowd_arrives_and_what_is_no_crowd_does_not(service: Service, tmp_path: Path) -> None:
    """Two of three wait, also when the relay is killed; with the third all are counted, once."""
    survey, token = relayed(service, crowd=3), replace_token(service.store.engine, "relay")
    requests = survey.requests(5)
    with relay_process(tmp_path, service.url, token) as relay:
        for request in (*requests[:2], requests[0]):
            reply = relay.send(request)
            assert (reply.status, reply.body) == (202, b"{}")
            assert reply.headers["access-control-allow-origin"] == "*"
        assert relay.metric("waiting") == 2
        relay.kill()
    with relay_process(tmp_path, service.url, token) as relay:
        assert relay.metric("waiting") == 2
        assert count(service, survey) == 0
        assert relay.send(requests[2]).status == 202
        wait_until(lambda: count(service, survey) == 3)
        wait_until(lambda: relay.metric("on_their_way") == 0)
        assert released(service.store.engine, survey.stored.key) == (1, 3)
        for request in (*requests[3:], requests[0]):  # one of them again: the release is of three, and two are new
            assert relay.send(request).status == 202
        wait_until(lambda: count(service, survey) == 5)
        assert released(service.store.engine, survey.stored.key) == (2, 2)
        assert relay.metric("dropped_refused_total") == 0
    assert "127.0.0.1" not in relay.log
    assert token not in relay.log


def test_a_relay_is_killed_while_the_collector_is_away(tmp_path: Path) -> None:
    """Releases that were made stay as they are, and arrive when the collector is back; the token may come later."""
    database = str(tmp_path / "collector.db")
    with running(database) as service:
        survey, token = relayed(service, crowd=3), replace_token(service.store.engine, "relay")
        with relay_process(tmp_path, service.url, "another-token") as relay:
            for request in survey.requests(3):
                assert relay.send(request).status == 202
            wait_until(lambda: "answered 401" in relay.log)
            relay.kill()
        assert count(service, survey) == 0
        with relay_process(tmp_path, service.url, token) as relay:
            wait_until(lambda: count(service, survey) == 3)
            wait_until(lambda: relay.metric("on_their_way") + relay.metric("waiting") == 0)


def test_what_a_relay_refuses(service: Service, tmp_path: Path) -> None:
    """Malformed and long bodies, other addresses and methods; a full queue says 503 and when to come again."""
    survey, token = relayed(service, crowd=50), replace_token(service.store.engine, "relay")
    with relay_process(tmp_path, service.url, token, "--most", "3") as relay:
        good = survey.requests(4)
        for body, status in ((b"", 400), (b"\2" * 214, 400), (good[0][:-1], 400), (good[0] + b"x", 413)):
            reply = relay.send(body)
            assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
            assert reply.headers["access-control-allow-origin"] == "*"
        assert relay.ask("GET", "/v1/sealed").status == 405
        assert relay.ask("GET", "/").status == 404
        assert relay.ask("OPTIONS", "/v1/sealed").status == 204
        assert relay.ask("GET", "/healthz").body == b"ok\n"
        assert [relay.send(request).status for request in good] == [202, 202, 202, 503]
        assert "retry-after" in relay.send(good[3]).headers
        assert relay.metric("waiting") == 3
    assert relay.process.returncode == 0


def test_a_relay_loads_neither_numpy_nor_sqlalchemy() -> None:
    """Whoever runs a relay needs little: a fresh process that has loaded all of it has few other modules."""
    program = (
        "import sys, hubbub.cli.relay, hubbub.relay.app, hubbub.relay.serving\n"
        "from hubbub.cli.main import app\n"
        "app.get_command(None, 'relay')\n"
        "heavy = {'numpy', 'sqlalchemy', 'scipy', 'numba', 'fastapi', 'pydantic', 'cryptography'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    """No token, http to another machine, and a queue that is none end with code 2 and one sentence."""
    for options, said in (
        (["--to", "https://collector.example"], "got none"),
        (["--to", "http://collector.example", "TOKEN"], "to must be an address"),
        (["--to", "https://a@collector.example", "TOKEN"], "to must be an address"),
        (["--to", "https://collector.example", "--token-file", str(tmp_path / "none")], "cannot read the token"),
        (["--to", "https://collector.example", "TOKEN", "--queue", str(tmp_path)], "queue must be a file"),
    ):
        given = {"HUBBUB_RELAY_TOKEN": "x"} if "TOKEN" in options else {}
        options = [option for option in options if option != "TOKEN"]
        command = [sys.executable, "-m", "hubbub", "relay", "--port", "0", *options]
        more = {"capture_output": True, "text": True, "check": False, "env": {**os.environ, **given}}
        done = subprocess.run(command, timeout=60, **more)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_addresses_are_limited_but_not_this_machine() -> None:
    """Each address has its number in a minute, a /64 of IPv6 has one, and a proxy on this machine has none."""
    now = [0.0]
    peers = Peers(2, lambda: now[0])
    for address in ("203.0.113.5", "::ffff:203.0.113.6", "2001:db8::1"):
        assert [peers.allows(address) for _ in range(3)] == [True, True, False]
    assert not peers.allows("2001:db8::2")
    assert peers.allows("2001:db8:0:1::2")
    assert all(peers.allows(address) for address in ("127.0.0.1", "::1", "") for _ in range(9))
    now[0] = 60.0
    assert peers.allows("203.0.113.5")
    assert all(Peers(0).allows("203.0.113.5") for _ in range(9))


def test_an_address_with_too_many_requests_gets_429(tmp_path: Path) -> None:
    """The reply says when to come again, and nothing is read of the request."""
    waiting = Waiting(str(tmp_path / "a.db"))
    relay = Relay(waiting, Collector("https://collector.example", "token"), peer_rate=1)
    sent: list[dict] = []

    async def ask() -> None:
        """Send two requests of one address."""

        async def receive() -> dict:
            """Return an empty body."""
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict) -> None:
            """Keep a part of a reply."""
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/v1/sealed", "headers": [], "client": ("203.0.113.5", 9)}
        for _ in range(2):
            await relay(scope, receive, send)

    asyncio.run(ask())
    assert [message["status"] for message in sent if "status" in message] == [400, 429]
    assert int(dict(sent[2]["headers"])[b"retry-after"]) >= 60
    assert json.loads(sent[3]["body"])["type"].endswith("too-fast")
    waiting.close()


def test_only_a_collector_is_believed(service: Service) -> None:
    """An address where another service answers, and none at all, leave a release for later."""
    token = replace_token(service.store.engine, "relay")
    assert Collector(service.url, token).send(b"x").outcome == "refused"
    assert Collector(service.url, "another").send(b"x").why == "the collector answered 401"
    assert Collector(f"{service.url}/elsewhere", token).send(b"x").outcome == "later"
    assert Collector("http://127.0.0.1:9", token).send(b"x").outcome == "later"
    for url in ("http://198.51.100.1", "ftp://127.0.0.1", "https://", "https://x?y", "x"):
        with pytest.raises(ParameterError, match="to must be"):
            Collector(url, token)
    for bad in ("", "a b", "a\nb", "ü"):
        with pytest.raises(ParameterError, match="plain text"):
            Collector(service.url, bad)
