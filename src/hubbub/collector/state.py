"""What the routes share: the store, the writer, the folding thread and the thread for answers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeVar

from hubbub.collector.limits import Budget
from hubbub.collector.metrics import Metrics
from hubbub.errors import HubbubError, UnknownSurvey
from hubbub.store.group_commit import GroupCommit
from hubbub.store.life_cycle import close_survey, purge
from hubbub.store.reports import Batch, Outcome, append
from hubbub.store.store import Store, StoredSurvey, for_each

FOLD_SECONDS: Final = 5.0
_READY_SECONDS: Final = 1.0
_PURGE_SECONDS: Final = 1.0

log = logging.getLogger("hubbub.collector")
T = TypeVar("T")


class Collector:
    """One process of a collector. The application starts and stops it.

    Parameters
    ----------
    store : Store
        What it keeps. The caller closes it.
    budget : Budget, optional
        How much it takes in at once.
    fold_seconds : float
        Seconds between two folds.
    """

    def __init__(self, store: Store, budget: Budget | None = None, fold_seconds: float = FOLD_SECONDS) -> None:
        self.store = store
        self.budget = budget or Budget()
        self.metrics = Metrics()
        self.budget.on_change = self.metrics.waiting_bytes.set
        self._fold_seconds = fold_seconds
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._ready_lock = threading.Lock()
        self._ready: tuple[float, Exception | None] = (0.0, None)

    def start(self) -> None:
        """Start the threads."""
        self.writer = GroupCommit(self._append)
        # One answer at a time: it takes about a second of a core, and uploads need theirs.
        self._answers = ThreadPoolExecutor(1, "hubbub-answers")
        self._folder = threading.Thread(target=self._fold_forever, name="hubbub-folder", daemon=True)
        self._folder.start()

    def stop(self) -> None:
        """Make all submitted reports durable, fold them, and end the threads."""
        self.writer.close()
        self._stopping.set()
        self._wake.set()
        self._folder.join()
        self._answers.shutdown(cancel_futures=True)
        self._fold()

    async def find(self, survey_id: str) -> StoredSurvey:
        """Return the survey that a URL names. Asks the database every 5 seconds at most, in a thread."""
        raw = parse_id(survey_id)
        recent = self.store.remembered(raw)
        return await asyncio.to_thread(self.store.survey, raw) if recent is None else recent

    async def compute(self, work: Callable[[], T]) -> T:
        """Run something long in the thread for answers; return its result."""
        self.metrics.answers.inc()
        return await asyncio.get_running_loop().run_in_executor(self._answers, work)

    def check_ready(self) -> None:
        """Raise unless something can be made durable now. Asks the store once a second at most."""
        with self._ready_lock:
            checked, error = self._ready
            if time.monotonic() - checked > _READY_SECONDS:
                try:
                    self.store.probe()
                    error = None
                except HubbubError as failure:
                    error = failure
                    log.warning("the collector is not ready: %s", failure)
                self._ready = (time.monotonic(), error)
        if error is not None:
            raise error

    def purge_soon(self) -> None:
        """Wake the folding thread, which also purges closed and deleted surveys."""
        self._wake.set()

    def _append(self, batches: list[Batch]) -> list[Outcome]:
        """Write batches and count the commit."""
        started = time.perf_counter()
        try:
            outcomes = append(self.store.engine, batches)
        except Exception:
            self.metrics.commit_failures.inc()
            raise
        self.metrics.commits.inc()
        self.metrics.commit_seconds.inc(time.perf_counter() - started)
        return outcomes

    def _fold_forever(self) -> None:
        """Fold every few seconds until `stop`; the body of the folding thread."""
        while not self._stopping.is_set():
            self._fold()
            self._wake.wait(self._fold_seconds)
            self._wake.clear()

    def _fold(self) -> None:
        """Fold pending reports, close surveys whose time is over, purge. What fails is tried again the next time."""
        for step in (self._fold_pending, self._close_by_the_clock, self._purge):
            try:
                step()
            except HubbubError as error:
                self.metrics.fold_failures.inc()
                log.warning("folding failed and will be tried again: %s", error)
            except Exception:
                self.metrics.fold_failures.inc()
                log.exception("folding failed and will be tried again")

    def _fold_pending(self) -> None:
        """Fold all pending reports, and count it if there were some."""
        if self.store.fold_all():
            self.metrics.folds.inc()

    def _purge(self) -> None:
        """Purge for about a second. If something is left, fold first and then go on."""
        if not purge(self.store, _PURGE_SECONDS):
            self.purge_soon()

    def _close_by_the_clock(self) -> None:
        """Close all surveys whose last moment is over."""

        def close(stored: StoredSurvey) -> None:
            """Close a survey if its time is over."""
            if not stored.closed and stored.state(datetime.now(UTC)) == "closed":
                with suppress(UnknownSurvey):  # deleted a moment ago
                    close_survey(self.store, stored.survey_id)

        for_each(close, self.store.all_surveys())


def parse_id(survey_id: str) -> bytes:
    """Return the survey id that a URL names in hex."""
    try:
        raw = bytes.fromhex(survey_id)
    except ValueError:
        raw = b""
    if len(raw) != 32 or raw.hex() != survey_id:
        raise UnknownSurvey("a survey id must be 64 hex digits, got something else")
    return raw
