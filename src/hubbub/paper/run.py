"""Runs all cells of some studies, in several processes."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any, Final, TypeAlias

from hubbub.errors import ParameterError
from hubbub.files.processes import interrupts_held
from hubbub.paper.bucket_success import BUCKET_SUCCESS
from hubbub.paper.largest_error import ERROR_AGAINST_PEOPLE, ERROR_AGAINST_UNIVERSE
from hubbub.paper.proved_search import PROVED_SEARCH
from hubbub.paper.separation import SEPARATION
from hubbub.paper.smallest_crowd import SMALLEST_CROWD
from hubbub.paper.study import Cell, Measured, Study, cell_generator

AnyStudy: TypeAlias = Study[Any, Any]
AnyMeasured: TypeAlias = Measured[Any, Any]

_ALL: tuple[AnyStudy, ...] = (
    SEPARATION,
    ERROR_AGAINST_PEOPLE,
    ERROR_AGAINST_UNIVERSE,
    SMALLEST_CROWD,
    BUCKET_SUCCESS,
    PROVED_SEARCH,
)

STUDIES: Final = {study.name: study for study in _ALL}
"""All figures, in the order of the report."""

_PACKAGES = ("hubbub", "numpy", "scipy", "numba", "matplotlib")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class FigureCost:
    """How many points a figure has, and the seconds of processor time that they took."""

    name: str
    points: int
    cpu_seconds: float


@dataclass(frozen=True)
class Run:
    """A run of `hubbub paper`: its settings, its cost, and the files it wrote; stored as `run.json`."""

    made_by: str
    quick: bool
    seed: int
    jobs: int
    versions: Mapping[str, str]
    figures: tuple[FigureCost, ...]
    cpu_seconds: float
    seconds: float
    files: tuple[str, ...] = ()


def find_studies(names: Sequence[str]) -> list[AnyStudy]:
    """The studies with these names, in the order of the report; all studies if no name is given."""
    if unknown := [name for name in names if name not in STUDIES]:
        raise ParameterError(f"a figure must be one of {', '.join(STUDIES)}, got {unknown[0]!r}")
    return [study for name, study in STUDIES.items() if not names or name in names]


def run_studies(
    studies: Sequence[AnyStudy],
    quick: bool,
    seed: int,
    jobs: int,
    progress: Callable[[], None] = lambda: None,
) -> list[AnyMeasured]:
    """The numbers of each study, with its rows in the order of its cells."""
    cells = [(study.name, index, cell) for study in studies for index, cell in enumerate(study.cells(quick))]
    done: dict[tuple[str, int], tuple[Any, float]] = {}
    with _processes(jobs) as pool:
        with interrupts_held():  # processes that start now inherit the signal mask
            submitted = [pool.submit(_run_cell, (seed, *each)) for each in cells]
        for finished in as_completed(submitted):
            name, index, row, seconds = finished.result()
            done[name, index] = row, seconds
            progress()
    measured = []
    for study in studies:
        mine = [done[name, index] for name, index, _ in cells if name == study.name]
        rows, seconds = tuple(row for row, _ in mine), sum(spent for _, spent in mine)
        measured.append(Measured(study.name, quick, seed, study.setting(), rows, seconds))
    return measured


def costs(measured: Sequence[AnyMeasured]) -> tuple[FigureCost, ...]:
    """The cost of each figure."""
    return tuple(FigureCost(each.figure, len(each.rows), round(each.cpu_seconds, 3)) for each in measured)


def count_cells(studies: Sequence[AnyStudy], quick: bool) -> int:
    """How many cells there are to run."""
    return sum(len(study.cells(quick)) for study in studies)


def environment() -> dict[str, str]:
    """The versions that the numbers were computed with; nothing that identifies a machine or a person."""
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
    }


Job = tuple[int, str, int, Cell[object]]
Result = tuple[str, int, object, float]


def _run_cell(job: Job) -> Result:
    """Run one cell, in any process; return its study, its index, its row, and seconds of processor time."""
    seed, study, index, cell = job
    started = time.process_time()
    row = cell.run(cell_generator(seed, study, cell))
    return study, index, row, time.process_time() - started


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of single-threaded processes, which end with the context, even after an error.

    Even a single job runs in a new process: with matrices this small, several threads of the linear algebra library
    would mostly wait for each other, and their number is fixed when a process starts. Processes are spawned, since a
    fork would copy threads and compilers in the middle of their work.
    """
    kept = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _ignore_interrupts)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):  # a cell may take seconds, but Ctrl-C must act at once
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        os.environ.clear()
        os.environ.update(kept)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in a worker: a terminal sends it to every process, and the parent handles it for all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
