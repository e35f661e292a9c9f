"""Run studies: all cells of all of them, in processes, to plain numbers."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any, Final

from hubbub.errors import ParameterError
from hubbub.simulation.paper.bucket_success import BUCKET_SUCCESS
from hubbub.simulation.paper.errors import ERROR_AGAINST_PEOPLE, ERROR_AGAINST_UNIVERSE
from hubbub.simulation.paper.separation import SEPARATION
from hubbub.simulation.paper.smallest import SMALLEST_CROWD
from hubbub.simulation.paper.study import Cell, Row, Study, cell_generator

STUDIES: Final = {
    study.name: study
    for study in (SEPARATION, ERROR_AGAINST_PEOPLE, ERROR_AGAINST_UNIVERSE, SMALLEST_CROWD, BUCKET_SUCCESS)
}
"""All figures, in the order of the report."""

_PACKAGES = ("hubbub", "numpy", "scipy", "numba", "matplotlib")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Numbers = dict[str, Any]


def find_studies(names: Sequence[str]) -> list[Study]:
    """The studies of these names, in the order of the report; all of them for no name."""
    if unknown := [name for name in names if name not in STUDIES]:
        raise ParameterError(f"a figure must be one of {', '.join(STUDIES)}, got {unknown[0]!r}")
    return [study for name, study in STUDIES.items() if not names or name in names]


def run_studies(
    studies: Sequence[Study],
    quick: bool,
    seed: int,
    jobs: int,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Numbers]:
    """The numbers of each study by its name: setting, rows in the order of its cells, and seconds of processor time."""
    cells = [(study.name, index, cell) for study in studies for index, cell in enumerate(study.cells(quick))]
    rows: dict[tuple[str, int], tuple[Row, float]] = {}
    with _processes(jobs) as pool:
        for done in as_completed([pool.submit(_run_cell, (seed, *each)) for each in cells]):
            name, index, row, seconds = done.result()
            rows[name, index] = row, seconds
            progress()
    return {
        study.name: {
            "figure": study.name,
            "quick": quick,
            "seed": seed,
            "setting": dict(study.setting(quick)),
            "rows": [
                row for (name, _), (row, _) in sorted(rows.items(), key=lambda each: each[0]) if name == study.name
            ],
            "cpu_seconds": sum(seconds for (name, _), (_, seconds) in rows.items() if name == study.name),
        }
        for study in studies
    }


def count_cells(studies: Sequence[Study], quick: bool) -> int:
    """How many cells there are to run."""
    return sum(len(study.cells(quick)) for study in studies)


def usable_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def environment() -> dict[str, str]:
    """What the numbers were computed with; nothing that names a machine or a person."""
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
    }


Job = tuple[int, str, int, Cell]
Result = tuple[str, int, Row, float]


def _run_cell(job: Job) -> Result:
    seed, study, index, cell = job
    started = time.process_time()
    row = cell.run(cell_generator(seed, study, cell))
    return study, index, row, time.process_time() - started


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes of one thread each, which are gone when the context ends, however it ends.

    Even one process is a new one: threads of the linear algebra would spend most of their time waiting for each other
    over matrices as small as these, and their number is read when a process starts. A fork would copy threads and
    compilers in the middle of something, so processes start afresh.
    """
    kept = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _ignore_interrupts)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):  # a cell may take seconds, and Ctrl-C none
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        os.environ.clear()
        os.environ.update(kept)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the one that was asked answers for all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
