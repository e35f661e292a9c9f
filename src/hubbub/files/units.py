"""The units of a job: the pieces of work that a process does at a time.

A unit of reading is some row groups, about a block of records. A unit of counting is one partition of the spill.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hubbub.errors import InputError, SurveyMismatch
from hubbub.files.counting import add_all, add_distinct, validate
from hubbub.files.listing import changed
from hubbub.files.report_file import ReportFile
from hubbub.files.spill import Spill
from hubbub.files.tallied import Counts, Skipped
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Accumulator
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells
from hubbub.numeric.distinct import Records

Groups = tuple[str, tuple[int, ...]]
"""A file, and the numbers of some of its row groups."""


@dataclass(frozen=True)
class Reading:
    """Reads the row groups of each unit. Damaged ones raise an error, or are counted and skipped with `skip_bad`."""

    survey: Survey
    units: list[list[Groups]]
    skip_bad: bool

    @cached_property
    def mechanism(self) -> Accumulator:
        """The survey's mechanism, built once in each process."""
        return mechanism_for(self.survey)

    def read(self, unit: int, counts: list[Counts]) -> Iterator[Records]:
        """Yield the valid records of a unit, some at a time; its counts are added to `counts[0]`."""
        size = self.mechanism.report_dtype.itemsize
        for path, groups in self.units[unit]:
            with ReportFile(path, self.mechanism.survey_id, size) as file:
                if groups[-1] >= len(file.groups):
                    raise changed(path)
                for group in groups:
                    if self.skip_bad and (lost := _damage(file, group)):
                        counts[0] += lost
                        continue
                    for records, bad in file.read(group):
                        kept, invalid = validate(self.mechanism, records)
                        counts[0] += Counts(rows=len(records) + bad, invalid=invalid + bad)
                        yield kept


def _damage(file: ReportFile, group: int) -> Counts | None:
    """The counts of a skipped row group if it is damaged, else None. It is read twice, so that all or none counts."""
    try:
        for _ in file.read(group):
            pass
    except InputError as error:
        return Counts(skipped=(Skipped(file.name, group, file.groups[group], str(error)),))
    return None


def count_reports(reading: Reading, unit: int, cells: Cells) -> tuple[int, Counts]:
    """Add the reports of a unit, whose ids are known to differ, to the sums; return how many, and the counts."""
    counts = [Counts()]
    added = add_all(reading.mechanism, cells, reading.read(unit, counts))
    return added, counts[0]


def spill_reports(reading: Reading, spill: Spill, units: list[int]) -> None:
    """Write the reports of some units to the spill."""
    for unit in units:
        counts = [Counts()]
        spill.write(unit, reading.read(unit, counts), counts)


def count_partition(reading: Reading, spill: Spill, place: int, cells: Cells) -> tuple[int, Counts]:
    """Add one partition of the spill, each id once, to the sums; return how many reports were added, and the counts."""
    records = spill.read(place, len(reading.units))
    return add_distinct(reading.mechanism, cells, records, spill.key, spill.block_bytes)


def plan_units(survey: Survey, files: list[str], skip_bad: bool, block_bytes: int) -> tuple[Reading, Counts, list[int]]:
    """Open every file once, and divide their row groups into units of about a block of records.

    Returns how to read them, the files that were skipped, and the rows of each unit.
    """
    reading = Reading(survey, [], skip_bad)
    size = reading.mechanism.report_dtype.itemsize
    most = max(1, block_bytes // size)
    units: list[list[Groups]] = []
    rows: list[int] = []
    skipped = Counts()
    for path in files:
        try:
            with ReportFile(path, reading.mechanism.survey_id, size) as file:
                groups = file.groups
        except (InputError, SurveyMismatch) as error:
            if not skip_bad:
                raise
            skipped += Counts(skipped=(Skipped(path, None, 0, str(error)),))
            continue
        for group, count in enumerate(groups):
            if not rows or rows[-1] + count > most:
                units.append([])
                rows.append(0)
            if units[-1] and units[-1][-1][0] == path:
                units[-1][-1] = (path, (*units[-1][-1][1], group))
            else:
                units[-1].append((path, (group,)))
            rows[-1] += count
    return replace(reading, units=units), skipped, rows


def partition_bits(rows: int, record_bytes: int, block_bytes: int, most: int = 14) -> int:
    """log₂ of the number of partitions for which each is about a block; at most `most`."""
    return min(most, max(0, int(np.ceil(np.log2(max(1.0, rows * record_bytes / block_bytes))))))
