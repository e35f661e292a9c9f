"""People's values from a column of Python: a list, an iterator, an array, or a Series of pandas, polars or Arrow.

None of these libraries is imported here: a column is recognised by its methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from hubbub.errors import InputError
from hubbub.inputs.plain import Value, present


class Column(NamedTuple):
    """The values that are not missing, and how many are."""

    values: list[Value]
    missing: int


def read_column(values: Any) -> Column:
    """One value of each person, by the rules of `plain`; InputError for what is not a column of values."""
    _check_column(values)
    everybody = _listed(values)
    held = present(everybody)
    return Column(held, len(everybody) - len(held))


def _check_column(values: Any) -> None:
    """Refuse what is not a column with one value of each person, with a hint what to pass instead."""
    shape = getattr(values, "shape", None)
    if isinstance(values, str | bytes | bytearray | memoryview):
        hint = "put the values in a list"
    elif isinstance(values, Mapping):
        hint = "pass one of its columns, or a list of its values"
    elif isinstance(values, Set):
        hint = "a set holds each value once, so pass a list with one value of each person"
    elif isinstance(shape, tuple) and len(shape) != 1:
        hint = f"it has {len(shape)} dimensions, so pass one of its columns"
    elif isinstance(values, np.ndarray) and values.dtype.kind == "V" and values.dtype.names is None:
        hint = f"it holds raw bytes ({values.dtype}), so pass texts or numbers"
    elif hasattr(values, "readline"):
        hint = "pass its lines without their ends, or the file to the command hubbub find"
    elif not (hasattr(values, "__iter__") or hasattr(values, "__getitem__")) or hasattr(values, "collect_schema"):
        hint = "pass a list, an array or a series"
    else:
        return
    raise InputError(f"values must be a list of values, one of each person, got {type(values).__name__}: {hint}")


def _listed(values: Any) -> list[object]:
    """The column as a list of Python's own values, where its library can make them."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return list(values)  # tolist() makes bare numbers of nanoseconds
    if hasattr(values, "to_pylist"):
        from hubbub.inputs.arrow import arrow_values

        return arrow_values(values)
    for method in ("to_list", "tolist"):
        if callable(convert := getattr(values, method, None)):
            return list(convert())
    return list(values)
