"""A number is one item, whatever language, library or file it comes from: it is written as JavaScript writes it."""

from __future__ import annotations

import decimal
import random
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.test_browser_client import compare, items_of, needs_node

from hubbub import Bytes, Categories, Domain, Integers, IPv4, Text
from hubbub.client.domains import read_domain
from hubbub.inputs.encoding import encode_column

NAN, INFINITY = float("nan"), float("inf")
TEXTS: list[tuple[Any, str]] = [
    *((3.0, "3"), (-3.0, "-3"), (2.5, "2.5"), (0.0, "0"), (-0.0, "0"), (100.0, "100"), (0.1, "0.1")),
    *((1e15, "1000000000000000"), (1e16, "10000000000000000"), (1e20, "100000000000000000000")),
    *((1e21, "1e+21"), (1.5e21, "1.5e+21"), (-1e21, "-1e+21"), (123456789012345680000.0, "123456789012345680000")),
    *((1e-6, "0.000001"), (1.5e-6, "0.0000015"), (1e-7, "1e-7"), (1.25e-7, "1.25e-7"), (5e-324, "5e-324")),
    *((1.7976931348623157e308, "1.7976931348623157e+308"), (2.0**60, "1152921504606847000")),
    *((NAN, "NaN"), (INFINITY, "Infinity"), (-INFINITY, "-Infinity")),
    *((3, "3"), (-5, "-5"), (2**60, "1152921504606846976"), (10**21, "1" + "0" * 21), (10**5000, "1" + "0" * 63)),
    *((True, "true"), (False, "false"), (np.bool_(True), "true"), (np.False_, "false")),
    *((np.float64(1e16), "10000000000000000"), (np.float32(0.1), "0.10000000149011612"), (np.float32(3), "3")),
    *((np.float16(0.1), "0.0999755859375"), (np.longdouble(0.1), "0.1"), (np.int8(-3), "-3")),
    *((np.uint64(2**63), str(2**63)), (np.int64(-(2**63)), str(-(2**63)))),
    *((Decimal("3.00"), "3"), (Decimal("2.50"), "2.5"), (Decimal("1E-7"), "1e-7"), (Decimal("1E+2"), "100")),
    *((Decimal("12345678901234567890123"), "12345678901234567890123"), (Decimal("1E+999999999"), "Infinity")),
    *((Decimal("NaN"), "NaN"), (Decimal("-Infinity"), "-Infinity"), (Decimal("-0.0"), "0")),
]  # fmt: skip
NO_NUMBERS = [None, [], (), {}, object(), 1j, np.complex64(1), Decimal("sNaN"), np.datetime64("2030-01-01")]
DOMAINS = [Bytes(64), Text(), Categories(["3", "true", "0.1", "1e+21"]), Categories(["3", "5"], other=False)]


def item_of(domain: Domain, value: object) -> int:
    """The item that the library gives a value."""
    return int.from_bytes(domain.encode([value]).astype("<u8").tobytes(), "little")


@pytest.mark.parametrize(
    ("value", "text"), TEXTS, ids=lambda each: each if isinstance(each, str) else type(each).__name__
)
def test_a_number_is_the_text_that_javascript_writes(value: Any, text: str) -> None:
    """In the library, in the client and in a column, for every type of number."""
    for domain in DOMAINS:
        if not (isinstance(value, int) and value > 10**100 and domain is not DOMAINS[0]):
            expected = item_of(domain, text)
            assert item_of(domain, value) == expected
            assert read_domain(domain.to_json()).item(value) == expected
    items, intake = encode_column(DOMAINS[0], [value])
    if text == "NaN":  # missing, in a column
        assert (len(items), intake.missing) == (0, 1)
    else:
        assert int.from_bytes(items.astype("<u8").tobytes(), "little") == item_of(DOMAINS[0], text)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_outside(value: object) -> None:
    """Anything else has the item of values outside the domain, in the library and in the client."""
    for domain in (*DOMAINS, Integers(64), IPv4()):
        outside = int.from_bytes(domain.outside.tobytes(), "little")
        assert item_of(domain, value) == read_domain(domain.to_json()).item(value) == outside


