"""The batch format, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import Integers, SeededRandomWords, create_survey, mechanism_for
from hubbub.errors import BadLength, BadVersion, HubbubError, LeftOverBytes, SurveyMismatch
from hubbub.mechanisms.channels import OneBitChannel
from hubbub.wire.report_batch import encode_batch, parse_batch

SURVEY = bytes(range(32))
LAYOUT = OneBitChannel.report_dtype
REPORT = np.array([((0x0706050403020100, 0x0F0E0D0C0B0A0908), 1)], LAYOUT)
BATCH = bytes.fromhex(
    "01"  # version
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey id
    "000102030405060708090a0b0c0d0e0f"  # report: id, two little-endian random words
    "01"  # report: the randomised bit
)
TREE_SURVEY = create_survey("fuzz", Integers(16), 2, public_seed=bytes(32))
TREE = mechanism_for(TREE_SURVEY)
MANY = encode_batch(
    TREE_SURVEY.survey_id, TREE.randomize(TREE_SURVEY.domain.encode(range(8)), SeededRandomWords(1).draw(8, 4))
)


def test_layout() -> None:
    """A batch is version ‖ survey id ‖ reports, and nothing else."""
    assert encode_batch(SURVEY, REPORT) == BATCH
    assert parse_batch(BATCH, SURVEY, LAYOUT).tobytes() == REPORT.tobytes()
    assert len(parse_batch(BATCH[:33], SURVEY, LAYOUT)) == 0


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", BadLength),
        (b"\x02" + BATCH[1:], BadVersion),
        (b"\x00", BadVersion),
        (BATCH[:32], BadLength),
        (BATCH[:-1], LeftOverBytes),
        (BATCH + b"\0", LeftOverBytes),
        (b"\x01" + bytes(32) + BATCH[33:], SurveyMismatch),
    ],
)
def test_bad_batches(data: bytes, error: type[Exception]) -> None:
    """Each way a batch can be wrong has its own error."""
    with pytest.raises(error):
        parse_batch(data, SURVEY, LAYOUT)


@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_parse_or_fail_cleanly(data: bytes, with_header: bool) -> None:
    """Arbitrary bytes give reports or one of our errors, and reports give the bytes back."""
    sent = BATCH[:33] + data if with_header else data
    try:
        reports = parse_batch(sent, SURVEY, LAYOUT)
    except HubbubError:
        return
    assert encode_batch(SURVEY, reports) == sent


@given(st.data())
def test_a_collector_survives_any_change_of_a_batch(data: st.DataObject) -> None:
    """A batch with bytes changed, cut out or put in is refused, or every report that validates can be added up."""
    body = bytearray(MANY)
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(body)))
        cut = data.draw(st.integers(0, 20))
        body[place : place + cut] = data.draw(st.binary(max_size=20))
    try:
        reports = parse_batch(bytes(body), TREE_SURVEY.survey_id, TREE.report_dtype)
    except HubbubError:
        return
    valid = TREE.validate(reports)
    assert valid.shape == (len(reports),)
    cells = np.zeros(TREE.cells_shape, np.int64)
    TREE.accumulate(cells, reports[valid])
    assert cells[-TREE.rows :].sum() == valid.sum()
