"""Runs several processes of a collector on one socket: the parent starts them, restarts them, and ends them.

A worker ends when its parent ends in any way: it holds the reading end of a pipe whose writing end only the parent has.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hubbub.collector.signals import handling_signals
from hubbub.errors import ParameterError, ServiceError

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 1.0  # before a worker that ended is started again
METRICS_DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the directory that workers share. prometheus_client reads it when it is imported."""

_NOT_INHERITED: Final = ("HUBBUB_DB", METRICS_DIRECTORY)  # the first may have a password
STAND_IN: Final = "HUBBUB_STAND_IN"
"""The variable that tells a process that restarts about its stand-in."""


class Workers:
    """The worker processes of one collector, which share a listening socket and a directory for their counters.

    `order` is what else they are told: `database` as for `Store`, `log_json`, `application` as module:name, and
    `rates`, the arguments of `Rates`.
    """

    def __init__(self, listener: socket.socket, metrics: str | None, **order: object) -> None:
        self._life, self._hold = os.pipe()  # nobody writes to it: it ends when this process does
        self._ready, self._say_ready = os.pipe()
        self._listener = listener
        self._order = {**order, "listener": listener.fileno(), "life": self._life, "ready": self._say_ready}
        self._environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
        if metrics is not None:
            self._environment[METRICS_DIRECTORY] = metrics
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, count: int) -> None:
        """Start `count` workers, and return when all of them listen. Raises ServiceError if one ends before."""
        self._running = [self._one() for _ in range(count)]
        deadline, ready = time.monotonic() + _START_SECONDS, 0
        while ready < count:
            if any(worker.poll() is not None for worker in self._running) or time.monotonic() > deadline:
                raise ServiceError("a worker ended before it could listen; its log says why")
            if select.select([self._ready], [], [], 0.05)[0]:
                ready += len(os.read(self._ready, count))

    def run(self, stop: threading.Event) -> None:
        """Restart every worker that ends, until `stop` is set."""
        while not stop.wait(0.1):
            for number, worker in enumerate(self._running):
                if worker.poll() is not None:
                    stop.wait(_PAUSE_SECONDS)
                    if not stop.is_set():
                        self._running[number] = self._one()

    def end(self) -> None:
        """End all workers: ask them first, and kill those that do not end."""
        for worker in self._running:
            if worker.poll() is None:
                worker.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for worker in self._running:
            try:
                worker.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        for end in (self._life, self._hold, self._ready, self._say_ready):
            os.close(end)

    def hand_on(self) -> str:
        """Let a single worker outlive the program that this process runs now; return what `dismiss_stand_in` needs."""
        os.set_inheritable(self._hold, True)
        return f"{self._hold} {self._running[0].pid}"

    def _one(self) -> subprocess.Popen[bytes]:
        """Start one worker."""
        command = [sys.executable, "-m", "hubbub.collector.worker"]
        kept = (self._listener.fileno(), self._life, self._say_ready)
        worker = subprocess.Popen(command, pass_fds=kept, env=self._environment, stdin=subprocess.PIPE)  # noqa: S603
        # Not as an argument: everybody on the machine can read those, and the database's URL may have a password.
        if worker.stdin is not None:
            with suppress(BrokenPipeError), worker.stdin as order:  # it may have ended already
                order.write(json.dumps(self._order).encode())
        return worker


def start_stand_in(
    database: str, listener: socket.socket, log_json: bool, application: str, rates: tuple[int, int]
) -> Workers:
    """Return a worker that listens, and serves while this process restarts. Raises ServiceError if it cannot."""
    order = {"database": database, "log_json": log_json, "application": application, "rates": rates}
    stand_in = Workers(listener, None, **order)
    try:
        stand_in.start(1)
    except ServiceError:
        stand_in.end()
        raise
    return stand_in


def dismiss_stand_in() -> None:
    """End the worker that served while this process restarted, if there is one; it finishes what it has begun."""
    hold, _, pid = os.environ.pop(STAND_IN, "").partition(" ")
    if hold:
        os.close(int(hold))
        threading.Thread(target=os.waitpid, args=(int(pid), 0), daemon=True).start()


def serve_with_workers(
    database: str,
    listener: socket.socket,
    workers: int,
    announce: Callable[[], None],
    log_json: bool = False,
    application: str = "hubbub.collector.app:create_app",
    rates: tuple[int, int] = (20, 0),
) -> Workers | None:
    """Serve in several processes until a signal comes; the other arguments are those of `serving.serve`.

    `application` makes the application of a collector, as module:name, since workers are new processes; `rates` are the
    arguments of `Rates` in each. Returns a stand-in if the signal was SIGHUP, which asks for a restart.
    """
    if sys.platform == "win32":
        raise ParameterError("workers must be 1 on Windows, where processes cannot share a socket, got more")
    stop = threading.Event()
    with (
        handling_signals(
            lambda _number, _frame: stop.set(), lambda: start_stand_in(database, listener, log_json, application, rates)
        ) as told,
        tempfile.TemporaryDirectory(prefix="hubbub-metrics-") as directory,
    ):
        order = {"database": database, "log_json": log_json, "application": application, "rates": rates}
        running = Workers(listener, directory, **order)
        try:
            running.start(workers)
            announce()
            running.run(stop)
        finally:
            running.end()
    return told.prepared
