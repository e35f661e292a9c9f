"""A relay in a process of its own, for tests: started, killed, and asked."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.collector.service import PATIENCE, Reply

READY = 60


class RelayProcess:
    """A running relay."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process, self.url, self._log = process, url, log

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def send(self, request: bytes) -> Reply:
        """Send a sealed request."""
        return self.ask("POST", "/v1/sealed", request)

    def metric(self, name: str) -> int:
        """A number among the metrics."""
        lines = self.ask("GET", "/metrics").body.decode().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"hubbub_relay_{name} "))

    @property
    def log(self) -> str:
        """What it has written to its log."""
        return self._log.read_text(encoding="utf-8")

    def kill(self) -> None:
        """Kill it without warning."""
        self.process.kill()
        self.process.wait(READY)


@contextmanager
def relay_process(folder: Path, collector: str, token: str, *options: str) -> Iterator[RelayProcess]:
    """Run `hubbub relay`, which looks for crowds every 50 ms, until the end."""
    command = [sys.executable, "-m", "hubbub", "relay", "--to", collector, "--queue", str(folder / "relay.db")]
    command += ["--port", "0", "--json", "--check-seconds", "0.05", *options]
    environment = {**os.environ, "HUBBUB_RELAY_TOKEN": token}
    with open(folder / "relay.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (folder / "relay.log").read_text(encoding="utf-8")
            yield RelayProcess(process, json.loads(line)["url"], folder / "relay.log")
        finally:
            process.terminate()
            process.wait(READY)
            assert process.stdout is not None
            process.stdout.close()
