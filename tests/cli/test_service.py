"""`hubbub serve`, `survey`, `hitters` and `store`: a collector as a process, and the commands that speak to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import select
import signal
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import pytest
from prometheus_client.multiprocess import MultiProcessCollector
from tests.collector.own_cell import some_reports
from tests.collector.service import wait_until
from tests.collector.troubles import fill, small_disk
from tests.databases import new_postgresql_database

from hubbub import Answer, Hitter, Integers, SeededRandomWords, create_survey, load_survey, mechanism_for
from hubbub.client import DEFAULT_MAX_EPSILON
from hubbub.store.store import Store
from hubbub.store.tokens import make_first_token
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

Cli = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]


class Served(NamedTuple):
    """A collector that runs as a process."""

    process: subprocess.Popen[str]
    url: str
    token: str | None
    database: Path


def first_line(process: subprocess.Popen[str]) -> str:
    """What the process says when it listens."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 120)
    assert ready, "the collector does not start"
    return process.stdout.readline()


def serve(start_hubbub: Start, database: Path, *more: str, **options: object) -> Served:
    """Start a collector."""
    process = start_hubbub("serve", "--db", database, "--port", "0", "--json", *more, **options)
    said = json.loads(first_line(process))
    return Served(process, said["url"], said["token"], database)


