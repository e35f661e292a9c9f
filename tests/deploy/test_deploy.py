"""What is in deploy/ is read by the programs it is for, where they are here; a report through nginx leaves no trace."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from tests.collector.own_cell import own_cell_survey, some_reports
from tests.collector.service import running, wait_until
from typer.testing import CliRunner

from hubbub.cli.main import app
from hubbub.wire.report_batch import encode_batch

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def free_port() -> int:
    """A port that is free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
    """Systemd reads the unit without a complaint, and finds it well protected."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    program = tmp_path / "hubbub"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = (DEPLOY / "hubbub.service").read_text(encoding="utf-8").replace("/opt/hubbub/bin/hubbub", str(program))
    (tmp_path / "hubbub.service").write_text(unit)
    file = str(tmp_path / "hubbub.service")
    run = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in run.stderr.splitlines() if "hubbub.service" in line]
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


def test_the_caddy_file() -> None:
    """Caddy reads it, where Caddy is here."""
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy is not here")
    command = [caddy, "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"]
    environment = {**os.environ, "HUBBUB_SITE": "localhost"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_a_report_through_nginx(tmp_path: Path) -> None:
    """A real nginx with our settings passes reports on, hides what is private, and writes no address anywhere."""
    if NGINX is None:
        assert "HUBBUB_REQUIRE_NGINX" not in os.environ, "nginx must be here"
        pytest.skip("nginx is not here")
    certificate = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    keys = ["-keyout", str(tmp_path / "privkey.pem"), "-out", str(tmp_path / "fullchain.pem")]
    subprocess.run([*certificate, *keys], capture_output=True, check=True)
    port = free_port()
    with running(str(tmp_path / "a.db")) as service:
        ours = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
        for old, new in {
            "127.0.0.1:8000": service.url.removeprefix("http://"),
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            "/etc/ssl/hubbub": str(tmp_path),
            "/var/log/nginx/hubbub.log": str(tmp_path / "error.log"),
        }.items():
            assert old in ours
            ours = ours.replace(old, new)
        paths = "".join(
            f"{name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""
        (tmp_path / "nginx.conf").write_text(
            f"{user}pid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/main.log;\nevents {{}}\nhttp {{\n{paths}{ours}}}\n"
        )
        command = [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                wait_until(lambda: process.poll() is None and _listens(port), 30)
                survey = service.store.add_survey(own_cell_survey(100)).survey
                path = f"/v1/surveys/{survey.survey_id.hex()}"

                trust = ssl.create_default_context(cafile=str(tmp_path / "fullchain.pem"))
                trust.check_hostname = False
                peer = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=trust)

                def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
                    peer.request(method, path, body)
                    reply = peer.getresponse()
                    return reply.status, reply.read()

                assert ask("GET", path)[1] == survey.to_json()
                body = encode_batch(survey.survey_id, some_reports([1, 2]))
                status, said = ask("POST", f"{path}/reports", body)
                assert (status, json.loads(said)["accepted"]) == (200, 2)
                assert ask("GET", "/healthz")[0] == 200
                # More requests than one address may send get a problem document, which devices outlive.
                refused = next(reply for _ in range(5000) if (reply := ask("GET", "/healthz"))[0] != 200)
                assert (refused[0], json.loads(refused[1])["type"]) == (429, "urn:hubbub:problem:too-fast")
                assert [ask("GET", hidden)[0] for hidden in ("/metrics", "/readyz", "/docs", "/openapi.json")] == [
                    404
                ] * 4
                peer.close()
            finally:
                process.terminate()
                process.communicate(timeout=30)
        logs = [file for file in tmp_path.rglob("*.log") if file.is_file()]
        assert logs
        assert all(b"127.0.0.1" not in file.read_bytes() for file in logs)


def _listens(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        time.sleep(0.05)
        return False
    return True
