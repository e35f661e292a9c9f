"""Seals and opens requests: their format in `request` and the encryption in `hpke`, put together."""

from __future__ import annotations

from hubbub.errors import WireError
from hubbub.sealing.hpke import PrivateKey, seal
from hubbub.sealing.request import (
    ENC_BYTES,
    HEADER_BYTES,
    INFO,
    Opened,
    Queue,
    key_hash,
    pack_header,
    pack_plain,
    parse_plain,
    parse_request,
)


def seal_request(public: bytes, crowd: int, opened: Opened, ephemeral: bytes | None = None) -> bytes:
    """The sealed request of a report, 214 bytes; `ephemeral` is as for `hpke.seal`."""
    header = pack_header(Queue(key_hash(public), crowd))
    enc, sealed = seal(public, INFO, header, pack_plain(opened), ephemeral)
    return header + enc + sealed


def open_request(private: PrivateKey, data: bytes) -> Opened:
    """What is in a sealed request. Costs about 0.1 ms. Raises WireError if it is malformed or for another key."""
    queue = parse_request(data)
    if queue.key != key_hash(private.public):
        raise WireError(f"a request must be sealed for this key, got one for {queue.key.hex()[:8]}")
    header, enc, sealed = data[:HEADER_BYTES], data[HEADER_BYTES:][:ENC_BYTES], data[HEADER_BYTES + ENC_BYTES :]
    return parse_plain(private.open(INFO, header, enc, sealed))
