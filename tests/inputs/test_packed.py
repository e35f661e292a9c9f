"""Columns of pandas, polars and Arrow are encoded as they lie in memory, and to the same items as lists are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hubbub import (
    Bytes,
    Categories,
    Domain,
    Hostnames,
    InputError,
    Intake,
    Integers,
    IPv4,
    ParameterError,
    Text,
    encode_column,
    find,
)
from hubbub.inputs.columns import read_column
from hubbub.inputs.encoding import Encoder
from hubbub.numeric.bulk_items import encode_marked
from hubbub.numeric.packed import PackedNumbers, PackedTexts

TEXTS = ["Tea", "naïve", "192.0.2.1", "x" * 80, " 13 ", "13.0", "é" * 40, "\ufffd", "a b", "https://www.Example.org/a"]
NUMBERS = [0, 7, 254, 255, 256, 2**40, 7]
DOMAINS: list[Domain] = [
    Text(),
    Hostnames(),
    Bytes(8),
    Integers(8),
    Integers(64),
    Integers(100),
    IPv4(),
    Categories(["Tea", "naïve", "7"]),
    Categories(["Tea", "7"], other=False),
]


def text_columns(values: list[str | None]) -> dict[str, object]:
    """The same texts in every library."""
    return {
        "arrow": pa.array(values),
        "large": pa.array(values, pa.large_string()),
        "view": pa.array(values, pa.string_view()),
        "dictionary": pa.array(values).dictionary_encode(),
        "chunked": pa.chunked_array([values[:3], values[3:]]),
        "sliced": pa.array(["x", None, *values, "y"])[2:-1],
        "polars": pl.Series(values),
        "categorical": pl.Series(values, dtype=pl.Categorical),
        "pandas": pd.Series(values, dtype="string[pyarrow]"),
        "pandas arrow": pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
    }


@pytest.mark.parametrize("name", text_columns(["a", "b", "c"]))
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_texts_have_the_items_of_a_list(name: str, domain: Domain) -> None:
    """With the same marks, in parts and as a whole; missing values and empty texts are nobody, and counted."""
    column, missing = read_column(text_columns([None, *TEXTS, "", None, *TEXTS])[name])
    assert isinstance(column, PackedTexts)
    assert missing == 3
    assert list(column) == TEXTS + TEXTS
    expected = encode_marked(domain, TEXTS + TEXTS)
    for found, wanted in zip(encode_marked(domain, column), expected, strict=True):
        assert np.array_equal(found, wanted)
    assert np.array_equal(encode_marked(domain, column[3:9]).items, expected.items[3:9])
    by_list, by_column = Encoder(domain, 0, with_truth=True), Encoder(domain, 0, with_truth=True)
    assert np.array_equal(by_list.encode(TEXTS), by_column.encode(column[: len(TEXTS)]))
    assert by_list.intake == by_column.intake
    assert by_list.truth.largest(20) == by_column.truth.largest(20)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize(
    "column",
    [
        pa.array([*NUMBERS, None]),
        pa.array([*NUMBERS, -3], pa.int64()),
        pa.array(NUMBERS, pa.uint64()),
        pa.array([*map(float, NUMBERS), float("nan"), None]),
        pd.Series([*NUMBERS, None]),
        pd.Series([*NUMBERS, None], dtype="Int64"),
        pd.Series(NUMBERS),
        pl.Series([*NUMBERS, None]),
        np.array(NUMBERS),
        np.array(NUMBERS, np.uint64)[::-1],
    ],
    ids=str,
)
def test_numbers_have_the_items_of_a_list(column, domain: Domain) -> None:
    """Also where a column with gaps holds them as floats."""
    values, missing = read_column(column)
    assert isinstance(values, PackedNumbers)
    assert len(values) + missing == len(column)
    for found, wanted in zip(encode_marked(domain, values), encode_marked(domain, list(values)), strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.slow
def test_no_python_object_is_made_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of Arrow is never listed; a list of the same values gives the same answer."""
    values = ["tea.example"] * 3000 + ["naïve.example"] * 1500 + [None] * 7
    expected = find(values, 4, Hostnames(), seed=1)

    def fail(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("hubbub.inputs.arrow.arrow_values", fail)
    answer = find(pl.Series(values), 4, Hostnames(), seed=1)
    assert answer == expected
    assert answer.intake.missing == 7
    assert find(pa.array([7] * 4000 + [None]), 4, seed=1).hitters[0].value == 7


@pytest.mark.parametrize(
    "column",
    [pa.array([1.5, 2.0]), pa.array([True, False]), pa.array([b"a", b"\xc3\xa9"]), pd.Series(["a", 1])],
    ids=str,
)
def test_other_columns_go_by_the_rules_of_lists(column) -> None:
    """Floats with a fraction, truth values, bytes and mixed columns."""
    values, missing = read_column(column)
    assert isinstance(values, list)
    assert (len(values), missing) == (2, 0)


def test_packed_columns_are_sequences() -> None:
    """Of strings and of whole numbers."""
    texts = PackedTexts(np.frombuffer("aéb".encode(), np.uint8), np.array([0, 1, 3, 4]))
    assert list(texts) == ["a", "é", "b"]
    assert texts.distinct()[0] == ["a", "é", "b"]
    assert list(texts[1:]) == ["é", "b"]
    assert len(texts[2:1]) == 0
    with pytest.raises(ValueError, match="must have step 1"):
        texts[::2]
    assert PackedNumbers(np.array([3, 1, 3])).distinct()[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_encode_takes_columns_of_every_library(domain: Domain) -> None:
    """`Domain.encode` and `encode_column` give the items of a list; the second leaves missing values out."""
    expected = domain.encode(TEXTS)
    for column in (pa.array(TEXTS), pl.Series(TEXTS), pd.Series(TEXTS), np.array(TEXTS)):
        assert np.array_equal(domain.encode(column), expected)
        assert np.array_equal(encode_column(domain, column)[0], encode_column(domain, TEXTS)[0])
    items, intake = encode_column(domain, pl.Series([None, *TEXTS, ""]))
    assert len(items) == len(TEXTS)
    assert intake.missing == 2


def test_values_have_persons() -> None:
    """One report of each person: of one value, or of a slot; how many have more than their slots is said."""
    rows = [(person, value) for person in range(4000) for value in ("tea", "milk", "jam")]
    persons, values = (list(column) for column in zip(*rows, strict=True))
    one = find(pl.Series(values), 5, Categories(["tea", "milk", "jam"]), seed=1, persons=pl.Series(persons))
    assert one.reports == 4000
    assert one.hitters[0].count < 1700
    several = find(values, 5, Categories(["tea", "milk", "jam"]), seed=1, persons=persons, values_per_person=3)
    assert several.reports == 4000
    assert all(hitter.low <= 4000 <= hitter.high + 1e-6 for hitter in several.hitters)
    assert several.intake == Intake()
    fewer = find(values, 5, Categories(["tea", "milk", "jam"]), seed=1, persons=persons, values_per_person=2)
    assert fewer.intake.over == 4000
    with pytest.raises(InputError, match="persons must be as many as values, got 1 and 2"):
        find(["a", "b"], persons=["x"])
    with pytest.raises(ParameterError, match="values_per_person must come with persons"):
        find(["a", "b"], values_per_person=2)
