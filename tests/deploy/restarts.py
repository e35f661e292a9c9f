"""Restarts of a collector behind a real nginx, while devices report: each upload is acknowledged, and counts once.

`make soak` does it five times for each way to restart.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from tests.collector.hostile import first_line
from tests.deploy.proxies import Proxy, nginx

from hubbub import Categories, create_survey
from hubbub.collector.listening import bind
from hubbub.store.store import Store, StoredSurvey
from hubbub.wire.report_batch import encode_batch

DEVICES = 4
# As systemd does it: the socket is descriptor 3, and the process is told that it is meant.
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


class Restartable:
    """A collector that is restarted by a signal, or by somebody who holds its socket as systemd does."""

    def __init__(self, folder: Path, workers: int, by_system: bool) -> None:
        self.database, self._log = str(folder / "a.db"), folder / "log"
        self._by_system = by_system
        self._listener = bind("127.0.0.1", 0) if by_system else None
        command = ["-m", "hubbub", "serve", "--db", self.database, "--port", "0", "--json"]
        self._command = [*command, "--workers", str(workers)]
        self._environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        self._start()

    def _start(self) -> None:
        command, kept = self._command, ()
        if self._listener is not None:
            kept = (self._listener.fileno(),)
            command = ["-c", ACTIVATE, str(kept[0]), *command]
        with self._log.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self._environment,
                pass_fds=kept,
            )
        self.url = json.loads(first_line(self.process))["url"]

    def restart(self) -> None:
        """End it and start it again; return when it listens."""
        url = self.url
        if self._by_system:
            self.end()
            self._start()
        else:
            self.process.send_signal(signal.SIGHUP)
            self.url = json.loads(first_line(self.process))["url"]
        assert self.url == url

    def end(self) -> None:
        """End it; its log is empty."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        assert self._log.read_text() == ""

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        if self._listener is not None:
            self._listener.close()


class Device(threading.Thread):
    """Sends one report after the other, on connections of some requests each, and notes what became of them."""

    def __init__(self, proxy: Proxy, stored: StoredSurvey, seed: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._proxy, self._stored, self._ends, self._rng = proxy, stored, stop, random.Random(seed)
        self.acknowledged, self.refusals, self.longest = 0, [], 0.0

    def run(self) -> None:
        """Send until it is told to stop."""
        while not self._ends.is_set():
            peer = self._proxy.connect()
            for _ in range(self._rng.choice([1, 5, 20])):
                self._send(peer)
            peer.close()

    def _send(self, peer: http.client.HTTPSConnection) -> None:
        reports = np.zeros(1, self._stored.mechanism.report_dtype)
        reports["id"] = [self._rng.getrandbits(64), self._rng.getrandbits(64)]
        body, began = encode_batch(self._stored.survey_id, reports), time.monotonic()
        try:
            peer.request("POST", f"/v1/surveys/{self._stored.survey_id.hex()}/reports", body)
            reply = peer.getresponse()
            said = reply.read()
            self.longest = max(self.longest, time.monotonic() - began)
            if reply.status == 200 and json.loads(said)["accepted"] == 1:
                self.acknowledged += 1
            else:
                self.refusals.append((reply.status, said[:200]))
        except (OSError, http.client.HTTPException) as error:
            self.refusals.append((0, repr(error).encode()))


def restart_under_load(folder: Path, restarts: int, workers: int, by_system: bool) -> dict[str, float]:
    """Restart so many times while devices report; everybody must be answered."""
    collector = Restartable(folder, workers, by_system)
    try:
        with Store(collector.database) as store:
            stored = store.add_survey(create_survey("names", Categories(["a", "b"]), 1))
        stop = threading.Event()
        with nginx(folder, collector.url) as proxy:
            devices = [Device(proxy, stored, str(number), stop) for number in range(DEVICES)]
            for device in devices:
                device.start()
            for _ in range(restarts):
                before = sum(device.acknowledged for device in devices)
                collector.restart()
                while sum(device.acknowledged for device in devices) < before + 20 * DEVICES:
                    assert all(device.is_alive() and not device.refusals for device in devices), devices[0].refusals
                    time.sleep(0.01)
            stop.set()
            for device in devices:
                device.join(120)
        collector.end()
    finally:
        collector.close()
    assert [device.refusals for device in devices] == [[]] * DEVICES
    acknowledged = sum(device.acknowledged for device in devices)
    with Store(collector.database) as store:
        assert store.tally(stored.survey_id).count == acknowledged
    longest = max(device.longest for device in devices)
    return {"restarts": restarts, "workers": workers, "acknowledged": acknowledged, "longest wait": round(longest, 2)}


def main() -> None:
    """The long run: `make soak`."""
    for by_system in (False, True):
        for workers in (1, 2):
            with tempfile.TemporaryDirectory(prefix="hubbub-restarts-") as folder:
                found = restart_under_load(Path(folder), 5, workers, by_system)
            print("by systemd" if by_system else "by SIGHUP", found, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
