"""Domains map every value to an item, as docs/wire-format.md and docs/text-codes.md describe."""

from __future__ import annotations

import json
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any, Final, NamedTuple
from uuid import UUID

from .checks import fields, require, whole


def _is_numpy(value: object, *names: str) -> bool:
    """Return whether this is an object of a class of numpy, without importing numpy."""
    return any(base.__module__ == "numpy" and base.__name__ in names for base in type(value).__mro__)


def _is_bool(value: object) -> bool:
    """Return whether this is True or False, also numpy's."""
    return isinstance(value, bool) or _is_numpy(value, "bool", "bool_")


def _number(value: object) -> int | float:
    """Return a number as an int or a float; a TypeError for anything else, True and False included."""
    if _is_bool(value):
        raise TypeError
    if isinstance(value, float) or _is_numpy(value, "floating"):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.adjusted() < 400 and value == value.to_integral_value()
        return int(value) if whole else float(value)
    return operator.index(value)  # type: ignore[arg-type]


def _number_text(value: object) -> str:
    """Return a number, or True or False, as JavaScript's String writes it; a TypeError for anything else."""
    if _is_bool(value):
        return "true" if value else "false"
    number = _number(value)
    if isinstance(number, int):
        return format(Decimal(number), "f")  # str() has a limit for the digits of an int
    if number - number:  # NaN, for what is not finite
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(number)]
    if not number:
        return "0"
    sign, found, exponent = Decimal(repr(number)).as_tuple()
    digits, size = "".join(map(str, found)).rstrip("0"), len(found) + int(exponent)  # `size` are before the point
    if 0 < size <= 21:
        text = f"{digits[:size]:0<{size}}.{digits[size:]}".rstrip(".")
    elif -6 < size <= 0:
        text = f"0.{'0' * -size}{digits}"
    else:
        text = f"{digits[0]}.{digits[1:]}".rstrip(".") + f"e{size - 1:+d}"
    return "-" * sign + text


