"""Items of many values at once: the same as `Domain.encode`, but with fast loops over bytes for plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.codes.bulk import RULES, code_tables
from hubbub.codes.kernels import byte_set, encode, normalize, strip
from hubbub.codes.table import MAX_BYTES
from hubbub.jit import kernel
from hubbub.model.coded_domain import CodedText
from hubbub.model.domain import Bytes, Categories, Integers
from hubbub.model.domain_base import OTHER, Domain
from hubbub.numeric.packed import PackedNumbers, PackedTexts

Items = NDArray[np.uint64]

_IN_LOOPS = (CodedText, Bytes, Integers)  # domains whose items are made by loops over bytes
_LONGEST_NUMBER = 155  # digits, as in Integers
_STRIPPED = byte_set("\t\n\v\f\r \x1c\x1d\x1e\x1f")  # by str.strip, which takes more than a browser


class Marked(NamedTuple):
    """Items, with marks on those that do not represent their value exactly."""

    items: Items
    cut: NDArray[np.bool_]  # text that was too long: the item is that of its beginning
    other: NDArray[np.bool_]  # not in the domain


def encode_marked(domain: Domain, values: Iterable[object]) -> Marked:
    """The items of the values, with marks on values that were cut or are not in the domain.

    The items are bit for bit those of `domain.encode`. Total: never raises on a value. Costs a fraction of a
    microsecond for an ASCII string; other values are encoded in Python, which is slower. Each distinct string that is
    too long or not ASCII is checked once in Python. Packed values stay packed: only non-ASCII or distinct ones become
    Python objects.
    """
    if isinstance(values, PackedNumbers) and isinstance(domain, Integers) and domain.bits <= 64:
        return _take_numbers(domain, values)
    if isinstance(values, PackedNumbers) or (isinstance(values, PackedTexts) and not isinstance(domain, _IN_LOOPS)):
        different, where = values.distinct()
        once = encode_marked(domain, different)
        return Marked(once.items[where], once.cut[where], once.other[where])
    strings = _Strings(values)
    if isinstance(domain, CodedText):
        items = _encode(domain, strings)
    elif isinstance(domain, Bytes):
        items = _cut(domain, strings)
    else:
        items = _parse(domain, strings) if isinstance(domain, Integers) else domain.encode(strings.values)
    other = np.zeros(len(items), np.bool_)
    if domain.decode(domain.outside) == [OTHER]:
        other = (items == domain.outside).all(axis=1)
    elif isinstance(domain, Categories):  # a closed list, which maps other values to one of its names
        _mark(other, range(len(items)), strings.values, domain.lacks)
    cut = np.zeros(len(items), np.bool_)
    if domain.cut_after is not None:
        _mark(cut, strings.longer_than(domain.cut_after), strings.values, domain.cuts)
    return Marked(items, cut & ~other, other)


def _mark(
    marks: NDArray[np.bool_], places: Iterable[int], values: Sequence[object], is_marked: Callable[[object], bool]
) -> None:
    """Set the marks at some places; `is_marked` is called once for each distinct string."""
    seen: dict[object, bool] = {}
    for place in places:
        value = values[place]
        if type(value) is not str:  # it may not be hashable
            marks[place] = is_marked(value)
            continue
        if value not in seen:
            seen[value] = is_marked(value)
        marks[place] = seen[value]


class _Strings:
    """Values, with the ASCII strings among them concatenated as bytes; the others count as empty there."""

    def __init__(self, values: Iterable[object]) -> None:
        self.values: Sequence[object]
        if isinstance(values, PackedTexts):
            self._unpack(values)
            return
        self.values = list(values)
        plain: Sequence[object] = self.values
        self.odd: list[int] = []
        if set(map(type, plain)) - {str} or not "".join(plain).isascii():  # type: ignore[arg-type]
            is_plain = [type(value) is str and value.isascii() for value in plain]
            self.odd = [place for place, fine in enumerate(is_plain) if not fine]
            plain = [value if fine else "" for value, fine in zip(plain, is_plain, strict=True)]
        self.data = np.frombuffer("".join(plain).encode("ascii"), np.uint8)  # type: ignore[arg-type]
        self.ends = np.cumsum(np.fromiter(map(len, plain), np.int64, len(plain)))  # type: ignore[arg-type]

    def _unpack(self, texts: PackedTexts) -> None:
        """Use the packed bytes directly, without those of texts that are not ASCII."""
        first, last = int(texts.offsets[0]), int(texts.offsets[-1])
        self.values, self.odd = texts, []
        self.data, self.ends = texts.data[first:last], texts.offsets[1:] - first
        high = self.data >= 128
        if high.any():
            before = np.concatenate([[0], np.cumsum(high)])[np.concatenate([[0], self.ends])]
            is_odd, sizes = np.diff(before) > 0, np.diff(self.ends, prepend=0)
            self.odd = np.flatnonzero(is_odd).tolist()
            self.data = self.data[~np.repeat(is_odd, sizes)]
            self.ends = np.cumsum(np.where(is_odd, 0, sizes))

    def longer_than(self, most: int) -> list[int]:
        """The places of values that may have more than `most` bytes: long ASCII strings, and all other values."""
        sizes = np.diff(self.ends, prepend=0)
        return sorted([*np.flatnonzero(sizes > most).tolist(), *self.odd])

    def mend(self, domain: Domain, items: Items) -> Items:
        """The items, with those of non-ASCII values filled in."""
        if self.odd:
            items[self.odd] = domain.encode([self.values[place] for place in self.odd])
        return items


def _take_numbers(domain: Integers, values: PackedNumbers) -> Marked:
    """Items of packed numbers; those outside the domain are "(other)"."""
    numbers = values.numbers
    inside = (numbers >= 0) & (numbers.astype(np.uint64) < np.uint64(domain.size - 1))
    items = np.where(inside, numbers.astype(np.uint64), np.uint64(domain.size - 1))
    return Marked(items[:, np.newaxis], np.zeros(len(items), np.bool_), ~inside)


def _cut(domain: Bytes, strings: _Strings) -> Items:
    rows = np.zeros((len(strings.values), 8 * domain.item_limbs), np.uint8)
    _cut_rows(strings.data, strings.ends, domain.max_bytes, rows)
    return strings.mend(domain, rows.view("<u8").astype(np.uint64, copy=False))


def _parse(domain: Integers, strings: _Strings) -> Items:
    limbs = np.zeros((len(strings.values), 2 * domain.item_limbs), "<u4")
    _parse_numbers(strings.data, strings.ends, domain.bits, _LONGEST_NUMBER, limbs)
    return strings.mend(domain, limbs.view("<u8").astype(np.uint64, copy=False))


def _encode(domain: CodedText, strings: _Strings) -> Items:
    # Texts in normal form as rows of 64 bytes, and the size of each in bytes: −1 for a string that is refused.
    count, reserved = len(strings.ends), np.frombuffer(OTHER.encode("ascii"), np.uint8)
    texts, sizes = np.empty((count, MAX_BYTES), np.uint8), np.empty(count, np.int64)
    normalize(RULES[domain.normalization], strings.data, strings.ends, reserved, texts, sizes)
    seen: dict[str, bytes | None] = {}
    for place in strings.odd:
        value = strings.values[place]
        if type(value) is str:
            if value not in seen:
                seen[value] = domain.normal_bytes(value)
            raw = seen[value]
        else:
            raw = domain.normal_bytes(value)
        sizes[place] = -1 if raw is None else len(raw)
        texts[place, : len(raw or b"")] = np.frombuffer(raw or b"", np.uint8)
    items = np.zeros((count, domain.item_limbs), np.uint64)
    encode(code_tables(domain.code), texts, sizes, domain.width, items)
    return items


@kernel
def _cut_rows(data, ends, most, rows):  # type: ignore[no-untyped-def]
    """Write the first bytes of each string, at most `most`, into a row of zeros. Twin: Bytes.encode."""
    first = np.int64(0)
    for i in range(ends.shape[0]):
        for k in range(min(ends[i] - first, most)):
            rows[i, k] = data[first + k]
        first = ends[i]


@kernel
def _parse_numbers(data, ends, bits, longest, limbs):  # type: ignore[no-untyped-def]
    """Write decimal numbers as 32-bit limbs, lowest first, into rows of zeros. Twin: Integers.encode.

    A string that is not a number of at most `bits` bits and `longest` digits gets all ones.
    """
    first = np.int64(0)
    used = (bits + 31) >> 5
    highest = np.uint64((1 << (bits - 32 * (used - 1))) - 1)
    for i in range(ends.shape[0]):
        start, end = strip(data, first, ends[i], _STRIPPED)
        first = ends[i]
        number = limbs[i]
        good = 1 <= end - start <= longest
        for at in range(start, end if good else start):
            good = good and 48 <= data[at] <= 57
            digit = np.uint64(data[at]) - np.uint64(48)
            for k in range(used):
                digit += np.uint64(number[k]) * np.uint64(10)
                number[k] = np.uint32(digit & np.uint64(0xFFFFFFFF))
                digit >>= np.uint64(32)
            good = good and digit == 0
        if not good or number[used - 1] > highest:
            for k in range(used - 1):
                number[k] = np.uint32(0xFFFFFFFF)
            number[used - 1] = np.uint32(highest)
