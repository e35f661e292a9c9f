"""Runs units of work in this process or in several, always by the same function, so with the same result."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Self

from hubbub.errors import HubbubError

Work = Callable[[list[int]], Any]
_AT_ONCE = 64  # the most units that a process does before it reports back
_works: Sequence[Work] = ()  # in a worker process: its functions


class Processes:
    """Does units of work, of several kinds one after the other. It is a context manager, which ends its processes.

    Each kind of work takes a list of units. With one job, the work is done in this process, when the next result is
    asked for. With several, it is done in worker processes, which end when this process ends in any way. They start
    when the first work is given, and stay for the next kind, since each takes half a second of CPU to load the library.
    """

    def __init__(self, works: Sequence[Work], jobs: int) -> None:
        self._works, self._jobs = works, jobs
        self._pool: ProcessPoolExecutor | None = None
        self._running: dict[Future[Any], list[int]] = {}

    def __enter__(self) -> Self:
        if self._jobs > 1:
            context = multiprocessing.get_context("spawn")
            self._over = context.Event()
            self._pool = ProcessPoolExecutor(self._jobs, context, _start, (self._works, os.getpid(), self._over))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            if self._running:  # something failed, or the caller stopped early
                self._over.set()
            self._pool.shutdown(cancel_futures=True)

    def run(self, kind: int, units: Sequence[int]) -> Iterator[tuple[list[int], Any]]:
        """Yield chunks of units and the result of `works[kind]` for each chunk, in the order of completion.

        At most two chunks per job are in progress.
        """
        if self._pool is None:
            for unit in units:
                yield [unit], self._works[kind]([unit])
            return
        size = min(_AT_ONCE, max(1, -(-len(units) // (4 * self._jobs))))
        chunks = iter([list(units[start : start + size]) for start in range(0, len(units), size)])
        try:
            while True:
                while len(self._running) < 2 * self._jobs and (chunk := next(chunks, None)) is not None:
                    with interrupts_held():  # this may start a process
                        self._running[self._pool.submit(_run, kind, chunk)] = chunk
                if not self._running:
                    break
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield self._running.pop(future), future.result()
        except BrokenProcessPool:
            raise HubbubError(
                "a process of this job was ended, perhaps for lack of memory, or because a script started it outside "
                'of `if __name__ == "__main__":`; run the job again to continue'
            ) from None


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started; it is delivered at the end of the block.

    A process started here ignores Ctrl-C from its first instruction on, since it inherits the signal mask. If another
    thread receives the signal, a handler holds it back, since an interrupted start would print tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    came: list[int] = []
    before = None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if came:
            signal.raise_signal(signal.SIGINT)


def _start(works: Sequence[Work], parent: int, over: Any) -> None:
    """Initialise a worker process. It ends when `over` is set, or when its parent has ended."""
    global _works
    _works = works
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets Ctrl-C, too, and then ends this process

    def watch() -> None:
        while os.getppid() == parent and not over.wait(0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run(kind: int, chunk: list[int]) -> Any:
    """Do some units in a worker process."""
    return _works[kind](chunk)
