"""One person's value as text, as a whole number, or as missing: the rules that all formats share.

* missing      None, NaN, NaT, NA and the empty text; the row is skipped
* text         is not changed; bytes must be UTF-8, since replaced bytes would make one value of several
* numbers      whole numbers are int, and so are 13.0 and other whole floats up to 2^53; larger ones stay floats; floats
               that are not whole, such as 2.5, are text, as JavaScript writes them; a Decimal is an int if it is whole
* dates        and times are text in ISO form: 2024-02-29, 2024-02-29T12:00:00
* True, False  are the texts true and false, not numbers
* the rest     (a list, a dict, an array) is an InputError, which names the type and never the value
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from types import NoneType
from typing import Any
from uuid import UUID

import numpy as np

from hubbub.errors import InputError
from hubbub.model.domain_base import as_number, number_text

Value = str | int | float

_MISSING = {"NAType", "NaTType", "MaskedConstant"}  # names of types of pandas and numpy; pandas need not be installed
_AS_WRITTEN = (IPv4Address, IPv6Address, UUID, timedelta)
_EXACT = 2.0**53
_WHOLE = re.compile(r"([0-9]{1,155})\.0*", re.ASCII)
_POWER = re.compile(r"[0-9](?:\.[0-9]{1,155})?[eE]\+?[0-9]{1,3}", re.ASCII)


def plain(value: object) -> Value | None:
    """The value by the rules of this module; None if it is missing."""
    kind = type(value)
    if kind is str:
        return value or None  # type: ignore[return-value]
    if kind is int or value is None:
        return value  # type: ignore[return-value]
    return _real(value) if kind is float else _converted(value)  # type: ignore[arg-type]


def present(values: Iterable[object]) -> list[Value]:
    """The values that are not missing, in order. A column of text or whole numbers is not converted."""
    column: list[Any] = values if isinstance(values, list) else list(values)
    kinds = set(map(type, column))
    if kinds <= {str, int}:
        return [value for value in column if value != ""] if "" in column else column
    if kinds <= {str, int, NoneType}:
        return [value for value in column if value is not None and value != ""]
    return [value for value in map(plain, column) if value is not None]


def whole_number(text: str) -> int | None:
    """The whole number in a text that looks like a whole float, such as 13.0 or 1e+16; None for any other text.

    >>> [whole_number(text) for text in ("13.0", "1.5e+16", "13", "2.5", "13.0 kg")]
    [13, 15000000000000000, None, None, None]
    """
    text = text.strip()
    if match := _WHOLE.fullmatch(text):
        return int(match.group(1))
    if not _POWER.fullmatch(text):
        return None
    number = float(text)  # as the program had it that wrote it so
    return int(number) if number.is_integer() else None


def _real(value: float) -> Value | None:
    """A float: None if it is NaN, a whole number if it is one, and text otherwise.

    A float above 2^53 has other digits as text than as a whole number, so what it becomes depends on the domain.
    """
    if value != value:
        return None
    if not value.is_integer():
        return number_text(value)
    return int(value) if abs(value) <= _EXACT else value


def _converted(value: object) -> Value | None:
    """A value of a less common type, by the rules of this module."""
    kind = type(value).__name__
    if kind in _MISSING:
        return None
    if isinstance(value, str):
        return str.__str__(value) or None
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode("utf-8") or None
        except UnicodeDecodeError:  # it holds the bytes
            raise InputError("a value in bytes must be UTF-8, got other bytes: pass text, such as hex") from None
    if isinstance(value, bool | np.bool_):
        return number_text(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _numpy_time(value)
    if isinstance(value, float | np.floating | Decimal):
        number = math.nan if isinstance(value, Decimal) and value.is_nan() else as_number(value)
        return _real(number) if isinstance(number, float) else number
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, _AS_WRITTEN) or kind == "Period":
        return str(value)
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"each value must be one text, number or date, got a value of type {kind}") from None


def _numpy_time(value: np.datetime64 | np.timedelta64) -> str | None:
    """A time of numpy as text in ISO form; None for NaT."""
    if np.isnat(value):
        return None
    if isinstance(value, np.timedelta64):
        return str(value)
    item = value.item()
    if isinstance(item, date):
        return item.isoformat()
    # Units that Python has no type for. Nanoseconds that are all zero are left out, as pandas does.
    coarse = value.astype("M8[us]")
    whole = coarse.item() if coarse == value else None
    return whole.isoformat() if isinstance(whole, datetime) else str(np.datetime_as_string(value))
