"""A prefix code for strings, given by a small public table: plausible strings get few bits.

A string is a path of symbols, each coded after the class of the symbol before it:

    index      0    1    2 …      then        then
    symbol     END  ESC  a byte   a token     an end (a token that also ends the string)

* `lengths[class][symbol]` is the length of a code word; the words of a row are canonical, by (length, index).
* ESC 0 and 8 bits is one raw byte. ESC 1, 6 bits (r − 1) and 8r bits are the last r bytes, and the end.
* A string is matched greedily, longest symbol first. This code competes with those that end in a raw tail, from any
  place on; the shortest wins.

docs/text-codes.md specifies the format to the bit. It uses integers and the standard library only, so that a client in
any language needs about a page of code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hubbub.codes.table import DIGITS, END, ESC, MAX_BYTES, MAX_FILE_BYTES, MAX_WORD, check_table
from hubbub.errors import ParameterError

_TAIL_HEADER = 7  # the 1 after ESC and the six bits of the count


class TextCode:
    """The code of a table; two codes are equal if their tables are.

    Parameters
    ----------
    table : Mapping
        Plain data with the fields bytes, tokens, ends, class and lengths. It may be untrusted: all of it is checked.

    Attributes
    ----------
    symbols : tuple of bytes
        What each symbol stands for; END and ESC stand for nothing.
    first_end : int
        The symbols from here on end the string; so does END.
    next_class : tuple of int
        The class after each symbol. A string starts in class 0.
    code_words : tuple of tuple of (int, int)
        For each class and symbol the code word, most significant bit first, and its length.

    >>> code = TextCode({"bytes": "ab", "tokens": [], "ends": [], "class": "0000", "lengths": ["2222"]})
    >>> code.encode(b"ba"), code.decode(0b111000, 6)
    ((56, 6), b'ba')
    """

    __slots__ = (
        "_by_word",
        "_ends",
        "_longest",
        "_matches",
        "_table",
        "code_words",
        "first_end",
        "next_class",
        "symbols",
    )

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = check_table(table)
        alphabet = [bytes([ord(char)]) for char in self._table["bytes"]]
        tokens, ends = ([text.encode("latin-1") for text in self._table[name]] for name in ("tokens", "ends"))
        self.symbols: tuple[bytes, ...] = (b"", b"", *alphabet, *tokens, *ends)
        self.first_end = len(self.symbols) - len(ends)
        self.next_class = tuple(DIGITS.index(char) for char in self._table["class"])
        rows = []
        for lengths in self._table["lengths"]:
            # Code words in the order of (length, index): each is the one before plus 1, lengthened by zeros.
            words, word, before = [(0, 0)] * len(lengths), 0, 0
            for length, index in sorted((length, index) for index, length in enumerate(int(d, 16) for d in lengths)):
                word <<= length - before
                words[index] = (word, length)
                word, before = word + 1, length
            rows.append(tuple(words))
        self.code_words = tuple(rows)
        self._matches = {self.symbols[index]: index for index in range(2, self.first_end)}
        self._ends = {self.symbols[index]: index for index in range(self.first_end, len(self.symbols))}
        self._longest = max(map(len, self._matches), default=0)
        self._by_word = tuple(
            {f"{word:0{size}b}": index for index, (word, size) in enumerate(row)} for row in self.code_words
        )

    @classmethod
    def from_json(cls, document: str | bytes) -> TextCode:
        """The code of a table as JSON text."""
        if len(document) > MAX_FILE_BYTES:
            raise ParameterError(f"a code must be at most {MAX_FILE_BYTES} bytes of JSON, got more")
        try:
            table = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise ParameterError(f"a code must be JSON, got text that is not ({type(error).__name__})") from None
        return cls(table)

    def to_json(self) -> dict[str, Any]:
        """The table, as plain data."""
        return {name: list(value) if isinstance(value, list) else value for name, value in self._table.items()}

    def encode(self, text: bytes) -> tuple[int, int]:
        """The code of at most 64 bytes: its bits as a number, most significant first, and the number of bits.

        A code of n bytes has at most 8n + 22 bits. Among codes of the same length, the one without a raw tail wins,
        then the one whose tail starts earlier.
        """
        if len(text) > MAX_BYTES:
            raise ParameterError(f"text must be at most {MAX_BYTES} bytes, got {len(text)}")
        bits = length = state = at = 0
        best = tail_at = tail_bits = 0
        for symbol in self.greedy(text):
            row = self.code_words[state]
            if at < len(text):
                escape, size = row[ESC]
                tail = length + size + _TAIL_HEADER + 8 * (len(text) - at)
                if not best or tail < best:
                    best, tail_at, tail_bits = tail, at, bits << size | escape
            word, size = row[symbol]
            bits, length = bits << size | word, length + size
            if symbol == ESC:
                bits, length, at = bits << 9 | text[at], length + 9, at + 1
            at += len(self.symbols[symbol])
            state = self.next_class[symbol]
        if not best or length <= best:
            return bits, length
        raw = text[tail_at:]
        header = 1 << 6 | len(raw) - 1
        return (tail_bits << _TAIL_HEADER | header) << 8 * len(raw) | int.from_bytes(raw, "big"), best

    def greedy(self, text: bytes) -> list[int]:
        """The symbols of a string without a raw tail: at each place the longest that matches, or ESC for one byte.

        An end matches only if it is the whole rest of the string. Every list ends with an end or with END.
        """
        symbols: list[int] = []
        at = 0
        while at < len(text):
            if (end := self._ends.get(text[at:])) is not None:
                return [*symbols, end]
            for size in range(min(self._longest, len(text) - at), 0, -1):
                if (symbol := self._matches.get(text[at : at + size])) is not None:
                    break
            else:
                symbol, size = ESC, 1
            symbols.append(symbol)
            at += size
        return [*symbols, END]

    def length(self, text: bytes) -> int:
        """Bits of the code of at most 64 bytes."""
        return self.encode(text)[1]

    def decode(self, bits: int, length: int) -> bytes | None:
        """The string whose code is exactly these bits; None if there is none, or if it is not UTF-8."""
        text = self.decode_padded(bits, length)
        return text if text is not None and self.length(text) == length else None

    def decode_padded(self, bits: int, width: int) -> bytes | None:
        """The string whose code, followed by zeros up to `width` bits, is exactly these bits.

        None if there is none, or if it is not UTF-8.
        """
        if width < 0 or bits < 0 or bits >> width:
            return None
        digits, text, state, at = f"{bits:0{width}b}"[:width], b"", 0, 0
        ended = False
        while not ended:
            # A complete row has a code word for every path, unless the bits end before it does.
            words = self._by_word[state]
            size = next((size for size in range(1, MAX_WORD + 1) if digits[at : at + size] in words), 0)
            if not size:
                return None
            symbol, at = words[digits[at : at + size]], at + size
            text += self.symbols[symbol]
            ended = symbol == END or symbol >= self.first_end
            if symbol == ESC:
                ended = digits[at : at + 1] == "1"
                start = at + (_TAIL_HEADER if ended else 1)
                count = int(digits[at + 1 : start] or "0", 2) + 1 if ended else 1
                at = start + 8 * count
                if at > width:
                    return None
                text += int(digits[start:at], 2).to_bytes(count, "big")
            state = self.next_class[symbol]
            if len(text) > MAX_BYTES:
                return None
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return None
        code, length = self.encode(text)  # these bits may be another code of the same string
        return text if length <= width and code << (width - length) == bits else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextCode) and self._table == other._table

    def __hash__(self) -> int:
        return hash((self.symbols, self.next_class, self.code_words))

    def __repr__(self) -> str:
        return f"TextCode({len(self.symbols)} symbols, {len(self.code_words)} classes)"

    def __reduce__(self) -> tuple[type[TextCode], tuple[dict[str, Any]]]:
        return (TextCode, (self.to_json(),))
