"""Domains: total maps from values to items (a fixed number of bits) and back.

A domain never raises on a private value: an error would tell the world something about it. What does not fit
becomes the reserved item "(other)", or, for text, is normalised and cut.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError

OTHER: Final = "(other)"
"""How the reserved item is shown."""

MAX_BITS: Final = 512

_DECIMAL = re.compile(r"[0-9]{1,155}", re.ASCII)  # 2^512 has 155 digits


class Domain(ABC):
    """A universe of `size` items, each of `bits` bits, with a total `encode` and a partial `decode`."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many items there are, the reserved one included; N in the paper. Need not be a power of two."""

    @property
    def bits(self) -> int:
        """Bits of an item: ⌈log₂ size⌉, from 1 to 512."""
        return (self.size - 1).bit_length()

    @property
    def item_words(self) -> int:
        """64-bit words of an item."""
        return -(-self.bits // 64)

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data from which `domain_from_json` makes an equal domain."""

    @abstractmethod
    def _index(self, value: object) -> int:
        """The item as a number; may raise, the caller takes that for `_fallback`."""

    @property
    @abstractmethod
    def _fallback(self) -> int:
        """The item of a value that is not in the domain."""

    @abstractmethod
    def _value(self, index: int) -> int | str | None:
        """The value of an item below `size`, or None where the item encodes no value."""

    def encode(self, values: Iterable[object]) -> NDArray[np.uint64]:
        """Items of the values, shape (n, item_words). Total: never raises on a value.

        Costs one pass; a string seen before in the same call is looked up, not encoded again.
        """
        width = 8 * self.item_words
        seen: dict[str, bytes] = {}
        encoded: list[bytes] = []
        for value in values:
            item = seen.get(value) if type(value) is str else None
            if item is None:
                item = self._encode_one(value).to_bytes(width, "little")
                if type(value) is str:
                    seen[value] = item
            encoded.append(item)
        return np.frombuffer(b"".join(encoded), "<u8").astype(np.uint64).reshape(-1, self.item_words)

    def _encode_one(self, value: object) -> int:
        # Whatever a foreign object does when it is looked at, the person's answer is "(other)", not an exception.
        try:
            return self._index(value)
        except Exception:
            return self._fallback

    def decode(self, items: NDArray[np.uint64]) -> list[int | str | None]:
        """The value of each item, or None for an item that is not the code of any value."""
        words = np.ascontiguousarray(items, dtype="<u8").reshape(-1, self.item_words)
        indices = (int.from_bytes(row.tobytes(), "little") for row in words)
        return [self._value(index) if index < self.size else None for index in indices]


def _check_bits(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(f"{name} must be a whole number from {low} to {high}, got {name}={value!r}")


@dataclass(frozen=True, slots=True)
class Integers(Domain):
    """Whole numbers from 0 to 2^bits − 2; all ones means "(other)".

    Accepts ints, whole floats and decimal strings.

    >>> Integers(8).decode(Integers(8).encode([7, "7", -1, 255, "seven"]))
    [7, 7, '(other)', '(other)', '(other)']
    """

    bits: int

    def __post_init__(self) -> None:
        _check_bits("bits", self.bits, 1, MAX_BITS)

    @property
    def size(self) -> int:
        """2^bits."""
        return 1 << self.bits

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "integers", "bits": self.bits}

    @property
    def _fallback(self) -> int:
        return self.size - 1

    def _index(self, value: object) -> int:
        if isinstance(value, str):
            match = _DECIMAL.fullmatch(value.strip())
            number = int(match.group()) if match else -1
        elif isinstance(value, float | np.floating):
            number = int(value) if float(value).is_integer() else -1
        else:
            number = operator.index(value)  # type: ignore[arg-type]  # a TypeError means "(other)"
        return number if 0 <= number < self.size else self._fallback

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else index


@dataclass(frozen=True, slots=True)
class Categories(Domain):
    """A list of names everybody knows, and "(other)" for the rest.

    >>> Categories(["red", "green"]).decode(Categories(["red", "green"]).encode(["green", "mauve"]))
    ['green', '(other)']
    """

    names: tuple[str, ...]
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __init__(self, names: Sequence[str]) -> None:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ParameterError(f"names must be a list of strings, got {type(names).__name__}")
        clean = tuple(normalize_text(name) for name in names)
        if not clean:
            raise ParameterError("a domain must have at least 2 values, got names=[] and '(other)'")
        positions = {name: index for index, name in enumerate(clean)}
        if len(positions) < len(clean):
            twice = next(name for index, name in enumerate(clean) if positions[name] != index)
            raise ParameterError(f"names must be distinct, got {twice!r} twice")
        if OTHER in positions:
            raise ParameterError(f"names must not contain the reserved name, got {OTHER!r}")
        object.__setattr__(self, "names", clean)
        object.__setattr__(self, "_positions", positions)

    def __repr__(self) -> str:
        return f"Categories({len(self.names)} names)"

    @property
    def size(self) -> int:
        """The names and "(other)"."""
        return len(self.names) + 1

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "categories", "names": list(self.names)}

    @property
    def _fallback(self) -> int:
        return len(self.names)

    def _index(self, value: object) -> int:
        return self._positions.get(_as_text(value), self._fallback)

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else self.names[index]


@dataclass(frozen=True, slots=True)
class Text(Domain):
    r"""Any text, as UTF-8 of at most `max_bytes` bytes, padded with zeros; there is no "(other)".

    Normalisation, version 1: lone surrogates become U+FFFD, then NFC, then a cut at a character boundary, then
    trailing NULs go. What is not text (None, a list) is the empty text.

    >>> Text(4).decode(Text(4).encode(["naïve", "e\u0301", "\ud800"]))
    ['naï', 'é', '�']
    """

    max_bytes: int

    def __post_init__(self) -> None:
        _check_bits("max_bytes", self.max_bytes, 1, MAX_BITS // 8)

    @property
    def size(self) -> int:
        """2^(8·max_bytes); items that are not UTF-8 in normal form encode no value."""
        return 1 << (8 * self.max_bytes)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "text", "max_bytes": self.max_bytes, "normalization": 1}

    @property
    def _fallback(self) -> int:
        return 0

    def _index(self, value: object) -> int:
        raw = _as_text(value).encode("utf-8")
        if len(raw) > self.max_bytes:
            # A cut through a character leaves an incomplete sequence at the end, which "ignore" drops.
            raw = raw[: self.max_bytes].decode("utf-8", "ignore").encode("utf-8")
        return int.from_bytes(raw, "little")  # so trailing NULs are padding

    def _value(self, index: int) -> int | str | None:
        raw = index.to_bytes(self.max_bytes, "little").rstrip(b"\0")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return text if normalize_text(text) == text else None


def normalize_text(text: str) -> str:
    """Version 1 of our normal form: surrogate pairs joined, lone surrogates to U+FFFD, then NFC."""
    if text.isascii():
        return text
    # Through UTF-16, as a browser would see it; errors="replace" on UTF-8 would give "?" instead of U+FFFD.
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", joined)


def _as_text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif isinstance(value, int | float | np.number):
        value = str(value)
    if not isinstance(value, str):
        raise TypeError("not text")
    return normalize_text(value)


def domain_from_json(data: Mapping[str, Any]) -> Domain:
    """The domain that `to_json` described; anything else is a ParameterError."""
    if not isinstance(data, Mapping):
        raise ParameterError(f"domain must be an object, got domain={data!r}")
    fields = {"integers": ("bits",), "categories": ("names",), "text": ("max_bytes", "normalization")}
    kind = data.get("kind")
    if kind not in fields:
        raise ParameterError(f"domain.kind must be one of {', '.join(fields)}, got domain.kind={kind!r}")
    unknown = sorted(set(data) - {"kind", *fields[kind]})
    missing = sorted(set(fields[kind]) - set(data))
    if unknown or missing:
        raise ParameterError(
            f"a domain of kind {kind} has the fields {', '.join(fields[kind])}, "
            f"got {'unknown ' + unknown[0] if unknown else 'no ' + missing[0]}"
        )
    if kind == "integers":
        return Integers(data["bits"])
    if kind == "text":
        if data["normalization"] != 1 or isinstance(data["normalization"], bool):
            raise ParameterError(f"domain.normalization must be 1, got {data['normalization']!r}")
        return Text(data["max_bytes"])
    if not isinstance(data["names"], list):
        raise ParameterError(f"domain.names must be a list, got {type(data['names']).__name__}")
    return Categories(data["names"])
