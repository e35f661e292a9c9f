"""The bijection from items to paths."""

from __future__ import annotations

import numpy as np
import pytest
from hubbub.mechanisms.tree.paths import NumberPaths
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive

from hubbub.numeric.hashing import HashKey

KEY = HashKey(0x03020100, 0x07060504)
KEY_BYTES = bytes(range(8))
BITS = [1, 2, 3, 19, 20, 21, 63, 64, 65, 127, 128, 129, 200, 256, 511, 512]


def packed(numbers: list[int], bits: int) -> np.ndarray:
    """Numbers as items."""
    width = 8 * -(-bits // 64)
    return np.frombuffer(b"".join(n.to_bytes(width, "little") for n in numbers), "<u8").reshape(len(numbers), -1)


@pytest.mark.parametrize("bits", BITS)
@given(data=st.data())
def test_paths_equal_the_twin_and_come_back(bits: int, data) -> None:
    """Any item of any width: the kernel's path is the twin's, padded with zeros, and leads back to the item."""
    number = data.draw(st.integers(0, 2**bits - 1))
    items = packed([number], bits)
    codec = NumberPaths(KEY, bits, 1 << bits)
    paths = codec.to_paths(items)
    text = "".join(format(int(word), "064b") for word in paths[0])
    assert text[:bits] == naive.to_path(KEY_BYTES, number, bits)
    assert set(text[bits:]) <= {"0"}
    assert naive.from_path(KEY_BYTES, text[:bits]) == number
    assert np.array_equal(codec.to_items(paths), items)


@pytest.mark.parametrize("shift", [0, 12, 32, 44])
def test_structure_leaves_no_trace_in_prefixes(shift: int) -> None:
    """Ids in sequence, at any position of the word, have as many different 20-bit prefixes as random ids."""
    items = (np.arange(2**16, dtype=np.uint64) << np.uint64(shift))[:, np.newaxis]
    prefixes = np.unique(NumberPaths(KEY, 64, 1 << 64).to_paths(items)[:, 0] >> np.uint64(44))
    expected = 2**20 * -np.expm1(-(2**16) / 2**20)
    assert abs(len(prefixes) - expected) < 6 * np.sqrt(2**16 / 32)
