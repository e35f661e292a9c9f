"""A collector that restarts behind a real nginx refuses nobody."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.collector.hostile import first_line, target
from tests.collector.service import wait_until
from tests.deploy.restarts import restart_under_load

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("workers", "by_system"), [(1, False), (2, False), (1, True)], ids=["1", "2", "systemd"])
def test_a_restart_refuses_nobody(tmp_path: Path, workers: int, by_system: bool) -> None:
    """By SIGHUP, with one worker or two, and by systemd: each upload is acknowledged, and counts once."""
    found = restart_under_load(tmp_path, 1, workers, by_system)
    assert found["acknowledged"] >= 80


def test_a_restart_that_cannot_succeed(tmp_path: Path) -> None:
    """If the new process could not open the store, the old one goes on; it restarts when the store is back."""
    with target(tmp_path) as collector:
        database = Path(collector.database)
        away = database.rename(tmp_path / "away.db")
        collector.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the collector goes on and is not restarted" in collector.log.read_text())
        assert collector.ask("GET", "/healthz")[0] == 200
        away.rename(database)
        collector.process.send_signal(signal.SIGHUP)
        assert json.loads(first_line(collector.process))["url"] == collector.url
        assert collector.ask("GET", "/readyz")[0] == 200
        wait_until(lambda: not psutil.Process(collector.process.pid).children())


@pytest.mark.parametrize(
    ("count", "complaint"), [("2", "one listening socket"), ("1", "a socket that listens for TCP")]
)
def test_a_wrong_socket_is_told(tmp_path: Path, count: str, complaint: str) -> None:
    """What systemd passes must be one socket that listens: anything else is a sentence and exit code 2."""
    program = f"""
import os, socket, sys
pair = socket.socketpair()
os.dup2(pair[0].fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS={count!r})
os.execv(sys.executable, [sys.executable, "-m", "hubbub", "serve", "--db", {str(tmp_path / "a.db")!r}])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 2
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr
