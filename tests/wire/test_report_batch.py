"""The batch format, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import BadLength, BadVersion, HubbubError, LeftOverBytes, SurveyMismatch
from hubbub.mechanisms.channels import OneBitChannel
from hubbub.wire.report_batch import encode_batch, parse_batch

SURVEY = bytes(range(32))
LAYOUT = OneBitChannel.report_dtype
REPORT = np.array([((0x0706050403020100, 0x0F0E0D0C0B0A0908), 1)], LAYOUT)
BATCH = bytes.fromhex(
    "01"  # version
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey id
    "000102030405060708090a0b0c0d0e0f"  # report: id, two little-endian words
    "01"  # report: the randomised bit
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