def post(url: str, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    """Send something."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    answer = reply.status, reply.read()
    connection.close()
    return answer


def one_symbol_reports(count: int, seed: int = 1) -> np.ndarray:
    """Reports of the default mechanism, with ids of their own and symbol 0."""
    reports = np.zeros(count, np.dtype([("id", "<u8", (2,)), ("symbol", "u1")]))
    reports["id"] = some_reports([0] * count, seed)["id"]
    return reports


@pytest.fixture
def served(start_hubbub: Start, tmp_path: Path) -> Served:
    """A collector with an empty store."""
    return serve(start_hubbub, tmp_path / "surveys.db")


@pytest.fixture
def owner(hubbub_cli: Cli, served: Served) -> Cli:
    """The command line with the owner's environment."""

    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return hubbub_cli(*args, env={"HUBBUB_SERVER": served.url, "HUBBUB_TOKEN": served.token})

    return run


def end(served: Served, number: signal.Signals) -> tuple[int, str, str]:
    """End a collector; its exit code and what it said."""
    served.process.send_signal(number)
    stdout, stderr = served.process.communicate(timeout=60)
    return served.process.returncode, stdout, stderr


def test_a_survey_from_start_to_end(served: Served, owner: Cli, tmp_path: Path, hubbub_cli: Cli) -> None:
    """Create, list, report, ask, close, check, copy: each command does what it says, and the collector ends well."""
    names = tmp_path / "names.txt"
    names.write_text("9\n")
    groups = tmp_path / "groups.tsv"
    groups.write_text("7\tlow\n8\tlow\n")
    made = owner("survey", "new", "ids", "--domain", "integers:16", "-e", "2", "-n", "5k", "--names", names)
    said = "hubbub: asked every week, this adds up to ε = 8 in four weeks; ledgers allow 8 in 30 days, so a person "
    assert (made.returncode, made.stderr) == (0, f"{said}answers at most 4 times\n")
    url = made.stdout.strip()
    assert re.fullmatch(rf"{re.escape(served.url)}/v1/surveys/[0-9a-f]{{64}}", url)
    assert owner("hitters", "--survey", url).stdout == "No reports yet.\n"
    assert json.loads(owner("hitters", "--survey", url, "--json").stdout)["detection_limit"] is None

    assert json.loads(owner("survey", "names", "--survey", url, "--groups", groups, "--json").stdout) == {
        "survey_id": url.rpartition("/")[2],
        "fixed": ["9"],
        "later": [],
        "groups": {"low": ["7", "8"]},
        "sentences": [],
    }

    path = url.removeprefix(served.url)
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=60)
    connection.request("GET", path)
    survey = load_survey(connection.getresponse().read())
    connection.close()
    mechanism = mechanism_for(survey)
    items = survey.domain.encode([7] * 4000 + list(range(1000)))
    reports = mechanism.randomize(items, SeededRandomWords(1).draw(5000, mechanism.random_words_per_report))
    agent = "Distinctive-Agent/1.0"
    body = encode_batch(survey.survey_id, reports)
    assert post(served.url, f"{path}/reports", body, User_Agent=agent, X_Forwarded_For="203.0.113.7")[0] == 200
    assert post(served.url, f"{path}/reports", b"", User_Agent=agent)[0] == 400
    assert post(served.url, f"{path}/reports", encode_batch(bytes(32), some_reports([1])), User_Agent=agent)[0] == 422

    groups.write_text("7\tlow\n9\tlow\n")
    refused = owner("survey", "names", "--groups", groups, "--survey", url)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "groups must be fixed before the first report" in refused.stderr
    names.write_text("7\n8\n")
    kept = owner("survey", "names", names, "--survey", url)
    assert re.search(r"^ +8 +after looking", kept.stdout, re.MULTILINE)
    kept = json.loads(owner("survey", "names", "--survey", url, "--json").stdout)
    assert (kept["fixed"], kept["later"]) == (["9"], ["7", "8"])
    table = owner("hitters", "--survey", url, "--all-candidates")
    assert re.search(r"^ +8 .*– +after looking", table.stdout, re.MULTILINE)
    table = owner("hitters", "--survey", url, "--candidates", names, "--all-candidates")
    assert re.search(r"^ +7 .*yes", table.stdout, re.MULTILINE)
    assert re.search(r"^ +8 .*yes", table.stdout, re.MULTILINE)
    assert re.search(r"^ +8 +in low", owner("survey", "names", "--survey", url).stdout, re.MULTILINE)
    answer = json.loads(owner("hitters", "--survey", url, "--json", "--top", "1").stdout)
    assert [(group["name"], group["members"]) for group in answer["groups"]] == [("low", 2)]
    assert json.loads(owner("hitters", "--survey", url, "--json", "--groups", "none").stdout)["groups"] == []
    assert [hitter["value"] for hitter in answer["hitters"]] == [7]
    assert answer["reports"] == 5000
    assert "5,000 of 5,000 expected" in owner("survey", "show", "--survey", url).stdout
    (listed,) = json.loads(owner("survey", "list", "--json").stdout)["surveys"]
    assert (listed["url"], listed["state"], listed["reports"]) == (url, "open", 5000)
    assert url in owner("survey", "list").stdout

    assert "No damage was found." in hubbub_cli("store", "check", "--db", served.database).stdout
    copy = tmp_path / "copy.db"
    assert hubbub_cli("store", "backup", copy, "--db", served.database).returncode == 0
    found = json.loads(hubbub_cli("store", "check", "--db", copy, "--json").stdout)
    assert found == {"surveys": 1, "reports": 5000, "pending": 0, "ids": 5000, "problems": []}
    closed = json.loads(owner("survey", "close", "--survey", url, "--json").stdout)
    assert (closed["state"], closed["reports"]) == ("closed", 5000)
    assert post(served.url, f"{path}/reports", body)[0] == 410

    code, stdout, stderr = end(served, signal.SIGTERM)
    assert (code, stdout, stderr) == (0, "", "")
    # Nothing about who reported, or when, was said or kept.
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("surveys.db*"))
    assert agent.encode() not in kept
    assert b"203.0.113.7" not in kept
    assert served.token.encode() not in kept


