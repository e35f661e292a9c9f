"""Group commit: one thread writes all batches that arrived during the commit before.

A commit waits milliseconds for the disk, however much it writes. So batches that arrive together share a commit.
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
    """The only writer of reports in a process.

    Parameters
    ----------
    append : callable
        Writes batches in one transaction and returns the outcome of each, as `hubbub.store.reports.append` does.
    """

    def __init__(self, append: Callable[[list[Batch]], list[Outcome]]) -> None:
        self._append = append
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hubbub-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[NDArray[np.bool_]]:
        """Queue a batch to be written. Returns at once.

        Returns
        -------
        Future
            When all reports are durable, it says which of them are new. It raises StoreUnavailable if the commit
            failed, UnknownSurvey or SurveyClosed if the survey takes no reports. It is always resolved.
        """
        future: Future[NDArray[np.bool_]] = Future()
        with self._lock:
            if self._open:
                self._queue.put((batch, future))
            else:
                future.set_exception(StoreUnavailable("the collector is stopping; send the reports again later"))
        return future

    def close(self) -> None:
        """Write all queued batches, then stop the thread. Batches submitted later are refused."""
        with self._lock:
            self._open = False
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Write one group of batches after the other until `close`."""
        going = True
        while going:
            group, going = self._next_group()
            if group:
                self._write(group)

    def _next_group(self) -> tuple[list[Waiting], bool]:
        """Wait for a batch; return all queued ones, up to about 50,000 reports, and False after `close`."""
        group: list[Waiting] = []
        size = 0
        try:
            while size < _REPORTS_AT_ONCE:
                waiting = self._queue.get(block=not group)
                if waiting is None:
                    return group, False
                # From here on the batch cannot be cancelled. One that was cancelled before is not written.
                if waiting[1].set_running_or_notify_cancel():
                    group.append(waiting)
                    size += len(waiting[0].reports)
        except queue.Empty:
            pass
        return group, True

    def _write(self, group: list[Waiting]) -> None:
        """Write a group of batches in one transaction, and resolve their futures."""
        try:
            outcomes = self._append([batch for batch, _ in group])
        except Exception as error:  # whatever it is, every future must be resolved
            if isinstance(error, StoreError):
                log.warning("a commit failed: %s", error)
            else:  # log where it happened, but not the message, which could hold reports
                trace = "".join(traceback.format_tb(error.__traceback__))
                log.error("a commit failed with %s\n%s", type(error).__name__, trace)
                error = StoreUnavailable("a commit failed")
            outcomes = [error] * len(group)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, StoreError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
