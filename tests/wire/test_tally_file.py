"""The file of a tally, byte by byte."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import BadLength, BadVersion, HubbubError, LeftOverBytes, SurveyMismatch, WireError
from hubbub.model.tally import Tally
from hubbub.wire.tally_file import encode_tally, parse_tally

SURVEY = bytes(range(32))
TALLY = Tally(SURVEY, 5, np.array([1, -2, 300], np.int64))
BODY = bytes.fromhex(
    "01"  # version
    "02"  # bytes of a cell
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  # survey id
    "0500000000000000"  # count, little-endian
    "0100 feff 2c01"  # cells
)
FILE = BODY + hashlib.sha256(BODY).digest()


def signed(body: bytes) -> bytes:
    """The bytes with their checksum."""
    return body + hashlib.sha256(body).digest()


def test_layout() -> None:
    """A tally is version ‖ width ‖ survey id ‖ count ‖ cells ‖ SHA-256."""
    assert encode_tally(TALLY) == FILE
    assert parse_tally(FILE, SURVEY, (3,)) == TALLY


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [(0, 0, 1), (-128, 127, 1), (-129, 0, 2), (0, 32768, 4), (-(2**31), 2**31 - 1, 4), (0, 2**31, 8), (-(2**63), 0, 8)],
)
def test_the_narrowest_width(low: int, high: int, width: int) -> None:
    """Cells take the fewest bytes that hold them all, and come back exactly."""
    tally = Tally(SURVEY, 2, np.array([low, high], np.int64))
    data = encode_tally(tally)
    assert data[1] == width
    assert parse_tally(data, SURVEY, (2,)) == tally


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", BadLength),
        (b"\x02" + FILE[1:], BadVersion),
        (FILE[:70], BadLength),
        (FILE[:-1], WireError),
        (FILE + b"\0", WireError),
        (signed(BODY + b"\0\0"), LeftOverBytes),
        (signed(BODY[:-2]), LeftOverBytes),
        (signed(BODY[:1] + b"\x03" + BODY[2:]), WireError),
        (signed(BODY[:2] + bytes(32) + BODY[34:]), SurveyMismatch),
        *((FILE[:place] + bytes([FILE[place] ^ 1]) + FILE[place + 1 :], WireError) for place in range(1, len(FILE), 7)),
    ],
)
def test_bad_files(data: bytes, error: type[Exception]) -> None:
    """A changed bit anywhere, and each way a file can be wrong, is refused."""
    with pytest.raises(error):
        parse_tally(data, SURVEY, (3,))


@given(st.binary(max_size=150), st.booleans())
def test_any_bytes_parse_or_fail_cleanly(data: bytes, with_checksum: bool) -> None:
    """Arbitrary bytes give a tally or one of our errors."""
    try:
        tally = parse_tally(signed(data) if with_checksum else data, SURVEY, (3,))
    except HubbubError:
        return
    assert tally.cells.shape == (3,)
