"""Purges surveys that have ended, on PostgreSQL in a thread of its own: folds and the end of a collector never wait.

SQLite has one writer at a time, so a second thread would gain nothing there: the folding thread purges for about a
second in each round.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from hubbub.collector.metrics import Metrics
from hubbub.errors import HubbubError, StoreUnavailable
from hubbub.store.life_cycle import Step, purge
from hubbub.store.store import Store

STALLED_SECONDS: Final = 60.0
"""After this time in one step a purge or a fold counts as stalled, and the collector as not ready."""

_ROUND_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 2.0

log = logging.getLogger("hubbub.collector")


class Purging:
    """The purges of one collector, which looks for ended surveys every so many seconds. Tests bring their own purge."""

    def __init__(self, store: Store, metrics: Metrics, seconds: float, purge: Callable[..., bool] = purge) -> None:
        self._store, self._metrics, self._seconds, self._purge = store, metrics, seconds, purge
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._step: tuple[Step, float] | None = None  # what it does now, and since when
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, if there is to be one."""
        if not self._store.embedded:
            self._thread = threading.Thread(target=self._run, name="hubbub-purging", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread. A step that takes long is not waited for: the database undoes or finishes it."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            if self._thread.is_alive():
                log.warning("a purge was left to the next start")

    def soon(self) -> None:
        """Let the thread look for surveys that have ended."""
        self._wake.set()

    def turn(self) -> bool:
        """Purge for about a second, if there is no thread for it. Returns True when nothing is left to do."""
        return self._thread is not None or self._once(_ROUND_SECONDS)

    def check(self) -> None:
        """Raise StoreUnavailable if a step that should take milliseconds has not ended for a minute."""
        step = self._step
        if step is not None and step[0] == "delete" and (age := time.monotonic() - step[1]) > STALLED_SECONDS:
            raise StoreUnavailable(f"deleting the ids of a survey that ended has been stuck for {age:.0f} s")

    def _run(self) -> None:
        """Purge until `stop`; the body of the thread."""
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                done = self._once()
            except Exception as error:
                done = True  # it is tried again after the usual time
                self._metrics.fold_failures.inc()
                if isinstance(error, HubbubError):
                    log.warning("purging failed and will be tried again: %s", error)
                else:
                    log.exception("purging failed and will be tried again")
            if done:
                self._wake.wait(self._seconds)

    def _once(self, *seconds: float) -> bool:
        """Purge until all is done or the time is over, and note how it gets on."""
        try:
            done = self._purge(self._store, *seconds, before_step=self._note)
        finally:
            self._step = None
        self._metrics.purge_progress.set(0 if done else time.time())
        return done

    def _note(self, step: Step) -> bool:
        """Note the step that begins. Returns whether the purge is to go on."""
        self._step = step, time.monotonic()
        self._metrics.purge_progress.set_to_current_time()
        return not self._stopping.is_set()
