"""Sealed requests and releases: round trips, fixed sizes, and garbage that is refused by our own errors."""

import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hubbub.errors import BadLength, BadVersion, LeftOverBytes, WireError
from hubbub.sealing.hpke import PrivateKey, make_private
from hubbub.sealing.release import MOST_PART_BYTES, MOST_REQUESTS, Part, pack_part, parse_part, parts_of, requests_of
from hubbub.sealing.request import (
    MOST_REPORT_BYTES,
    PLAIN_BYTES,
    REQUEST_BYTES,
    Opened,
    Queue,
    key_hash,
    pack_plain,
    parse_plain,
    parse_request,
)
from hubbub.sealing.sealed import open_request, seal_request

KEY = PrivateKey(bytes(31) + b"\7")
SURVEY = bytes(range(32))


@settings(max_examples=50, deadline=None)
@given(
    report=st.binary(min_size=1, max_size=MOST_REPORT_BYTES),
    crowd=st.integers(2, 10**6),
)
def test_every_report_has_one_size_and_comes_back(report: bytes, crowd: int) -> None:
    """Whatever the report, the request has 214 bytes, names its queue, and opens to the same."""
    data = seal_request(KEY.public, crowd, Opened(SURVEY, report))
    assert len(data) == REQUEST_BYTES == 214
    assert parse_request(data) == Queue(key_hash(KEY.public), crowd)
    assert open_request(KEY, data) == Opened(SURVEY, report)


def test_a_report_that_does_not_fit_is_refused() -> None:
    """63 bytes fit and 64 do not; an empty report is none."""
    assert len(pack_plain(Opened(SURVEY, bytes(63)))) == PLAIN_BYTES
    for length in (0, 64):
        with pytest.raises(WireError, match="must have at most 63 bytes"):
            pack_plain(Opened(SURVEY, bytes(length)))


def test_bytes_after_the_report_must_be_zero() -> None:
    """No byte of the plaintext is free, so that no client can carry a mark of its own."""
    plain = bytearray(pack_plain(Opened(SURVEY, b"report")))
    for place in (33 + 6, PLAIN_BYTES - 1):
        changed = bytearray(plain)
        changed[place] = 1
        with pytest.raises(LeftOverBytes, match="end with zeros"):
            parse_plain(bytes(changed))


def test_each_fault_of_a_request_has_its_error() -> None:
    """Another version, length, crowd or kind of point is refused by name."""
    good = seal_request(KEY.public, 100, Opened(SURVEY, b"report"))
    for data, error in (
        (b"", BadLength),
        (good[:-1], BadLength),
        (good + b"\0", LeftOverBytes),
        (b"\2" + good[1:], BadVersion),
        (good[:33] + struct.pack("<I", 1) + good[37:], WireError),
        (good[:33] + struct.pack("<I", 10**6 + 1) + good[37:], WireError),
        (good[:37] + b"\3" + good[38:], WireError),
    ):
        with pytest.raises(error):
            parse_request(data)


def test_the_first_bytes_are_bound_to_the_rest() -> None:
    """A relay that writes another crowd on a request has made one that cannot be opened."""
    good = seal_request(KEY.public, 100, Opened(SURVEY, b"report"))
    with pytest.raises(WireError, match="must be sealed with"):
        open_request(KEY, good[:33] + struct.pack("<I", 2) + good[37:])
    with pytest.raises(WireError, match="sealed for this key"):
        open_request(PrivateKey(make_private()), good)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=300), point=st.booleans())
@example(data=bytes(REQUEST_BYTES), point=True)
def test_garbage_is_refused_by_our_own_errors(data: bytes, point: bool) -> None:
    """Whatever the bytes are, each parser reads them or raises WireError."""
    inputs = (data, b"\1" + data, (b"\1" + key_hash(KEY.public) + b"\7\0\0\0" + (b"\4" if point else b"") + data))
    for given_bytes in (*inputs, inputs[2][:REQUEST_BYTES].ljust(REQUEST_BYTES, b"\5")):
        for parse in (parse_request, parse_plain, parse_part, lambda each: open_request(KEY, each)):
            try:
                parse(given_bytes)
            except WireError:
                continue


@settings(max_examples=50, deadline=None)
@given(size=st.integers(2, 3 * MOST_REQUESTS + 2), data=st.data())
def test_a_part_comes_back(size: int, data: st.DataObject) -> None:
    """The parts of a release are full but the last, and each is read as it was packed."""
    part = data.draw(st.integers(0, parts_of(size) - 1))
    count = requests_of(part, size)
    packed = pack_part(Part(b"r" * 16, part, parts_of(size), size, [bytes([part]) * REQUEST_BYTES] * count))
    assert len(packed) <= MOST_PART_BYTES
    assert parse_part(packed)[:4] == (b"r" * 16, part, parts_of(size), size)
    assert len(parse_part(packed).requests) == count
    assert sum(requests_of(each, size) for each in range(parts_of(size))) == size


def test_each_fault_of_a_part_has_its_error() -> None:
    """Another version or length, and numbers that do not fit each other, are refused."""
    good = pack_part(Part(b"r" * 16, 0, 1, 2, [bytes(REQUEST_BYTES)] * 2))

    def numbered(part: int, parts: int, size: int) -> bytes:
        """Return the part with other numbers."""
        return good[:17] + struct.pack("<III", part, parts, size) + good[29:]

    for data, error in (
        (b"", BadLength),
        (good[:28], BadLength),
        (good + b"\0", LeftOverBytes),
        (good + bytes(REQUEST_BYTES), BadLength),
        (good[:-REQUEST_BYTES], BadLength),
        (b"\2" + good[1:], BadVersion),
        (numbered(0, 0, 0), WireError),
        (numbered(0, 1, 1), WireError),
        (numbered(1, 1, 2), WireError),
        (numbered(0, 2, 2), WireError),
        (numbered(0, 2**32 - 1, 2**32 - 1), WireError),
    ):
        with pytest.raises(error):
            parse_part(data)
