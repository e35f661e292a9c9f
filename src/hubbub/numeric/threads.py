"""Work on several cores at once, for loops that release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[_Job], _Result], jobs: Sequence[_Job]) -> list[_Result]:
    """The result for each job, in their order. The first job that fails raises."""
    if len(jobs) < 2 or cores() < 2:
        return [work(job) for job in jobs]
    with ThreadPoolExecutor(min(cores(), len(jobs))) as pool:
        return list(pool.map(work, jobs))
