"""Text codes: the format to the bit, against a slow twin and against wrong versions of itself."""

from __future__ import annotations

import inspect
import json
import pickle
from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import text_code as twin

from hubbub.codes import text_code
from hubbub.codes.shipped import CODE_NAMES, load_code
from hubbub.codes.table import MAX_BYTES
from hubbub.codes.text_code import TextCode
from hubbub.errors import ParameterError

VECTORS = json.loads((twin.DATA / "text_code_vectors.json").read_text("utf-8"))
CODES = {name: TextCode(table) for name, table in twin.TABLES.items()}
MAIN_CODES = ("hostnames", "text", "words")  # the others are of the same kind, for one language each
EACH_CODE = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in MAIN_CODES else [pytest.mark.slow]) for name in sorted(twin.TABLES)]
)

strings = st.one_of(
    st.binary(max_size=MAX_BYTES),
    st.text(max_size=MAX_BYTES // 4).map(str.encode),
    st.text("abc.com", max_size=MAX_BYTES).map(str.encode),
    st.text("aeinorst.", max_size=MAX_BYTES).map(str.encode),
)


def is_text(raw: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def as_bits(code: tuple[int, int]) -> str:
    """A code as a string of bits."""
    return format(code[0], f"0{code[1]}b")


def check_vectors(module: Any) -> None:
    """Every published vector, with the module's own TextCode."""
    for vector in VECTORS:
        code = module.TextCode(twin.TABLES[vector["code"]])
        bits, length = int("0" + vector["bits"], 2), len(vector["bits"])
        text = bytes.fromhex(vector["text"])
        if not vector["must_fail"]:
            assert code.encode(text) == (bits, length), vector["name"]
        assert code.decode(bits, length) == (None if vector["must_fail"] else text), vector["name"]


def test_vectors() -> None:
    """Python reproduces the published codes, and rejects what it must reject."""
    check_vectors(text_code)
    assert {vector["code"] for vector in VECTORS} == set(twin.TABLES)
    assert {vector["must_fail"] for vector in VECTORS} == {True, False}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("tail < best", "tail <= best"),
        ("length <= best", "length < best"),
        ("1 << 6 | len(raw) - 1", "1 << 6 | len(raw) & 63"),
        ('or "0", 2) + 1 if ended', 'or "0", 2) if ended'),
        (
            "state = self.next_class[symbol]\n        if not best",
            "state = symbol != ESC and self.next_class[symbol]\n        if not best",
        ),
        ("if (end := self._ends.get(text[at:])) is not None:", "if (end := self._ends.get(text[at:])) and at:"),
        ("range(min(self._longest, len(text) - at), 0, -1)", "range(1, min(self._longest, len(text) - at) + 1)"),
        ("code << (width - length) == bits", "True"),
        ("(length, index) for index, length", "(length, -index) for index, length"),
    ],
)
def test_wrong_versions_are_caught(right: str, wrong: str) -> None:
    """A version with one rule changed does not reproduce the vectors."""
    source = inspect.getsource(text_code)
    assert source.count(right) == 1
    mutant = ModuleType("mutant")
    exec(compile(source.replace(right, wrong), "mutant", "exec"), mutant.__dict__)  # noqa: S102
    with pytest.raises((AssertionError, IndexError, OverflowError, ValueError)):
        check_vectors(mutant)


@EACH_CODE
def test_rows_are_complete(name: str) -> None:
    """The Kraft sum of every row is exactly 1, and the words are those of the twin."""
    for row, words in zip(twin.TABLES[name]["lengths"], CODES[name].code_words, strict=True):
        assert sum(Fraction(1, 2 ** int(digit, 16)) for digit in row) == 1
        assert [as_bits(word) for word in words] == twin.code_words(row)


@pytest.mark.slow
@EACH_CODE
@given(text=strings)
def test_encode_equals_the_twin(name: str, text: bytes) -> None:
    """The code is that of the slow encoder, at most 8n + 22 bits, and comes back if it is text."""
    code = CODES[name]
    bits, length = code.encode(text)
    assert as_bits((bits, length)) == twin.encode(twin.TABLES[name], text)
    assert length == code.length(text) <= 8 * len(text) + 22
    assert code.decode(bits, length) == (text if is_text(text) else None)
    assert code.decode_padded(bits << 9, length + 9) == code.decode(bits, length)
    assert code.decode(bits << 1, length + 1) is None


@EACH_CODE
@given(text=strings)
def test_length_is_the_sum_of_digits(name: str, text: bytes) -> None:
    """A code without ESC is as long as the digits of its symbols in the table say."""
    table, code = twin.TABLES[name], CODES[name]
    state = total = 0
    for symbol in code.greedy(text):
        total += int(table["lengths"][state][symbol], 16) + (9 if symbol == text_code.ESC else 0)
        state = int(table["class"][symbol], 36)
    assert code.length(text) <= total
    assert code.greedy(text) == [symbol for _, symbol in twin.greedy(table, text)]


@EACH_CODE
@given(bits=st.text("01", max_size=300))
def test_random_bits_decode_or_fail(name: str, bits: str) -> None:
    """Any bits are the code of one text or of none; never an error."""
    code = CODES[name]
    text = code.decode(int("0" + bits, 2), len(bits))
    assert text is None or (as_bits(code.encode(text)) == bits and is_text(text) and len(text) <= MAX_BYTES)
    padded = code.decode_padded(int("0" + bits, 2), len(bits))
    assert padded is None or bits.startswith(as_bits(code.encode(padded)))


@EACH_CODE
@given(texts=st.sets(strings, min_size=2, max_size=30))
def test_prefix_free(name: str, texts: set[bytes]) -> None:
    """No code is the beginning of another one."""
    codes = sorted(as_bits(CODES[name].encode(text)) for text in texts)
    assert not any(after.startswith(before) for before, after in pairwise(codes))