def test_an_epsilon_that_clients_refuse_is_warned_of(owner: Cli) -> None:
    """Above what clients answer by default a survey is made, with a sentence on stderr; up to it there is no word."""
    new = ("survey", "new", "ids", "--domain", "integers:16")
    largest = owner(*new, "--epsilon", DEFAULT_MAX_EPSILON)
    assert (largest.returncode, largest.stderr.count("\n")) == (0, 1)
    assert "asked every week" in largest.stderr
    assert owner("survey", "list").stdout.startswith("1 survey at ")
    above = owner(*new, "--epsilon", "4.5", "--json")
    assert (above.returncode, json.loads(above.stdout)["epsilon"]) == (0, "4.5")
    said = "hubbub: the survey states ε = 4.5, but clients answer up to ε = 4 unless their max_epsilon is raised\n"
    cost = (
        "hubbub: answering all 2 surveys that you made in 30 days costs a person ε = 8.5; ledgers allow 8 in 30 days, "
    )
    assert above.stderr == f"{said}{cost}so those who answered the others will not answer this one\n"
    assert owner("survey", "list").stdout.startswith("2 surveys at ")
    small = owner("survey", "new", "small", "--domain", "integers:16", "--epsilon", "0.1")
    assert "answering all 3 surveys" in small.stderr
    weekly = owner("survey", "new", "weeks", "--domain", "integers:16", "--epsilon", "0.5", "--every", "1w", "--json")
    assert json.loads(weekly.stdout)["every"] == 7
    assert weekly.stderr.endswith("a browser that stays a year answers up to 53 times and spends ε = 26.5 in all.\n")
    assert "every 7 days" in owner("survey", "show", "--survey", json.loads(weekly.stdout)["url"]).stdout
    refused = owner("survey", "new", "weeks", "--domain", "integers:16", "--epsilon", "2", "--every", "7d")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "ε = 2 fits every 28 days" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_politely(served: Served, owner: Cli, number: signal.Signals) -> None:
    """However it is told to end, what was acknowledged is there and folded, and the next start shows no token."""
    url = owner("survey", "new", "ids", "--domain", "integers:16", "--json")
    survey_id = json.loads(url.stdout)["survey_id"]
    body = encode_batch(bytes.fromhex(survey_id), one_symbol_reports(10))
    status, said = post(served.url, f"/v1/surveys/{survey_id}/reports", body)
    assert (status, json.loads(said)["accepted"]) == (200, 10)
    code, stdout, stderr = end(served, number)
    assert (code, stdout, stderr) == (0, "", "")
    with sqlite3.connect(served.database) as connection:
        assert connection.execute("SELECT count(*) FROM hubbub_pending").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM hubbub_report_ids").fetchone() == (10,)
    connection.close()


def test_the_token_is_shown_once(start_hubbub: Start, tmp_path: Path, hubbub_cli: Cli) -> None:
    """A person reads the token at the first start only; `store token` makes a new one."""
    database = tmp_path / "a.db"
    first = start_hubbub("serve", "--db", database, "--port", "0")
    token = re.fullmatch(r"Owner's token, shown this once: (\S{43})\n", first_line(first))[1]
    assert first.stdout is not None
    link = re.match(
        r"Dashboard, by a link that works once and for 15 minutes: (\S+)/login#\S{32}\n", first.stdout.readline()
    )[1]
    address = re.match(r"Listening on (http://127\.0\.0\.1:\d+);", first.stdout.readline())[1]
    assert link == address
    environment = {"HUBBUB_SERVER": address, "HUBBUB_TOKEN": token}
    assert hubbub_cli("survey", "list", env=environment).returncode == 0
    new = json.loads(hubbub_cli("store", "token", "--db", database, "--json").stdout)["token"]
    refused = hubbub_cli("survey", "list", env=environment)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("hubbub: the collector refused (401): ")
    assert hubbub_cli("survey", "list", env={**environment, "HUBBUB_TOKEN": new}).returncode == 0
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)
    second = serve(start_hubbub, database)
    assert second.token is None


