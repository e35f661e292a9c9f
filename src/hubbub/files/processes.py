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
from typing import Any, TypeVar

from hubbub.errors import HubbubError

R = TypeVar("R")
_AT_ONCE = 64  # the most units that a process does before it reports back
_work: Any = None  # in a worker process: its function


def run_chunks(work: Callable[[list[int]], R], units: Sequence[int], jobs: int) -> Iterator[tuple[list[int], R]]:
    """Yield chunks of units and the result of `work` for each chunk, in the order of completion.

    With one job, the work is done in this process, when the next result is asked for. With several, it is done in
    worker processes, which end when this process ends in any way. At most two chunks per job are in progress.
    """
    if jobs <= 1:
        for unit in units:
            yield [unit], work([unit])
        return
    size = min(_AT_ONCE, max(1, -(-len(units) // (4 * jobs))))
    chunks = iter([list(units[start : start + size]) for start in range(0, len(units), size)])
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _start, (work, os.getpid(), over))
    running: dict[Future[R], list[int]] = {}
    try:
        while True:
            while len(running) < 2 * jobs and (chunk := next(chunks, None)) is not None:
                with interrupts_held():  # this may start a process
                    running[pool.submit(_run, chunk)] = chunk
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise HubbubError(
            "the system ended a process of this job, perhaps for lack of memory; run the job again to continue"
        ) from None
    finally:
        if running:  # something failed, or the caller stopped early
            over.set()
        pool.shutdown(cancel_futures=True)


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


def _start(work: Any, parent: int, over: Any) -> None:
    """Initialise a worker process. It ends when `over` is set, or when its parent has ended."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets Ctrl-C, too, and then ends this process

    def watch() -> None:
        while os.getppid() == parent and not over.wait(0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run(chunk: list[int]) -> Any:
    """Do some units in a worker process."""
    return _work(chunk)
