"""The domains: numbers, addresses, hexadecimal ids, lists of names, raw text. Coded text is in `coded_domain`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError, shown
from hubbub.model.coded_domain import CodedText
from hubbub.model.domain_base import MAX_BITS, OTHER, Domain, as_number, as_text, check_bits, normalize_text

__all__ = [
    "MAX_BITS",
    "OTHER",
    "Bytes",
    "Categories",
    "Domain",
    "Hex",
    "IPv4",
    "Integers",
    "UUIDs",
    "domain_from_json",
    "normalize_text",
]

_DECIMAL = re.compile(r"[0-9]{1,155}", re.ASCII)  # 2^512 has 155 digits
_LONGEST_LIST = 1024
_OCTET = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Integers(Domain):
    """Whole numbers from 0 to 2^bits − 2; all ones means "(other)".

    Accepts whole numbers of any type (not True and False) and decimal strings.

    >>> Integers(8).decode(Integers(8).encode([7, "7", -1, 255, "seven"]))
    [7, 7, '(other)', '(other)', '(other)']
    """

    bits: int

    def __post_init__(self) -> None:
        check_bits("bits", self.bits, 1, MAX_BITS)
        self._measure(1 << self.bits, (1 << self.bits) - 1)

    @property
    def described(self) -> str:
        """The values, in words."""
        return f"whole numbers below 2^{self.bits} − 1"

    @property
    def member(self) -> str:
        """One value, in words."""
        return f"a whole number from 0 to 2^{self.bits} − 2"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "integers", "bits": self.bits}

    def _index(self, value: object) -> int:
        if isinstance(value, str):
            match = _DECIMAL.fullmatch(value.strip())
            number = int(match.group()) if match else -1
        else:
            number = _whole(value)
        return number if 0 <= number < self.size else self._fallback

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else index


@dataclass(frozen=True, slots=True)
class IPv4(Domain):
    """Addresses of the Internet protocol, version 4, as 32-bit numbers; 255.255.255.255 means "(other)".

    Accepts dotted quads without leading zeros (which some parsers read as octal), and whole numbers.

    >>> IPv4().decode(IPv4().encode(["192.0.2.1", 3221225985, "192.0.2.256"]))
    ['192.0.2.1', '192.0.2.1', '(other)']
    """

    def __post_init__(self) -> None:
        self._measure(1 << 32, (1 << 32) - 1)

    @property
    def described(self) -> str:
        """The values, in words."""
        return "addresses of IPv4"

    @property
    def member(self) -> str:
        """One value, in words."""
        return "an address such as 192.0.2.1"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "ipv4"}

    def _index(self, value: object) -> int:
        if isinstance(value, bytes | str):
            parts = as_text(value).strip().split(".")
            fits = len(parts) == 4 and all(_OCTET.fullmatch(part) and int(part) < 256 for part in parts)
            return int.from_bytes(map(int, parts), "big") if fits else self._fallback
        if isinstance(value, IPv4Address):
            return int(value)
        number = _whole(value)
        return number if 0 <= number < self.size else self._fallback

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else ".".join(map(str, index.to_bytes(4, "big")))


@dataclass(frozen=True, slots=True)
class Hex(Domain):
    """Ids of so many hexadecimal digits, such as hashes; all digits f means "(other)".

    Case does not matter, nor does a dash or a colon between two digits. An id of another length is "(other)".

    >>> Hex(6).decode(Hex(6).encode(["c0ffee", "C0-FF-EE", 123456, "c0ffe", "c0fffee"]))
    ['c0ffee', 'c0ffee', '123456', '(other)', '(other)']
    """

    digits: int
    _form: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_bits("digits", self.digits, 1, MAX_BITS // 4)
        object.__setattr__(self, "_form", re.compile(rf"[0-9a-fA-F](?:[-:]?[0-9a-fA-F]){{{self.digits - 1}}}"))
        self._measure(1 << 4 * self.digits, (1 << 4 * self.digits) - 1)

    @property
    def described(self) -> str:
        """The values, in words."""
        return f"ids of {self.digits} hexadecimal digits"

    @property
    def member(self) -> str:
        """One value, in words."""
        return f"an id of {self.digits} hexadecimal digits"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "hex", "digits": self.digits}

    def _index(self, value: object) -> int:
        match = self._form.fullmatch(str(value) if isinstance(value, UUID) else as_text(value).strip())
        return int(match.group().replace("-", "").replace(":", ""), 16) if match else self._fallback

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else f"{index:0{self.digits}x}"


class UUIDs(Hex):
    """UUIDs: ids of 32 hexadecimal digits, which are shown with dashes.

    >>> UUIDs().decode(UUIDs().encode(["F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae"]))
    ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6', '(other)']
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(32)

    def __repr__(self) -> str:
        return "UUIDs()"

    @property
    def described(self) -> str:
        """The values, in words."""
        return "UUIDs"

    @property
    def member(self) -> str:
        """One value, in words."""
        return "a UUID"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "uuid"}

    def _value(self, index: int) -> int | str | None:
        return OTHER if index == self._fallback else str(UUID(int=index))


