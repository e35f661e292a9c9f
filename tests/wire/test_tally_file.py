"""The file of a tally, byte by byte."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import BadLength, BadVersion, HubbubError, InputError, LeftOverBytes, SurveyMismatch, WireError
from hubbub.model.tally import Tally
from hubbub.wire.tally_file import encode_tally, parse_tally, read_tallies, write_tally

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


def test_a_tally_may_name_a_day() -> None:
    """128 is added to the width, and the number of the day is before the cells; files round-trip with it."""
    dated = replace(TALLY, day=date(2026, 10, 5))
    body = BODY[:1] + b"\x82" + BODY[2:42] + (20_731).to_bytes(4, "little") + BODY[42:]
    assert encode_tally(dated) == signed(body)
    assert parse_tally(signed(body), SURVEY, (3,)) == dated
    for bad, error in (
        (body[:46] + body[48:], LeftOverBytes),
        (body[:42], BadLength),
        (body[:42] + b"\xff" * 4 + body[46:], WireError),
        (b"\x01\x83" + body[2:], WireError),
    ):
        with pytest.raises(error):
            parse_tally(signed(bad), SURVEY, (3,))


def test_files_of_tallies_by_day(tmp_path: Path) -> None:
    """`read_tallies` reads files that name their days; one without a day is named."""
    for number in (5, 12):
        write_tally(tmp_path / f"{number}.tally", replace(TALLY, day=date(2026, 10, number)))
    write_tally(tmp_path / "plain.tally", TALLY)
    tallies = read_tallies(sorted(tmp_path.glob("[0-9]*.tally")))
    assert [*tallies] == [date(2026, 10, 5), date(2026, 10, 12)]
    assert tallies.total.count == 10
    with pytest.raises(InputError, match=r"plain\.tally' must name the day of its slice"):
        read_tallies(tmp_path.glob("*.tally"))


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
