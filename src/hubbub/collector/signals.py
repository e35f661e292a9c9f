"""The signals that end a collector, or start it again."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Generic, TypeVar

from hubbub.errors import HubbubError

log = logging.getLogger("hubbub.collector")
T = TypeVar("T")


class Told(Generic[T]):
    """What signals have told a process.

    `prepare` gets everything ready for a restart, in a thread, while the process goes on. `prepared` is what it
    returned if the process is to start again, else None.
    """

    def __init__(self, prepare: Callable[[], T] | None) -> None:
        self.prepared: T | None = None
        self._prepare = prepare
        self._is_ending = False
        self._is_preparing = False

    def note(self, number: int, end: Callable[[], None]) -> None:
        """Follow a signal: call `end`, after SIGHUP when everything is ready for a restart.

        If there is a terminal, SIGHUP means that it was closed.
        """
        if number == getattr(signal, "SIGHUP", None) and self._prepare is not None and not os.isatty(0):
            if not self._is_preparing:
                self._is_preparing = True
                threading.Thread(target=self._get_ready, args=(self._prepare, end), daemon=True).start()
            return
        self._is_ending = True
        end()

    def _get_ready(self, prepare: Callable[[], T], end: Callable[[], None]) -> None:
        """Prepare a restart, and end the process. If that fails, the process goes on as it is."""
        try:
            prepared = prepare()
        except HubbubError as error:
            log.error("the collector goes on and is not restarted: %s", error)  # nothing is broken here
            self._is_preparing = False
            return
        if not self._is_ending:
            self.prepared = prepared
            end()


@contextmanager
def handling_signals(
    end: Callable[[int, FrameType | None], None], prepare: Callable[[], T] | None = None
) -> Iterator[Told[T]]:
    """Call `end` after SIGTERM or SIGINT, and after SIGHUP when `prepare` has got everything ready for a restart.

    Without `prepare`, SIGHUP ends the process as well. One that comes during a restart waits for the next process.
    """
    told = Told(prepare)
    hang_up = getattr(signal, "SIGHUP", None)  # there is none on Windows

    def note(number: int, frame: FrameType | None) -> None:
        """Note a signal."""
        told.note(number, lambda: end(number, frame))

    numbers = [signal.SIGTERM, signal.SIGINT]
    if hang_up is not None and signal.getsignal(hang_up) != signal.SIG_IGN:  # `nohup` wants it to be ignored
        numbers.append(hang_up)
    before = {number: signal.signal(number, note) for number in numbers}
    if hang_up is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {hang_up})
    try:
        yield told
    finally:
        if hang_up is not None and told.prepared is not None:
            signal.pthread_sigmask(signal.SIG_BLOCK, {hang_up})
        for number, handler in before.items():
            signal.signal(number, handler)
