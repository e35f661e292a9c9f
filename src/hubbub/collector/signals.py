"""The signals that end a collector, or start it again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Told:
    """What signals have told a process.

    Attributes
    ----------
    restart : bool
        Whether it is to start again after it has ended.
    """

    restart = False


@contextmanager
def handling_signals(end: Callable[[int, FrameType | None], None]) -> Iterator[Told]:
    """Call `end` after SIGTERM, SIGINT or SIGHUP; yield whether it was SIGHUP, which asks for a restart.

    A second SIGHUP waits for the process that is started then. If there is a terminal, SIGHUP means that it was closed.
    """
    told = Told()
    hang_up = getattr(signal, "SIGHUP", None)  # there is none on Windows

    def note(number: int, frame: FrameType | None) -> None:
        """Note a signal."""
        if number == hang_up and not os.isatty(0):
            signal.pthread_sigmask(signal.SIG_BLOCK, {number})
            told.restart = True
        end(number, frame)

    numbers = [signal.SIGTERM, signal.SIGINT]
    if hang_up is not None and signal.getsignal(hang_up) != signal.SIG_IGN:  # `nohup` wants it to be ignored
        numbers.append(hang_up)
    before = {number: signal.signal(number, note) for number in numbers}
    if hang_up is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {hang_up})
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
