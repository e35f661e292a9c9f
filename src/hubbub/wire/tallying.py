"""From what devices sent to the tally of a survey."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Accumulator, Reports, add_up
from hubbub.model.survey import Survey
from hubbub.model.tally import Tally
from hubbub.wire.report_batch import parse_batch

Sent = bytes | Reports
"""One batch: its bytes as they came over the wire, or reports as an array of the mechanism's `report_dtype`."""


def tally_reports(survey: Survey, reports: Sent | Iterable[Sent]) -> Tally:
    """Check reports to a survey and add them up.

    Reports that no honest device can send are left out; the tally's `count` says how many were added. Ids are not
    compared: a report that is given twice is counted twice.

    Parameters
    ----------
    survey : Survey
        What the reports answer.
    reports : bytes, array, or an iterable of them
        One batch or several. Several are taken one after the other, so that they need not fit in memory together.

    Raises
    ------
    WireError, SurveyMismatch
        If a batch is damaged or answers another survey. Then there is no tally, not even of the batches before it.

    Examples
    --------
    >>> from hubbub import Integers, SeededWords, create_survey, mechanism_for, tally_reports
    >>> survey = create_survey("ids", Integers(8), 1, mechanism="jl")
    >>> jl = mechanism_for(survey)
    >>> tally_reports(survey, jl.randomize(survey.domain.encode([7, 9]), SeededWords(1).draw(2, 3))).count
    2
    """
    mechanism = mechanism_for(survey)
    if not hasattr(reports, "__iter__"):
        raise ParameterError(f"reports must be bytes, an array or a list of them, got {type(reports).__name__}")
    batches = [reports] if isinstance(reports, bytes | np.ndarray) else reports
    return tally_batches(mechanism, survey.survey_id, batches)


def tally_batches(accumulator: Accumulator, survey_id: bytes, batches: Iterable[Sent]) -> Tally:
    """The tally of the valid reports in some batches, for whoever has built the survey's mechanism already."""
    return add_up(accumulator, survey_id, (_reports_of(batch, survey_id, accumulator) for batch in batches))


def _reports_of(batch: Sent, survey_id: bytes, accumulator: Accumulator) -> Reports:
    """The reports of one batch as an array; the mechanism checks the layout of an array."""
    return parse_batch(batch, survey_id, accumulator.report_dtype) if isinstance(batch, bytes) else batch