@dataclass(frozen=True, slots=True)
class Categories(Domain):
    """A public list of names, and "(other)" for the rest.

    A closed list (`other=False`), such as yes and no, has no "(other)". A value that is not on it becomes one of its
    names, always the same one, chosen by the bytes of its text. So use it only if every value is on the list.

    >>> Categories(["red", "green"]).decode(Categories(["red", "green"]).encode(["green", "mauve"]))
    ['green', '(other)']
    >>> Categories(["yes", "no"], other=False).size
    2
    """

    names: tuple[str, ...]
    other: bool
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __init__(self, names: Sequence[str], other: bool = True) -> None:
        self._fill(names, other)
        if "" in self._positions:
            raise ParameterError("names must have at least one character each, got ''")

    @classmethod
    def stated(cls, names: Sequence[str], other: bool) -> Categories:
        """The list that a survey states. The format allows an empty name, which no new list may have."""
        made = cls.__new__(cls)
        made._fill(names, other)
        return made

    def _fill(self, names: Sequence[str], other: bool) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise ParameterError(f"names must be a list of strings, got {type(names).__name__}")
        names = list(names)
        for name in names:
            if not isinstance(name, str):
                raise ParameterError(f"names must be a list of strings, got {type(name).__name__} {shown(name)} in it")
        if not isinstance(other, bool):
            raise ParameterError(f"other must be True or False, got other={shown(other)}")
        clean = tuple(normalize_text(name) for name in names)
        if len(clean) + other < 2:
            got = f"{len(clean)} {'name' if len(clean) == 1 else 'names'}{' and ' + repr(OTHER) if other else ''}"
            raise ParameterError(f"a domain must have at least 2 values, got {got}")
        positions = {name: index for index, name in enumerate(clean)}
        if len(positions) < len(clean):
            twice = next(name for index, name in enumerate(clean) if positions[name] != index)
            raise ParameterError(f"names must be distinct, got {shown(twice)} twice")
        if OTHER in positions:
            raise ParameterError(f"names must not contain the reserved name, got {shown(OTHER)}")
        object.__setattr__(self, "names", clean)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "_positions", positions)
        size = len(clean) + other
        self._measure(size, len(clean) if other else self._stand_in(""), is_list=size <= _LONGEST_LIST)

    def __repr__(self) -> str:
        return f"Categories({len(self.names)} names{'' if self.other else ', other=False'})"

    @property
    def has_other(self) -> bool:
        """False for a closed list."""
        return self.other

    @property
    def described(self) -> str:
        """The values, in words."""
        return f"{self._many_names}{' and (other)' if self.other else ''}"

    @property
    def member(self) -> str:
        """One value, in words."""
        return f"one of the {self._many_names}" if len(self.names) > 1 else "the one name"

    @property
    def _many_names(self) -> str:
        return f"{len(self.names):,} name{'' if len(self.names) == 1 else 's'}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "categories", "names": list(self.names), "normalization": 1, "other": self.other}

    def _stand_in(self, text: str) -> int:
        """The index of the name that a closed list uses for a text that is not on it."""
        return int.from_bytes(text.encode("utf-8"), "big") % 65_521 % len(self.names)

    def lacks(self, value: object) -> bool:
        """Whether a value is not one of the names."""
        try:
            return as_text(value) not in self._positions
        except Exception:  # a foreign object may do anything
            return True

    def _index(self, value: object) -> int:
        text = as_text(value)
        position = self._positions.get(text)
        if position is None:
            position = len(self.names) if self.other else self._stand_in(text)
        return position

    def _value(self, index: int) -> int | str | None:
        return self.names[index] if index < len(self.names) else OTHER


