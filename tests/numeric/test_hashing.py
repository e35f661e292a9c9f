"""The public hash, against its authors' vectors, a slow twin, and chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive

from hubbub.errors import ParameterError
from hubbub.numeric import projection
from hubbub.numeric.hashing import HashKey, Purpose, derive_key, hash_uint64, hash_words, uniform_below
from hubbub.testing import assert_binomial

KEY = HashKey(0x03020100, 0x07060504)

# From vectors_hsip64 of the reference implementation by Jean-Philippe Aumasson (public domain): key 00…07, message
# 00, 01, …; the lengths that are whole words.
PUBLISHED = {
    0: "218d1f59b9b83cc8",
    4: "d5e78a175be52ea1",
    8: "edfee820bce4858c",
    12: "7bc71f9faef5c799",
    16: "7336aad25f7bf3b5",
    20: "1bf52b0a6feea7db",
    24: "70741045ae3fa6f1",
}


def as_bytes(key: HashKey) -> bytes:
    """The key as the reference takes it."""
    return key.low.to_bytes(4, "little") + key.high.to_bytes(4, "little")


@pytest.mark.parametrize("length", PUBLISHED)
def test_published_vectors(length: int) -> None:
    """The kernel and the twin give what the authors of HalfSipHash published."""
    message = np.arange(length, dtype=np.uint8)
    hashed = hash_words(KEY, message.view("<u4").reshape(1, -1))
    assert hashed.astype("<u8").tobytes().hex() == PUBLISHED[length]
    assert naive.half_sip_hash(bytes(range(8)), message.tobytes()).hex() == PUBLISHED[length]


@given(st.binary(min_size=8, max_size=8), st.integers(0, 5), st.data())
def test_kernel_equals_twin(key: bytes, words: int, data) -> None:
    """Any key and message."""
    message = data.draw(st.binary(min_size=4 * words, max_size=4 * words))
    made = HashKey(int.from_bytes(key[:4], "little"), int.from_bytes(key[4:], "little"))
    rows = np.frombuffer(message * 2, "<u4").reshape(2, words)
    assert hash_words(made, rows).astype("<u8").tobytes() == naive.half_sip_hash(key, message) * 2


def test_derived_keys_use_the_whole_seed_and_the_purpose() -> None:
    """Changing any byte of the seed, or the purpose, gives another key; the derivation is as documented."""
    seed = bytes(range(32))
    key = derive_key(seed, Purpose.REPORT_ROW)
    message = (1).to_bytes(4, "little") + seed[8:]
    assert as_bytes(key) == naive.half_sip_hash(seed[:8], message)
    others = {derive_key(seed[:i] + b"\xff" + seed[i + 1 :], Purpose.REPORT_ROW) for i in range(32)}
    others |= {derive_key(seed, purpose) for purpose in Purpose}
    assert len(others) == 32 + len(Purpose)
    with pytest.raises(ParameterError, match="32 bytes"):
        derive_key(b"short", 1)


def test_hash_of_64_bit_words_takes_the_low_half_first() -> None:
    """A 64-bit word is two 32-bit words, little-endian."""
    assert hash_uint64(KEY, np.array([[0x0706050403020100]], np.uint64))[0].tobytes().hex() == PUBLISHED[8]


@given(st.integers(0, 2**64 - 1), st.one_of(st.integers(1, 2**21), st.sampled_from([2**k for k in range(25)])))
def test_uniform_below_is_the_exact_product(hashed: int, bound: int) -> None:
    """⌊hash·bound/2^64⌋ for every hash and bound."""
    assert uniform_below(np.array([hashed], np.uint64), bound)[0] == hashed * bound >> 64


@pytest.mark.parametrize("bound", [0, 2**21 + 1, 2**24 - 1, 2**25])
def test_uniform_below_refuses(bound: int) -> None:
    """Bounds a browser could not multiply exactly are refused."""
    with pytest.raises(ParameterError):
        uniform_below(np.zeros(1, np.uint64), bound)


def test_bits_are_fair_and_pairs_independent() -> None:
    """Every output bit, and the XOR of neighbouring inputs' bits, is a fair coin (exact binomial tails)."""
    count = 20_000
    hashes = hash_uint64(KEY, np.arange(count, dtype=np.uint64)[:, np.newaxis])
    for stream in (hashes, hashes[1:] ^ hashes[:-1]):
        for bit in range(64):
            assert_binomial(int((stream >> np.uint64(bit) & np.uint64(1)).sum()), len(stream), 0.5, 1e-11)


def test_dense_projection_equals_twin() -> None:
    """Signs by column, by entry and in scores are the same bits of the same hash."""
    items = np.array([0, 1, 2**24 - 1, 12345], np.uint64)
    rows = 131
    cells = np.random.default_rng(1).integers(-1000, 1000, rows)
    key = as_bytes(KEY)
    expected = [[naive.dense_sign(key, int(item), row) for row in range(rows)] for item in items]
    assert projection.signs(KEY, items, rows).tolist() == expected
    assert projection.scores(KEY, items, cells).tolist() == naive.dense_scores(key, items.tolist(), cells.tolist())
    pairs = np.repeat(items, rows), np.tile(np.arange(rows), len(items))
    assert (1 - 2 * projection.sign_bits_at(KEY, *pairs).astype(int)).tolist() == [s for row in expected for s in row]
