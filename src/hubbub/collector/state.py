"""The shared state of the routes: the store, the writer, the folding thread and the thread for answers."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from hubbub.collector.bodies import MAX_LOGIN_BYTES, MAX_OWNER_BYTES, Budget
from hubbub.collector.clock import Clock
from hubbub.collector.metrics import Metrics
from hubbub.collector.owner_check import OwnerCheck
from hubbub.collector.problems import Problem
from hubbub.collector.purging import STALLED_SECONDS, Purging
from hubbub.collector.rates import Rates
from hubbub.collector.webhooks import Sender, Webhooks
from hubbub.errors import HubbubError, StoreBroken, StoreFull, StoreUnavailable, UnknownSurvey
from hubbub.store.aging_ids import note_old_ids
from hubbub.store.found_before import ended_slices, remember
from hubbub.store.group_commit import GroupCommit, Waiting
from hubbub.store.life_cycle import end_by_the_clock, give_back
from hubbub.store.publications import due, publish
from hubbub.store.readers import readers_by_hash
from hubbub.store.reports import BYTES_OF_AN_ID, Outcome, Upload, append
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.tokens import stored_hash

FOLD_SECONDS: Final = 5.0
_READY_SECONDS: Final = 1.0
_MOST_HEARTBEAT_BYTES: Final = 1 << 20
_HURT: Final = "the database is damaged; stop the collector, and run: hubbub store check"

log = logging.getLogger("hubbub.collector")
T = TypeVar("T")


class Collector:
    """One process of a collector. The application starts and stops it, and the caller closes its store.

    It folds every `fold_seconds`. Tests bring their own clock and `sender` of webhooks.
    """

    def __init__(
        self,
        store: Store,
        budget: Budget | None = None,
        fold_seconds: float = FOLD_SECONDS,
        clock: Clock | None = None,
        rates: Rates | None = None,
        sender: Sender | None = None,
    ) -> None:
        self.store = store
        self.budget = budget or Budget()
        # Rooms of their own: strangers' uploads never keep the owner out, nor logins of strangers uploads.
        self.owner_budget = Budget(MAX_OWNER_BYTES, self.budget.seconds)
        self.login_budget = Budget(MAX_LOGIN_BYTES, self.budget.seconds)
        self.clock = clock or Clock()
        self.rates = rates or Rates()
        self.metrics = Metrics()
        self.owner = OwnerCheck(lambda: stored_hash(store.engine), lambda: readers_by_hash(store.engine))
        self.relay = OwnerCheck(lambda: stored_hash(store.engine, "relay"), whose="relay")
        self.opening = asyncio.Lock()
        self.guard = store.guard
        self.guard.keep_reserve()
        self._failed_bytes = 0  # how large the last commit was, if it failed
        self._is_broken = False  # whether the last failed commit reported a damaged database
        self._cannot_fold = False  # whether the last fold reported a damaged database
        self._fold_seconds = fold_seconds
        self._purging = Purging(store, self.metrics, fold_seconds)
        self._folding_since: float | None = None  # when the fold that runs now began
        self._frozen = 0  # modules that were loaded when `freeze` was last called
        self._webhooks = Webhooks(store, sender)
        self._remembering: Future[None] | None = None  # the last search of slices that have ended
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._ready_lock = threading.Lock()
        self._ready: tuple[float, HubbubError | None] = (-_READY_SECONDS, None)

    def start(self) -> None:
        """Start the threads. The loop that runs now is the one that `commit` is called in."""
        self._loop = asyncio.get_running_loop()
        self.writer = GroupCommit(self._append, self._loop.call_soon_threadsafe, self.guard.most_bytes)
        # One answer at a time: it takes about a second of a core, and uploads need theirs.
        self._answers = ThreadPoolExecutor(1, "hubbub-answers")
        self._folding = threading.Thread(target=self._fold_forever, name="hubbub-folding", daemon=True)
        self._folding.start()
        self._purging.start()

    def stop(self) -> None:
        """Make all submitted reports durable, fold them, and end the threads. Waits for no purge."""
        self.writer.close()
        self._stopping.set()
        self._purging.stop()
        self._wake.set()
        self._folding.join()
        self._answers.shutdown(cancel_futures=True)
        self._fold()

    async def find(self, survey_id: str) -> StoredSurvey:
        """Return the survey that a URL names. Asks the database every 5 seconds at most, in a thread."""
        recent = self.store.remembered(survey_id)
        return await asyncio.to_thread(self.store.survey, parse_id(survey_id)) if recent is None else recent

    async def commit(self, upload: Upload) -> NDArray[np.bool_]:
        """Wait until all reports of an upload are durable; return which of them are new.

        Raises Problem if their commit has not begun in time: then they are not written. Once it has begun, this waits
        until it has ended.
        """
        receipt: asyncio.Future[NDArray[np.bool_]] = self._loop.create_future()
        waiting = self.writer.submit(upload, receipt)
        timer = self._loop.call_later(self.budget.commit_seconds, _give_up, waiting, receipt)
        try:
            return await receipt
        finally:
            timer.cancel()

    async def compute(self, work: Callable[[], T]) -> T:
        """Run something long in the thread for answers; return its result."""
        self.metrics.answers.inc()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._answers, work)
        except StoreFull as error:
            self.note_failure(error)  # so that there is room for the next try
            raise

    def freeze(self) -> None:
        """Exempt all objects loaded so far from garbage collection.

        Otherwise the garbage collector would scan all of them repeatedly, and delay requests by a tenth of a second.
        """
        self._frozen = len(sys.modules)
        gc.freeze()

    def check_room(self) -> None:
        """Raise StoreUnavailable while the disk is full, or while reports could be stored but not folded."""
        self.guard.check()
        if self._cannot_fold:
            raise StoreBroken(_HURT)

    def check_ready(self) -> None:
        """Raise unless a report could be made durable now. Asks the store once a second at most."""
        self.budget.check()
        with self._ready_lock:
            checked, error = self._ready
            if time.monotonic() - checked > _READY_SECONDS:
                error = self._heartbeat()
                if error is not None:
                    log.warning("the collector is not ready: %s", error)
                self._ready = (time.monotonic(), error)
        if error is not None:
            raise error

    def _heartbeat(self) -> HubbubError | None:
        """Write as an upload does, with the size of the last one that failed; return the error, if there is one."""
        if self._is_broken:  # it is unknown which pages are damaged, so only a real upload can show that all is well
            return StoreBroken(_HURT)
        try:
            self.check_room()
            self._check_pace()
            self.guard.require(self._failed_bytes + self.guard.step_bytes)
            self.store.heartbeat(self._failed_bytes)
        except HubbubError as failure:
            self.note_failure(failure)
            self._wake.set()  # to free space, or to notice that there is some
            return failure
        self._failed_bytes = 0
        return None

    def _check_pace(self) -> None:
        """Raise StoreUnavailable if a fold or a purge is stuck."""
        since = self._folding_since
        if since is not None and (age := time.monotonic() - since) > STALLED_SECONDS:
            raise StoreUnavailable(f"folding reports has been stuck for {age:.0f} s")
        self._purging.check()

    def measure(self) -> None:
        """Set the gauges of uploads that are not yet durable."""
        self.metrics.waiting_bytes.set(self.budget.waiting)
        self.metrics.unfinished_bytes.set(self.budget.unfinished)

    def purge_soon(self) -> None:
        """Wake the thread that purges closed and deleted surveys."""
        self._wake.set()
        self._purging.soon()

    def _append(self, uploads: list[Upload]) -> list[Outcome]:
        """Write uploads and count the commit."""
        started = time.perf_counter()
        try:
            self.check_room()
            added = sum([each.reports.nbytes + BYTES_OF_AN_ID * len(each.reports) for each in uploads])
            self.guard.require(added + self.guard.step_bytes)  # a fold may write at the same time
            outcomes = append(self.store.engine, uploads)
        except Exception as error:
            self.metrics.commit_failures.inc()
            size = sum(upload.reports.nbytes for upload in uploads)
            self._failed_bytes = min(max(size, self._failed_bytes), _MOST_HEARTBEAT_BYTES)
            self.note_failure(error)
            if isinstance(error, HubbubError):
                self._ready = (time.monotonic(), error)
            raise
        self._failed_bytes, self._is_broken = 0, False
        self.metrics.commits.inc()
        self.metrics.commit_seconds.inc(time.perf_counter() - started)
        return outcomes

    def note_failure(self, error: Exception) -> None:
        """Note whether pages of the database are damaged, or its disk is full."""
        self._is_broken = self._is_broken or isinstance(error, StoreBroken)
        if self.guard.note(error):
            self._wake.set()

    def _fold_forever(self) -> None:
        """Fold every few seconds until `stop`; the body of the folding thread."""
        while not self._stopping.is_set():
            self._folding_since = time.monotonic()
            self._fold()
            self._folding_since = None
            if len(sys.modules) != self._frozen:  # answers and folds load some when they are first needed
                self.freeze()
            self.measure()  # for other workers, which show it, too
            self._wake.wait(self._fold_seconds)
            self._wake.clear()

    def _fold(self) -> None:
        """Fold pending reports, close surveys whose time is over, purge. What fails is tried again the next time."""
        was_full, failures = self.guard.is_full, list[HubbubError]()
        self.guard.begin_round()
        # The first step empties the log of the database: it may need all of the reserve even if nobody knew of it.
        steps = [self.guard.remove_erased, self._fold_pending, self._follow_the_clock, self._purge]
        steps += [self._remember, self._notify]
        for step in [*steps, self._give_back] if was_full else steps:
            try:
                step()
            except HubbubError as error:
                self.note_failure(error)
                makes_room = isinstance(error, StoreFull) and (was_full or step is steps[0])
                if makes_room and self.guard.succeeds_with_all(step):
                    continue
                failures.append(error)
                self.metrics.fold_failures.inc()
                log.warning("folding failed and will be tried again: %s", error)
            except Exception:
                self.metrics.fold_failures.inc()
                log.exception("folding failed and will be tried again")
        self._cannot_fold = any(isinstance(error, StoreBroken) for error in failures)
        if not any(isinstance(error, StoreFull) for error in failures):
            self.guard.end_round()

    def _give_back(self) -> None:
        """Give the disk back what the database does not use. If something is left, fold first and then go on."""
        if not give_back(self.store):
            self._wake.set()

    def _fold_pending(self) -> None:
        """Fold all pending reports, and count it if there were some."""
        if self.store.fold_all():
            self.metrics.folds.inc()
        self.metrics.last_fold.set_to_current_time()

    def _purge(self) -> None:
        """Purge for about a second, on SQLite. If something is left, it continues after the next fold."""
        if not self._stopping.is_set() and not self._purging.turn():
            self._wake.set()

    def _remember(self) -> None:
        """Let the thread for answers search slices that have ended, and publish, for one survey at a time."""
        if self._stopping.is_set() or (self._remembering is not None and not self._remembering.done()):
            return
        last, self._remembering = self._remembering, None
        if last is not None:
            last.result()  # raises what went wrong; it is tried again
        if ended := ended_slices(self.store):
            self._remembering = self._answers.submit(remember, self.store, ended[0])
        elif to_show := due(self.store, self.clock.now()):
            self._remembering = self._answers.submit(publish, self.store, to_show[0], self.clock.now())

    def _notify(self) -> None:
        """Send what waits for webhooks, in a thread of its own."""
        if not self._stopping.is_set():
            self._webhooks.turn(int(self.clock.now().timestamp()))

    def _follow_the_clock(self) -> None:
        """Close surveys whose time is over, and note old ids. For an hour after a jump nothing is closed for good."""
        if moved := self.clock.jump():
            log.error("the clock jumped by %+.0f s: nothing is closed for good within the next hour", moved)
        now, trusted = int(self.clock.now().timestamp()), self.clock.is_steady()
        end_by_the_clock(self.store, now, trusted)
        note_old_ids(self.store, now, trusted)


def _give_up(waiting: Waiting, receipt: asyncio.Future[NDArray[np.bool_]]) -> None:
    """End a wait that took too long, unless the reports are being written."""
    if not receipt.done() and waiting.withdraw():
        receipt.set_exception(Problem("busy", "the reports could not be stored in time; send them again later"))


def parse_id(survey_id: str) -> bytes:
    """Return the survey id that a URL names in hex."""
    try:
        raw = bytes.fromhex(survey_id)
    except ValueError:
        raw = b""
    if len(raw) != 32 or raw.hex() != survey_id:
        raise UnknownSurvey("a survey id must be 64 lower-case hex digits, got something else")
    return raw
