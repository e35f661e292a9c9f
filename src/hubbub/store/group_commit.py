"""Group commit: one thread writes whatever has come in while the last commit was under way.

A commit costs milliseconds of waiting for the disk, however much it writes. So reports that arrive together share one.
"""

from __future__ import annotations

import logging
import queue
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import StoreError, StoreUnavailable
from hubbub.store.reports import Batch, Outcome

log = logging.getLogger("hubbub.store")

_REPORTS_AT_ONCE: Final = 50_000

Waiting = tuple[Batch, "Future[NDArray[np.bool_]]"]


class GroupCommit:
    """The one writer of a process. Every future it gives out is resolved: durable, refused or unavailable."""

    def __init__(self, append: Callable[[list[Batch]], list[Outcome]]) -> None:
        self._append = append
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hubbub-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[NDArray[np.bool_]]:
        """Which reports are new, once all of them are durable."""
        future: Future[NDArray[np.bool_]] = Future()
        with self._lock:
            if self._open:
                self._queue.put((batch, future))
            else:
                future.set_exception(StoreUnavailable("the collector must be running, got one that is stopping"))
        return future

    def close(self) -> None:
        """Write what was submitted, then stop."""
        with self._lock:
            self._open = False
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            group, going = self._next_group()
            if group:
                self._write(group)

    def _next_group(self) -> tuple[list[Waiting], bool]:
        """Wait for something to write, then take all there is."""
        group: list[Waiting] = []
        size = 0
        try:
            while size < _REPORTS_AT_ONCE:
                waiting = self._queue.get(block=not group)
                if waiting is None:
                    return group, False
                # From here on it cannot be cancelled; whoever has gone before is not written at all.
                if waiting[1].set_running_or_notify_cancel():
                    group.append(waiting)
                    size += len(waiting[0].reports)
        except queue.Empty:
            pass
        return group, True

    def _write(self, group: list[Waiting]) -> None:
        try:
            outcomes = self._append([batch for batch, _ in group])
        except Exception as error:  # whatever it is, nobody may wait for ever
            if isinstance(error, StoreError):
                log.warning("a commit failed: %s", error)
            else:  # where it happened, but not its message, which could hold what was sent
                trace = "".join(traceback.format_tb(error.__traceback__))
                log.error("a commit failed with %s\n%s", type(error).__name__, trace)
                error = StoreUnavailable("a commit failed")
            outcomes = [error] * len(group)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, StoreError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
