"""Group commit: one thread writes all uploads that arrived during the commit before.

A commit waits milliseconds for the disk, however much it writes. So uploads that arrive together share a commit, as
many as take about a second.

Each upload has one fate. Whoever claims it first decides: the writer, when it has the lock and begins to write, or
whoever refuses it because it waited for too long. So what was refused is not written, and what is being written is not
refused.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, Final, Protocol

from hubbub.errors import StoreError, StoreUnavailable
from hubbub.store.reports import BYTES_OF_AN_ID, Outcome, Upload

log = logging.getLogger("hubbub.store")

BYTES_AT_ONCE: Final = 16 << 20
"""About how many bytes one commit adds to the database at most."""

REPORTS_AT_ONCE: Final = 50_000
"""How many reports one commit has at most, on a fast disk."""

_FEWEST_REPORTS: Final = 1_000
_COMMIT_SECONDS: Final = 1.0


class Receipt(Protocol):
    """Where the outcome of an upload is put: a future of asyncio or of `concurrent.futures`."""

    def done(self) -> bool:
        """Return whether it has an outcome, or nobody waits for one."""

    def set_result(self, result: Any, /) -> None:
        """Set which reports are new."""

    def set_exception(self, exception: Any, /) -> None:
        """Set why no report was taken."""


class Waiting:
    """An upload that waits for its turn, and where its outcome is put.

    The upload is forgotten as soon as it is withdrawn, so that it takes no memory while its place is in the queue. It
    has so many `reports`, which add about `added` bytes to the database.
    """

    __slots__ = ("_claimed", "added", "receipt", "reports", "upload")

    def __init__(self, upload: Upload, receipt: Receipt) -> None:
        self._claimed = threading.Lock()  # whoever acquires it decides; it is never released
        self.receipt = receipt
        self.upload: Upload | None = upload._replace(claim=self.claim)
        self.reports = len(upload.reports)
        self.added = upload.reports.nbytes + BYTES_OF_AN_ID * self.reports

    def claim(self) -> bool:
        """Take the decision about the upload. Returns False if somebody else has it, or if nobody waits any more."""
        return not self.receipt.done() and self._claimed.acquire(blocking=False)

    def withdraw(self) -> bool:
        """Refuse the upload, unless it is being written. Returns whether it was refused: then it is never written."""
        if not self._claimed.acquire(blocking=False):
            return False
        self.upload = None
        return True


def _at_once(work: Callable[..., object], *arguments: object) -> None:
    """Run `work` in the calling thread."""
    work(*arguments)


class GroupCommit:
    """The only writer of reports in a process.

    `append` writes uploads in one transaction and returns the outcome of each, as `hubbub.store.reports.append` does.
    `hand_over` calls a function where receipts may be filled in, once for all uploads of a commit:
    `loop.call_soon_threadsafe` for futures of asyncio. A commit adds about `most_bytes` to the database; an upload that
    adds more is written alone. `clock` returns a time in seconds, with which commits are measured.
    """

    def __init__(
        self,
        append: Callable[[list[Upload]], list[Outcome]],
        hand_over: Callable[..., object] = _at_once,
        most_bytes: float = BYTES_AT_ONCE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._append = append
        self._most_bytes = min(most_bytes, BYTES_AT_ONCE)
        self._most_reports = float(REPORTS_AT_ONCE)
        self._clock = clock
        self._hand_over = hand_over
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._open = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hubbub-writer", daemon=True)
        self._thread.start()

    def submit(self, upload: Upload, receipt: Receipt) -> Waiting:
        """Queue an upload to be written. Returns at once, with what can withdraw it.

        When all reports are durable, the receipt says which of them are new. It gets StoreUnavailable if the commit
        failed, UnknownSurvey or SurveyClosed if the survey takes no reports. It is always filled in, unless the upload
        is withdrawn. If it is done before the upload's turn has come, the upload is not written.
        """
        waiting = Waiting(upload, receipt)
        with self._lock:
            if self._open:
                self._queue.put(waiting)
            else:
                receipt.set_exception(StoreUnavailable("the collector is stopping; send the reports again later"))
        return waiting

    def close(self) -> None:
        """Write all queued uploads, then stop the thread. Uploads submitted later are refused."""
        with self._lock:
            self._open = False
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Write one group after the other until `close`: all queued uploads, or as many as a commit may have."""
        going = True
        late: Waiting | None = None
        while going or late is not None:
            group: list[Waiting] = [] if late is None else [late]
            late = None
            reports, added = (0, 0) if not group else (group[0].reports, group[0].added)
            while going:
                try:
                    waiting = self._queue.get(block=not group)
                except queue.Empty:
                    break
                if waiting is None:
                    going = False
                    break
                if waiting.upload is None or waiting.receipt.done():  # nobody waits for it any more
                    continue
                reports, added = reports + waiting.reports, added + waiting.added
                if group and (reports > self._most_reports or added > self._most_bytes):
                    late = waiting
                    break
                group.append(waiting)
            self._write(group)

    def _write(self, group: list[Waiting]) -> None:
        """Write a group, fill in its receipts, and note how many reports take about a second."""
        uploads = [waiting.upload for waiting in group]
        held = [(waiting, upload) for waiting, upload in zip(group, uploads, strict=True) if upload is not None]
        if not held:
            return
        reports = sum([waiting.reports for waiting, _ in held])
        started = self._clock()
        try:
            outcomes = self._append([upload for _, upload in held])
        except Exception as error:  # every receipt must be filled in, for any error
            outcomes = [_logged(error)] * len(held)
        else:
            pace = _COMMIT_SECONDS * reports / max(self._clock() - started, 1e-6)
            if 4 * reports < self._most_reports:  # small commits are slower for each report: they say too little
                pace = max(pace, self._most_reports)
            self._most_reports = min(max(pace, _FEWEST_REPORTS), REPORTS_AT_ONCE)
        self._hand_over(_fill_in, [waiting.receipt for waiting, _ in held], outcomes)


def _logged(error: Exception) -> StoreError:
    """Log why a commit failed, and return what its receipts say."""
    if isinstance(error, StoreError):
        log.warning("a commit failed: %s", error)
        return error
    # Where it happened, but not the message, which could hold reports.
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error("a commit failed with %s\n%s", type(error).__name__, trace)
    return StoreUnavailable("a commit failed")


def _fill_in(receipts: list[Receipt], outcomes: list[Outcome]) -> None:
    """Put each outcome into its receipt, if somebody still waits for it."""
    for receipt, outcome in zip(receipts, outcomes, strict=True):
        if receipt.done():
            continue
        if isinstance(outcome, StoreError):
            receipt.set_exception(outcome)
        else:
            receipt.set_result(outcome)
