"""Group commit: one thread writes all uploads that arrived during the commit before.

A commit waits milliseconds for the disk, however much it writes. So uploads that arrive together share a commit.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final, Protocol

from hubbub.errors import StoreError, StoreUnavailable
from hubbub.store.reports import BYTES_OF_AN_ID, Outcome, Upload

log = logging.getLogger("hubbub.store")

_REPORTS_AT_ONCE: Final = 50_000


class Receipt(Protocol):
    """Where the outcome of an upload is put: a future of asyncio or of `concurrent.futures`."""

    def done(self) -> bool:
        """Return whether it has an outcome, or nobody waits for one."""

    def set_result(self, result: Any, /) -> None:
        """Set which reports are new."""

    def set_exception(self, exception: Any, /) -> None:
        """Set why no report was taken."""


Waiting = tuple[Upload, Receipt]


def _at_once(work: Callable[..., object], *arguments: object) -> None:
    """Run `work` in the calling thread."""
    work(*arguments)


class GroupCommit:
    """The only writer of reports in a process.

    Parameters
    ----------
    append : callable
        Writes uploads in one transaction and returns the outcome of each, as `hubbub.store.reports.append` does.
    hand_over : callable
        Calls a function with arguments where receipts may be filled in: `loop.call_soon_threadsafe` for futures of
        asyncio. It is called once for all uploads of a commit.
    most_bytes : float
        About how many bytes one commit may add to the database. An upload that adds more is written alone.
    """

    def __init__(
        self,
        append: Callable[[list[Upload]], list[Outcome]],
        hand_over: Callable[..., object] = _at_once,
        most_bytes: float = math.inf,
    ) -> None:
        self._append = append
        self._most_bytes = most_bytes
        self._hand_over = hand_over
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hubbub-writer", daemon=True)
        self._thread.start()

    def submit(self, upload: Upload, receipt: Receipt) -> None:
        """Queue an upload to be written. Returns at once.

        Parameters
        ----------
        upload : Upload
            The upload to write.
        receipt : Receipt
            When all reports are durable, it says which of them are new. It gets StoreUnavailable if the commit failed,
            UnknownSurvey or SurveyClosed if the survey takes no reports. It is always filled in. If it is done before
            the upload's turn has come, the upload is not written.
        """
        with self._lock:
            if self._open:
                self._queue.put((upload, receipt))
            else:
                receipt.set_exception(StoreUnavailable("the collector is stopping; send the reports again later"))

    def close(self) -> None:
        """Write all queued uploads, then stop the thread. Uploads submitted later are refused."""
        with self._lock:
            self._open = False
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Write one group after the other until `close`: all queued uploads, or as many as a commit may have."""
        going = True
        while going:
            group: list[Waiting] = []
            size = added = 0
            while going and size < _REPORTS_AT_ONCE and added < self._most_bytes:
                try:
                    waiting = self._queue.get(block=not group)
                except queue.Empty:
                    break
                if waiting is None:
                    going = False
                elif not waiting[1].done():  # otherwise nobody waits for it any more
                    group.append(waiting)
                    reports = waiting[0].reports
                    size += len(reports)
                    added += reports.nbytes + BYTES_OF_AN_ID * len(reports)
            if not group:
                continue
            try:
                outcomes = self._append([upload for upload, _ in group])
            except Exception as error:  # every receipt must be filled in, for any error
                outcomes = [_logged(error)] * len(group)
            self._hand_over(_fill_in, group, outcomes)


def _logged(error: Exception) -> StoreError:
    """Log why a commit failed, and return what its receipts say."""
    if isinstance(error, StoreError):
        log.warning("a commit failed: %s", error)
        return error
    # Where it happened, but not the message, which could hold reports.
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error("a commit failed with %s\n%s", type(error).__name__, trace)
    return StoreUnavailable("a commit failed")


def _fill_in(group: list[Waiting], outcomes: list[Outcome]) -> None:
    """Put each outcome into its receipt, if somebody still waits for it."""
    for (_, receipt), outcome in zip(group, outcomes, strict=True):
        if receipt.done():
            continue
        if isinstance(outcome, StoreError):
            receipt.set_exception(outcome)
        else:
            receipt.set_result(outcome)
