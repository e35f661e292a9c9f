"""What else goes wrong while collectors are killed: a disk that fills, a clock that jumps, peers that say nothing."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAY = 86_400


@contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[bool]:
    """A disk of eight megabytes; yields False where the system does not let us have one."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(ballast: Path) -> None:
    """Take all room that is left on a disk."""
    with open(ballast, "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


class Weeks(threading.Thread):
    """A calendar in which a day passes whenever it is told, and a clock that is wrong now and then.

    It is ahead by 4 days at most, and steady soon: ids are kept for 10 days at least, and nobody sends again after 7.
    """

    def __init__(self, seed: str, clock: Path) -> None:
        super().__init__(daemon=True)
        self.random, self.clock, self.day, self.wrong = random.Random(seed), clock, 0, 0
        self.jumps = 0
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._write()

    def run(self) -> None:
        """Wrong, right, wrong, …; each for a moment."""
        while not self.stopped.wait(0.05 + self.random.random() * 0.3):
            self._set(self.random.choice([-40, -8, -1, 1, 4]))
            self.jumps += 1
            time.sleep(0.03 + self.random.random() * 0.1)
            self._set(0)

    def stop(self) -> None:
        """Let the clock be right."""
        self.stopped.set()
        self.join()

    def pass_day(self) -> None:
        """It is a day later."""
        with self._lock:
            self.day += 1
            self._write()

    def _set(self, wrong: int) -> None:
        with self._lock:
            self.wrong = wrong
            self._write()

    def _write(self) -> None:
        beside = self.clock.with_suffix(".new")
        beside.write_text(str((self.day + self.wrong) * DAY))
        beside.replace(self.clock)


class Troubles(threading.Thread):
    """Makes trouble until it is told to stop; then all is well again.

    The clock is in the file `clock`, beside the folder: seconds that collectors add to the time.
    """

    def __init__(self, seed: str, ports: list[int], folder: Path, fills_disk: bool) -> None:
        super().__init__(daemon=True)
        self.random, self.ports, self.folder, self.fills_disk = random.Random(seed), ports, folder, fills_disk
        self.clock = folder.parent / f"{folder.name}-clock"
        self.clock.write_text("0")
        self.stopped = threading.Event()
        self.counts = {"full disks": 0, "clock jumps": 0, "silent peers": 0}

    def run(self) -> None:
        """One trouble after the other, with a pause of good times between."""
        silent: list[socket.socket] = []
        while not self.stopped.wait(0.1 + self.random.random() * 0.2):
            trouble = self.random.choice(["disk", "clock", "peers"])
            if trouble == "disk" and self.fills_disk:
                fill(self.folder / "ballast")
                self.counts["full disks"] += 1
                time.sleep(0.3)
                (self.folder / "ballast").unlink()
            elif trouble == "clock":
                self._set_clock(self.random.choice([-40, 31, 400]) * DAY)
                self.counts["clock jumps"] += 1
                time.sleep(0.2)
                self._set_clock(0)
            else:
                for _ in range(20):
                    try:
                        peer = socket.create_connection(("127.0.0.1", self.random.choice(self.ports)), timeout=1)
                        peer.sendall(self.random.choice([b"", b"POST /v1/surveys/", b"GET / HTTP/1.1\r\nHost: x\r\n"]))
                        silent.append(peer)
                    except OSError:
                        continue
                self.counts["silent peers"] += 20
                for peer in silent[:-60]:
                    peer.close()
                del silent[:-60]
        for peer in silent:
            peer.close()

    def stop(self) -> None:
        """Let all be well again."""
        self.stopped.set()
        self.join()
        self._set_clock(0)
        (self.folder / "ballast").unlink(missing_ok=True)

    def _set_clock(self, seconds: int) -> None:
        """Set how wrong the clock is. Written to another file and renamed, so that nobody reads half of it."""
        beside = self.clock.with_suffix(".new")
        beside.write_text(str(seconds))
        beside.replace(self.clock)
