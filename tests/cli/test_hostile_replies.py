"""Whatever a server sends instead of a collector's JSON, a command ends with one sentence and exit code 2."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from hubbub.cli.main import app

SURVEY_ID = "ab" * 32
ROW = {
    "value": "tea",
    "count": 10.0,
    "share": 0.1,
    "stderr": 1.0,
    "low": 5.0,
    "high": 15.0,
    "confidence": 0.99,
    "listed": False,
    "uneven": False,
    "stands_out": True,
    "ahead_of": None,
    "fake_reports": 3,
    "rival": None,
    "stands_to": None,
    "first_to": None,
}
ANSWER = {
    "survey_id": SURVEY_ID,
    "heading": {"domain": "words", "mechanism": "tree", "privacy": "ε = 1", "long_example": ""},
    "reports": 100,
    "detection_limit": 3.0,
    "long_limit": None,
    "candidate_limit": None,
    "whole_list": False,
    "values_per_person": 1,
    "out_of_reach": [],
    "not_shown": 0,
    "foreign_candidates": 0,
    "known_names": 0,
    "own_names": 0,
    "remembered_names": 0,
    "post_processing": "none",
    "guessed_from": None,
    "mode": "no-false-positives",
    "forged": 0,
    "share": 0.0,
    "guesses": [],
    "groups": [],
    "hitters": [ROW],
}
TREND = {
    **ANSWER,
    "level": 0.05,
    "repeats": True,
    "periods": [{"start": day, "reports": 50, "whole": True} for day in ("2026-10-05", "2026-10-12")],
    "series": [
        {
            "value": "tea",
            "points": [{"count": 5.0, "share": 0.1, "stderr": 1.0, "low": 2.0, "high": 8.0}] * 2,
            "change": "rising",
            "since": "2026-10-05",
        }
    ],
}
STATUS = {
    "survey_id": SURVEY_ID,
    "name": "words",
    "state": "open",
    "damage": None,
    "mechanism": "tree",
    "epsilon": "1",
    "delta": "0",
    "opens": None,
    "closes": None,
    "every": None,
    "created": "2026-01-01T00:00:00+00:00",
    "expected_reports": 10,
    "reports": 1,
    "origins": ["*"],
    "slice": "week",
}
NO_JSON = [b"[" * 200_000, b'{"a":' * 100_000, b"9" * 5000, b'"\\ud800"', b"1e999", b"NaN", b"\xff", b""]
NO_OBJECT = [b"[]", b"null", b"7", b"{}", b'{"surveys": 7}', b'{"surveys": [[]]}']


class Server(ThreadingHTTPServer):
    """A server that always sends the same."""

    status, body = 200, b""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Sends what the server has."""

    def do_GET(self) -> None:
        """Reply to a request."""
        server = self.server
        assert isinstance(server, Server)
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    def do_POST(self) -> None:
        """Reply to a request that has a body."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The server."""
    with Server(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def commands(server: Server, folder: Path) -> list[list[str]]:
    """Each command that reads JSON from a collector."""
    survey = ["--survey", f"{server.url}/v1/surveys/{SURVEY_ID}"]
    at, token = ["--server", server.url], ["--token", "x"]
    (folder / "a.tally").write_bytes(b"x")
    return [
        ["hitters", *survey, *token],
        ["trend", *survey, *token],
        ["survey", "list", *at, *token],
        ["survey", "show", *survey, *token],
        ["survey", "close", *survey, *token],
        ["survey", "delete", *survey, *token],
        ["survey", "new", "x", "--domain", "ipv4", *at, *token],
        ["site", "new", "x", *at, *token],
        ["site", "list", *at, *token],
        ["site", "show", "0" * 32, *at, *token],
        ["site", "ask", "0" * 32, "device", *at, *token],
        ["site", "remove", "0" * 32, "1", *at, *token],
        ["site", "delete", "0" * 32, *at, *token],
        ["survey", "merge", str(folder / "a.tally"), *survey, *token],
        ["doctor", *survey],
    ]


def complains(command: list[str]) -> None:
    """The command ends with exit code 2 and a sentence, and without a traceback."""
    run = CliRunner().invoke(app, command)
    assert isinstance(run.exception, SystemExit), (command, run.exception)
    assert run.exit_code == 2, (command, run.output)
    assert run.stderr.startswith("hubbub: "), (command, run.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("body", NO_JSON + NO_OBJECT, ids=lambda body: ascii(body[:12]))
def test_what_is_no_document(server: Server, tmp_path: Path, body: bytes, status: int) -> None:
    """Nested, cut off, not finite, not text, or something else than an object."""
    server.status, server.body = status, body
    for command in commands(server, tmp_path):
        complains(command)


@pytest.mark.parametrize(
    "change",
    [
        {"reports": 10**400},
        {"detection_limit": 10**400},
        {"values_per_person": 10**400},
        {"heading": {**ANSWER["heading"], "domain": "\ud800"}},
        {"heading": [[[]]]},
        {"hitters": {"a": 1}},
        {"hitters": [{**ROW, "count": 10**400}]},
        {"hitters": [{**ROW, "count": "many"}]},
        {"hitters": [{**ROW, "value": "\ud800"}]},
        {"hitters": [{**ROW, "value": [[]]}]},
    ],
    ids=lambda change: ascii(change)[:40],
)
def test_answers_that_are_none(server: Server, tmp_path: Path, change: dict[str, object]) -> None:
    """Numbers beyond 64 bits, half a character and other types are refused; without them the answer is shown."""
    file = tmp_path / "a.csv"
    command = ["hitters", "--survey", f"{server.url}/v1/surveys/{SURVEY_ID}", "--token", "x", "--csv", str(file)]
    server.status, server.body = 200, json.dumps(ANSWER).encode()
    assert CliRunner().invoke(app, command).exit_code == 0
    assert "tea" in file.read_text(encoding="utf-8")
    file.unlink()
    server.body = json.dumps({**ANSWER, **change}).encode()
    complains(command)


@pytest.mark.parametrize(
    "change",
    [
        {"reports": 10**400},
        {"level": "small"},
        {"periods": []},
        {"periods": TREND["periods"][::-1]},
        {"series": []},
        {"series": [{**TREND["series"][0], "since": "2020-01-01"}]},
    ],
    ids=lambda change: ascii(change)[:40],
)
def test_trends_that_are_none(server: Server, tmp_path: Path, change: dict[str, object]) -> None:
    """The same for trends: without the change it is shown and written, and with it refused."""
    file = tmp_path / "a.csv"
    command = ["trend", "--survey", f"{server.url}/v1/surveys/{SURVEY_ID}", "--token", "x", "--csv", str(file)]
    server.status, server.body = 200, json.dumps(TREND).encode()
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0
    assert "tea is rising" in run.output
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    server.body = json.dumps({**TREND, **change}).encode()
    complains(command)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "NaN"},
        {"epsilon": "1e999999"},
        {"epsilon": 1},
        {"created": "yesterday"},
        {"created": "2026-01-01"},
        {"closes": 7},
        {"reports": 10**400},
        {"reports": "many"},
        {"origins": [7]},
        {"name": None},
        {"name": "\ud800"},
    ],
    ids=ascii,
)
def test_surveys_that_are_none(server: Server, tmp_path: Path, change: dict[str, object]) -> None:
    """A survey whose fields are of other types, or no numbers and no times, is refused; without them it is shown."""
    wrong = {**STATUS, **change}
    for command in commands(server, tmp_path)[2:5]:
        server.status, server.body = 200, json.dumps({"surveys": [STATUS], **STATUS}).encode()
        assert CliRunner().invoke(app, command).exit_code == 0
        server.body = json.dumps({"surveys": [wrong], **wrong}).encode()
        complains(command)
