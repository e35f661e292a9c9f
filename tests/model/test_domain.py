"""Domains are total: any value becomes an item, and items decode to the normalised value."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import ParameterError
from hubbub.model.domain import OTHER, Bytes, Categories, Hex, Integers, UUIDs, domain_from_json

DOMAINS = [
    Integers(1),
    Integers(7),
    Integers(64),
    Integers(65),
    Integers(512),
    Hex(1),
    Hex(128),
    UUIDs(),
    Categories(["a"]),
    Categories(["a", "b", "c", "d"]),
    Bytes(1),
    Bytes(7),
    Bytes(64),
]


class Hostile:
    """An object that fails however it is looked at."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __index__ = __float__ = __repr__ = __hash__ = __str__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None)),
    st.binary(),
    st.lists(st.integers()),
    st.just(10**5000),
    st.builds(Hostile),
    st.builds(np.int64, st.integers(-(2**63), 2**63 - 1)),
)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@given(values=st.lists(anything, max_size=5))
def test_encode_is_total(domain, values) -> None:
    """No value makes encode raise, and every item is in the universe and decodes."""
    items = domain.encode(values)
    assert items.shape == (len(values), domain.item_limbs)
    assert items.dtype == np.uint64
    assert None not in domain.decode(items)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@given(data=st.data())
def test_decode_is_total_and_encode_undoes_it(domain, data) -> None:
    """Any item decodes to a value or None; what it decodes to encodes to the same item."""
    index = data.draw(st.integers(0, 2**domain.bits - 1))
    item = np.frombuffer(index.to_bytes(8 * domain.item_limbs, "little"), "<u8").reshape(1, -1)
    value = domain.decode(item)[0]
    assert value is not None or index >= domain.size or isinstance(domain, Bytes)
    if value is not None and value != OTHER:
        assert np.array_equal(domain.encode([value]), item)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_json_round_trip(domain) -> None:
    """A domain is plain data."""
    assert domain_from_json(domain.to_json()) == domain


@given(st.integers(0, 2**70 - 2))
def test_integers_keep_their_value(number: int) -> None:
    """A number in range comes back, as a number and as a string."""
    assert Integers(70).decode(Integers(70).encode([number, str(number), f" {number} "])) == [number] * 3


def test_integers_outside_are_other() -> None:
    """All ones, negatives, fractions, words and too many digits are the reserved item."""
    outside = [255, 256, -1, 1.5, float("nan"), float("inf"), "x", "", "1e2", "٣", "9" * 400, None, [], b"7", True]
    assert Integers(8).decode(Integers(8).encode(outside)) == [OTHER] * len(outside)
    assert Integers(8).decode(Integers(8).encode([254, 7.0, np.int32(9), -0.0])) == [254, 7, 9, 0]


def test_sizes_that_are_not_powers_of_two() -> None:
    """Bits are the ceiling of the logarithm of the size."""
    assert [Categories([str(i) for i in range(n)]).bits for n in (1, 2, 3, 4, 7, 8)] == [1, 2, 2, 3, 3, 4]
    assert Categories(["a", "b"]).decode(np.array([[0], [1], [2], [3]], np.uint64)) == ["a", "b", OTHER, None]