@pytest.mark.parametrize("domain", [Integers(64), Integers(512), IPv4()], ids=repr)
def test_whole_numbers_of_all_types(domain: Domain) -> None:
    """A whole number is the number, also as a float or a Decimal; True, 2.5 and NaN are none."""
    outside = int.from_bytes(domain.outside.tobytes(), "little")
    for value in (7, 7.0, np.float32(7), np.int8(7), Decimal("7.00"), "7" if domain.bits != 32 else "0.0.0.7"):
        assert item_of(domain, value) == read_domain(domain.to_json()).item(value) == 7
    for value in (0, 0.0, -0.0, Decimal("-0")):
        assert item_of(domain, value) == read_domain(domain.to_json()).item(value) == 0
    for value in (True, False, np.True_, 2.5, NAN, INFINITY, -1.0, Decimal("2.5"), Decimal("1E+999999999"), None):
        assert item_of(domain, value) == read_domain(domain.to_json()).item(value) == outside
    large = 1e23 if domain.bits == 512 else 2.0**60 if domain.bits == 64 else 2.0**31
    assert item_of(domain, large) == read_domain(domain.to_json()).item(large) == int(large)
    assert int.from_bytes(encode_column(domain, [large])[0].astype("<u8").tobytes(), "little") == int(large)


FLOATS = [3.0, 2.5, -0.0, 1e16, 2.0**60, 1e21, 1e-7, 0.1, INFINITY, 16777216.0, 1e23]
WHOLE = [3.0, 4.0, 1e15, 2.0**53]
LARGE = [3.0, 2.0**53 + 2, 2.0**60]
HALVES = [3.0, 2.5, 0.1, 100.0]


def columns(values: list[Any], kind: str) -> list[Any]:
    """The same values as columns of every library, in a type of numpy's name."""
    array = np.array(values, kind)
    held = {"float32": pl.Float32, "float64": pl.Float64, "bool": pl.Boolean, "int64": pl.Int64}.get(kind)
    found = [values, array, pd.Series(array), pa.array(array), pa.chunked_array([pa.array(array)])]
    return found + ([pl.Series(values, dtype=held)] if held is not None else [])


@pytest.mark.parametrize("domain", [Bytes(30), Integers(90), Integers(64), IPv4(), Text()], ids=repr)
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        *((FLOATS, "float64"), (WHOLE, "float64"), (LARGE, "float64"), ([True, False], "bool"), ([3, 2**60], "int64")),
        *(([float(np.float32(x)) for x in HALVES], "float32"), ([float(np.float16(x)) for x in HALVES], "float16")),
    ],
    ids=str,
)
def test_columns_of_all_libraries_are_equal(values: list[Any], kind: str, domain: Domain, tmp_path: Path) -> None:
    """Lists, numpy, pandas, polars, Arrow and Parquet: the items that the library and the client give the values."""
    device = read_domain(domain.to_json())
    expected = [device.item(value) for value in values]
    assert [item_of(domain, value) for value in values] == expected
    pq.write_table(pa.table({"v": pa.array(np.array(values, kind))}), tmp_path / "v.parquet")
    for column in [*columns(values, kind), pq.read_table(tmp_path / "v.parquet")["v"]]:
        items, _ = encode_column(domain, column)
        assert [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in items] == expected


def test_the_context_of_decimals_changes_nothing() -> None:
    """A program that computes with three digits, or in which every inexact result is an error, gets the same items."""
    numbers = [1 / 3, 2.0**60, 10**40 + 1, Decimal("12345678901234567890.5")]
    domain, device = Bytes(64), read_domain(Bytes(64).to_json())
    before = [item_of(domain, number) for number in numbers]
    with decimal.localcontext(decimal.Context(prec=3, Emax=5, traps=[decimal.Inexact, decimal.Rounded])):
        assert [item_of(domain, number) for number in numbers] == before
        assert [device.item(number) for number in numbers] == before


@pytest.mark.slow
@needs_node
def test_numbers_are_equal_in_node() -> None:
    """20,000 doubles of random bits, and as many of usual sizes: the same items in all domains as in JavaScript."""
    draw = random.Random(7)
    bits = (struct.unpack("<d", draw.randbytes(8))[0] for _ in range(20_500))
    numbers = [number for number in bits if number - number == 0][:20_000]
    for _ in range(20_000):
        numbers.append(round(draw.uniform(-1, 1) * 10.0 ** draw.randint(-9, 24), draw.randint(-3, 12)))
    numbers += [1e21, 1e-6, 1e-7, -0.0, 2.0**53, 2.0**60, 5e-324]
    domains: list[Domain] = [Bytes(30), Integers(90), IPv4()]
    lines = ({"domain": each.to_json(), "values": numbers, "expected": items_of(each, numbers)} for each in domains)
    assert compare(lines) == 3 * len(numbers)
    device = read_domain(Bytes(30).to_json())
    assert [f"{device.item(number):x}" for number in numbers] == items_of(Bytes(30), numbers)
    others: list[Any] = [True, False, None, [], [5], ["7"], {}, "true", "0x10", "", " 7 "]
    lines = ({"domain": each.to_json(), "values": others, "expected": items_of(each, others)} for each in domains)
    assert compare(lines) == 3 * len(others)
