"""Paths of coded text: the code, and between its bits those of a fingerprint."""

from __future__ import annotations

import numpy as np
import pytest
from hubbub.mechanisms.tree.fingerprint import fingerprint_before, fingerprint_places, path_bits
from hubbub.mechanisms.tree.paths import TextPaths
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import naive

from hubbub.client.mechanisms import text_layout
from hubbub.codes.shipped import load_code
from hubbub.model.coded_domain import CodedText
from hubbub.numeric.hashing import HashKey

KEY = HashKey(0x03020100, 0x07060504)
KEY_BYTES = bytes(range(8))


def packed(numbers: list[int], width: int) -> np.ndarray:
    """Numbers as items."""
    size = 8 * -(-width // 64)
    return np.frombuffer(b"".join(n.to_bytes(size, "little") for n in numbers), "<u8").reshape(len(numbers), -1)


def codec(width: int, fingerprint: int) -> TextPaths:
    """The codec of any text code in items of some width."""
    return TextPaths(KEY, CodedText(load_code("text"), "text-1", width), fingerprint)


def check(numbers: list[int], width: int, fingerprint: int) -> None:
    """Paths are the twin's, padded with zeros, and lead back to the items."""
    items = packed(numbers, width)
    paths = codec(width, fingerprint).to_paths(items)
    bits = path_bits(fingerprint, width)
    for number, path in zip(numbers, paths, strict=True):
        text = "".join(format(int(word), "064b") for word in path)
        assert text[:bits] == naive.text_path(KEY_BYTES, number, width, fingerprint)
        assert set(text[bits:]) <= {"0"}
    assert np.array_equal(codec(width, fingerprint).to_items(paths), items)


@given(width=st.integers(16, 512), fingerprint=st.integers(1, 20), data=st.data())
def test_paths_equal_the_twin_and_come_back(width: int, fingerprint: int, data) -> None:
    """Any item, any width and any fingerprint."""
    check(data.draw(st.lists(st.integers(0, 2**width - 1), min_size=1, max_size=3)), width, fingerprint)


@pytest.mark.parametrize("fingerprint", range(1, 21))
def test_every_fingerprint_at_the_widths_where_something_changes(fingerprint: int) -> None:
    """Widths around whole words, of all ones and of zeros."""
    for width in (16, 17, 23, 24, 44, 45, 55, 56, 57, 63, 64, 65, 96, 119, 120, 121, 127, 128, 129, 192, 511, 512):
        check([0, 1, 2**width - 1, 2**width // 3], width, fingerprint)


@pytest.mark.parametrize("fingerprint", [1, 7, 8, 9, 10, 16, 20])
def test_the_layout_is_that_of_the_device(fingerprint: int) -> None:
    """Places, lengths and bits of the fingerprint down to each depth, for every width."""
    for width in range(1, 513):
        layout = text_layout(fingerprint, width)
        assert len(layout) == path_bits(fingerprint, width) == len(naive.text_path(KEY_BYTES, 0, width, fingerprint))
        places = [place for place in fingerprint_places(fingerprint) if place < len(layout)]
        assert [place for place, mark in enumerate(layout) if mark] == places
        assert layout[-1] is False
    for depth in range(0, 200, 5):
        assert fingerprint_before(fingerprint, depth) == sum(text_layout(fingerprint, 512)[:depth])


def test_a_path_without_a_fingerprint_is_the_code() -> None:
    """Numbers have no fingerprint: their paths have as many bits as their items."""
    assert [path_bits(0, width) for width in (1, 64, 512)] == [1, 64, 512]
    assert text_layout(0, 3) == [False] * 3


def test_fingerprints_are_hashes_of_the_whole_item() -> None:
    """Items that differ in their last bit alone part within the first eight bits as often as random ones."""
    items = packed(list(range(2**15)), 96)
    lead = codec(96, 16).to_paths(items)[:, 0] >> np.uint64(56)
    alike = int(np.count_nonzero(lead[0::2] == lead[1::2]))
    assert abs(alike - 2**14 / 256) < 6 * np.sqrt(2**14 / 256)
