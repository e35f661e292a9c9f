"""From reports to a tally: validated and added up in one place."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub import (
    InputError,
    Integers,
    ParameterError,
    SeededRandomWords,
    SurveyMismatch,
    Tally,
    create_survey,
    mechanism_for,
    parse_tally,
    tally_of,
    tally_reports,
)
from hubbub.errors import BadLength, LeftOverBytes
from hubbub.wire.report_batch import encode_batch
from hubbub.wire.tally_file import encode_tally

SURVEY = create_survey("tallying", Integers(8), 1, mechanism="jl", public_seed=bytes(32))
JL = mechanism_for(SURVEY)
ITEMS = SURVEY.domain.encode([7, 7, 9, 1, 2, 7])
WORDS = SeededRandomWords(1).draw(6, JL.random_words_per_report)
REPORTS = JL.randomize(ITEMS, WORDS)
WHOLE = tally_of(JL, ITEMS, WORDS)


def batch(reports: np.ndarray) -> bytes:
    """The bytes of some reports to the survey."""
    return encode_batch(SURVEY.survey_id, reports)


@pytest.mark.parametrize(
    "sent",
    [
        REPORTS,
        batch(REPORTS),
        [batch(REPORTS[:2]), batch(REPORTS[2:])],
        (batch(REPORTS[:2]), REPORTS[2:3], batch(REPORTS[:0]), REPORTS[3:]),
        iter([batch(REPORTS[4:]), batch(REPORTS[:4])]),
    ],
    ids=["an array", "a batch", "batches", "both", "an iterator"],
)
def test_reports_of_any_form_give_one_tally(sent: object) -> None:
    """An array, the bytes of a batch, and several of either give what the protocol gives, in any order."""
    assert tally_reports(SURVEY, sent) == WHOLE
    assert WHOLE.count == 6


def test_no_reports_are_the_zero_of_tallies() -> None:
    """Nothing, and a batch without reports, give a tally that changes no other."""
    for nothing in ([], batch(REPORTS[:0]), REPORTS[:0]):
        assert tally_reports(SURVEY, nothing) + WHOLE == WHOLE


def test_what_no_device_sends_is_left_out() -> None:
    """A report with a bit that is neither 0 nor 1 is not counted, and the others are."""
    forged = REPORTS.copy()
    forged["bit"][1] = 2
    assert tally_reports(SURVEY, batch(forged)) == tally_reports(SURVEY, np.delete(REPORTS, 1))


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"", BadLength),
        ([batch(REPORTS), batch(REPORTS)[:-1]], LeftOverBytes),
        (encode_batch(bytes(32), REPORTS), SurveyMismatch),
        (5, ParameterError),
        (None, ParameterError),
        ("text", InputError),
        (np.zeros(3), ParameterError),
    ],
)
def test_what_is_not_reports_is_refused(sent: object, error: type[Exception]) -> None:
    """A damaged batch, one of another survey, and other things: one of our errors, and no tally."""
    with pytest.raises(error):
        tally_reports(SURVEY, sent)


def test_each_id_counts_once() -> None:
    """A report that comes again is not added again, unless ids are said to differ."""
    again = [batch(REPORTS), REPORTS[2:4], batch(REPORTS[:3])]
    assert tally_reports(SURVEY, again) == WHOLE
    assert tally_reports(SURVEY, again, assume_unique=True).count == 11


def test_a_tally_travels() -> None:
    """What `encode_tally` writes, the public `parse_tally` reads."""
    read = parse_tally(encode_tally(WHOLE), SURVEY.survey_id, JL.cells_shape)
    assert isinstance(read, Tally)
    assert read == WHOLE