def _text(value: object) -> str:
    """Return the text of a string, of UTF-8 bytes or of a number: surrogates joined or replaced by U+FFFD, then NFC."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = value if isinstance(value, str) else _number_text(value)
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", joined)


def _cut(text: str, size: int) -> bytes:
    """Return at most `size` bytes of a text in UTF-8, cut between characters."""
    return text.encode()[:size].decode("utf-8", "ignore").encode()


def _integer(value: object) -> int:
    """Return the item of an integer; -1 or a TypeError for anything else."""
    if isinstance(value, str):
        digits = re.fullmatch(r"[0-9]{1,155}", value.strip(), re.ASCII)
        return int(digits.group()) if digits else -1
    number = _number(value)  # a TypeError means "(other)"
    return int(number) if isinstance(number, int) or number.is_integer() else -1


def _address(value: object) -> int:
    """Return the item of an IPv4 address; -1, a ValueError or a TypeError for anything else."""
    if isinstance(value, bytes | str):
        parts = _text(value).strip().split(".")
        fits = len(parts) == 4 and all(re.fullmatch(r"0|[1-9][0-9]{0,2}", part, re.ASCII) for part in parts)
        return int.from_bytes(map(int, parts), "big") if fits else -1  # 256 and above: a ValueError means "(other)"
    return int(value) if isinstance(value, IPv4Address) else _integer(value)


def _hexadecimal(digits: int) -> Callable[[object], int]:
    """Return a function that gives the item of an id of so many hexadecimal digits; -1 or a TypeError for others."""
    form = re.compile(rf"[0-9a-fA-F](?:[-:]?[0-9a-fA-F]){{{digits - 1}}}")

    def item(value: object) -> int:
        text = str(value) if isinstance(value, UUID) else _text(value).strip()
        return int(re.sub("[-:]", "", text), 16) if form.fullmatch(text) else -1

    return item


_SPACES: Final = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
_BAD_IN_HOST: Final = re.compile(r'[\x00-\x20\x7f"%<>\[\]^`{|}' + _SPACES + "]")
_LOWER: Final = {upper: upper + 32 for upper in range(65, 91)}


def _text_1(text: str) -> str:
    """Normalise a text by the rules text-1."""
    return _cut(unicodedata.normalize("NFC", text.lower()), 64).decode()


def _hostname(text: str, aliases: tuple[str, ...]) -> str:
    """Return the host name in a text or a URL, without aliases at the front. Raises ValueError if there is none."""
    text = re.sub(r"\A(?:[A-Za-z][A-Za-z0-9+.-]*:)?//", "", text.strip(_SPACES))
    text = re.split(r"[/\\?#]", text, maxsplit=1)[0].rpartition("@")[2]
    host = unicodedata.normalize("NFC", text.translate(_LOWER))
    if address := re.match(r"\[[0-9a-f:.]+\]", host):
        host = address.group()
    else:
        host = host.partition(":")[0].rstrip(".")
        while host.startswith(aliases) and "." in host.partition(".")[2]:
            host = host.partition(".")[2]
    if not host or (not address and _BAD_IN_HOST.search(host)) or len(host.encode()) > 64:
        raise ValueError
    return host


_RULES: Final[dict[str, Callable[[str], str]]] = {
    "text-1": _text_1,
    "words-1": lambda text: _text_1(text.strip(_SPACES)).strip(_SPACES),
    "hostnames-1": lambda text: _hostname(text, ("www.",)),
    "hostnames-2": lambda text: _hostname(text, ("www.", "m.", "l.", "lm.", "mobile.", "amp.", "old.")),
}


def _code(table: Any) -> Callable[[bytes], tuple[int, int]]:
    """Return the encoder of a text code: it maps at most 64 bytes to (bits, number of bits). See docs/text-codes.md."""
    fields(table, "code", ("bytes", "tokens", "ends", "class", "lengths"))
    for name, kind in (("bytes", str), ("class", str), ("tokens", list), ("ends", list), ("lengths", list)):
        strings = isinstance(table[name], kind) and all(isinstance(text, str) for text in table[name])
        require(strings, f"code.{name} must be {kind.__name__} of text", type(table[name]).__name__)
    size = len(json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    require(size <= 8192, "a code must be at most 8192 bytes of JSON", size)
    for name, shortest in (("bytes", 1), ("tokens", 2), ("ends", 1)):
        texts = list(table[name])
        fit = all(shortest <= len(text) <= 64 and max(text) <= "\xff" for text in texts)
        require(fit and len(set(texts)) == len(texts), f"code.{name} must be distinct strings of bytes", texts)
    parts = [[text.encode("latin-1") for text in table[name]] for name in ("bytes", "tokens", "ends")]
    symbols = [b"", b"", *parts[0], *parts[1], *parts[2]]
    first_end = len(symbols) - len(parts[2])
    rows, base36 = table["lengths"], "0123456789abcdefghijklmnopqrstuvwxyz"
    words: list[list[tuple[int, int]]] = []  # for each row the code words of its symbols: bits, length
    for row in rows:
        complete = len(row) == len(symbols) and set(row) <= set("123456789abcdef")
        complete = complete and sum(1 << 15 - int(digit, 16) for digit in row) == 1 << 15
        require(complete, "a row of code.lengths must be a complete code of all symbols", row)
        words.append([(0, 0)] * len(row))
        word = before = 0
        for length, symbol in sorted((int(digit, 16), symbol) for symbol, digit in enumerate(row)):
            word, before = word << (length - before), length
            words[-1][symbol] = word, length
            word += 1
    after, digits = table["class"], set(base36[: len(rows)])
    fits = 1 <= len(rows) <= 36 and len(after) == len(symbols) and set(after) <= digits
    require(fits, "code.class must be a digit for each symbol", after)
    matches = {text: 2 + index for index, text in enumerate(symbols[2:first_end])}
    ends = {text: first_end + index for index, text in enumerate(parts[2])}
    longest = max(map(len, matches), default=0)

    def encode(text: bytes) -> tuple[int, int]:
        """Return the bits of a text and their number, with a raw tail where that is shorter."""
        bits = length = state = at = 0
        tails: list[tuple[int, int, int]] = []  # bits in all, where the raw tail begins, the bits before it
        symbol = -1
        while not (symbol == 0 or symbol >= first_end):
            left = text[at:]
            symbol = ends.get(left, 1) if left else 0  # an ending, else the longest match, else one byte as it is
            if symbol == 1:
                sizes = range(min(longest, len(left)), 0, -1)
                symbol = next((matches[left[:size]] for size in sizes if left[:size] in matches), 1)
            if left:
                escape, size = words[state][1]
                tails.append((length + size + 7 + 8 * (len(text) - at), at, bits << size | escape))
            word, size = words[state][symbol]
            bits, length = bits << size | word, length + size
            if symbol == 1:
                bits, length, at = bits << 9 | text[at], length + 9, at + 1
            at, state = at + len(symbols[symbol]), base36.index(after[symbol])
        best, start, before = min(tails, default=(length, 0, 0))
        if length <= best:
            return bits, length
        raw = text[start:]
        return (before << 7 | 1 << 6 | len(raw) - 1) << 8 * len(raw) | int.from_bytes(raw, "big"), best

    return encode


class Domain(NamedTuple):
    """A map from values to items.

    Attributes
    ----------
    size : int
        The number of items.
    fallback : int
        The item of all values that do not fit.
    look_up : callable
        Maps a value to its item. Any exception, and any item out of range, means that the value does not fit.
    coded : bool
        Whether items are the bits of a text code.
    names : tuple of str
        The names of a list without "(other)": values outside the domain share an item with one of them. Else empty.
    """

    size: int
    fallback: int
    look_up: Callable[[object], int]
    coded: bool = False
    names: tuple[str, ...] = ()

    def item(self, value: object) -> int:
        """Return the item of any value. Never raises."""
        try:
            item = self.look_up(value)
        except Exception:  # foreign objects may raise anything, and an error would tell something about the value
            return self.fallback
        return item if 0 <= item < self.size else self.fallback


_DOMAINS: Final = {
    "integers": ("bits",),
    "ipv4": (),
    "hex": ("digits",),
    "uuid": (),
    "categories": ("names", "normalization", "other"),
    "bytes": ("max_bytes", "normalization"),
    "coded_text": ("code", "normalization", "width"),
}


def read_domain(data: Any) -> Domain:
    """Return the domain that a survey describes."""
    kind = data.get("kind") if isinstance(data, dict) else None
    require(isinstance(kind, str) and kind in _DOMAINS, f"domain.kind must be one of {', '.join(_DOMAINS)}", kind)
    fields(data, "domain", ("kind", *_DOMAINS[str(kind)]))
    if kind in ("integers", "ipv4"):
        bits = whole(data, "bits", 1, 512) if kind == "integers" else 32
        return Domain(1 << bits, (1 << bits) - 1, _integer if kind == "integers" else _address)
    if kind in ("hex", "uuid"):
        digits = whole(data, "digits", 1, 128) if kind == "hex" else 32
        return Domain(16**digits, 16**digits - 1, _hexadecimal(digits))
    rule = data["normalization"]
    if kind == "coded_text":
        require(isinstance(rule, str) and rule in _RULES, f"normalization must be one of {', '.join(_RULES)}", rule)
        normal, encode, width = _RULES[rule], _code(data["code"]), whole(data, "width", 16, 512)
        other = (1 << width) - 1

        def code_item(value: object) -> int:
            """Return the item of a text: its code at the top of `width` bits."""
            text = normal(_text(value))
            bits, length = encode(text.encode())
            return other if text == "(other)" or length > width else bits << (width - length)

        return Domain(1 << width, other, code_item, coded=True)
    require(type(rule) is int and rule == 1, "normalization must be 1", rule)
    if kind == "bytes":
        size = whole(data, "max_bytes", 1, 64)
        return Domain(1 << 8 * size, 0, lambda value: int.from_bytes(_cut(_text(value), size), "little"))
    names, is_open = data["names"], data["other"]
    require(type(is_open) is bool, "domain.other must be true or false", is_open)
    listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(listed, "domain.names must be a list of names", type(names).__name__)
    require(len(names) + is_open >= 2, "a domain must have at least 2 values", len(names) + is_open)
    positions = {name: index for index, name in enumerate(names)}
    normal_form = all(_text(name) == name for name in names) and "(other)" not in positions
    require(len(positions) == len(names) and normal_form, "names must be distinct and in normal form", len(names))
    if is_open:
        return Domain(len(names) + 1, len(names), lambda value: positions[_text(value)])

    def stand_in(text: str) -> int:
        return int.from_bytes(text.encode(), "big") % 65_521 % len(names)

    def closed_item(value: object) -> int:
        text = _text(value)
        return positions[text] if text in positions else stand_in(text)

    return Domain(len(names), stand_in(""), closed_item, names=tuple(names))
