"""Collectors that can be killed by the hundred: a process that has loaded everything, and forks one in milliseconds.

It reads one JSON object a line and answers each with one. The listening sockets are its own, so a port outlives the
collectors that serve it, and a connection made while none is there waits for the next.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn
from sqlalchemy import Engine
from tests.collector.own_cell import build

from hubbub.collector import clock as clock_module
from hubbub.collector import state
from hubbub.collector.app import create_app
from hubbub.collector.clock import Clock
from hubbub.collector.connections import protocol_of
from hubbub.collector.listening import bind
from hubbub.collector.state import Collector
from hubbub.store import aging_ids, reports
from hubbub.store.store import Store

FOLD_SECONDS = 0.03
STEADY_SECONDS = 0.1


def run_collector(database: str, listener: socket.socket, command: dict[str, object]) -> None:
    """Serve until killed. With `clock`, the time is wrong by as many seconds as that file says.

    With `weeks`, so is the time of slices, and a clock can be trusted after a moment.
    """
    mutant, clock = command.get("mutant"), command.get("clock")
    real = time.time
    if command.get("weeks"):
        time.time = lambda: real() + float(Path(str(clock)).read_text())
        clock_module.STEADY_SECONDS = STEADY_SECONDS
        aging_ids.MOST_SECONDS = 4 * 86_400  # days pass while no collector is steady enough to look
        state.ended_slices = lambda _: []  # there is nothing to search for in cells
    if mutant == "forgets ids early":
        aging_ids.KEPT_SECONDS = 0
    store = Store(database, build)
    if mutant == "forgets ids":
        reports.insert_new_sqlite = lambda _, unique, __: {survey: ("open", ids) for survey, ids in unique.items()}
    wrong = Clock(lambda: real() + float(Path(str(clock)).read_text())) if clock else None
    collector = Collector(store, fold_seconds=FOLD_SECONDS, clock=wrong)
    if mutant == "answers too early":
        state.append = _append_later
    app = create_app(collector)
    settings = {"access_log": False, "log_level": "critical", "lifespan": "on", "http": protocol_of(200, 2.0)}
    uvicorn.Server(uvicorn.Config(app, **settings)).run([listener])


def _append_later(engine: Engine, uploads: list[reports.Upload]) -> list[object]:
    import numpy as np

    def later() -> None:
        time.sleep(60)
        reports.append(engine, uploads)

    threading.Thread(target=later, daemon=True).start()
    return [np.ones(len(batch.reports), bool) for batch in uploads]


def main() -> None:
    """Answer commands until there are no more; then kill what is left."""
    listeners: list[socket.socket] = []
    children: set[int] = set()
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, object] = {}
        if command["do"] == "bind":
            listeners.append(bind("127.0.0.1", 0))
            answer = {"listener": len(listeners) - 1, "port": listeners[-1].getsockname()[1]}
        elif command["do"] == "start":
            pid = os.fork()
            if pid == 0:
                os.setsid()
                sys.stdin.close()
                try:
                    run_collector(command["database"], listeners[command["listener"]], command)
                finally:
                    os._exit(1)
            children.add(pid)
            answer = {"pid": pid}
        elif command["do"] == "kill":
            os.kill(command["pid"], signal.SIGKILL)
            os.waitpid(command["pid"], 0)
            children.discard(command["pid"])
        print(json.dumps(answer), flush=True)  # noqa: T201  # this is how it speaks
    for pid in children:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
