"""Checks of untrusted input: a survey's parameters, items, random words, reports and sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hubbub.errors import ParameterError, shown
from hubbub.model.domain_base import Domain
from hubbub.model.mechanism import Items, RandomWords, Reports
from hubbub.model.tally import Cells


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


def size_text(size: int) -> str:
    """A number of values, in few digits.

    >>> size_text(8192), size_text(2**64), size_text(10**30)
    ('8192', '2^64', 'about 2^99')
    """
    if size < 1 << 20:
        return str(size)
    return f"{'' if size & (size - 1) == 0 else 'about '}2^{size.bit_length() - 1}"


def check_fields(parameters: Mapping[str, Any], names: set[str]) -> None:
    """Require exactly these parameters."""
    if unknown := sorted(set(parameters) - names):
        raise ParameterError(f"parameters must not have other fields, got {shown(unknown[0])}")
    if missing := sorted(names - set(parameters)):
        raise ParameterError(f"parameters must have the field {shown(missing[0])}, got none")


def check_inputs(items: object, random_words: object, domain: Domain, needed: int) -> tuple[Items, RandomWords]:
    """The arguments of `randomize`, C-contiguous; copied only if they are not.

    Random words of another type could compare wrongly with a 64-bit threshold, and the noise would be lost. So nothing
    is converted: another type, another shape or an item outside the domain is a ParameterError. Its message may name
    types and shapes, but never a value.
    """
    checked = check_items(items, domain)
    if not isinstance(random_words, np.ndarray) or random_words.dtype != np.uint64:
        got = f"dtype {random_words.dtype}" if isinstance(random_words, np.ndarray) else type(random_words).__name__
        raise ParameterError(f"random_words must be an array of uint64, got {got}")
    drawn: RandomWords = np.require(random_words, np.uint64, ["C", "A", "E"])
    if drawn.shape != (len(checked), needed):
        raise ParameterError(f"random_words must have shape ({len(checked)}, {needed}), got {drawn.shape}")
    return checked, drawn


def check_items(items: object, domain: Domain) -> Items:
    """Items of the domain, C-contiguous. Anything else is a ParameterError that quotes no item."""
    if not isinstance(items, np.ndarray) or items.dtype != np.uint64:
        got = f"dtype {items.dtype}" if isinstance(items, np.ndarray) else type(items).__name__
        raise ParameterError(f"items must be an array of uint64, got {got}")
    checked: Items = np.require(items, np.uint64, ["C", "A", "E"])
    if checked.ndim != 2 or checked.shape[1] != domain.item_limbs:
        raise ParameterError(f"items must have shape (n, {domain.item_limbs}), got {checked.shape}")
    # Compare every item, as a number, with the last one, from the highest limb down.
    above, equal = np.zeros(len(checked), np.bool_), np.ones(len(checked), np.bool_)
    for k in reversed(range(domain.item_limbs)) if domain.size < 1 << 64 * domain.item_limbs else ():
        last = np.uint64((domain.size - 1) >> 64 * k & (1 << 64) - 1)
        above |= equal & (checked[:, k] > last)
        equal &= checked[:, k] == last
    if above.any():
        raise ParameterError("items must be encoded values of the survey's domain, got one that is not")
    return checked


def check_reports(reports: Reports, dtype: np.dtype[np.void]) -> None:
    """Require reports of this mechanism's layout."""
    if not isinstance(reports, np.ndarray) or reports.dtype != dtype or reports.ndim != 1:
        raise ParameterError("reports must be a vector of the mechanism's report_dtype, got another layout")


def check_cells(cells: Cells, shape: tuple[int, ...]) -> None:
    """Require writable int64 sums of this mechanism's shape: other types would silently overflow or round."""
    if not isinstance(cells, np.ndarray):
        raise ParameterError(f"cells must be int64 of shape {shape}, got {type(cells).__name__}")
    if cells.dtype != np.int64 or cells.shape != shape:
        raise ParameterError(f"cells must be int64 of shape {shape}, got {cells.dtype} of shape {cells.shape}")
    if not cells.flags.writeable:
        raise ParameterError("cells must be writable, got a read-only array")
