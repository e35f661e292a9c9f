"""The sending thread: it tries until nothing is left to do, and waits longer after each try that failed."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable


class Background:
    """Repeats some work in a daemon thread. The thread ends when nothing is left to do.

    Parameters
    ----------
    work : callable
        Tries everything once. It returns None when nothing is left, else the least number of seconds before the next
        try. It must not raise.
    first_retry, last_retry : float
        Seconds before the first retry; they double for each further one, up to `last_retry`. Each wait is multiplied by
        a random factor from 0.5 to 1.5.

    Attributes
    ----------
    changed : threading.Condition
        The lock for everything that the thread shares with others. It is notified after each change.
    busy : bool
        Whether a try is in progress or about to begin.
    closed : bool
        Whether `close` was called.
    """

    def __init__(self, work: Callable[[], float | None], first_retry: float, last_retry: float) -> None:
        self._work = work
        self._first, self._last = first_retry, last_retry
        self.closed = False
        self._process = 0
        self.mend_after_fork()

    def mend_after_fork(self) -> bool:
        """Begin without a thread and with a new lock, unless this process has done so; return whether it had not.

        In a forked child the thread stayed in the parent. The lock may have been held at the moment of the fork, and
        nobody in the child would release it.
        """
        if self._process == os.getpid():
            return False
        self._process = os.getpid()
        self.changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._woken = self.busy = False
        return True

    def wake(self) -> None:
        """Try now, without waiting for the next retry. Starts the thread if there is none."""
        with self.changed:
            self._woken = self.busy = not self.closed
            self.changed.notify_all()
            if self._thread is None and not self.closed:
                self._thread = threading.Thread(target=self._run, name="hubbub-client", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads, or the interpreter is ending: the ledger keeps the report
                    self._thread, self.busy = None, False

    def close(self) -> None:
        """Let the thread end after the current try."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _run(self) -> None:
        """Try, wait and try again, until nothing is left to do; the body of the thread."""
        delay = self._first
        while True:
            with self.changed:
                self._woken = False
            wait = None if self.closed else self._work()
            with self.changed:
                self.busy = self._woken
                self.changed.notify_all()
                if self.closed or (wait is None and not self._woken):
                    self._thread = None
                    return
                if wait is not None and not self._woken:
                    jitter = 0.5 + secrets.randbelow(1 << 32) / 2**32
                    self.changed.wait(max(wait, delay * jitter))
                    delay = min(2 * delay, self._last)
                if self._woken:  # there is something new to do
                    delay = self._first
                self.busy = True
