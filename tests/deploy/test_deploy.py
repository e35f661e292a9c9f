"""What is in deploy/ is read by the programs it is for, where they are here; a report through nginx leaves no trace."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import Service, running
from tests.deploy.proxies import CADDY, DEPLOY, Proxy, caddy, caddy_file, nginx

from hubbub.cli.main import app
from hubbub.collector.rates import Rates
from hubbub.dashboard.app import create_app
from hubbub.model.tally import Tally
from hubbub.store.keys import make_code
from hubbub.wire.report_batch import encode_batch
from hubbub.wire.tally_file import encode_tally

ROOT = Path(__file__).resolve().parents[2]


def test_the_sample_settings_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of hubbub.toml is read and shown; the environment overrides it."""
    monkeypatch.setenv("HUBBUB_PORT", "9000")
    file = DEPLOY / "hubbub.toml"
    run = CliRunner().invoke(app, ["serve", "--config", str(file), "--host", "::1", "--show-config", "--json"])
    assert run.exit_code == 0, run.output
    shown = json.loads(run.stdout)
    for name, value in tomllib.loads(file.read_text(encoding="utf-8")).items():
        if name not in ("port", "host"):
            assert shown[name] == {"value": value, "source": "file"}
    assert shown["port"] == {"value": 9000, "source": "environment"}
    assert shown["host"] == {"value": "::1", "source": "command line"}
    assert shown["new"] == {"value": False, "source": "default"}


def test_no_password_is_shown() -> None:
    """Neither one in front of the host nor one among the options of the database."""
    address = "postgresql://owner:secret@host/name?password=secret&sslmode=require"
    run = CliRunner().invoke(app, ["serve", "--db", address, "--show-config", "--json"])
    assert json.loads(run.stdout)["db"]["value"] == "postgresql://owner@host/name?password=…&sslmode=require"


@pytest.mark.parametrize(
    "text", ["prt = 1", 'port = "1"', "port = ", "[serve]\nport = 1", "port = 70000", "workers = 0"]
)
def test_wrong_settings_are_refused(tmp_path: Path, text: str) -> None:
    """A name that is no setting, a value of another type and what is no TOML are refused with exit code 2."""
    (tmp_path / "wrong.toml").write_text(text)
    run = CliRunner().invoke(app, ["serve", "--config", str(tmp_path / "wrong.toml"), "--show-config"])
    assert run.exit_code == 2
    assert "config" in run.stderr


def test_the_unit_is_understood(tmp_path: Path) -> None:
    """Systemd reads the units without a complaint, and finds the service well protected."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    program = tmp_path / "hubbub"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = (DEPLOY / "hubbub.service").read_text(encoding="utf-8").replace("/opt/hubbub/bin/hubbub", str(program))
    (tmp_path / "hubbub.service").write_text(unit)
    shutil.copy(DEPLOY / "hubbub.socket", tmp_path)
    file, other = str(tmp_path / "hubbub.service"), str(tmp_path / "hubbub.socket")
    command = ["systemd-analyze", "verify", file, other]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in run.stderr.splitlines() if re.search("hubbub.(service|socket)", line)]
    assert complaints == [], run.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", file]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout[-1000:]


def test_the_container_file() -> None:
    """Not root, a health check, a volume, and every path that it copies is there."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert ["USER", "hubbub"] in lines
    assert any(line[0] == "HEALTHCHECK" for line in lines)
    for line in lines:
        if line[0] == "COPY" and not line[1].startswith("--"):
            assert all((ROOT / name).exists() for name in line[1:-1])
    check = json.loads(re.search(r"CMD (\[\"python\".*\])", text)[1])
    compile(check[2], "healthcheck", "exec")


