"""The program of a worker process; `workers` starts it, and sends its order through a pipe."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from hubbub.collector.workers import METRICS_DIRECTORY


def main() -> None:
    """Run one worker process until it is told to end, or until its parent is gone."""
    text = sys.stdin.read()
    if not text:  # the parent was killed before it could say anything
        return
    order = json.loads(text)

    def watch() -> None:
        """End this process when the parent has ended."""
        os.read(order["life"], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    # After the pipe is watched, since these take a while to load.
    from hubbub.collector.logs import set_up_logs
    from hubbub.collector.metrics import forget_dead_workers
    from hubbub.collector.rates import Rates
    from hubbub.collector.serving import serve

    set_up_logs(order["log_json"])
    directory = os.environ.get(METRICS_DIRECTORY, "")
    if directory and Path(directory).is_dir():
        forget_dead_workers(directory)
    with socket.socket(fileno=order["listener"]) as listener:
        module, _, name = order["application"].partition(":")
        build = getattr(importlib.import_module(module), name)
        serve(order["database"], listener, lambda: _say(order["ready"]), build, Rates(*order["rates"]))


def _say(ready: int) -> None:
    """Tell the parent that this worker listens."""
    os.write(ready, b"1")


if __name__ == "__main__":
    main()
