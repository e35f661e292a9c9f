"""What the client raises, and the checks of a survey that comes from a stranger."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


class ClientError(Exception):
    """What the client refuses to do; never holds a private value."""


class SurveyError(ClientError):
    """A survey that is none, that this client cannot answer, or that would cost more privacy than allowed."""


class LedgerError(ClientError):
    """A ledger that cannot be read or written; it is left as it is."""


class BudgetError(ClientError):
    """A report that would take the sums of the ledger above the cap."""


def require(holds: bool, rule: str, got: object) -> None:
    """One sentence about what is wrong with a survey. Surveys are public, so it may show what it got."""
    if not holds:
        raise SurveyError(f"{rule}, got {str(got)[:60]!r}")


def fields(data: Any, where: str, names: Sequence[str]) -> None:
    """An object with exactly these fields."""
    require(isinstance(data, dict), f"{where} must be an object", type(data).__name__)
    odd = sorted(set(data) ^ set(names))
    require(not odd, f"{where} must have the fields {', '.join(names)} and no other", (odd or [""])[0])


def whole(data: dict[str, Any], name: str, low: int, high: int) -> int:
    """A whole number in a range; JSON's true is none."""
    value = data[name]
    require(type(value) is int and low <= value <= high, f"{name} must be a whole number, {low} to {high}", value)
    return int(value)


def threshold(data: dict[str, Any], name: str, low: int) -> int:
    """A 64-bit integer above a limit, as the decimal string that a survey carries."""
    text = data[name]
    fits = isinstance(text, str) and re.fullmatch(r"[1-9][0-9]{0,19}", text, re.ASCII)
    require(bool(fits and low < int(text) < 1 << 64), f"{name} must be above {low} and below 2^64, in a string", text)
    return int(text)