def metrics_of(url: str) -> dict[str, float]:
    """The samples that the collector shows to Prometheus."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_two_workers(start_hubbub: Start, tmp_path: Path, hubbub_cli: Cli, temporary: Path) -> None:
    """Several processes serve one store, their metrics are sums over all of them, and they end together."""
    served = serve(start_hubbub, tmp_path / "a.db", "--workers", "2")
    environment = {"HUBBUB_SERVER": served.url, "HUBBUB_TOKEN": served.token}
    listed = hubbub_cli("survey", "list", "--json", env=environment)
    assert json.loads(listed.stdout) == {"surveys": []}
    new = hubbub_cli("survey", "new", "ids", "--domain", "integers:16", "--json", env=environment)
    survey_id = json.loads(new.stdout)["survey_id"]

    def counted(file: Path) -> float:
        """The reports that one worker has accepted, from the file it writes."""
        merged = MultiProcessCollector.merge([str(file)])
        return sum(sample.value for metric in merged for sample in metric.samples if "status" in sample.labels)

    sent, each = 0, []
    while sent < 2000 and not (len(each) == 2 and all(each)):  # until both workers had some
        body = encode_batch(bytes.fromhex(survey_id), one_symbol_reports(1, seed=sent))
        assert post(served.url, f"/v1/surveys/{survey_id}/reports", body)[0] == 200
        sent += 1
        each = [counted(file) for file in temporary.glob("hubbub-metrics-*/counter_*.db")]
    assert len(each) == 2
    assert all(each)
    assert sum(each) == sent
    for _ in range(20):  # whichever worker answers
        shown = metrics_of(served.url)
        assert shown['hubbub_reports_total{status="accepted"}'] == sent
        assert shown["hubbub_waiting_bytes"] == 0
    assert shown[f'hubbub_survey_reports{{survey="{survey_id[:16]}"}}'] == sent
    assert shown["hubbub_upload_seconds_count"] == sent
    assert shown["hubbub_disk_free_bytes"] > 0
    assert 0 <= shown["hubbub_pending_age_seconds"] < 60
    assert end(served, signal.SIGTERM) == (0, "", "")
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not hasattr(socket, "SO_PASSCRED"), reason="this system does not tell who sent a message")
@pytest.mark.parametrize("workers", [1, 2])
def test_the_system_is_told_once(start_hubbub: Start, tmp_path: Path, workers: int) -> None:
    """The process that systemd started says that it is ready, and none of its workers does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(str(tmp_path / "notify"))
        system.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        system.settimeout(60)
        served = serve(
            start_hubbub,
            tmp_path / "a.db",
            *("--workers", str(workers)),
            env={"NOTIFY_SOCKET": str(tmp_path / "notify")},
        )
        message, more, _, _ = system.recvmsg(100, socket.CMSG_SPACE(12))
        assert (message, struct.unpack("iii", more[0][2])[0]) == (b"READY=1", served.process.pid)
        system.setblocking(False)
        with pytest.raises(BlockingIOError):
            system.recv(100)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system does not show its processes in /proc")
def test_workers_end_with_their_parent(start_hubbub: Start, tmp_path: Path) -> None:
    """A parent that is killed leaves no worker behind; a worker that is killed is started again."""
    database = tmp_path / "a.db"
    served = serve(start_hubbub, database, "--workers", "2")
    parent = psutil.Process(served.process.pid)
    first, second = parent.children()
    first.kill()
    wait_until(lambda: len(set(parent.children()) - {first, second}) == 1)
    workers = parent.children()
    served.process.kill()
    served.process.wait()
    wait_until(lambda: not any(map(is_alive, workers)))


def is_alive(process: psutil.Process) -> bool:
    """Whether it is there and no zombie."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this system does not show its processes in /proc")
def test_a_password_is_in_no_list_of_processes(start_hubbub: Start, postgresql: str) -> None:
    """Neither the arguments of a collector nor those of its workers have it, nor the workers' environment."""
    address = new_postgresql_database(postgresql)
    address += ("&" if "?" in address else "?") + "password=secret-word"
    process = start_hubbub("serve", "--port", "0", "--json", "--workers", "2", env={"HUBBUB_DB": address})
    first_line(process)
    parent = psutil.Process(process.pid)
    assert len(parent.children()) == 2
    for each in [parent, *parent.children()]:
        assert "secret-word" not in " ".join(each.cmdline())
    for worker in parent.children():
        assert "secret-word" not in str(worker.environ())
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert (stdout, stderr, process.returncode) == ("", "", 0)