@dataclass(frozen=True, slots=True)
class Bytes(Domain):
    r"""Any text as its raw bytes: UTF-8 of at most `max_bytes` bytes, padded with zeros; there is no "(other)".

    Upper and lower case are two values. `Text()` finds most texts in smaller crowds.

    Normalisation, version 1: lone surrogates become U+FFFD, then NFC, then a cut at a character boundary, then
    trailing NULs are dropped. A value that is not text (None, a list) becomes the empty text.

    >>> Bytes(4).decode(Bytes(4).encode(["naïve", "e\u0301", "\ud800"]))
    ['naï', 'é', '�']
    """

    max_bytes: int

    def __post_init__(self) -> None:
        check_bits("max_bytes", self.max_bytes, 1, MAX_BITS // 8)
        # Items that are not UTF-8 in normal form encode no value.
        self._measure(1 << (8 * self.max_bytes), 0, cut_after=self.max_bytes)

    @property
    def described(self) -> str:
        """The values, in words."""
        return f"text of {self.max_bytes} bytes"

    @property
    def member(self) -> str:
        """One value, in words."""
        return f"a text of at most {self.max_bytes} bytes"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "bytes", "max_bytes": self.max_bytes, "normalization": 1}

    def cuts(self, value: object) -> bool:
        """Whether the text, in normal form, has more than `max_bytes` bytes."""
        try:
            return len(as_text(value).encode("utf-8")) > self.max_bytes
        except Exception:  # a foreign object may do anything
            return False

    def _index(self, value: object) -> int:
        raw = as_text(value).encode("utf-8")
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


def _whole(value: object) -> int:
    """A number as an int, −1 if it is not whole; a TypeError, which means "(other)", for anything else."""
    number = as_number(value)
    return int(number) if isinstance(number, int) or number.is_integer() else -1


_FIELDS = {
    "integers": ("bits",),
    "ipv4": (),
    "hex": ("digits",),
    "uuid": (),
    "categories": ("names", "normalization", "other"),
    "bytes": ("max_bytes", "normalization"),
    "coded_text": ("code", "normalization", "width"),
}


def domain_from_json(data: Mapping[str, Any]) -> Domain:
    """The domain from the plain data of `to_json`; anything else is a ParameterError."""
    if not isinstance(data, Mapping):
        raise ParameterError(f"domain must be an object, got domain={shown(data)}")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise ParameterError(f"domain.kind must be one of {', '.join(_FIELDS)}, got domain.kind={shown(kind)}")
    unknown = sorted(set(data) - {"kind", *_FIELDS[kind]})
    missing = sorted(set(_FIELDS[kind]) - set(data))
    if unknown or missing:
        raise ParameterError(
            f"a domain of kind {kind} has the fields {', '.join(_FIELDS[kind]) or 'kind alone'}, "
            f"got {'unknown ' + unknown[0] if unknown else 'no ' + missing[0]}"
        )
    if kind == "integers":
        return Integers(data["bits"])
    if kind == "ipv4":
        return IPv4()
    if kind in ("hex", "uuid"):
        return Hex(data["digits"]) if kind == "hex" else UUIDs()
    if kind == "coded_text":
        return CodedText(TextCode(data["code"]), data["normalization"], data["width"])
    if data["normalization"] != 1 or isinstance(data["normalization"], bool):
        raise ParameterError(f"domain.normalization must be 1, got {shown(data['normalization'])}")
    if kind == "bytes":
        return Bytes(data["max_bytes"])
    if not isinstance(data["names"], list):
        raise ParameterError(f"domain.names must be a list, got {type(data['names']).__name__}")
    return Categories.stated(data["names"], data["other"])