def test_the_longest_texts() -> None:
    """64 bytes have a code, 65 are refused without showing them."""
    for code in CODES.values():
        text = bytes([0xF0, 0x9F, 0x98, 0x80]) * 16
        assert code.decode(*code.encode(text)) == text
        with pytest.raises(ParameterError, match="text must be at most 64 bytes, got 65"):
            code.encode(text + b"\0")


def test_bits_that_are_none() -> None:
    """Bits that do not fit in their length are nothing's code."""
    code = load_code("words")
    assert code.decode(-1, 4) is None
    assert code.decode(4, 2) is None
    assert code.decode(0, -1) is None
    assert code.decode(0, 0) is None


def test_what_ships() -> None:
    """The shipped tables are small, load by name, and are their own JSON."""
    for name in CODE_NAMES:
        code = load_code(name)
        assert code.to_json() == twin.SHIPPED[name]
        assert code == TextCode.from_json(json.dumps(code.to_json(), indent=1)) == pickle.loads(pickle.dumps(code))  # noqa: S301
        assert hash(code) == hash(pickle.loads(pickle.dumps(code)))  # noqa: S301
        assert len(json.dumps(code.to_json(), ensure_ascii=False, separators=(",", ":")).encode()) <= 8192
    with pytest.raises(
        ParameterError, match=r"name must be one of hostnames, words, text, words-de, .*, got name='poems'"
    ):
        load_code("poems")


def test_popular_hosts_are_short() -> None:
    """Hosts that the code was not fitted to have at most 40 bits on average; tests/data/README.md says which."""
    code = load_code("hostnames")
    lines = (twin.DATA / "popular_hosts.tsv").read_text("utf-8").splitlines()
    hosts = [line.split("\t")[0].removeprefix("www.").encode() for line in lines]
    assert len(hosts) == 500
    assert sum(map(code.length, hosts)) / len(hosts) <= 40


def _with(**fields: object) -> dict[str, Any]:
    return {
        "bytes": "ab",
        "tokens": ["ab"],
        "ends": ["b"],
        "class": "001010",
        "lengths": ["233332", "332233"],
        **fields,
    }


def test_a_table_that_is_a_code() -> None:
    """What the bad tables below were made from is a good one, and its symbols are in order."""
    code = TextCode(_with())
    assert code.symbols == (b"", b"", b"a", b"b", b"ab", b"b")
    assert (code.first_end, code.next_class) == (5, (0, 0, 1, 0, 1, 0))
    assert repr(code) == "TextCode(6 symbols, 2 classes)"
    assert code != TextCode(_with(ends=["a"]))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "a code must be an object, got NoneType"),
        ([], "a code must be an object, got list"),
        ({}, "has the fields bytes, tokens, ends, class, lengths, got no 'bytes'"),
        (_with(more=1), "got unknown 'more'"),
        (_with(bytes=1), "code.bytes must be a string, got int"),
        (_with(**{"class": ["0"]}), "code.class must be a string, got list"),
        (_with(tokens="ab"), "code.tokens must be a list of strings, got str"),
        (_with(ends=[1]), "code.ends must be a list of strings"),
        (_with(lengths=None), "code.lengths must be a list of strings, got NoneType"),
        (_with(bytes="aa"), "code.bytes must be distinct, got 'a' twice"),
        (_with(bytes="aé\u0100"), "characters up to U\\+00FF, got 'Ā'"),
        (_with(tokens=["a"]), "code.tokens must hold strings of 2 to 64 characters"),
        (_with(tokens=["ab", "ab"]), "code.tokens must be distinct, got 'ab' twice"),
        (_with(tokens=["a" * 65]), "2 to 64 characters"),
        (_with(ends=[""]), "code.ends must hold strings of 1 to 64"),
        (_with(ends=["b", "b"]), "code.ends must be distinct"),
        (_with(lengths=[]), "1 to 36 rows, got 0"),
        (_with(lengths=["233332"] * 37), "1 to 36 rows, got 37"),
        (_with(lengths=["233332", "33223"]), r"code.lengths\[1\] must be 6 hex digits from 1 to f"),
        (_with(lengths=["233332", "2F3332"]), r"code.lengths\[1\] must be 6 hex digits from 1 to f"),
        (_with(lengths=["033332", "332233"]), r"code.lengths\[0\] must be 6 hex digits from 1 to f"),
        (_with(lengths=["233332", "333233"]), r"code.lengths\[1\] must have a Kraft sum of 1, got 28672/32768"),
        (_with(lengths=["233332", "332223"]), r"Kraft sum of 1, got 36864/32768"),
        (_with(**{"class": "00101"}), "code.class must be 6 digits of base 36 below 2"),
        (_with(**{"class": "002010"}), "code.class must be 6 digits of base 36 below 2"),
        (_with(**{"class": "00101A"}), "code.class must be 6 digits"),
        (_with(tokens=[f"a{i:05}" for i in range(1200)]), "at most 8192 bytes of JSON, got"),
        (_with(bytes="a\ud800"), "characters up to U\\+00FF"),
    ],
)
def test_bad_tables(table: Any, said: str) -> None:
    """A table is untrusted: what is not a code is refused with the rule, the name and the value."""
    with pytest.raises(ParameterError, match=said):
        TextCode(table)


@pytest.mark.parametrize("document", ["", "{", "[" * 9000, "null", b"\xff", "{}" + " " * 40_000])
def test_bad_documents(document: str | bytes) -> None:
    """Text that is not the JSON of a code is refused."""
    with pytest.raises(ParameterError, match=r"^a code "):
        TextCode.from_json(document)
