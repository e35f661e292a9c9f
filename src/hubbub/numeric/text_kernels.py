"""Loops over the bytes of many ASCII strings: the rules of the domains, a text code, decimal numbers.

Each is the twin of a method in `model`, which says what is right: text_v1, words_v1 and hostnames_v1 of
`coded_domain`, TextCode.encode, Integers. Strings lie side by side in `data`; `ends` says where each stops. Texts in
normal form lie in rows of 64 bytes, with their sizes; −1 is a text that the rules refuse.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hubbub.model.domain_base import OTHER
from hubbub.model.text_code import END, ESC, MAX_BYTES

TEXT, WORDS, HOSTNAMES = 0, 1, 2

_OTHER = np.frombuffer(OTHER.encode("ascii"), np.uint8)


def _members(characters: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A table of the bytes that are among these."""
    table = np.zeros(256, np.bool_)
    table[list(characters.encode("ascii"))] = True
    return table


_SPACE = _members("\t\n\v\f\r ")
_STRIPPED = _members("\t\n\v\f\r \x1c\x1d\x1e\x1f")  # by str.strip, which takes more than a browser
_LETTER = _members("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_OF_A_SCHEME = _LETTER | _members("0123456789+.-")
_AFTER_A_HOST = _members("/\\?#")
_OF_AN_ADDRESS = _members("0123456789abcdef:.")
_NOT_OF_A_HOST = _members("".join(map(chr, range(0x21))) + '\x7f"%<>[]^`{|}')


@njit(inline="always")
def _lower(byte):  # type: ignore[no-untyped-def]
    return byte + np.uint8(32) if 65 <= byte <= 90 else byte


@njit(inline="always")
def _strip(data, first, end, spaces):  # type: ignore[no-untyped-def]
    while first < end and spaces[data[first]]:
        first += 1
    while first < end and spaces[data[end - 1]]:
        end -= 1
    return first, end


@njit(cache=True, nogil=True)
def _host(data, first, end):  # type: ignore[no-untyped-def]
    """Where the host is in a URL; the end comes before the start if there is none."""
    first, end = _strip(data, first, end, _SPACE)
    at = first
    if at < end and _LETTER[data[at]]:
        while at < end and _OF_A_SCHEME[data[at]]:
            at += 1
        at = at + 1 if at < end and data[at] == ord(":") else first
    if at + 1 < end and data[at] == ord("/") and data[at + 1] == ord("/"):
        first = at + 2
    for at in range(first, end):
        if _AFTER_A_HOST[data[at]]:
            end = at
            break
    for at in range(end - 1, first - 1, -1):
        if data[at] == ord("@"):
            first = at + 1
            break
    if first < end and data[first] == ord("["):
        at = first + 1
        while at < end and _OF_AN_ADDRESS[_lower(data[at])]:
            at += 1
        if at < end and data[at] == ord("]") and at > first + 1:
            return first, at + 1 if at + 1 - first <= MAX_BYTES else first - 1
    for at in range(first, end):
        if data[at] == ord(":"):
            end = at
            break
    while first < end and data[end - 1] == ord("."):
        end -= 1
    while end - first > 4 and _is_www(data, first):
        dots = 0
        for at in range(first + 4, end):
            dots += data[at] == ord(".")
        if not dots:
            break
        first += 4
    bad = first == end or end - first > MAX_BYTES
    for at in range(first, end):
        bad |= _NOT_OF_A_HOST[data[at]]
    return first, first - 1 if bad else end


@njit(inline="always")
def _is_www(data, first):  # type: ignore[no-untyped-def]
    for k in range(3):
        if _lower(data[first + k]) != ord("w"):
            return False
    return bool(data[first + 3] == ord("."))


@njit(cache=True, nogil=True)
def normalize(rule, data, ends, texts, sizes):  # type: ignore[no-untyped-def]
    """ASCII strings in normal form by a rule: TEXT, WORDS or HOSTNAMES."""
    first = 0
    for i in range(ends.shape[0]):
        start, end = first, ends[i]
        first = end
        if rule == HOSTNAMES:
            start, end = _host(data, start, end)
        if rule == WORDS:
            start, end = _strip(data, start, end, _SPACE)
            _, end = _strip(data, start, min(end, start + MAX_BYTES), _SPACE)
        size = min(end - start, MAX_BYTES)
        for k in range(size):
            texts[i, k] = _lower(data[start + k])
        if size == _OTHER.shape[0] and np.all(texts[i, :size] == _OTHER):
            size = -1
        sizes[i] = size


@njit(inline="always")
def _put(item, top, used, value, size):  # type: ignore[no-untyped-def]
    """Write `size` bits after the first `used` ones of an item of `top` bits; how many are used then."""
    used += size
    shift = top - used
    index = shift >> 6
    shift &= 63
    item[index] |= np.uint64(value) << np.uint64(shift)
    if shift + size > 64:
        item[index + 1] |= np.uint64(value) >> np.uint64(64 - shift)
    return used


@njit(cache=True, nogil=True)
def encode(code, texts, sizes, width, items):  # type: ignore[no-untyped-def]
    """The code of each text at the top of an item of zeros; where there is none, or no room, `width` ones.

    A code is (columns of bytes, nodes and symbols of the tree of symbols, those of the tree of reversed ends, code
    words, their lengths, class after each symbol, bytes of each symbol).
    """
    columns, nodes, symbol_at, end_nodes, end_at, code_words, lengths, next_class, symbol_sizes = code
    symbols = np.empty(MAX_BYTES + 1, np.int64)
    ends = np.empty(MAX_BYTES, np.int64)  # the end that is all the rest, from each place
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
        used, at, state = 0, 0, 0
        for k in range(tail):
            symbol = symbols[k]
            used = _put(items[i], width, used, code_words[state, symbol], lengths[state, symbol])
            if symbol == ESC:
                used = _put(items[i], width, used, text[at], 9)
            at += symbol_sizes[symbol]
            state = next_class[symbol]
        if tail < count:
            used = _put(items[i], width, used, code_words[state, ESC], lengths[state, ESC])
            used = _put(items[i], width, used, 1 << 6 | size - at - 1, 7)
            for k in range(at, size):
                used = _put(items[i], width, used, text[k], 8)


@njit(cache=True, nogil=True)
def cut(data, ends, most, rows):  # type: ignore[no-untyped-def]
    """The first bytes of each string into a row of zeros."""
    first = 0
    for i in range(ends.shape[0]):
        for k in range(min(ends[i] - first, most)):
            rows[i, k] = data[first + k]
        first = ends[i]


@njit(cache=True, nogil=True)
def parse_numbers(data, ends, bits, longest, limbs):  # type: ignore[no-untyped-def]
    """Decimal numbers as 32-bit limbs, lowest first, in rows of zeros; all `bits` are ones for what is none."""
    first = 0
    used = (bits + 31) >> 5
    highest = np.uint64((1 << (bits - 32 * (used - 1))) - 1)
    for i in range(ends.shape[0]):
        start, end = _strip(data, first, ends[i], _STRIPPED)
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
