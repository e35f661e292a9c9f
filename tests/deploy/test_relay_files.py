"""The files for who runs a relay are read by the programs they are for; a report through nginx leaves no trace."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.collector.service import running, wait_until
from tests.collector.test_gateway import relayed
from tests.deploy.proxies import CADDY, DEPLOY, Proxy, listens, make_certificate, start_nginx
from tests.ports import free_port
from tests.relay.running import relay_process

from hubbub.store.tokens import replace_token

ROOT, RELAY = DEPLOY.parent, DEPLOY / "relay"


def test_the_unit_is_understood(tmp_path: Path) -> None:
    """Systemd reads the unit without a complaint, and finds the service well protected."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here")
    program = tmp_path / "hubbub"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = (DEPLOY / "hubbub-relay.service").read_text(encoding="utf-8").replace("/opt/hubbub/bin/hubbub", str(program))
    file = tmp_path / "hubbub-relay.service"
    file.write_text(unit)
    run = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert [line for line in run.stderr.splitlines() if "hubbub-relay" in line] == [], run.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout[-1000:]


def test_the_container_file() -> None:
    """Not root, a health check, a volume; every path that it copies is there, and every option exists."""
    text = (RELAY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert ["USER", "hubbub"] in lines
    assert ["VOLUME", "/data"] in lines
    for line in lines:
        if line[0] == "COPY" and not line[1].startswith("--"):
            assert all((ROOT / name).exists() for name in line[1:-1])
    compile(json.loads(re.search(r"CMD (\[\"python\".*\])", text)[1])[2], "healthcheck", "exec")
    entry = json.loads(re.search(r"ENTRYPOINT (\[.*\])", text)[1])
    unit = (DEPLOY / "hubbub-relay.service").read_text(encoding="utf-8")
    source = (ROOT / "src" / "hubbub" / "cli" / "relay.py").read_text(encoding="utf-8")
    for option in {*re.findall(r"--[a-z-]+", " ".join(entry)), *re.findall(r" (--[a-z-]+)", unit)}:
        assert f'"{option}"' in source, option


def test_the_caddy_file(tmp_path: Path) -> None:
    """Caddy reads it, where Caddy is here."""
    if CADDY is None:
        pytest.skip("caddy is not here")
    text = (RELAY / "Caddyfile").read_text(encoding="utf-8").replace("{$HUBBUB_RELAY}", "localhost")
    (tmp_path / "Caddyfile").write_text(text, encoding="utf-8")
    command = [CADDY, "validate", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.slow
def test_a_sealed_report_through_nginx(tmp_path: Path) -> None:
    """It arrives; what is larger, other addresses and numbers are refused; no log has the address of a peer."""
    ours, theirs, proxied = (tmp_path / name for name in ("collector", "relay", "nginx"))
    for folder in (ours, theirs, proxied):
        folder.mkdir()
    make_certificate(proxied)
    port = free_port()
    text = (RELAY / "nginx.conf").read_text(encoding="utf-8")
    with running(str(ours / "collector.db")) as service:
        survey, token = relayed(service, crowd=3), replace_token(service.store.engine, "relay")
        with relay_process(theirs, service.url, token) as relay:
            for old, new in {
                "127.0.0.1:8100;": f"{relay.url.removeprefix('http://')};",
                "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
                "/etc/ssl/hubbub": str(proxied),
                "/var/log/nginx/hubbub.log": str(proxied / "error.log"),
            }.items():
                assert old in text
                text = text.replace(old, new)
            with start_nginx(proxied, text, port):
                proxy = Proxy(port, proxied)
                for request in survey.requests(3):
                    reply = proxy.ask("POST", "/v1/sealed", request, Cookie="id=1")
                    assert (reply.status, reply.body) == (202, b"{}")
                    assert reply.headers["access-control-allow-origin"] == "*"
                assert proxy.ask("POST", "/v1/sealed", bytes(5000)).status == 413
                assert proxy.ask("POST", "/v1/sealed", bytes(214)).status == 400
                assert [proxy.ask("GET", path).status for path in ("/healthz", "/metrics", "/")] == [200, 404, 404]
                wait_until(lambda: service.store.tally(survey.stored.survey_id).count == 3)
                refused = next(reply for _ in range(500) if (reply := proxy.ask("GET", "/healthz")).status == 429)
                assert int(refused.headers["retry-after"]) > 0
                assert json.loads(refused.body)["type"] == "urn:hubbub:problem:too-fast"
    assert listens(port) is False
    logs = [file for file in tmp_path.rglob("*.log") if file.is_file()]
    assert len(logs) >= 2
    assert all(b"127.0.0.1" not in file.read_bytes() for file in logs)
