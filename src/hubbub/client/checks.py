"""The exceptions of the client, and checks for surveys, which come from strangers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


class ClientError(Exception):
    """The root of the client's exceptions. No message ever holds a private value."""


class SurveyError(ClientError):
    """A document that is not a survey, or a survey that this client cannot or may not answer."""


class LedgerError(ClientError):
    """A ledger that cannot be read or written. The file is not changed."""


class BudgetError(ClientError):
    """A report that would make the sum of ε or δ in the ledger larger than allowed."""


def require(holds: bool, rule: str, got: object) -> None:
    """Raise SurveyError unless a rule holds. The message may show what it got, since surveys are public."""
    if not holds:
        raise SurveyError(f"{rule}, got {str(got)[:60]!r}")


def fields(data: Any, where: str, names: Sequence[str]) -> None:
    """Raise SurveyError unless the data is an object with exactly these fields."""
    require(isinstance(data, dict), f"{where} must be an object", type(data).__name__)
    odd = sorted(set(data) ^ set(names))
    require(not odd, f"{where} must have the fields {', '.join(names)} and no other", (odd or [""])[0])


def whole(data: dict[str, Any], name: str, low: int, high: int) -> int:
    """Return a field that must be a whole number from `low` to `high`. JSON's true is not a number."""
    value = data[name]
    require(type(value) is int and low <= value <= high, f"{name} must be a whole number, {low} to {high}", value)
    return int(value)


def threshold(data: dict[str, Any], name: str, low: int) -> int:
    """Return a field that must be a whole number above `low` and below 2^64, written as a decimal string."""
    text = data[name]
    fits = isinstance(text, str) and re.fullmatch(r"[1-9][0-9]{0,19}", text, re.ASCII)
    require(bool(fits and low < int(text) < 1 << 64), f"{name} must be above {low} and below 2^64, in a string", text)
    return int(text)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, unless a field comes twice."""
    require(len(dict(pairs)) == len(pairs), "a document must name each field once", "a field twice")
    return dict(pairs)
