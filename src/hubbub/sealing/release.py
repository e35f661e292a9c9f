"""One part of a release: what a relay sends to a collector. See docs/wire-format.md.

    version (1) ‖ release id (16) ‖ part (u32) ‖ parts (u32) ‖ requests in the whole release (u32) ‖ k × 214 bytes

A release is shuffled as a whole and then cut into parts, so that its order is no finer than the release.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.errors import BadLength, BadVersion, LeftOverBytes, WireError
from hubbub.sealing.request import LEAST_CROWD, REQUEST_BYTES

RELEASE_VERSION: Final = 1
MOST_REQUESTS: Final = 4000
MOST_PART_BYTES: Final = 29 + MOST_REQUESTS * REQUEST_BYTES
_HEADER: Final = struct.Struct("<B16sIII")


class Part(NamedTuple):
    """One part of a release.

    Attributes
    ----------
    release : bytes
        16 random bytes, the same in all parts.
    part, parts : int
        Which part this is, from 0 on, and how many there are.
    size : int
        The number of requests in all parts together.
    requests : list of bytes
        The sealed requests of this part.
    """

    release: bytes
    part: int
    parts: int
    size: int
    requests: Sequence[bytes]


def parts_of(size: int) -> int:
    """How many parts a release of so many requests has."""
    return -(-size // MOST_REQUESTS)


def requests_of(part: int, size: int) -> int:
    """How many requests a part has: all parts are full but the last."""
    return min(MOST_REQUESTS, size - part * MOST_REQUESTS)


def pack_part(part: Part) -> bytes:
    """The bytes of a part."""
    return _HEADER.pack(RELEASE_VERSION, *part[:4]) + b"".join(part.requests)


def parse_part(data: bytes) -> Part:
    """The part in these bytes. Its requests are not looked at: use `open_request`.

    Raises BadLength, BadVersion, LeftOverBytes or WireError if it is malformed; then none of it may be used.
    """
    if data and data[0] != RELEASE_VERSION:
        raise BadVersion(f"a release must be of version {RELEASE_VERSION}, got version {data[0]}")
    if len(data) < _HEADER.size:
        raise BadLength(f"a release must have a header of {_HEADER.size} bytes, got {len(data)} bytes")
    _, release, part, parts, size = _HEADER.unpack_from(data)
    if size < LEAST_CROWD or parts != parts_of(size) or part >= parts:
        raise WireError(f"a release of {size} requests has {parts_of(size)} parts, got part {part} of {parts}")
    count, left_over = divmod(len(data) - _HEADER.size, REQUEST_BYTES)
    if left_over:
        raise LeftOverBytes(f"a release must hold whole requests of {REQUEST_BYTES} bytes, got {left_over} more")
    if count != requests_of(part, size):
        raise BadLength(f"part {part} of {size} requests must have {requests_of(part, size)}, got {count}")
    requests = [data[start : start + REQUEST_BYTES] for start in range(_HEADER.size, len(data), REQUEST_BYTES)]
    return Part(release, part, parts, size, requests)
