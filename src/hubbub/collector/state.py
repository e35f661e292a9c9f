"""What the routes share: the store, the writer, the folder, and the clock."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Final, TypeVar

from starlette.requests import Request

from hubbub.collector.limits import Budget
from hubbub.collector.metrics import Metrics
from hubbub.errors import HubbubError, UnknownSurvey
from hubbub.store.group_commit import GroupCommit
from hubbub.store.reports import Batch, Outcome
from hubbub.store.store import Store, StoredSurvey

FOLD_SECONDS: Final = 5.0
_READY_SECONDS: Final = 1.0
_TIDY_SECONDS: Final = 1.0

log = logging.getLogger("hubbub.collector")
T = TypeVar("T")


class Collector:
    """One process of a collector: started and stopped with the application."""

    def __init__(self, store: Store, budget: Budget | None = None, fold_seconds: float = FOLD_SECONDS) -> None:
        self.store = store
        self.budget = budget or Budget()
        self.metrics = Metrics()
        self.metrics.gauge("hubbub_waiting_bytes", lambda: self.budget.waiting)
        self._fold_seconds = fold_seconds
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._ready_lock = threading.Lock()
        self._ready: tuple[float, Exception | None] = (0.0, None)

    def start(self) -> None:
        """Start the threads."""
        self.writer = GroupCommit(self._append)
        # One at a time: an answer takes about a second of a core, and uploads need theirs.
        self._answers = ThreadPoolExecutor(1, "hubbub-answers")
        self._folder = threading.Thread(target=self._fold_forever, name="hubbub-folder", daemon=True)
        self._folder.start()

    def stop(self) -> None:
        """Make everything that was submitted durable, fold it, and end the threads."""
        self.writer.close()
        self._stopping.set()
        self._wake.set()
        self._folder.join()
        self._answers.shutdown(cancel_futures=True)
        self._fold()

    async def find(self, survey_id: str) -> StoredSurvey:
        """The survey that a URL names."""
        raw = parse_id(survey_id)
        recent = self.store.remembered(raw)
        return await asyncio.to_thread(self.store.survey, raw) if recent is None else recent

    async def compute(self, work: Callable[[], T]) -> T:
        """Run something long in the thread for answers."""
        self.metrics.add("hubbub_answers_total")
        return await asyncio.get_running_loop().run_in_executor(self._answers, work)

    def check_ready(self) -> None:
        """Raise unless something can be made durable now; asks the store at most once a second."""
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

    def tidy_soon(self) -> None:
        """Let the folder run now."""
        self._wake.set()

    def _append(self, batches: list[Batch]) -> list[Outcome]:
        started = time.perf_counter()
        try:
            outcomes = self.store.append(batches)
        except Exception:
            self.metrics.add("hubbub_commit_failures_total")
            raise
        self.metrics.add("hubbub_commits_total")
        self.metrics.add("hubbub_commit_seconds_total", time.perf_counter() - started)
        return outcomes

    def _fold_forever(self) -> None:
        while not self._stopping.is_set():
            self._fold()
            self._wake.wait(self._fold_seconds)
            self._wake.clear()

    def _fold(self) -> None:
        """Fold, close what has run out, go on with what is being closed. A failure is tried again next time."""
        for step in (self._fold_pending, self._close_what_has_run_out, self._tidy):
            try:
                step()
            except HubbubError as error:
                self.metrics.add("hubbub_fold_failures_total")
                log.warning("folding failed and is tried again: %s", error)
            except Exception:
                self.metrics.add("hubbub_fold_failures_total")
                log.exception("folding failed and is tried again")

    def _fold_pending(self) -> None:
        if self.store.fold_all():
            self.metrics.add("hubbub_folds_total")

    def _tidy(self) -> None:
        if not self.store.tidy(_TIDY_SECONDS):
            self.tidy_soon()  # after pending reports had their turn

    def _close_what_has_run_out(self) -> None:
        failure: HubbubError | None = None
        for stored in self.store.all_surveys():
            closes = stored.survey.closes
            if closes is not None and not stored.closed and closes <= datetime.now(UTC):
                try:
                    self.store.close_survey(stored.survey.survey_id)
                except UnknownSurvey:
                    pass  # deleted a moment ago
                except HubbubError as error:
                    failure = failure or error
        if failure is not None:
            raise failure


def parse_id(survey_id: str) -> bytes:
    """The id that a URL names."""
    try:
        raw = bytes.fromhex(survey_id)
    except ValueError:
        raw = b""
    if len(raw) != 32 or raw.hex() != survey_id:
        raise UnknownSurvey("a survey id must be 64 hex digits, got something else")
    return raw


def collector_of(request: Request) -> Collector:
    """The collector that a request came to."""
    collector: Collector = request.app.state.collector
    return collector
