"""From what devices sent to the tally of a survey."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hubbub.errors import ParameterError
from hubbub.mechanisms.registry import mechanism_for
from hubbub.model.mechanism import Reports, add_up
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
    if not hasattr(reports, "__iter__"):
        raise ParameterError(f"reports must be bytes, an array or a list of them, got {type(reports).__name__}")
    mechanism, survey_id = mechanism_for(survey), survey.survey_id
    batches = [reports] if isinstance(reports, bytes | np.ndarray) else reports
    return add_up(
        mechanism,
        survey_id,
        # The mechanism checks the layout of an array.
        (parse_batch(each, survey_id, mechanism.report_dtype) if isinstance(each, bytes) else each for each in batches),
    )