def test_a_password_among_the_arguments_is_warned_of(start_hubbub: Start) -> None:
    """Others on the machine can read it there; the warning does not repeat it."""
    process = start_hubbub("serve", "--port", "0", "--db", "postgresql://me:secret-word@127.0.0.1:1/x")
    _, stderr = process.communicate(timeout=60)
    assert "put it in HUBBUB_DB" in stderr
    assert "secret-word" not in stderr


def test_a_lost_store_is_not_replaced(start_hubbub: Start, tmp_path: Path, hubbub_cli: Cli) -> None:
    """Where a store was, an empty or missing file is refused, until a copy is brought back."""
    database, copy = tmp_path / "a.db", tmp_path / "copy.db"
    served = serve(start_hubbub, database)
    environment = {"HUBBUB_SERVER": served.url, "HUBBUB_TOKEN": served.token}
    new = hubbub_cli("survey", "new", "ids", "--domain", "integers:16", "--json", env=environment)
    survey_id = json.loads(new.stdout)["survey_id"]
    body = encode_batch(bytes.fromhex(survey_id), one_symbol_reports(3))
    assert post(served.url, f"/v1/surveys/{survey_id}/reports", body)[0] == 200
    assert hubbub_cli("store", "backup", copy, "--db", database).returncode == 0
    refused = hubbub_cli("store", "restore", copy, "--db", database)
    assert refused.stderr.startswith("hubbub: restore needs a path where no store exists")
    end(served, signal.SIGTERM)

    def refused(*more: str) -> str:
        run = hubbub_cli("serve", "--db", database, "--port", "0", *more)
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
        return run.stderr

    assert "--new must name a place without a store" in refused("--new")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("a.db*")}
    assert set(modes.values()) == {0o600}
    for note in ("beside", "elsewhere"):
        for path in tmp_path.glob("a.db*"):
            if note == "elsewhere" or path.name != "a.db-made":
                path.unlink()
        said = refused()
        assert "is lost (it is missing, but there was one): bring it back with `hubbub store restore`" in said
        assert "--new" in said
    database.touch()
    assert "is lost (it is an empty file)" in refused()
    assert "an empty file" in hubbub_cli("store", "check", "--db", database).stderr
    restored = hubbub_cli("store", "restore", copy, "--db", database)
    assert (restored.returncode, restored.stdout) == (0, f"{copy}: 1 survey restored\n")
    again = serve(start_hubbub, database)
    assert again.token is None
    status, said = post(again.url, f"/v1/surveys/{survey_id}/reports", body)
    assert (status, json.loads(said)["duplicate"]) == (200, 3)


def test_a_full_disk_does_not_keep_a_collector_from_starting(
    start_hubbub: Start, tmp_path: Path, hubbub_cli: Cli
) -> None:
    """It was killed, and another program took all room: the reserve is enough to start, and to close a survey."""
    disk = tmp_path / "disk"
    with small_disk(disk, "64m") as mounted:
        if not mounted:
            pytest.skip("mounting a small disk needs rights that this user has not")
        served = serve(start_hubbub, disk / "a.db")
        environment = {"HUBBUB_SERVER": served.url, "HUBBUB_TOKEN": served.token}
        new = hubbub_cli("survey", "new", "ids", "--domain", "integers:16", "--json", env=environment)
        survey_id = json.loads(new.stdout)["survey_id"]
        body = encode_batch(bytes.fromhex(survey_id), one_symbol_reports(3))
        assert post(served.url, f"/v1/surveys/{survey_id}/reports", body)[0] == 200
        served.process.kill()
        served.process.wait()
        fill(disk / "ballast")
        again = serve(start_hubbub, disk / "a.db")
        assert again.token is None
        again.process.kill()
        again.process.wait()
        again = serve(start_hubbub, disk / "a.db")
        there = ("--survey", f"{again.url}/v1/surveys/{survey_id}")
        environment["HUBBUB_SERVER"] = again.url
        wait_until(lambda: hubbub_cli("survey", "close", *there, env=environment).returncode == 0)
        shown = hubbub_cli("survey", "show", *there, "--json", env=environment)
        assert (json.loads(shown.stdout)["state"], json.loads(shown.stdout)["reports"]) == ("closed", 3)
        end(again, signal.SIGTERM)


