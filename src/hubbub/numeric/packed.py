"""Columns of people's values that are not Python objects: texts as concatenated bytes, numbers as an array.

They are sequences: indexing gives one value as a Python object. Code that needs all values uses the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class PackedTexts(Sequence[str]):
    """Texts in UTF-8: the bytes of all, one after the other, with the start of each and the end of the last."""

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data, self.offsets = data, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> PackedTexts: ...
    def __getitem__(self, place: int | slice) -> str | PackedTexts:
        """One text as a string, or a slice of texts, which shares the bytes."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("a slice of packed texts must have step 1, got another step")
            return type(self)(self.data, self.offsets[first : max(first, last) + 1])
        first, last = self.offsets[place], self.offsets[place + 1]
        return self.data[first:last].tobytes().decode("utf-8", "replace")

    def distinct(self) -> tuple[list[str], NDArray[np.int64]]:
        """The distinct texts, and for each text its index among them. Costs one lookup per text."""
        raw = self.data[self.offsets[0] : self.offsets[-1]].tobytes()
        ends = (self.offsets - self.offsets[0]).tolist()
        numbers: dict[bytes, int] = {}
        where = [numbers.setdefault(raw[first:last], len(numbers)) for first, last in pairwise(ends)]
        return [text.decode("utf-8", "replace") for text in numbers], np.array(where, np.int64)


class PackedNumbers(Sequence[int]):
    """Whole numbers of at most 64 bits, signed or not."""

    def __init__(self, numbers: NDArray[Any]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> PackedNumbers: ...
    def __getitem__(self, place: int | slice) -> int | PackedNumbers:
        """One number, or a slice of numbers, which shares the array."""
        if isinstance(place, slice):
            return PackedNumbers(self.numbers[place])
        return int(self.numbers[place])

    def distinct(self) -> tuple[list[int], NDArray[np.int64]]:
        """The distinct numbers, and for each number its index among them. Costs a sort."""
        different, where = np.unique(self.numbers, return_inverse=True)
        return different.tolist(), where.astype(np.int64)
