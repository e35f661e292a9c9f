"""People's values from a Python column: a list, an iterator, an array, or a column of pandas, polars or Arrow.

These libraries are not imported here: a column is recognised by its methods, or by the module of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from hubbub.errors import InputError
from hubbub.model.plain import Value, plain, present
from hubbub.numeric.packed import PackedNumbers


class Column(NamedTuple):
    """The values that are not missing (packed, if their library stores them so), and how many are missing."""

    values: Sequence[Value]
    missing: int


def read_column(values: Any) -> Column:
    """One value of each person, by the rules of `plain`; an InputError for anything but a column of values."""
    _check_column(values)
    # Numbers and texts stay packed, without a Python object for each. A masked array, which has missing values of its
    # own, is another type than a plain one.
    if type(values) is np.ndarray and values.dtype.kind in "iu":
        return Column(PackedNumbers(values), 0)
    library = type(values).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and find_spec("pyarrow") is not None:
        from hubbub.inputs.arrow import packed_values

        if (packed := packed_values(values)) is not None:
            return Column(*packed)
    everybody = _listed(values)
    held = present(everybody)
    return Column(held, len(everybody) - len(held))


def read_rows(values: Any) -> list[Value | None]:
    """The value of every row of a column; None if it is missing."""
    _check_column(values)
    return [plain(value) for value in _listed(values)]


def _check_column(values: Any) -> None:
    """Require a column with one value of each person; the error hints at what to pass instead."""
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
    """The column as a list, of built-in Python values if its library can make them."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return list(values)  # tolist() would turn times in nanoseconds into bare numbers
    if hasattr(values, "to_pylist"):
        from hubbub.inputs.arrow import arrow_values

        try:
            return arrow_values(values)
        except (ArithmeticError, ValueError):  # times outside Python's range; the message could quote one
            raise InputError(f"each value must be one text, number or date, got {values.type} out of range") from None
    for method in ("tolist", "to_list"):  # to_list of a pandas Categorical is deprecated, and warns
        if callable(convert := getattr(values, method, None)):
            return list(convert())
    return list(values)
