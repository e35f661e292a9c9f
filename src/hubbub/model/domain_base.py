"""The base class of domains: a total map from values to items (a fixed number of bits), and back.

A domain never raises on a private value, since an error would reveal something about it. A value that does not fit
becomes the reserved item "(other)"; text is normalised and cut.
"""

from __future__ import annotations

import math
import operator
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown

OTHER: Final = "(other)"
"""The text that is shown for the reserved item."""

MAX_BITS: Final = 512
_MOST_DIGITS: Final = 400  # of a Decimal that is read as an int; a larger one has an exponent, and is read as a float


@dataclass(frozen=True, slots=True)
class Domain(ABC):
    """A universe of `size` items, each of `bits` bits, with a total `encode` and a partial `decode`.

    Attributes
    ----------
    size : int
        How many items there are, the reserved one included; N in the paper. Need not be a power of two.
    bits : int
        Bits of an item: ⌈log₂ size⌉, from 1 to 512.
    item_limbs : int
        64-bit limbs of an item.
    outside : uint64 array, shape (item_limbs,)
        The item of every value that is not in the domain, and of a missing value.
    cut_after : int or None
        Bytes of UTF-8 after which text is cut; None if nothing is cut.
    is_list : bool
        True for a short list of names, of which an answer can show every value.
    """

    size: int = field(init=False, repr=False, compare=False)
    bits: int = field(init=False, repr=False, compare=False)
    item_limbs: int = field(init=False, repr=False, compare=False)
    outside: NDArray[np.uint64] = field(init=False, repr=False, compare=False)
    cut_after: int | None = field(init=False, repr=False, compare=False)
    is_list: bool = field(init=False, repr=False, compare=False)
    _fallback: int = field(init=False, repr=False, compare=False)  # `outside`, as a number

    def _measure(self, size: int, fallback: int, cut_after: int | None = None, is_list: bool = False) -> None:
        """Set the attributes of every domain. Whoever makes a domain calls it once."""
        bits = (size - 1).bit_length()
        limbs = -(-bits // 64)
        outside = np.frombuffer(fallback.to_bytes(8 * limbs, "little"), "<u8").astype(np.uint64)
        known = {"size": size, "bits": bits, "item_limbs": limbs, "outside": outside, "cut_after": cut_after}
        for name, value in {**known, "is_list": is_list, "_fallback": fallback}.items():
            object.__setattr__(self, name, value)

    @property
    def has_other(self) -> bool:
        """Whether values outside the domain have an item of their own: "(other)" or the empty text."""
        return True

    @property
    @abstractmethod
    def described(self) -> str:
        """The kind of values, in words: "host names"."""

    @property
    @abstractmethod
    def member(self) -> str:
        """One value, in words: "an address such as 192.0.2.1"."""

    @property
    def long_example(self) -> str | None:
        """A value about as long as those that `Answer.long_limit` is for; None if all values have the same length."""
        return None

    @property
    def names_list(self) -> str | None:
        """The public list of names for such values, as `hubbub.names` calls it; None if there is none."""
        return None

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data from which `domain_from_json` makes an equal domain."""

    @abstractmethod
    def _index(self, value: object) -> int:
        """The item as a number. It may raise; the caller then uses `_fallback`."""

    @abstractmethod
    def _value(self, index: int) -> int | str | None:
        """The value of an item below `size`, or None if the item encodes no value."""

    def cuts(self, value: object) -> bool:  # noqa: ARG002
        """Whether a value is too long, so that its item stands for its beginning only. Never raises."""
        return False

    def lacks(self, value: object) -> bool:
        """Whether a value is not in the domain, so that its item is another value's or "(other)". Never raises."""
        item = self._encode_one(value)
        return item == self._fallback and self._value(item) == OTHER

    def encode(self, values: Iterable[object]) -> NDArray[np.uint64]:
        """Items of the values, shape (n, item_limbs). Total: never raises on a value.

        Costs one pass; a string that occurs again in the same call is looked up, not encoded again. A missing value
        gets the item of values outside the domain; `encode_column` skips it instead, and takes columns of pandas,
        Arrow and other libraries directly. A numpy array of raw bytes (dtype kind "V") is a ParameterError.
        """
        if isinstance(values, np.ndarray) and values.dtype.kind == "V":
            raise ParameterError(f"values must be texts or numbers, got an array of type {values.dtype}")
        if callable(convert := getattr(values, "to_pylist", None)):
            values = convert()  # a column of Arrow yields objects of its own
        width = 8 * self.item_limbs
        seen: dict[str, bytes] = {}
        encoded: list[bytes] = []
        for value in values:
            item = seen.get(value) if type(value) is str else None
            if item is None:
                item = self._encode_one(value).to_bytes(width, "little")
                if type(value) is str:
                    seen[value] = item
            encoded.append(item)
        return np.frombuffer(b"".join(encoded), "<u8").astype(np.uint64).reshape(-1, self.item_limbs)

    def _encode_one(self, value: object) -> int:
        # An unknown object may raise anything. Then the person's value is "(other)", never an exception.
        try:
            return self._index(value)
        except Exception:
            return self._fallback

    def decode(self, items: NDArray[np.uint64]) -> list[int | str | None]:
        """The value of each item, or None for an item that is not the code of any value."""
        limbs = np.ascontiguousarray(items, dtype="<u8").reshape(-1, self.item_limbs)
        indices = (int.from_bytes(row.tobytes(), "little") for row in limbs)
        return [self._value(index) if index < self.size else None for index in indices]


def check_bits(name: str, value: object, low: int, high: int) -> None:
    """Require a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(f"{name} must be a whole number from {low} to {high}, got {name}={shown(value)}")


def normalize_text(text: str) -> str:
    """Version 1 of the normal form: surrogate pairs joined, lone surrogates replaced by U+FFFD, then NFC."""
    if text.isascii():
        return text
    # Through UTF-16, as in a browser; errors="replace" on UTF-8 would give "?" instead of U+FFFD.
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", joined)


def as_text(value: object) -> str:
    """The text of a string, of UTF-8 bytes or of a number, in normal form; a TypeError for anything else."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return normalize_text(value if isinstance(value, str) else number_text(value))


def as_number(value: object) -> int | float:
    """A number of any type as an int or a float; a TypeError for anything else, True and False included.

    A float of another width is the float of 64 bits with its value. A Decimal is an int if it is whole.
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError("not a number")
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
        return int(value) if whole else float(value)
    return operator.index(value)  # type: ignore[arg-type]  # a TypeError if it is no whole number


def number_text(value: object) -> str:
    """A number, or True or False, as JavaScript writes it; a TypeError for anything else.

    Other languages have other notations, and one value would be two items. An int is its decimal digits.

    >>> [number_text(value) for value in (3.0, 1e16, 1e21, 1e-7, -0.0, 2**60, 2.0**60, True)]
    ['3', '10000000000000000', '1e+21', '1e-7', '0', '1152921504606846976', '1152921504606847000', 'true']
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    number = as_number(value)
    if isinstance(number, int):
        return format(Decimal(number), "f")  # str() has a limit for the digits of an int
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if not number:
        return "0"
    # repr has the fewest digits that give this number back, as JavaScript's has.
    sign, found, exponent = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, found)).rstrip("0")
    point = len(found) + int(exponent)  # how many digits are before the point
    if 0 < point <= 21:
        digits = digits.ljust(point, "0")
        text = f"{digits[:point]}.{digits[point:]}".removesuffix(".")
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}.{digits[1:]}".removesuffix(".") + f"e{point - 1:+d}"
    return "-" * sign + text
