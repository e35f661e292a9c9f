"""The sealed request: one report on its way through a relay. See docs/wire-format.md.

    version (1) ‖ SHA-256 of the public key (32) ‖ crowd (u32) ‖ enc (65) ‖ ciphertext (96) ‖ tag (16)

All of them have 214 bytes, whatever the value and the survey. The first 37 bytes are what a relay reads; they are
bound to the rest as associated data. What is sealed has 96 bytes:

    survey id (32) ‖ length of the report (u8) ‖ report ‖ zeros

There is no time in it: a collector could tell the reports of one day in a release from those of another.

This module needs the standard library only, so that a relay can read requests without a package to open them.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final, NamedTuple

from hubbub.errors import BadLength, BadVersion, LeftOverBytes, WireError

REQUEST_VERSION: Final = 1
INFO: Final = b"hubbub sealed report 1"
HEADER_BYTES: Final = 37
ENC_BYTES: Final = 65
PLAIN_BYTES: Final = 96
REQUEST_BYTES: Final = 214
MOST_REPORT_BYTES: Final = 63
LEAST_CROWD: Final = 2
MOST_CROWD: Final = 10**6
_HEADER: Final = struct.Struct("<B32sI")
_PLAIN: Final = struct.Struct("<32sB")


class Queue(NamedTuple):
    """What a relay sorts requests by: those of one queue are mixed with each other.

    Attributes
    ----------
    key : bytes
        SHA-256 of the public key that the request was sealed with.
    crowd : int
        The fewest requests that may be released together.
    """

    key: bytes
    crowd: int


class Opened(NamedTuple):
    """What was sealed: the id of a survey, and the report to it (id and payload)."""

    survey_id: bytes
    report: bytes


def key_hash(public: bytes) -> bytes:
    """The name of a public key in surveys and requests: its SHA-256."""
    return hashlib.sha256(public).digest()


def pack_header(queue: Queue) -> bytes:
    """The first 37 bytes of a request, which are also its associated data."""
    return _HEADER.pack(REQUEST_VERSION, queue.key, queue.crowd)


def parse_request(data: bytes) -> Queue:
    """The queue of a sealed request. Raises BadLength, BadVersion, LeftOverBytes or WireError if it is malformed.

    Whether it can be opened, only the holder of the private key can say.
    """
    if data and data[0] != REQUEST_VERSION:
        raise BadVersion(f"a sealed request must be of version {REQUEST_VERSION}, got version {data[0]}")
    if len(data) < REQUEST_BYTES:
        raise BadLength(f"a sealed request must have {REQUEST_BYTES} bytes, got {len(data)} bytes")
    if len(data) > REQUEST_BYTES:
        raise LeftOverBytes(f"a sealed request must have {REQUEST_BYTES} bytes, got {len(data)} bytes")
    _, key, crowd = _HEADER.unpack_from(data)
    if not LEAST_CROWD <= crowd <= MOST_CROWD:
        raise WireError(f"the crowd of a request must be from {LEAST_CROWD} to {MOST_CROWD}, got {crowd}")
    if data[HEADER_BYTES] != 4:
        raise WireError(f"the key of a request must be an uncompressed point, got one that begins {data[HEADER_BYTES]}")
    return Queue(key, crowd)


def pack_plain(opened: Opened) -> bytes:
    """The 96 bytes that are sealed. Raises WireError if the report is too long."""
    if not 1 <= len(opened.report) <= MOST_REPORT_BYTES:
        raise WireError(
            f"a report through a relay must have at most {MOST_REPORT_BYTES} bytes, got {len(opened.report)} bytes"
        )
    return (_PLAIN.pack(opened.survey_id, len(opened.report)) + opened.report).ljust(PLAIN_BYTES, b"\0")


def parse_plain(data: bytes) -> Opened:
    """What was sealed. Raises BadLength or LeftOverBytes if it is malformed; the error shows nothing of it."""
    if len(data) != PLAIN_BYTES:
        raise BadLength(f"what is sealed must have {PLAIN_BYTES} bytes, got {len(data)} bytes")
    survey_id, length = _PLAIN.unpack_from(data)
    if not 1 <= length <= MOST_REPORT_BYTES:
        raise BadLength(f"a sealed report must have 1 to {MOST_REPORT_BYTES} bytes, got another length")
    end = _PLAIN.size + length
    if any(data[end:]):
        raise LeftOverBytes("what is sealed must end with zeros, got other bytes after the report")
    return Opened(survey_id, data[_PLAIN.size : end])
