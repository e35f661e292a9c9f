"""The thread that owns the queue: it writes all requests that came during the commit before in one commit."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hubbub.errors import HubbubError, StoreUnavailable
from hubbub.relay.waiting import Waiting

AT_ONCE: Final = 2_000
"""How many requests one commit has at most."""

DAY_SECONDS: Final = 86_400


class _Task(NamedTuple):
    """Something to be done with the queue, and the future that gets the result. A request alone is one to be added."""

    work: Callable[[Waiting], Any] | bytes
    done: asyncio.Future[Any]


class Keeper:
    """Does everything that is done with a queue, in a thread of its own. It starts in the loop that runs now."""

    def __init__(self, waiting: Waiting, wall: Callable[[], float] = time.time) -> None:
        self._waiting, self._wall = waiting, wall
        self._loop = asyncio.get_running_loop()
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="hubbub-relay", daemon=True)
        self._thread.start()

    async def add(self, request: bytes) -> None:
        """Wait until a request is durable. Raises StoreFull or StoreUnavailable if it is not."""
        await self._submit(request)

    async def do(self, work: Callable[[Waiting], Any]) -> Any:
        """Wait for something that is done with the queue; return its result."""
        return await self._submit(work)

    def close(self) -> None:
        """Do what was submitted, and end the thread."""
        self._tasks.put(None)
        self._thread.join()

    async def _submit(self, work: Callable[[Waiting], Any] | bytes) -> Any:
        done: asyncio.Future[Any] = self._loop.create_future()
        self._tasks.put(_Task(work, done))
        return await done

    def _run(self) -> None:
        """Work until `close`; the body of the thread."""
        held: _Task | None = None
        while (task := held or self._tasks.get()) is not None:
            group, held = [task], None
            while isinstance(task.work, bytes) and len(group) < AT_ONCE:
                try:
                    more = self._tasks.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._tasks.put(None)  # for the next round
                    break
                if not isinstance(more.work, bytes):
                    held = more
                    break
                group.append(more)
            self._finish(group)

    def _finish(self, group: list[_Task]) -> None:
        """Do some work, and fill in the futures that wait for it."""
        result, failure = None, None
        requests = [task.work for task in group if isinstance(task.work, bytes)]
        work = group[0].work
        try:
            if isinstance(work, bytes):  # with the day on which they arrived, and no finer time
                self._waiting.add(requests, int(self._wall() // DAY_SECONDS))
            else:
                result = work(self._waiting)
        except HubbubError as error:
            failure = error
        except Exception as error:  # every future must be filled in; its words could hold a request
            failure = StoreUnavailable(f"the relay failed ({type(error).__name__})")
        self._loop.call_soon_threadsafe(_fill_in, group, result, failure)


def _fill_in(tasks: list[_Task], result: Any, failure: HubbubError | None) -> None:
    """Tell those who still wait."""
    for task in tasks:
        if not task.done.done():
            if failure is None:
                task.done.set_result(result)
            else:
                task.done.set_exception(failure)
