"""Checks of numbers that users give: privacy losses and numbers of people."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from hubbub.errors import ParameterError, shown

MAX_DELTA: Final = Decimal("0.36787944117144232")  # 1/e rounded down: the composition theorem needs delta <= 1/e
_MAX_PEOPLE = 10**15


def parse_epsilon(value: object) -> Decimal:
    """A finite Decimal above 0, from an int, float, str or Decimal."""
    epsilon = parse_decimal("epsilon", value)
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be above 0, got epsilon={_shown(value)}")
    if epsilon > 1000 or epsilon < Decimal("1e-15"):
        raise ParameterError(f"epsilon must be from 1e-15 to 1000, got epsilon={_shown(value)}")
    return epsilon


def parse_delta(value: object) -> Decimal:
    """A Decimal in [0, 1/e], from an int, float, str or Decimal."""
    delta = parse_decimal("delta", value)
    if not 0 <= delta <= MAX_DELTA:
        raise ParameterError(f"delta must be from 0 to 1/e, got delta={_shown(value)}")
    if 0 < delta < Decimal("1e-60"):
        raise ParameterError(f"delta must be 0 or at least 1e-60, got delta={_shown(value)}")
    return delta


def parse_people(name: str, value: object) -> int:
    """A number of people: a whole number from 1 to 10^15."""
    value = value if isinstance(value, int) else own_number(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_PEOPLE:
        raise ParameterError(f"{name} must be a whole number from 1 to 10^15, got {name}={shown(value)}")
    return value


def parse_decimal(name: str, value: object) -> Decimal:
    """A finite Decimal of at most 60 digits, 0 or from 10⁻¹⁰⁰ to 10¹⁰⁰ in absolute value."""
    value = value if isinstance(value, int | float | str | Decimal) else own_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ParameterError(f"{name} must be a number, got {name}={value!r:.60}")
    try:
        number = Decimal(str(value))
    except (InvalidOperation, ValueError):  # Python has a limit for the digits of an int
        raise ParameterError(f"{name} must be a number, got {name}={_shown(value)}") from None
    if not number.is_finite():
        raise ParameterError(f"{name} must be finite, got {name}={_shown(value)}")
    if len(number.as_tuple().digits) > 60:
        raise ParameterError(f"{name} must have at most 60 digits, got {len(number.as_tuple().digits)}")
    if number and abs(number.adjusted()) > 100:
        raise ParameterError(f"{name} must be 0 or from 1e-100 to 1e100 in size, got {name}={_shown(value)}")
    return number if number else Decimal(0)  # one spelling of zero; adding 0 would round to 28 digits


def own_number(value: Any) -> Any:
    """A number of numpy as Python's own, such as one of `np.arange(1, 5)`; anything else as it is.

    numpy is not loaded for it: whoever has such a number has loaded it.

    >>> import numpy as np
    >>> own_number(np.int64(3)), own_number(np.bool_(True)), own_number("3")
    (3, np.True_, '3')
    """
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return value.item() if type(value).__module__ == "numpy" and value.shape == () and kind in set("iuf") else value


def _shown(value: object) -> str:
    """A number as it was given, on one line."""
    try:
        return str(value).strip()[:60]
    except ValueError:
        return "a number of thousands of digits"
