"""A job: adds up files of reports into a tally, each id once, in memory that does not grow with the reports.

First every valid report is written to disk, into one of many partitions by its id. Then the partitions are counted one
by one. If ids are known to differ, row groups are counted directly. See docs/scaling.md.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import InputError, ParameterError
from hubbub.files.listing import check_unchanged, list_files, stamps_of
from hubbub.files.processes import Processes, Work
from hubbub.files.spill import Spill
from hubbub.files.tallied import Counts, Tallied
from hubbub.files.units import count_partition, count_reports, partition_bits, plan_units, spill_reports
from hubbub.files.work_folder import State, WorkFolder
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.wire.tally_file import cell_bytes

BLOCK_BYTES: Final = 32 << 20
SAVE_SECONDS: Final = 10.0
_COUNT, _SPILL = range(2)  # the kinds of work

Advance = Callable[[int], object]
"""Called with the number of rows done since the last call."""


Count = Callable[[int, Cells], tuple[int, Counts]]
"""Adds a unit to the sums; returns how many reports were added, and the counts."""


@dataclass(frozen=True)
class _Chunk:
    """Adds up units: into `cells` if given; otherwise, in a worker process, into new cells that it returns.

    Cells go from process to process in narrow integers: a chunk has few reports for each.
    """

    count: Count
    cells_shape: tuple[int, ...]
    cells: Cells | None

    def __call__(self, units: list[int]) -> tuple[NDArray[np.signedinteger[Any]] | None, int, Counts]:
        cells = np.zeros(self.cells_shape, np.int64) if self.cells is None else self.cells
        added, counts = 0, Counts()
        for unit in units:
            more, counted = self.count(unit, cells)
            added, counts = added + more, counts + counted
        return (None if self.cells is not None else cells.astype(f"i{cell_bytes(cells)}")), added, counts


class TallyJob:
    """Adds up files of reports into a tally. Creating it reads the footers of all files.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answer.
    sources : iterable of paths
        Files, or directories of `*.parquet`.
    assume_unique : bool
        Do not compare ids: they are known to differ.
    jobs : int
        The number of processes. The tally does not depend on it. Each takes almost a second of CPU to start, so that
        several pay from about 5·10⁷ reports on.
    skip_bad : bool
        Count and skip damaged row groups and files, instead of refusing them.
    work : str, optional
        A directory for intermediate results, from which a killed job can continue. It needs disk space for all reports,
        unless `assume_unique`. By default a temporary directory is used, and a killed job starts over.
    block_bytes : int
        Bytes of reports that a process holds at once. It needs about four times as much memory, plus the cells.
    save_seconds : float
        Seconds between two saves of the sums so far.

    Attributes
    ----------
    steps : int
        The total for a progress bar: the number of rows, twice if each is first spilled and then counted.
    """

    def __init__(
        self,
        survey: Survey,
        sources: Iterable[str | os.PathLike[str]],
        *,
        assume_unique: bool = False,
        jobs: int = 1,
        skip_bad: bool = False,
        work: str | None = None,
        block_bytes: int = BLOCK_BYTES,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        if not isinstance(jobs, int) or jobs < 1:
            raise ParameterError(f"jobs must be a whole number of at least 1, got jobs={jobs!r}")
        self._files = list_files(sources)
        self._stamps = stamps_of(self._files)
        self._reading, self._skipped, self._rows = plan_units(survey, self._files, skip_bad, block_bytes)
        self._unique, self._jobs, self._work = assume_unique, jobs, work
        self._block_bytes, self._save_seconds = block_bytes, save_seconds
        self.steps = sum(self._rows) * (1 if assume_unique else 2)

    def run(self, advance: Advance = lambda _: None, keep: Callable[[Tallied], object] = lambda _: None) -> Tallied:
        """Do the job, or the rest of it.

        Parameters
        ----------
        advance : callable
            Called with the number of rows done since the last call.
        keep : callable
            Called with the result before the work folder is removed. If it fails or is killed, the folder stays.

        Raises
        ------
        InputError
            A row group is damaged, a file changed since the job was made, or the work folder belongs to another job.
            Then nothing is counted.
        """
        with ExitStack() as stack:
            path = self._work or stack.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-"))
            folder = stack.enter_context(WorkFolder(path, self._description()))
            try:
                tallied = self._count_all(folder, advance) if self._unique else self._count_distinct(folder, advance)
            except InputError:
                self._check_files(folder)  # what seems damaged may have been changed
                raise
            self._check_files(folder)
            keep(tallied)
            folder.remove()
        return tallied

    def _check_files(self, folder: WorkFolder) -> None:
        """Raise if a file has changed since the job was made. What was done is then of no use, and is removed."""
        try:
            check_unchanged(self._files, self._stamps)
        except InputError:
            folder.remove()
            raise

    def _description(self) -> dict[str, Any]:
        """Everything that must be the same when a killed job continues."""
        return {
            "survey": self._reading.mechanism.survey_id.hex(),
            "files": self._stamps,
            "assume_unique": self._unique,
            "skip_bad": self._reading.skip_bad,
            "block_bytes": self._block_bytes,
        }

    def _count_all(self, folder: WorkFolder, advance: Advance) -> Tallied:
        """Count all row groups."""
        begun = self._begun(folder)
        with self._processes(partial(count_reports, self._reading), begun, len(self._rows)) as processes:
            state = self._count(folder, processes, begun, self._rows, advance)
        return Tallied(state.tally, state.counts + self._skipped)

    def _count_distinct(self, folder: WorkFolder, advance: Advance) -> Tallied:
        """Spill all row groups, then count the partitions."""
        reading, size = self._reading, self._reading.mechanism.report_dtype.itemsize
        bits = partition_bits(sum(self._rows), size, self._block_bytes)
        spill = Spill(folder.path, size, bits, folder.key, self._block_bytes)
        left = [unit for unit in range(len(self._rows)) if not spill.is_done(unit)]
        advance(sum(self._rows) - sum(self._rows[unit] for unit in left))
        partitions = np.diff(np.linspace(0, sum(self._rows), (1 << bits) + 1).astype(int)).tolist()
        begun, most = self._begun(folder), max(len(left), len(partitions))
        count, write = partial(count_partition, reading, spill), partial(spill_reports, reading, spill)
        with self._processes(count, begun, most, write) as processes:
            for units, _ in processes.run(_SPILL, left):
                advance(sum(self._rows[unit] for unit in units))
            state = self._count(folder, processes, begun, partitions, advance)
        read = sum((spill.counts(unit) for unit in range(len(self._rows))), start=Counts())
        return Tallied(state.tally, state.counts + read + self._skipped)

    def _begun(self, folder: WorkFolder) -> State:
        """What an earlier run has counted."""
        return folder.load(self._reading.mechanism.survey_id, self._reading.mechanism.cells_shape)

    def _processes(self, count: Count, begun: State, most: int, spill: Work | None = None) -> Processes:
        """The processes of this job, of which at most `most` have something to do at once."""
        jobs = min(self._jobs, most)
        cells = begun.tally.cells if jobs <= 1 else None
        chunk = _Chunk(count, self._reading.mechanism.cells_shape, cells)
        return Processes([chunk] if spill is None else [chunk, spill], jobs)

    def _count(
        self, folder: WorkFolder, processes: Processes, state: State, rows: list[int], advance: Advance
    ) -> State:
        """Add up all units that are not yet done; save the state from time to time."""
        cells, added, counts = state.tally.cells, state.tally.count, state.counts
        done, saved = state.done, time.monotonic()
        left = [unit for unit in range(len(rows)) if unit not in done]
        advance(sum(rows[unit] for unit in done))
        for units, (sums, more, counted) in processes.run(_COUNT, left):
            if sums is not None:
                cells += sums
            added, counts = added + more, counts + counted
            done.update(units)
            state = State(done, counts, Tally(self._reading.mechanism.survey_id, added, cells))
            if self._work is not None and time.monotonic() - saved >= self._save_seconds:
                folder.save(state)
                saved = time.monotonic()
            advance(sum(rows[unit] for unit in units))
        return state


def tally_files(
    survey: Survey,
    sources: Iterable[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    assume_unique: bool = False,
    jobs: int = 1,
    skip_bad: bool = False,
    work: str | None = None,
) -> Tallied:
    """The tally of files of reports, and counts of what was left out. The parameters are those of `TallyJob`."""
    given = [sources] if isinstance(sources, str | os.PathLike) else sources
    return TallyJob(survey, given, assume_unique=assume_unique, jobs=jobs, skip_bad=skip_bad, work=work).run()
