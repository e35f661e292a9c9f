"""Columns of Python: the same rules for a list, an array, and a Series of any library."""

from __future__ import annotations

import io
import math
from collections import Counter, OrderedDict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from hubbub.errors import InputError
from hubbub.inputs.columns import read_column
from hubbub.model.plain import plain, whole_number

NOON = datetime(2024, 2, 29, 12)


class Colour(StrEnum):
    """A text with a name."""

    RED = "red"


class Size(IntEnum):
    """A number with a name."""

    LARGE = 3


class TestPlain:
    """One value."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("tea", "tea"),
            (" ", " "),
            (np.str_("tea"), "tea"),
            (Colour.RED, "red"),
            (b"caf\xc3\xa9", "café"),
            (bytearray(b"a"), "a"),
            (0, 0),
            (2**70, 2**70),
            (np.uint64(2**63), 2**63),
            (Size.LARGE, 3),
            (13.0, 13),
            (-0.0, 0),
            (1e16, 1e16),  # its text has other digits than that of a whole number may have
            (np.float32(13), 13),
            (2.5, "2.5"),
            (np.float32(0.1), "0.10000000149011612"),
            (math.inf, "Infinity"),
            (True, "true"),
            (np.bool_(False), "false"),
            (date(2024, 2, 29), "2024-02-29"),
            (NOON, "2024-02-29T12:00:00"),
            (NOON.replace(microsecond=5, tzinfo=UTC), "2024-02-29T12:00:00.000005+00:00"),
            (time(12, 30), "12:30:00"),
            (np.datetime64("2024-02-29"), "2024-02-29"),
            (np.datetime64("2024-02-29T12:00:00.000000000"), "2024-02-29T12:00:00"),
            (np.datetime64("2024-02-29T12:00:00.000000001"), "2024-02-29T12:00:00.000000001"),
            (np.timedelta64(3, "D"), "3 days"),
            (timedelta(hours=1), "1:00:00"),
            (Decimal("1.50"), "1.5"),
            (IPv4Address("192.0.2.1"), "192.0.2.1"),
            (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        ],
        ids=repr,
    )
    def test_values(self, value, expected):
        """Text is text, whole numbers are int however they are kept, and dates are ISO."""
        found = plain(value)
        assert found == expected
        assert type(found) is type(expected)

    @pytest.mark.parametrize(
        "value",
        [
            *(None, "", b"", math.nan, np.float32("nan"), Decimal("nan")),
            *(np.datetime64("NaT"), np.timedelta64("NaT"), np.ma.masked),
        ],
        ids=repr,
    )
    def test_missing(self, value):
        """Nothing by any of its names is missing."""
        assert plain(value) is None

    @pytest.mark.parametrize("value", [[1], (1,), {"a": 1}, {1}, np.array([1, 2]), object(), 1j, lambda: 1])
    def test_what_is_not_one_value(self, value):
        """Containers and foreign objects are refused by their type."""
        with pytest.raises(InputError, match=f"got a value of type {type(value).__name__}$"):
            plain(value)

    @pytest.mark.parametrize("value", [b"caf\xe9", bytearray(b"\xff")])
    def test_bytes_that_are_no_text(self, value):
        """They are refused and not shown: with replacements, several would become one value."""
        with pytest.raises(InputError) as caught:
            plain(value)
        assert str(caught.value) == "a value in bytes must be UTF-8, got other bytes: pass text, such as hex"
        assert caught.value.__suppress_context__

    @pytest.mark.parametrize(
        ("text", "number"),
        [("13.0", 13), ("13.", 13), (" 13.00 ", 13), ("0.0", 0), ("1e+16", 10**16), ("1.5e3", 1500), ("1e3", 1000)]
        + [(text, None) for text in ("13", "2.5", "-1.0", "1.55e1", "1e-3", "1e9999", "x", "", "१३.0", "1.0.0")],
    )
    def test_whole_numbers_in_text(self, text, number):
        """A text that a whole float was written as is its number, and no other text is one."""
        assert whole_number(text) == number


def listed(column: object) -> tuple[list[object], int]:
    """What is read from a column, as a list whatever holds it."""
    values, missing = read_column(column)
    return list(values), missing


class TestColumns:
    """Where values may come from."""

    @pytest.mark.parametrize(
        "column",
        [
            ["a", None, "b", "", math.nan],
            ("a", None, "b", "", math.nan),
            iter(["a", None, "b", "", math.nan]),
            np.array(["a", None, "b", "", math.nan], object),
            pa.array(["a", None, "b", "", None]),
            pa.chunked_array([["a", None], ["b", "", None]]),
        ],
        ids=lambda column: type(column).__name__,
    )
    def test_texts(self, column):
        """A column of texts with gaps is the same people in every form."""
        assert listed(column) == (["a", "b"], 3)

    @pytest.mark.parametrize(
        "column",
        [
            [13, None, 7],
            [13.0, math.nan, 7.0],
            np.array([13.0, math.nan, 7.0]),
            np.ma.array([13, 0, 7], mask=[0, 1, 0]),
            pa.array([13, None, 7]),
            pa.array([13.0, math.nan, 7.0]),
        ],
        ids=lambda column: type(column).__name__,
    )
    def test_whole_numbers(self, column):
        """A column of whole numbers with gaps is the same people in every form."""
        assert listed(column) == ([13, 7], 1)

    @pytest.mark.parametrize(
        "column",
        [
            [NOON, None],
            np.array(["2024-02-29T12", "NaT"], "M8[ns]"),
            np.array(["2024-02-29T12", "NaT"], "M8[s]"),
            pa.array([NOON, None], pa.timestamp("ns")),
            pa.array([NOON, None], pa.timestamp("s")),
        ],
        ids=str,
    )
    def test_times(self, column):
        """A column of times is ISO text in every form and unit."""
        assert listed(column) == (["2024-02-29T12:00:00"], 1)

    def test_pandas(self):
        """A Series of pandas follows the rules, with each of its ways to be missing."""
        pandas = pytest.importorskip("pandas")
        assert listed(pandas.Series([13, None, 7])) == ([13, 7], 1)
        assert listed(pandas.Series([13, None, 7], dtype="Int64")) == ([13, 7], 1)
        assert listed(pandas.Series(["a", None, math.nan, pandas.NA, pandas.NaT, ""], dtype=object)) == (["a"], 5)
        assert listed(pandas.Series(["a", None], dtype="category")) == (["a"], 1)
        assert listed(pandas.Series(["a", None], dtype="string")) == (["a"], 1)
        assert listed(pandas.Series([NOON, None])) == (["2024-02-29T12:00:00"], 1)
        assert listed(pandas.Series([NOON]).dt.tz_localize("UTC")) == (["2024-02-29T12:00:00+00:00"], 0)
        assert listed(pandas.Index(["a", "b"])) == (["a", "b"], 0)
        assert listed(pandas.period_range("2024-01", periods=2, freq="M")) == (["2024-01", "2024-02"], 0)

    def test_polars(self):
        """A Series of polars follows the rules."""
        polars = pytest.importorskip("polars")
        assert listed(polars.Series([13, None, 7])) == ([13, 7], 1)
        assert listed(polars.Series([13.0, None, math.nan])) == ([13], 2)
        assert listed(polars.Series(["a", None, ""])) == (["a"], 2)
        assert listed(polars.Series([date(2024, 2, 29), None])) == (["2024-02-29"], 1)
        assert listed(polars.Series([NOON, None])) == (["2024-02-29T12:00:00"], 1)

    @pytest.mark.parametrize(
        ("values", "hint"),
        [
            ("tea", "got str: put the values in a list"),
            (b"tea", "got bytes: put the values in a list"),
            ({"a": [1]}, "got dict: pass one of its columns"),
            (Counter("aab"), "got Counter: pass one of its columns"),
            (OrderedDict(a=1), "got OrderedDict: pass"),
            ({"a", "b"}, "got set: a set holds each value once"),
            (frozenset("ab"), "got frozenset: a set holds each value once"),
            (np.zeros((2, 2)), "got ndarray: it has 2 dimensions, so pass one of its columns"),
            (np.array(3), "got ndarray: it has 0 dimensions"),
            (np.zeros(3, "V8"), "got ndarray: it holds raw bytes (|V8), so pass texts or numbers"),
            (pa.table({"a": [1]}), "got Table: it has 2 dimensions"),
            (io.StringIO("a\n"), "got StringIO: pass its lines without their ends"),
            (7, "got int: pass a list, an array or a series"),
            (None, "got NoneType: pass a list, an array or a series"),
        ],
        ids=lambda given: type(given).__name__,
    )
    def test_what_is_not_a_column(self, values, hint):
        """What has no value of each person is refused by its type, with a hint."""
        with pytest.raises(InputError) as caught:
            read_column(values)
        expected = f"values must be a list of values, one of each person, {hint}"
        assert str(caught.value).startswith(expected)

    @pytest.mark.parametrize("values", [[[1]], pa.array([[1]]), np.zeros(2, [("a", "i4")]), [{"a": 1}]], ids=str)
    def test_nested_columns(self, values):
        """A column of lists, tuples or dicts is refused."""
        with pytest.raises(InputError, match="each value must be one text, number or date"):
            read_column(values)

    def test_times_out_of_range(self):
        """A time that Python has no date for is refused by its type, without the value."""
        with pytest.raises(InputError, match=r"one text, number or date, got timestamp\[s\] out of range$"):
            read_column(pa.array([17_044_488_000_000], pa.timestamp("s")))

    def test_a_time_of_day_keeps_its_nanoseconds(self):
        """What Python has no digits for is text."""
        assert listed(pa.array([5, 1_000, None], pa.time64("ns"))) == (["00:00:00.000000005", "00:00:00.000001"], 1)

    def test_tables_of_libraries(self):
        """A DataFrame is not a column, lazy or not."""
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        for table in (pandas.DataFrame({"a": [1]}), polars.DataFrame({"a": [1]}), polars.LazyFrame({"a": [1]})):
            with pytest.raises(InputError, match=f"got {type(table).__name__}: "):
                read_column(table)


@pytest.mark.filterwarnings("error")
def test_a_bare_categorical_is_read_without_a_warning() -> None:
    """The array of pandas that no series is around."""
    pandas = pytest.importorskip("pandas")
    values, missing = read_column(pandas.Categorical(["tea", None, "milk"]))
    assert (list(values), missing) == (["tea", "milk"], 1)


@pytest.mark.filterwarnings("error")
def test_types_that_arrow_has_none_for() -> None:
    """A sparse column of pandas and numbers of 128 bits of polars are read; halves of floats without a warning."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert listed(pandas.Series(pandas.arrays.SparseArray([13.0, math.nan, 7.0]))) == ([13, 7], 1)
    assert listed(pandas.Series(pandas.arrays.SparseArray([13, 0]))) == ([13, 0], 0)
    assert listed(polars.Series([7, None, 2**70], dtype=polars.Int128)) == ([7, 2**70], 1)
    assert listed(pa.array(np.array([13, 60_000], np.float16))) == ([13, 60_000], 0)


def test_groups_are_no_column() -> None:
    """What pandas groups rows by has no value of each person."""
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="each value must be one text, number or date, got a value of type tuple"):
        read_column(pandas.DataFrame({"a": [1]}).groupby("a"))
