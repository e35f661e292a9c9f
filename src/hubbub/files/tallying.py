"""From reports in any form to the tally of a survey."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import numpy as np

from hubbub.errors import ParameterError
from hubbub.files.counting import add_all, add_distinct, blocks, validate
from hubbub.files.job import BLOCK_BYTES
from hubbub.files.listing import list_files
from hubbub.files.report_file import ReportFile, records_of
from hubbub.files.spill import Spill
from hubbub.files.tallied import Counts
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Accumulator, Reports
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells, Tally
from hubbub.numeric.distinct import Records, draw_key
from hubbub.wire.report_batch import parse_batch

Sent = bytes | Reports | str | os.PathLike[str]
"""Some reports: a batch from the wire, an array of the mechanism's `report_dtype`, or the path of a Parquet file or of
a directory of Parquet files."""

_BITS: Final = 8  # there are 2^8 partitions, since the number of reports is not known in advance


def tally_reports(survey: Survey, source: Sent | Iterable[Sent], *, assume_unique: bool = False) -> Tally:
    """Check reports to a survey and add them up, each id once.

    Reports that no honest device could have sent are left out. Of reports with the same id but different payloads, the
    smallest payload counts. The tally's `count` says how many were added. Reports that do not fit in memory are sorted
    on disk. `hubbub.files.job` does the same for files only, in several processes, and can continue after it was
    killed.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answer.
    source : bytes, array, path, or an iterable of them
        One batch, array, file or directory of reports, or several. Several are read one after the other, so that they
        need not fit in memory together.
    assume_unique : bool
        Do not compare ids: they are known to differ. Then a report that is given twice is counted twice.

    Raises
    ------
    WireError, SurveyMismatch, InputError
        A batch or a file is damaged or answers another survey. Then there is no tally at all.

    Examples
    --------
    >>> from hubbub import Integers, SeededRandomWords, create_survey, mechanism_for, tally_reports
    >>> survey = create_survey("ids", Integers(8), 1, mechanism="jl")
    >>> jl = mechanism_for(survey)
    >>> reports = jl.randomize(survey.domain.encode([7, 9]), SeededRandomWords(1).draw(2, 3))
    >>> tally_reports(survey, [reports, reports]).count
    2
    """
    if isinstance(source, bytes | np.ndarray | str | os.PathLike):
        source = [source]
    if not hasattr(source, "__iter__"):
        kind = type(source).__name__
        raise ParameterError(f"reports must be bytes, an array, a path or a list of them, got {kind}")
    mechanism = mechanism_for(survey)
    cells = np.zeros(mechanism.cells_shape, np.int64)
    valid = (validate(mechanism, records)[0] for each in source for records in _records(mechanism, each))
    count = (add_all if assume_unique else _add_distinct)(mechanism, cells, valid)
    return Tally(mechanism.survey_id, count, cells)


def _records(mechanism: Accumulator, sent: Sent) -> Iterator[Records]:
    """Yield the records of one source."""
    if isinstance(sent, str | os.PathLike):
        for path in list_files([sent]):
            with ReportFile(path, mechanism.survey_id, mechanism.report_dtype.itemsize) as file:
                for group in range(len(file.groups)):
                    yield from (records for records, _ in file.read(group))
    elif isinstance(sent, bytes):
        yield records_of(parse_batch(sent, mechanism.survey_id, mechanism.report_dtype))
    else:
        mechanism.validate(sent)  # raises an error for another layout
        yield records_of(sent)


def _add_distinct(mechanism: Accumulator, cells: Cells, parts: Iterator[Records]) -> int:
    """Add valid records, each id once; more than a block of them are sorted on disk. Returns how many were added."""
    key = draw_key()
    held = blocks(parts, BLOCK_BYTES)
    first, second = next(held, None), next(held, None)
    if first is None:
        return 0
    if second is None:
        return add_distinct(mechanism, cells, [first], key, BLOCK_BYTES)[0]
    with tempfile.TemporaryDirectory(prefix="hubbub-") as folder:
        spill = Spill(folder, mechanism.report_dtype.itemsize, _BITS, key, BLOCK_BYTES)
        spill.write(0, chain([first, second], held), [Counts()])
        return sum(
            add_distinct(mechanism, cells, spill.read(place, 1), key, BLOCK_BYTES)[0] for place in range(1 << _BITS)
        )
