"""Loops over the bytes of many ASCII strings: rules of normalisation, and a text code.

Each has a slow twin that defines the right result: text_v1, words_v1, hostnames_v1 and hostnames_v2 of
`model.coded_domain`, and TextCode.encode. Strings are concatenated in `data`; `ends` has the end of each. Texts in
normal form are rows of 64 bytes, with their sizes; the size −1 marks a text that the rules refuse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hubbub.codes.table import END, ESC, MAX_BYTES
from hubbub.jit import inlined, inner, kernel

TEXT, WORDS, HOSTNAMES, HOSTNAMES_2 = 0, 1, 2, 3


def byte_set(characters: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A table of 256 booleans: which bytes are among these ASCII characters."""
    table = np.zeros(256, np.bool_)
    table[list(characters.encode("ascii"))] = True
    return table


_SPACE = byte_set("\t\n\v\f\r ")
_LETTER = byte_set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_OF_A_SCHEME = _LETTER | byte_set("0123456789+.-")
_AFTER_A_HOST = byte_set("/\\?#")
_OF_AN_ADDRESS = byte_set("0123456789abcdef:.")
_COLON, _SLASH, _AT, _OPEN, _CLOSE, _DOT = b":/@[]."
_ALIASES = np.frombuffer(b"www.m.l.lm.mobile.amp.old.", np.uint8)  # the first is that of HOSTNAMES
_NOT_OF_A_HOST = byte_set("".join(map(chr, range(0x21))) + '\x7f"%<>[]^`{|}')


@inlined
def _lower(byte):  # type: ignore[no-untyped-def]
    """The byte, with A to Z in lower case."""
    return byte + np.uint8(32) if 65 <= byte <= 90 else byte


@inlined
def strip(data, first, end, spaces):  # type: ignore[no-untyped-def]
    """The start and end of data[first:end] without spaces at both ends; `spaces` is a `byte_set`."""
    while first < end and spaces[data[first]]:
        first += 1
    while first < end and spaces[data[end - 1]]:
        end -= 1
    return first, end


@inner
def _alias(data, first, end, aliases):  # type: ignore[no-untyped-def]
    """The bytes of the label and its dot at the front, in any case; 0 if it is no alias or no dot follows it."""
    at = first
    while at < end and data[at] != _DOT:
        at += 1
    dots = 0
    for place in range(at + 1, end):
        dots += data[place] == _DOT
    size = at + 1 - first if dots else 0
    begin = 0
    for place in range(aliases.shape[0]):
        if aliases[place] == _DOT:
            same = size == place + 1 - begin
            for k in range(size if same else 0):
                same &= _lower(data[first + k]) == aliases[begin + k]
            if same:
                return size
            begin = place + 1
    return 0


@inner
def _host(data, first, end, aliases):  # type: ignore[no-untyped-def]
    """The start and end of the host in a URL; the end is before the start if there is no host.

    `aliases` are labels, each with a dot, that are removed at the front as long as a dot remains.
    """
    first, end = strip(data, first, end, _SPACE)
    at = first
    if at < end and _LETTER[data[at]]:
        while at < end and _OF_A_SCHEME[data[at]]:
            at += 1
        at = at + 1 if at < end and data[at] == _COLON else first
    if at + 1 < end and data[at] == _SLASH and data[at + 1] == _SLASH:
        first = at + 2
    for at in range(first, end):
        if _AFTER_A_HOST[data[at]]:
            end = at
            break
    for at in range(end - 1, first - 1, -1):
        if data[at] == _AT:
            first = at + 1
            break
    if first < end and data[first] == _OPEN:
        at = first + 1
        while at < end and _OF_AN_ADDRESS[_lower(data[at])]:
            at += 1
        if at < end and data[at] == _CLOSE and at > first + 1:
            return first, at + 1 if at + 1 - first <= MAX_BYTES else first - 1
    for at in range(first, end):
        if data[at] == _COLON:
            end = at
            break
    while first < end and data[end - 1] == _DOT:
        end -= 1
    size = _alias(data, first, end, aliases)
    while size:
        first += size
        size = _alias(data, first, end, aliases)
    bad = first == end or end - first > MAX_BYTES
    for at in range(first, end):
        bad |= _NOT_OF_A_HOST[data[at]]
    return first, first - 1 if bad else end


