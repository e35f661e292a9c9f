"""Items of many values at once: what `Domain.encode` gives, from loops over bytes where the values are plain text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubbub.model.coded_domain import CodedText
from hubbub.model.domain import Integers, Text
from hubbub.model.domain_base import OTHER, Domain
from hubbub.model.text_code import ESC, MAX_BYTES, TextCode
from hubbub.numeric import text_kernels

Items = NDArray[np.uint64]

_RULES = {"text-1": text_kernels.TEXT, "words-1": text_kernels.WORDS, "hostnames-1": text_kernels.HOSTNAMES}
_LONGEST_NUMBER = 155  # digits, as in Integers


def encode_items(domain: Domain, values: Iterable[object]) -> Items:
    """The items of the values, bit for bit those of `domain.encode`. Total: never raises on a value.

    Costs a fraction of a microsecond for a string of ASCII; other values take their way through Python.
    """
    return _encode_strings(domain, _Strings(values))


class Marked(NamedTuple):
    """Items, and which of them do not stand for all of their value."""

    items: Items
    cut: NDArray[np.bool_]  # text that was too long: the item is that of its beginning
    other: NDArray[np.bool_]  # not in the domain


def encode_marked(domain: Domain, values: Iterable[object]) -> Marked:
    """The items of the values, as `encode_items` gives them, with marks at what the domain could not keep.

    Costs little more for a string of ASCII; a string that is too long, or not ASCII, is looked at in Python, once.
    """
    strings = _Strings(values)
    items = _encode_strings(domain, strings)
    (fallback,) = domain.encode([None])
    other = np.zeros(len(items), np.bool_)
    if domain.decode(fallback) == [OTHER]:
        other = (items == fallback).all(axis=1)
    cut = np.zeros(len(items), np.bool_)
    if domain.cut_after is not None:
        seen: dict[object, bool] = {}
        for place in strings.longer_than(domain.cut_after):
            value = strings.values[place]
            if type(value) is not str:
                cut[place] = domain.cuts(value)
                continue
            if value not in seen:
                seen[value] = domain.cuts(value)
            cut[place] = seen[value]
    return Marked(items, cut & ~other, other)


def _encode_strings(domain: Domain, strings: _Strings) -> Items:
    if isinstance(domain, CodedText):
        return _encode(domain, strings)
    if isinstance(domain, Text):
        return _cut(domain, strings)
    if isinstance(domain, Integers):
        return _parse(domain, strings)
    return domain.encode(strings.values)


class _Strings:
    """Values of which those that are ASCII lie side by side as bytes; the others are empty there."""

    def __init__(self, values: Iterable[object]) -> None:
        self.values = list(values)
        plain = self.values
        self.odd: list[int] = []
        if set(map(type, plain)) - {str} or not "".join(plain).isascii():  # type: ignore[arg-type]
            is_plain = [type(value) is str and value.isascii() for value in plain]
            self.odd = [place for place, fine in enumerate(is_plain) if not fine]
            plain = [value if fine else "" for value, fine in zip(plain, is_plain, strict=True)]
        self.data = np.frombuffer("".join(plain).encode("ascii"), np.uint8)  # type: ignore[arg-type]
        self.ends = np.cumsum(np.fromiter(map(len, plain), np.int64, len(plain)))  # type: ignore[arg-type]

    def longer_than(self, most: int) -> list[int]:
        """Where a value may have more bytes: the strings of ASCII that do, and all the others."""
        sizes = np.diff(self.ends, prepend=0)
        return sorted([*np.flatnonzero(sizes > most).tolist(), *self.odd])

    def mend(self, domain: Domain, items: Items) -> Items:
        """The items with those of the others put in."""
        if self.odd:
            items[self.odd] = domain.encode([self.values[place] for place in self.odd])
        return items


def _cut(domain: Text, strings: _Strings) -> Items:
    rows = np.zeros((len(strings.values), 8 * domain.item_words), np.uint8)
    text_kernels.cut(strings.data, strings.ends, domain.max_bytes, rows)
    return strings.mend(domain, rows.view("<u8").astype(np.uint64, copy=False))


def _parse(domain: Integers, strings: _Strings) -> Items:
    limbs = np.zeros((len(strings.values), 2 * domain.item_words), "<u4")
    text_kernels.parse_numbers(strings.data, strings.ends, domain.bits, _LONGEST_NUMBER, limbs)
    return strings.mend(domain, limbs.view("<u8").astype(np.uint64, copy=False))


def _encode(domain: CodedText, strings: _Strings) -> Items:
    count = len(strings.values)
    texts, sizes = np.empty((count, MAX_BYTES), np.uint8), np.empty(count, np.int64)
    text_kernels.normalize(_RULES[domain.normalization], strings.data, strings.ends, texts, sizes)
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
    items = np.zeros((count, domain.item_words), np.uint64)
    text_kernels.encode(_tables(domain.code), texts, sizes, domain.width, items)
    return items


@lru_cache(maxsize=8)
def _tables(code: TextCode) -> tuple[NDArray[Any], ...]:
    """A code as its kernel takes it."""
    columns = np.zeros(256, np.int64)  # column 0 is for the bytes that no symbol has
    used = sorted(set(b"".join(code.symbols)))
    columns[used] = np.arange(1, len(used) + 1)
    matches = {code.symbols[index]: index for index in range(2, code.first_end)}
    ends = {code.symbols[index][::-1]: index for index in range(code.first_end, len(code.symbols))}
    sizes = [len(symbol) for symbol in code.symbols]
    sizes[ESC] = 1
    words = np.array(code.code_words, np.int64)
    return (
        columns,
        *_tree(matches, columns),
        *_tree(ends, columns),
        np.ascontiguousarray(words[:, :, 0]),
        np.ascontiguousarray(words[:, :, 1]),
        np.array(code.next_class, np.int64),
        np.array(sizes, np.int64),
    )


def _tree(strings: dict[bytes, int], columns: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The node after each node and column, −1 where no string goes on, and the string that ends in a node, or −1."""
    after: list[dict[int, int]] = [{}]
    ending = [-1]
    for string, index in strings.items():
        node = 0
        for byte in string:
            column = int(columns[byte])
            if column not in after[node]:
                after[node][column] = len(after)
                after.append({})
                ending.append(-1)
            node = after[node][column]
        ending[node] = index
    nodes = np.full((len(after), int(columns.max()) + 1), -1, np.int32)
    for node, edges in enumerate(after):
        nodes[node, list(edges)] = list(edges.values())
    return nodes, np.array(ending, np.int64)