def test_the_compose_file() -> None:
    """It is YAML with the services that it speaks of; the collector is read-only and without rights."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not here")
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    collector = found["services"]["collector"]
    assert (collector["read_only"], collector["cap_drop"]) == (True, ["ALL"])
    assert set(collector["depends_on"]) | set(found["services"]["proxy"]["depends_on"]) <= set(found["services"])
    assert (DEPLOY / "compose.yaml").parent.joinpath(collector["build"]["context"], "deploy/Dockerfile").exists()
    named = {volume.partition(":")[0] for each in found["services"].values() for volume in each["volumes"]}
    assert {name for name in named if not name.startswith(".")} == set(found["volumes"])


def test_the_caddy_file(tmp_path: Path) -> None:
    """Caddy reads it, where Caddy is here."""
    (tmp_path / "Caddyfile").write_text(caddy_file(), encoding="utf-8")
    command = [str(CADDY), "validate", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
    environment = {**os.environ, "HUBBUB_SITE": "localhost"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector with its dashboard."""
    with running(str(tmp_path_factory.mktemp("service") / "a.db"), build=create_app, rates=Rates(0)) as found:
        yield found


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(
    request: pytest.FixtureRequest, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """A real proxy in front of it. In the end no log has the address of a peer; nginx puts no upload into a file."""
    folder = tmp_path_factory.mktemp(request.param)
    with (nginx if request.param == "nginx" else caddy)(folder, service.url) as found:
        yield found
    logs = [file for file in folder.rglob("*.log") if file.is_file()]
    assert logs
    peers = b"127.0.0.1" if request.param == "nginx" else b"remote"  # at its start Caddy logs its own address
    assert all(peers not in file.read_bytes() for file in logs)


@pytest.mark.slow
def test_a_report_through_a_proxy(service: Service, proxy: Proxy) -> None:
    """A real proxy with our settings passes reports on, also the largest upload, and hides what is private."""
    survey = service.store.add_survey(own_cell_survey(100, f"through {proxy.port}")).survey
    path = f"/v1/surveys/{survey.survey_id.hex()}"
    assert proxy.ask("GET", path).body == survey.to_json()
    for number, count in enumerate((2, 50_000)):
        reply = proxy.ask("POST", f"{path}/reports", encode_batch(survey.survey_id, some_reports([1] * count, number)))
        assert (reply.status, json.loads(reply.body)["accepted"]) == (200, count)
    assert proxy.ask("GET", "/healthz").status == 200
    hidden = ("/metrics", "/readyz", "/docs", "/openapi.json")
    assert [proxy.ask("GET", path).status for path in hidden] == [404] * 4


@pytest.mark.slow
def test_one_address_is_slowed_down(service: Service, tmp_path: Path) -> None:
    """More requests than one address may send get a problem document, which devices outlive."""
    with nginx(tmp_path, service.url, "20r/s") as proxy:
        for path in ("/healthz", f"/v1/surveys/{bytes(32).hex()}/reports"):
            refused = next(reply for _ in range(5000) if (reply := proxy.ask("GET", path)).status == 429)
            assert json.loads(refused.body)["type"] == "urn:hubbub:problem:too-fast"
            assert int(refused.headers["retry-after"]) > 0
            assert "strict-transport-security" in refused.headers


@pytest.mark.slow
def test_a_dashboard_behind_a_proxy(service: Service, proxy: Proxy) -> None:
    """At another port than 443, too, the owner logs in, and the browser is told to stay with https."""
    code = json.dumps({"code": make_code(service.store.engine)}).encode()
    reply = proxy.ask("POST", "/login", code, Origin=proxy.origin)
    assert reply.status == 204
    assert reply.headers["set-cookie"].startswith("__Host-hubbub=")
    for path in ("/healthz", "/login", "/nothing", "/metrics"):
        assert proxy.ask("GET", path).headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/login/", "/v1/surveys/", "/new/", "/healthz/", "/static/"])
def test_no_redirect_leads_away_from_tls(proxy: Proxy, path: str) -> None:
    """A slash too many is an error: a redirect would name http, and a client would send the owner's token there."""
    reply = proxy.ask("GET", path, Authorization="Bearer x")
    assert reply.status == 404
    assert "location" not in reply.headers


@pytest.mark.slow
def test_a_large_tally_through_a_proxy(service: Service, proxy: Proxy) -> None:
    """A tally of 16 MiB is passed on; nginx refuses a stranger's before it has arrived."""
    cells = np.full(1 << 21, 1 << 40, np.int64)
    survey = service.store.add_survey(own_cell_survey(len(cells), f"many cells through {proxy.port}")).survey
    data = encode_tally(Tally(survey.survey_id, len(cells) << 40, cells))
    assert len(data) > 16 << 20
    path = f"/v1/surveys/{survey.survey_id.hex()}/tallies"
    reply = proxy.ask("POST", path, data, Authorization=f"Bearer {service.token}", Idempotency_Key="one")
    assert (reply.status, json.loads(reply.body)["merged"]) == (200, True), reply
    if (proxy.folder / "Caddyfile").exists():  # it replies when the request should have arrived: see the next test
        return
    peer = proxy.connect()
    peer.putrequest("POST", path)
    peer.putheader("Content-Length", str(len(data)))
    peer.endheaders(data[:1000])
    assert peer.getresponse().status == 401
    peer.close()


@pytest.mark.slow
def test_caddy_cuts_off_whoever_stops_in_the_middle(service: Service, tmp_path: Path) -> None:
    """When the time for a request is over, half a tally gets its 401, and half an upload is not acknowledged."""
    survey = service.store.add_survey(own_cell_survey(100, "half")).survey
    half = encode_batch(survey.survey_id, some_reports([1] * 100, 1))

    def stop_at_half(what: str) -> http.client.HTTPResponse:
        peer = proxy.connect()  # whose patience is 120 s
        peer.putrequest("POST", f"/v1/surveys/{survey.survey_id.hex()}/{what}")
        peer.putheader("Content-Length", str(2 * len(half)))
        peer.endheaders(half)
        return peer.getresponse()

    with caddy(tmp_path, service.url, read_body="2s") as proxy:
        assert stop_at_half("tallies").status == 401
        with suppress(ConnectionError, ssl.SSLError):
            assert b"accepted" not in stop_at_half("reports").read()
    assert service.store.tally(survey.survey_id).count == 0
