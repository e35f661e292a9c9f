"""The public hash (docs/wire-format.md): HalfSipHash-2-4 with 64 bits of output, on 32-bit words."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

# The purposes of keys: the numbers of docs/wire-format.md. Number 9 was used once, and is never used again.
REPORT_ROW: Final = 1
PROJECTION_SIGNS: Final = 2
BUCKET_MATRIX: Final = 4
BUCKET_SHIFT: Final = 5
TREE_BIJECTION: Final = 6
TREE_COINS: Final = 7
TREE_BUCKET: Final = 8
SUBSET_PLACES: Final = 13

_MASK32: Final = 0xFFFFFFFF


def hash_words(key: int, words: Sequence[int]) -> int:
    """Return the 64-bit hash of some 32-bit words. The key is a 64-bit number."""
    low, high = key & _MASK32, key >> 32
    a, b, c, d = low, high ^ 0xEE, low ^ 0x6C796765, high ^ 0x74656462
    # Two rounds for each word and for the length, then four for each half of the hash, which begin with a mark.
    steps = [(word, 0, 0, 2) for word in (*words, (4 * len(words) & 0xFF) << 24)]
    ends = []
    for word, mark_b, mark_c, rounds in (*steps, (0, 0, 0xEE, 4), (0, 0xDD, 0, 4)):
        b, c, d = b ^ mark_b, c ^ mark_c, d ^ word
        for _ in range(rounds):
            a = (a + b) & _MASK32
            b = (b << 5 | b >> 27) & _MASK32 ^ a
            a = (a << 16 | a >> 16) & _MASK32
            c = (c + d) & _MASK32
            d = (d << 8 | d >> 24) & _MASK32 ^ c
            a = (a + d) & _MASK32
            d = (d << 7 | d >> 25) & _MASK32 ^ a
            c = (c + b) & _MASK32
            b = (b << 13 | b >> 19) & _MASK32 ^ c
            c = (c << 16 | c >> 16) & _MASK32
        a ^= word
        ends.append(b ^ d)
    return ends[-2] | ends[-1] << 32


def derive_key(seed: bytes, purpose: int) -> int:
    """Return the key that is derived from a survey's seed for one purpose."""
    return hash_words(int.from_bytes(seed[:8], "little"), (purpose, *struct.unpack("<6I", seed[8:])))


def id_words(random_words: Sequence[int]) -> tuple[int, ...]:
    """Return the id of a report, its first two random words, as 32-bit words."""
    return struct.unpack("<4I", struct.pack("<2Q", *random_words[:2]))


def padded_words(number: int, bits: int) -> tuple[int, ...]:
    """Return a number of `bits` bits as 32-bit words, the most significant first; zeros fill the last one."""
    words = -(-bits // 32)
    return struct.unpack(f">{words}I", (number << 32 * words - bits).to_bytes(4 * words, "big"))