@kernel
def normalize(rule, data, ends, reserved, texts, sizes):  # type: ignore[no-untyped-def]
    """Write the normal form of ASCII strings by TEXT, WORDS, HOSTNAMES or HOSTNAMES_2 into `texts` and `sizes`.

    `reserved` are the bytes of a text that is refused.
    """
    first = np.int64(0)
    for i in range(ends.shape[0]):
        start, end = first, ends[i]
        first = end
        if rule >= HOSTNAMES:
            start, end = _host(data, start, end, _ALIASES[:4] if rule == HOSTNAMES else _ALIASES)
        if rule == WORDS:
            start, end = strip(data, start, end, _SPACE)
            _, end = strip(data, start, min(end, start + MAX_BYTES), _SPACE)
        size = min(end - start, MAX_BYTES)
        for k in range(size):
            texts[i, k] = _lower(data[start + k])
        same = size == reserved.shape[0]
        for k in range(size if same else 0):
            same &= texts[i, k] == reserved[k]
        sizes[i] = -1 if same else size


@inlined
def _put(item, top, used, value, size):  # type: ignore[no-untyped-def]
    """Write `size` bits of a uint64 after the first `used` bits of an item of `top` bits. Returns used + size."""
    used += size
    shift = top - used
    index = shift >> 6
    shift &= 63
    item[index] |= value << np.uint64(shift)
    if shift + size > 64:
        item[index + 1] |= value >> np.uint64(64 - shift)
    return used


class CodeTables(NamedTuple):
    """A text code in the form that `encode` takes.

    Attributes
    ----------
    columns : int64 array of 256
        The column of each byte in the two trees; 0 for a byte that no symbol has.
    nodes, symbol_at : int32 array, shape (nodes, columns), and int64 array
        The tree of symbols: the node after each node and byte, or −1, and the symbol that ends in a node, or −1.
    end_nodes, end_at
        The same for symbols that end a string, each read backwards.
    code_words, lengths : int64 arrays, shape (classes, symbols)
        Code words, most significant bit first, and their bits.
    next_class, symbol_sizes : int64 arrays
        The class after each symbol, and the bytes that a symbol stands for (1 for ESC).
    """

    columns: Any
    nodes: Any
    symbol_at: Any
    end_nodes: Any
    end_at: Any
    code_words: Any
    lengths: Any
    next_class: Any
    symbol_sizes: Any


@kernel
def encode(code, texts, sizes, width, items):  # type: ignore[no-untyped-def]
    """Write the code of each text to the top of its item, which must be zero; all ones if it does not fit.

    `code` is a `CodeTables`. Texts of size −1 have no code.
    """
    columns, nodes, symbol_at, end_nodes, end_at, code_words, lengths, next_class, symbol_sizes = code
    symbols = np.empty(MAX_BYTES + 1, np.int64)
    ends = np.empty(MAX_BYTES, np.int64)  # for each place, the end symbol that covers the rest of the text, or −1
    for i in range(texts.shape[0]):
        text, size = texts[i], sizes[i]
        ends[: max(size, 0)] = -1
        node = 0
        for at in range(size - 1, -1, -1):
            node = end_nodes[node, columns[text[at]]]
            if node < 0:
                break
            ends[at] = end_at[node]
        count, at, state, length, best, tail = 0, 0, 0, 0, 0, -1
        ended = size < 0
        while not ended:
            if at < size:
                with_tail = length + lengths[state, ESC] + 7 + 8 * (size - at)
                if best == 0 or with_tail < best:
                    best, tail = with_tail, count
            symbol = END if at == size else ends[at]
            ended = symbol >= 0
            if not ended:
                symbol, node, ahead = ESC, 0, at
                while ahead < size:
                    node = nodes[node, columns[text[ahead]]]
                    if node < 0:
                        break
                    ahead += 1
                    if symbol_at[node] >= 0:
                        symbol = symbol_at[node]
            length += lengths[state, symbol] + (9 if symbol == ESC else 0)
            at += symbol_sizes[symbol]
            state = next_class[symbol]
            symbols[count] = symbol
            count += 1
        if best == 0 or length <= best:
            best, tail = length, count
        if size < 0 or best > width:
            for k in range(items.shape[1]):
                items[i, k] = ~np.uint64(0)
            if width & 63:
                items[i, width >> 6] = (np.uint64(1) << np.uint64(width & 63)) - np.uint64(1)
            continue
        used, at, state = np.int64(0), 0, 0
        for k in range(tail):
            symbol = symbols[k]
            used = _put(items[i], width, used, np.uint64(code_words[state, symbol]), lengths[state, symbol])
            if symbol == ESC:
                used = _put(items[i], width, used, np.uint64(text[at]), np.int64(9))
            at += symbol_sizes[symbol]
            state = next_class[symbol]
        if tail < count:
            used = _put(items[i], width, used, np.uint64(code_words[state, ESC]), lengths[state, ESC])
            used = _put(items[i], width, used, np.uint64(1 << 6 | size - at - 1), np.int64(7))
            for k in range(at, size):
                used = _put(items[i], width, used, np.uint64(text[k]), np.int64(8))