def test_strangers_do_not_fill_the_log(start_hubbub: Start, tmp_path: Path) -> None:
    """However often something that is no request comes, the log has one line about it, with time and level."""
    process = start_hubbub("serve", "--db", tmp_path / "a.db", "--port", "0", "--json", "--log-json")
    url = json.loads(first_line(process))["url"]
    host, _, port = url.removeprefix("http://").partition(":")
    for _ in range(50):
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(b"\0\0\0\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400")
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    (line,) = stderr.splitlines()
    assert json.loads(line)["level"] == "WARNING"
    assert json.loads(line)["message"] == "what a peer sent was refused: the request is no HTTP/1.1"


def test_a_json_log_is_json_and_has_no_token(start_hubbub: Start, tmp_path: Path) -> None:
    """Every line of a first start is an object and none has a secret; the owner asks for the token; limits are kept."""
    database = tmp_path / "a.db"
    options = ("--log-json", "--workers", "2", "--report-limit", "1")
    process = start_hubbub("serve", "--db", database, "--port", "0", *options)
    assert process.stderr is not None
    lines = [process.stderr.readline(), process.stderr.readline()]
    said = [json.loads(line)["message"] for line in lines]
    assert said[0] == "the owner has no token yet: hubbub store token makes one, hubbub login makes a link"
    url = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)", said[1])[1]
    assert post(url, "/login", b'{"code": "x"}', Origin=url)[0] == 403
    with socket.create_connection((url.split("/")[2].split(":")[0], int(url.rpartition(":")[2])), timeout=60) as peer:
        peer.sendall(b"\0\0\0\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 400")
    with Store(str(database)) as store:
        token = make_first_token(store.engine)
        survey_id = store.add_survey(create_survey("ids", Integers(16), 1, expected_reports=1)).survey_id
    assert token is not None, "the collector has made one, which nobody has seen"
    bodies = [encode_batch(survey_id, one_symbol_reports(1, seed)) for seed in range(50)]
    statuses = [post(url, f"/v1/surveys/{survey_id.hex()}/reports", body)[0] for body in bodies]
    assert set(statuses) == {200, 429}
    assert statuses.count(200) <= 2  # one for each of the workers
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert stdout == ""
    assert all(set(json.loads(line)) >= {"time", "level", "message"} for line in stderr.splitlines())
    assert token not in stderr
    assert "login#" not in "".join([*lines, stderr])


def test_a_failed_start_is_a_line_of_a_json_log(hubbub_cli: Cli, tmp_path: Path) -> None:
    """Also the reason why nothing could be started is one object."""
    failed = hubbub_cli("serve", "--db", tmp_path / "a.db", "--host", "203.0.113.1", "--log-json")
    assert (failed.returncode, failed.stdout) == (2, "")
    (line,) = failed.stderr.splitlines()
    assert json.loads(line)["message"].startswith("host and port must be free to listen on")