def test_text_normalisation() -> None:
    """Surrogates, composition, cuts and NULs, as the normal form says."""
    text = Bytes(8)
    pairs = [
        ("e\u0301", "é"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d", "\ufffd"),
        ("x\udc00y", "x\ufffdy"),
        ("abcdefghij", "abcdefgh"),
        ("1234567é", "1234567"),
        ("123456é", "123456é"),
        ("a\0b\0\0", "a\0b"),
        ("", ""),
        (None, ""),
        (b"\xff", "\ufffd"),
        (12, "12"),
    ]
    assert text.decode(text.encode([given_ for given_, _ in pairs])) == [wanted for _, wanted in pairs]


@given(st.text(st.characters(codec=None)), st.integers(1, 64))
def test_text_is_normal_and_fits(value: str, size: int) -> None:
    """The decoded text is in NFC, a prefix of the normal form, and within its bytes."""
    (decoded,) = Bytes(size).decode(Bytes(size).encode([value]))
    joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert isinstance(decoded, str)
    assert len(decoded.encode()) <= size
    assert unicodedata.normalize("NFC", joined).startswith(decoded)


def test_text_that_is_not_utf8_decodes_to_none() -> None:
    """An item that no text encodes to is not a value."""
    not_utf8, not_nfc = b"\xff\0\0\0\0\0\0\0", "e\u0301".encode().ljust(8, b"\0")
    assert Bytes(8).decode(np.frombuffer(not_utf8 + not_nfc, "<u8").reshape(2, 1)) == [None, None]


LIST = {"kind": "categories", "names": ["a", "b"], "normalization": 1, "other": True}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Integers(0), "bits must be a whole number from 1 to 512, got bits=0"),
        (lambda: Integers(513), "bits=513"),
        (lambda: Integers(True), "bits=True"),
        (lambda: Integers("8"), "bits='8'"),
        (lambda: Bytes(65), "max_bytes=65"),
        (lambda: Categories([]), "at least 2 values"),
        (lambda: Categories(["a", "a"]), "'a' twice"),
        (lambda: Categories(["é", "e\u0301"]), "twice"),
        (lambda: Categories([OTHER]), "reserved"),
        (lambda: Categories(["", "a"]), "names must have at least one character each, got ''"),
        (lambda: Categories("abc"), "list of strings"),
        (lambda: Categories([1]), "list of strings"),
        (lambda: domain_from_json([]), "must be an object"),
        (lambda: domain_from_json({"kind": "circles"}), "'circles'"),
        (lambda: domain_from_json({"kind": "integers", "bits": 8, "more": 1}), "unknown more"),
        (lambda: domain_from_json({"kind": "integers"}), "no bits"),
        (lambda: domain_from_json({"kind": "bytes", "max_bytes": 8, "normalization": 2}), "normalization"),
        (lambda: domain_from_json({**LIST, "names": "ab"}), "must be a list"),
        (lambda: domain_from_json({**LIST, "other": 1}), "other=1"),
        (lambda: Categories(["a"], other=False), "at least 2 values, got 1 name"),
        (lambda: Categories(["a", "b"], other="no"), "other='no'"),
    ],
)
def test_bad_domains(make, said: str) -> None:
    """A domain that cannot be is refused with the rule, the name and the value."""
    with pytest.raises(ParameterError, match=said.replace("(", r"\(")):
        make()


def test_an_empty_name_of_a_survey_is_read() -> None:
    """The format allows it, so a survey that has one is read as all clients read it; a new list may not have one."""
    stated = domain_from_json({**LIST, "names": ["a", ""]})
    assert stated.decode(stated.encode(["", "a", "b"])) == ["", "a", OTHER]
    assert domain_from_json(stated.to_json()) == stated == Categories.stated(["a", ""], other=True)


def test_repr_shows_no_names() -> None:
    """A repr is short whatever the list is."""
    assert repr(Categories(["x"] + [str(i) for i in range(999)])) == "Categories(1000 names)"


def test_a_closed_list_has_no_other() -> None:
    """What is not on it becomes one of its names, always the same; what is on it stays; nothing raises."""
    closed = Categories(["yes", "no", "abstain"], other=False)
    assert closed.size == 3
    assert domain_from_json(closed.to_json()) == closed
    assert closed != Categories(["yes", "no", "abstain"])
    values = ["yes", "no", "abstain", "maybe", "perhaps", "later", None, object(), 7, "\ud800"]
    items = closed.encode(values)
    assert items.max() < 3
    assert closed.decode(items[:3]) == ["yes", "no", "abstain"]
    assert np.array_equal(items, closed.encode(values))
    assert len({int(item) for (item,) in closed.encode(f"text {k}" for k in range(50))}) == 3
    assert [closed.lacks(value) for value in values] == [False] * 3 + [True] * 7
    assert [Integers(8).lacks(value) for value in (7, 255, "x")] == [False, True, True]
    assert [Bytes(2).lacks(value) for value in ("", None)] == [False, False]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("dtype", ["V4", [("name", "U3"), ("count", "i4")]])
def test_an_array_of_raw_bytes_is_refused(domain, dtype) -> None:
    """An array that can hold neither texts nor numbers is refused by its type, instead of becoming "(other)"."""
    with pytest.raises(ParameterError, match="values must be texts or numbers, got an array of type"):
        domain.encode(np.zeros(3, dtype))
