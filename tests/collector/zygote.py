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

import uvicorn
from sqlalchemy import Engine
from tests.collector.own_cell import build

from hubbub.collector import state
from hubbub.collector.app import create_app
from hubbub.collector.serving import bind
from hubbub.collector.state import Collector
from hubbub.store import reports
from hubbub.store.reports import Batch
from hubbub.store.store import Store

FOLD_SECONDS = 0.03


def run_collector(database: str, listener: socket.socket, mutant: str | None) -> None:
    """Serve until killed."""
    store = Store(database, build)
    if mutant == "forgets ids":
        reports.insert_new_sqlite = lambda _connection, _survey, ids, _look_up: ids
    collector = Collector(store, fold_seconds=FOLD_SECONDS)
    if mutant == "answers too early":
        state.append = _append_later
    app = create_app(collector)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="critical", lifespan="on")).run([listener])


def _append_later(engine: Engine, batches: list[Batch]) -> list[object]:
    import numpy as np

    def later() -> None:
        time.sleep(60)
        reports.append(engine, batches)

    threading.Thread(target=later, daemon=True).start()
    return [np.ones(len(batch.reports), bool) for batch in batches]


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
                    run_collector(command["database"], listeners[command["listener"]], command.get("mutant"))
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
