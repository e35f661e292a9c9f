"""What the registry needs to know about a mechanism before there is a survey."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.errors import ParameterError, shown
from hubbub.mechanisms.facts import About
from hubbub.model.domain_base import Domain
from hubbub.model.mechanism import Items, Mechanism, Reports, Words
from hubbub.model.survey import Survey
from hubbub.model.tally import Cells


@dataclass(frozen=True, slots=True)
class Request:
    """What a mechanism derives its parameters from."""

    domain: Domain
    epsilon: Decimal
    delta: Decimal
    options: Mapping[str, str]
    expected_reports: int

    @property
    def size(self) -> int:
        """Values of the universe."""
        return self.domain.size

    @property
    def bits(self) -> int:
        """Bits of an item."""
        return self.domain.bits


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism as the registry holds it.

    Attributes
    ----------
    about : About
        What it is.
    default_delta : function of the resolved options
        The delta of a survey whose author did not choose one.
    derive : function of a Request
        The parameters, or a ParameterError naming the limit that is passed.
    build : function of a Survey
        The mechanism of a survey that carries such parameters; they are untrusted input to it.
    """

    about: About
    default_delta: Callable[[Mapping[str, str]], Decimal]
    derive: Callable[[Request], dict[str, Any]]
    build: Callable[[Survey], Mechanism]


def whole(parameters: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """A whole number from the survey's parameters, checked: a survey is untrusted input."""
    value = parameters.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(f"parameters.{name} must be a whole number from {low} to {high}, got {value!r:.60}")
    return value


def whole_text(name: str, value: object) -> int:
    """A 64-bit integer that the survey carries as a decimal string."""
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and str(int(value[:20])) == value):
        raise ParameterError(f"parameters.{name} must be a whole number in a string, got {value!r:.60}")
    return int(value)


def check_fields(parameters: Mapping[str, Any], names: set[str]) -> None:
    """Exactly these parameters, no more and no fewer."""
    if unknown := sorted(set(parameters) - names):
        raise ParameterError(f"parameters must not have other fields, got {shown(unknown[0])}")
    if missing := sorted(names - set(parameters)):
        raise ParameterError(f"parameters must have the field {shown(missing[0])}, got none")


def check_batch(items: object, words: object, domain: Domain, needed: int) -> tuple[Items, Words]:
    """What `randomize` is called with, row after row in memory; copied only where it is not.

    Words of another type would not be compared with a 64-bit threshold as meant, and the noise would be lost. So
    nothing is converted: another type, another shape or an item outside the domain is a ParameterError, which may
    speak of types and shapes but of no value.
    """
    checked = check_items(items, domain)
    drawn = _check_uint64("words", words)
    if drawn.shape != (len(checked), needed):
        raise ParameterError(f"words must have shape ({len(checked)}, {needed}), got {drawn.shape}")
    return checked, drawn


def check_items(items: object, domain: Domain) -> Items:
    """Items of the domain, row after row in memory; a ParameterError that quotes none of them otherwise."""
    checked = _check_uint64("items", items)
    if checked.ndim != 2 or checked.shape[1] != domain.item_words:
        raise ParameterError(f"items must have shape (n, {domain.item_words}), got {checked.shape}")
    if _any_beyond(checked, domain.size):
        raise ParameterError("items must be encoded values of the survey's domain, got one that is not")
    return checked


def _check_uint64(name: str, array: object) -> NDArray[np.uint64]:
    if not isinstance(array, np.ndarray):
        raise ParameterError(f"{name} must be an array of uint64, got {type(array).__name__}")
    if array.dtype != np.uint64:
        raise ParameterError(f"{name} must be an array of uint64, got dtype {array.dtype}")
    return np.require(array, np.uint64, ["C", "A", "E"])


def _any_beyond(items: Items, size: int) -> bool:
    """Whether any item, as a number, is not below the size."""
    count = items.shape[1]
    if size >= 1 << 64 * count:
        return False
    above, equal = np.zeros(len(items), np.bool_), np.ones(len(items), np.bool_)
    for k in reversed(range(count)):
        last = np.uint64((size - 1) >> 64 * k & (1 << 64) - 1)
        above |= equal & (items[:, k] > last)
        equal &= items[:, k] == last
    return bool(above.any())


def check_reports(reports: Reports, dtype: np.dtype[np.void]) -> None:
    """Reports of this mechanism's layout."""
    if not isinstance(reports, np.ndarray) or reports.dtype != dtype or reports.ndim != 1:
        raise ParameterError("reports must be a vector of the mechanism's report_dtype, got another layout")


def check_cells(cells: Cells, shape: tuple[int, ...]) -> None:
    """Sums of this mechanism's shape, as whole numbers of 64 bits: others would overflow or round without a word."""
    if not isinstance(cells, np.ndarray):
        raise ParameterError(f"cells must be int64 of shape {shape}, got {type(cells).__name__}")
    if cells.dtype != np.int64 or cells.shape != shape:
        raise ParameterError(f"cells must be int64 of shape {shape}, got {cells.dtype} of shape {cells.shape}")
    if not cells.flags.writeable:
        raise ParameterError("cells must be writable, got a read-only array")
