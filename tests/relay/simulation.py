"""Exactly once through a relay, under fire: visitors, a relay and a collector, each on its own, killed again and again.

Visitors send until the relay answers 202, and now and then once more. The relay and the collector are killed with -9 at
any moment, also while they start; the disk of the relay is full now and then (no file may grow), which it has to tell.
In the end every report that was acknowledged is in the sums once, and nothing else is: each has a cell of its own.

`python -m tests.relay.simulation --reports 20000 --kills 100` is part of `make soak`.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import resource
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tests.collector.own_cell import OwnCell, build, own_cell_survey
from tests.collector.simulation import Zygote, zygote
from tests.ports import free_port

from hubbub.sealing.hpke import PrivateKey
from hubbub.sealing.request import Opened
from hubbub.sealing.sealed import open_request, seal_request
from hubbub.store.sealing_keys import new_key
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token
from hubbub.store.upkeep import check

VISITORS = 4
CROWD = 20
PATIENCE = 120


class Found(NamedTuple):
    """What happened: how often each was killed, how often visitors were refused, and what was counted."""

    kills: int
    full: int
    cut: int
    counted: int


class RelayUnderFire:
    """A relay on a port of its own, that can be killed and started again; without room, no file of it may grow."""

    def __init__(self, folder: Path, collector: str, token: str) -> None:
        self.port, self._folder = free_port(), folder
        self._command = [sys.executable, "-m", "hubbub", "relay", "--to", collector, "--port", str(self.port), "--json"]
        self._command += ["--queue", str(folder / "relay.db"), "--check-seconds", "0.05"]
        self._environment = {**os.environ, "HUBBUB_RELAY_TOKEN": token}
        self.start(room=True)

    def start(self, room: bool) -> None:
        """Start it, and do not wait."""
        sizes = [file.stat().st_size for file in self._folder.glob("relay.db*")]
        most = resource.RLIM_INFINITY if room else max([4096, *sizes])

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        with open(self._folder / "relay.log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=log, env=self._environment, preexec_fn=limit
            )

    def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        self.process.wait(PATIENCE)


class Visitor(threading.Thread):
    """Sends sealed reports, each until it is acknowledged; some of them twice."""

    def __init__(self, seed: str, port: int, sealed: list[bytes]) -> None:
        super().__init__(daemon=True)
        self._rng, self._port, self._sealed = random.Random(seed), port, sealed
        self.acknowledged = self.full = self.cut = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        """One report after the other."""
        try:
            for request in self._sealed:
                while not self._send(request):
                    time.sleep(0.01)
                self.acknowledged += 1
                if self._rng.random() < 0.1:
                    self._send(request)
        except BaseException as error:
            self.failure = error

    def _send(self, request: bytes) -> bool:
        """Whether the relay acknowledged a report."""
        peer = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        try:
            peer.request("POST", "/v1/sealed", request)
            reply = peer.getresponse()
            body = reply.read()
        except (OSError, http.client.HTTPException):
            self.cut += 1
            return False
        finally:
            peer.close()
        if reply.status == 503:
            self.full += 1
            return False
        assert (reply.status, body) == (202, b"{}")
        return True


def simulate(forks: Zygote, folder: Path, seed: str, reports: int, kills: int, mutant: str | None = None) -> Found:
    """Kill the relay and the collector so many times in all while visitors report; then hold the sums to the rule."""
    database, rng = str(folder / "collector.db"), random.Random(seed)
    private, facts = new_key(CROWD)
    closes = datetime.now(UTC) + timedelta(days=30)
    survey = own_cell_survey(reports, closes=closes, **facts)
    with Store(database, build) as store:
        store.add_survey(survey, private=private)
        token = replace_token(store.engine, "relay")
    public = PrivateKey(private).public
    made = np.zeros(reports, OwnCell.report_dtype)
    made["id"] = [[rng.getrandbits(64), rng.getrandbits(64)] for _ in range(reports)]
    made["cell"] = range(reports)
    sealed = [seal_request(public, CROWD, Opened(survey.survey_id, report.tobytes())) for report in made]

    bound = forks.ask(do="bind")
    start = {"do": "start", "database": database, "listener": bound["listener"], "mutant": mutant}
    collector = forks.ask(**start)["pid"]
    relay = RelayUnderFire(folder, f"http://127.0.0.1:{bound['port']}", token)
    visitors = [Visitor(f"{seed} {k}", relay.port, sealed[k::VISITORS]) for k in range(VISITORS)]
    try:
        for visitor in visitors:
            visitor.start()
        for kill in range(kills):
            before = sum(visitor.acknowledged for visitor in visitors)
            due = time.monotonic() + PATIENCE
            # Kills are spread over the reports, and some strike whoever has just been started.
            while sum(visitor.acknowledged for visitor in visitors) < min(
                before + 1, reports * (kill + 1) // (kills + 1)
            ):
                assert time.monotonic() < due, "nothing is acknowledged any more"
                time.sleep(0.002)
            time.sleep(rng.random() * 0.05)
            if kill % 2:
                forks.ask(do="kill", pid=collector)
                collector = forks.ask(**start)["pid"]
            else:
                relay.kill()
                relay.start(room=kill % 6 != 2)
                if kill % 6 == 2:  # this one cannot store: it says so, or does not start
                    time.sleep(1.0)
                    relay.kill()
                    relay.start(room=True)
        for visitor in visitors:
            visitor.join(PATIENCE * (1 + reports // 1000))
            if visitor.failure is not None:
                raise visitor.failure
            assert not visitor.is_alive(), "a visitor waits for ever"
        _wait_until_delivered(relay)
    finally:
        relay.kill()
        with suppress(BrokenPipeError):
            forks.ask(do="kill", pid=collector)
    counted = _judge(database, survey.survey_id, folder / "relay.db", PrivateKey(private))
    return Found(kills, sum(each.full for each in visitors), sum(each.cut for each in visitors), counted)


def _wait_until_delivered(relay: RelayUnderFire) -> None:
    """Return when no release is on its way, and no crowd waits."""
    due = time.monotonic() + PATIENCE
    while time.monotonic() < due:
        peer = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=20)
        with closing(peer), suppress(OSError, http.client.HTTPException):
            peer.request("GET", "/metrics")
            lines = peer.getresponse().read().decode().splitlines()
            numbers = dict(line.split() for line in lines if not line.startswith("#"))
            if numbers["hubbub_relay_on_their_way"] == "0" and int(numbers["hubbub_relay_waiting"]) < CROWD:
                return
        time.sleep(0.05)
    raise AssertionError("releases wait for ever")


def _judge(database: str, survey_id: bytes, queue: Path, private: PrivateKey) -> int:
    """Every report that was acknowledged is in the sums once, or waits for a crowd; return how many are in the sums."""
    with Store(database, build) as store:
        cells, problems = store.tally(survey_id).cells, check(store).problems
    with closing(sqlite3.connect(queue)) as connection:
        left = [open_request(private, row[0]).report for row in connection.execute("SELECT request FROM waiting")]
    waiting = np.frombuffer(b"".join(left), OwnCell.report_dtype)["cell"]
    missing = np.flatnonzero(cells == 0)
    assert int(cells.max()) <= 1, "a report was counted twice"
    assert set(missing.tolist()) <= set(waiting.tolist()), "an acknowledged report was lost"
    assert len(waiting) < CROWD, "a crowd waits"
    assert problems == (), "the store is damaged"
    return len(cells) - len(missing)


def main() -> None:
    """The long run: `make soak`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=20_000, help="how many reports visitors send")
    parser.add_argument("--kills", type=int, default=100, help="how often the relay or the collector is killed, in all")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats the decisions; printed")
    arguments = parser.parse_args()
    print(f"through a relay, seed {arguments.seed}", flush=True)  # noqa: T201
    with zygote() as forks, tempfile.TemporaryDirectory(prefix="hubbub-relay-soak-") as folder:
        print(simulate(forks, Path(folder), arguments.seed, arguments.reports, arguments.kills))  # noqa: T201


if __name__ == "__main__":
    main()