def test_what_others_say_is_a_line_of_the_log() -> None:
    """Warnings, lines of other libraries and errors that nothing handles are objects, too, without their texts."""
    script = """
import logging, threading, warnings
from hubbub.collector.logs import set_up_logs
set_up_logs(True)
warnings.warn("two\\nlines")
logging.getLogger("another").error("three\\nmore\\nlines")
def fail():
    raise ValueError("secret")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
raise KeyError("secret")
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    lines = [json.loads(line) for line in run.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["WARNING", "ERROR", "CRITICAL", "CRITICAL"]
    assert ["ValueError" in line.get("failure", "") for line in lines] == [False, False, True, False]
    assert "secret" not in run.stderr


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["survey", "list", "--server", "ftp://x"], "server must be an address"),
        (
            ["survey", "list", "--server", "http://127.0.0.1:1"],
            "the collector at 'http://127.0.0.1:1' could",
        ),
        (["survey", "show", "--survey", "http://127.0.0.1:1/v1/surveys/1"], "survey must be an address"),
        (["hitters", "--survey", "nothing"], "survey must be an address"),
        (["survey", "new", "x", "--domain", "nothing"], "domain must be"),
        (["survey", "new", "x", "--domain", "ipv4", "--people", "none"], "people must be a number"),
        (["store", "check", "--db", "no-such-file.db"], "db must be a store that exists"),
        (["store", "backup", "x.db", "--db", "sqlite:///no-such-file.db"], "db must be a store that exists"),
        (["store", "token", "--db", "mysql://x/y"], "db must be SQLite or PostgreSQL"),
        (["serve", "--db", "mysql://x/y"], "db must be SQLite or PostgreSQL"),
        (["serve", "--db", ":memory:"], "db must be a file"),
        (["store", "restore", "no-such-file.db", "--db", "b.db"], "a copy must be a file that exists"),
        (
            ["serve", "--db", "/no/such/folder/a.db"],
            "db must be a file that can be opened, got '/no/such/folder/a.db' (no such",
        ),
        (["serve", "--db", "a.db", "--host", "203.0.113.1"], "host and port must be free to listen on"),
        (["serve", "--db", "a.db", "--host", "no host"], "host and port must be free to listen on"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_sentence(
    hubbub_cli: Cli, command: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be done is said in one sentence, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    run = hubbub_cli(*command, env={"HUBBUB_TOKEN": "x", "HUBBUB_SERVER": "http://127.0.0.1:1"})
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"hubbub: {complaint}")
    assert run.stderr.count("\n") == 1
    assert list(tmp_path.glob("b.db*")) == []


@pytest.mark.slow
def test_a_survey_is_deleted_only_on_a_yes(owner: Cli, hubbub_cli: Cli, served: Served) -> None:
    """No answer and another one are refused in one sentence that names the option; y deletes."""
    url = owner("survey", "new", "drinks", "--domain", "ipv4").stdout.strip()
    delete = ("survey", "delete", "--survey", url)
    environment = {"HUBBUB_TOKEN": served.token}
    for answer, got in (("", "none"), ("n\n", "'n'"), ("\n", "''")):
        run = hubbub_cli(*delete, stdin=answer, env=environment)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr == (
            "Delete 'drinks' with its 0 reports? [y/N]: \n"
            f"hubbub: the answer must be y, or given in advance by --yes, got {got}\n"
        )
    assert owner("survey", "show", "--survey", url).returncode == 0
    assert hubbub_cli(*delete, stdin="y\n", env=environment).stdout.startswith("Deleted ")
    assert owner("survey", "show", "--survey", url).returncode == 2


@pytest.mark.slow
def test_a_closed_survey_says_who_closed_it(owner: Cli) -> None:
    """A survey that is closed does not wait to be closed."""

    def closes(*words: str) -> str:
        shown = owner("survey", *words).stdout
        return next(line.split(maxsplit=1)[1].strip() for line in shown.splitlines() if line.startswith("  closes"))

    url = owner("survey", "new", "drinks", "--domain", "ipv4").stdout.strip()
    assert closes("show", "--survey", url) == "when you close it"
    assert closes("close", "--survey", url) == closes("show", "--survey", url) == "you closed it"
    timed = owner("survey", "new", "food", "--domain", "ipv4", "--closes", "2999-01-31T00:00:00Z").stdout.strip()
    assert closes("show", "--survey", timed) == "2999-01-31T00:00:00+00:00"
    assert closes("close", "--survey", timed) == "you closed it before 2999-01-31T00:00:00+00:00"


def test_a_token_is_needed(hubbub_cli: Cli) -> None:
    """Without a token nobody is asked."""
    run = hubbub_cli("survey", "list", env={"HUBBUB_TOKEN": None})
    assert run.stderr == "hubbub: the owner's token must be in HUBBUB_TOKEN or --token, got none\n"


def test_a_damaged_store_is_told(hubbub_cli: Cli, tmp_path: Path) -> None:
    """`store check` ends with exit code 2 when something is wrong, and says what."""
    from hubbub import Integers, create_survey
    from hubbub.store.store import Store

    path = tmp_path / "a.db"
    with Store(str(path)) as store:
        store.add_survey(create_survey("x", Integers(8), 1))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE hubbub_tallies SET tally = zeroblob(100)")
    connection.close()
    run = hubbub_cli("store", "check", "--db", path)
    assert run.returncode == 2
    assert "a tally must be of version 1, got version 0" in run.stderr


def test_the_demo_stops_what_it_started(start_hubbub: Start, temporary: Path) -> None:
    """Ctrl-C in the middle of the demo ends its collector and leaves no file behind."""
    process = start_hubbub("demo", "--people", "3m")
    assert process.stdout is not None
    assert "visitors come" in first_line(process)
    assert "A collector was started" in first_line(process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert list(temporary.iterdir()) == []


def test_the_token_does_not_follow_a_redirect(hubbub_cli: Cli) -> None:
    """A collector that points elsewhere is a refusal: the other host hears nothing."""
    heard: list[str] = []

    class Peer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Peer) as peer:
        thread = threading.Thread(target=peer.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{peer.server_address[1]}"
            asked = hubbub_cli("survey", "list", env={"HUBBUB_SERVER": url, "HUBBUB_TOKEN": "secret"})
        finally:
            peer.shutdown()
            thread.join()
    assert asked.returncode != 0
    assert "302" in asked.stderr
    assert heard == ["/v1/surveys"]


def test_an_answer_of_another_server(hubbub_cli: Cli) -> None:
    """What is no answer, or that of another survey, is one sentence; the answer it was made from is shown."""
    hitter = Hitter(7, 60.0, 0.6, 5.0, 40.0, 80.0, confidence=0.99)
    heading = {"domain": "whole numbers", "mechanism": "tree", "privacy": "ε = 1", "long_example": ""}
    answer = {"survey_id": "a" * 64, "heading": heading, **Answer(90, 20.0, (hitter,)).to_document()}
    row, said = answer["hitters"][0], b""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    read = [name for name in answer if name != "sentences"]  # they are made here again
    odd = [
        *([], None, 1, "x", {}, {**answer, "hitters": {"value": 1}}, {**answer, "hitters": [[]]}),
        *({key: answer[key] for key in answer if key != name} for name in read),
        *({**answer, name: value} for name in read for value in ("x", {"x": 1})),
        *({**answer, "heading": {**heading, "domain": value}} for value in (None, 1)),
        *({**answer, "hitters": [{**row, name: []}]} for name in row),
        *({**answer, "hitters": [{key: row[key] for key in row if key != name}]} for name in ("value", "count")),
    ]
    texts = [*map(json.dumps, odd), json.dumps(answer).replace("60.0", "NaN"), "[" * 100_000]
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1/surveys/{'a' * 64}"
        ask = ("hitters", "--survey", url, "--token", "t")
        for text in texts:
            said = text.encode()
            run = hubbub_cli(*ask)
            assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1), text
            assert run.stderr.startswith(("hubbub: the server at ", "hubbub: the collector sent the answer of another"))
        said = json.dumps(answer).encode()
        run = hubbub_cli(*ask)
        assert (run.returncode, run.stderr) == (0, "")
        assert " 7 " in run.stdout
        server.shutdown()


def test_questions_of_a_site_cost_one_of_them() -> None:
    """A person answers one question of a site in a period: the others add nothing to what she tells."""
    from hubbub.cli.people_tell import told_at_once

    surveys = [{"survey_id": name, "epsilon": "2"} for name in "abcd"]
    site = {"questions": [{"survey_id": "b", "epsilon": "1.5"}, {"survey_id": "c", "epsilon": "2"}]}
    assert [each["survey_id"] for each in told_at_once(surveys, [site, {"questions": []}])] == ["a", "c", "d"]
