"""An answer as a table of pandas, polars or Arrow, if these are installed.

A table has rows and nothing else: what it leaves out is said in a warning.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hubbub.analysis.tables import COLUMNS, warn_of_left_out
from hubbub.extras import require

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from hubbub.analysis.results import Answer

_KINDS = {
    **dict.fromkeys(("count", "share", "stderr", "low", "high", "confidence"), "float64"),
    **dict.fromkeys(("listed", "uneven", "stands_out"), "bool"),
    **dict.fromkeys(("ahead_of", "fake_reports"), "int64"),
    "rival": "string",
}


def to_pandas(answer: Answer) -> pandas.DataFrame:
    """The rows as a pandas DataFrame; all rows are copied."""
    require("A table of pandas", "pandas")
    import pandas

    columns, value = _columns(answer)
    kinds = {"value": value, **_KINDS, "ahead_of": "Int64"}
    dtypes: dict[str, Any] = {name: object if kind == "string" else kind for name, kind in kinds.items()}
    return pandas.DataFrame({name: pandas.Series(columns[name], dtype=dtypes[name]) for name in COLUMNS})


def to_polars(answer: Answer) -> polars.DataFrame:
    """The rows as a polars DataFrame; all rows are copied."""
    require("A table of polars", "polars")
    import polars

    columns, value = _columns(answer)
    names = {"float64": "Float64", "bool": "Boolean", "int64": "Int64", "uint64": "UInt64", "string": "String"}
    kinds = {name: getattr(polars, names[kind]) for name, kind in {"value": value, **_KINDS}.items()}
    return polars.DataFrame(columns, schema={name: kinds[name] for name in COLUMNS})


def to_arrow(answer: Answer) -> pyarrow.Table:
    """The rows as an Arrow table; all rows are copied."""
    require("A table of Arrow", "pyarrow", "files")
    import pyarrow

    columns, value = _columns(answer)
    kinds = {"value": value, **_KINDS}
    makers = {kind: getattr(pyarrow, "bool_" if kind == "bool" else kind)() for kind in set(kinds.values())}
    return pyarrow.table({name: pyarrow.array(columns[name], makers[kinds[name]]) for name in COLUMNS})


def _columns(answer: Answer) -> tuple[dict[str, list[Any]], str]:
    """The rows as columns, and the type of the values: a number type if all are numbers that fit it, else "string"."""
    warn_of_left_out(answer, stacklevel=5)
    rows = [asdict(hitter) for hitter in answer.hitters]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    values = columns["value"]
    if values and all(isinstance(value, int) and 0 <= value < 1 << 64 for value in values):
        return columns, "int64" if max(values) < 1 << 63 else "uint64"
    columns["value"] = list(map(str, values))
    return columns, "string"
