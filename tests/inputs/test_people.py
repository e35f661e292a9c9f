"""People's values: every format, every rule and every message."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import random
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.errors import InputError
from hubbub.inputs.people import open_people

PRIVATE = "s3cret"
SCRIPTS = [
    *("tea\nmilk\n", "Łódź\nGdańsk\n", "Москва,Paris\nКазань\n", "Αθήνα\nΠάτρα\n", "שלום\nלום\n", "سلام\nمرحبا\n"),
    *("नमस्ते\nदिल्ली\n", "தமிழ்\nசென்னை\n", "สวัสดี\nกรุงเทพ\n", "北京\n上海\n广州\n", "あいう\nかきく\n", "서울\n부산\n"),
]
LINES = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1)


def read(path: Path | str, **options: object) -> list[object]:
    """All values of a file, gone over twice."""
    with open_people(str(path), **options) as people:  # type: ignore[arg-type]
        values = [value for chunk in people.chunks() for value in chunk]
        assert [value for chunk in people.chunks(3) for value in chunk] == values
        assert people.count == len(values)
    return values


def missing(path: Path | str, **options: object) -> int:
    """How many rows of a file hold no value."""
    with open_people(str(path), **options) as people:  # type: ignore[arg-type]
        return people.missing


def piped(data: bytes, **options: object) -> list[object]:
    """All values of a standard input."""
    return read("-", stdin=io.BytesIO(data), **options)


def refusal(path: Path | str, **options: object) -> str:
    """The message for a file that cannot be read, which never holds a private value."""
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert PRIVATE not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Write a file."""

    def write(name: str, data: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty at first."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def parquet(path: Path, **columns: object) -> Path:
    """Write a Parquet file."""
    pq.write_table(pa.table(columns), path)
    return path


class TestText:
    """One value a line."""

    def test_a_line_is_a_person(self, make):
        """Lines come out in order, with or without a line end after the last."""
        assert read(make("x.txt", "b\na\nb")) == ["b", "a", "b"]
        assert read(make("x.txt", "b\na\nb\n")) == ["b", "a", "b"]

    def test_empty_lines_are_not_people(self, make):
        """Lines without anything on them are left out, also between CR LF."""
        assert read(make("x.txt", "\n\r\na\n\n\r\nb\n\n")) == ["a", "b"]

    @pytest.mark.parametrize(
        ("text", "empty"),
        [("a\nb\n", 0), ("a\n\nb\n\n\n", 1), ("\n\r\na\n\n\r\nb\n\n", 4), ("a\n" + "\n" * 200_000 + "b\n\n", 200_000)],
        ids=["none", "one", "both ends", "many"],
    )
    def test_empty_lines_are_missing(self, make, text, empty):
        """Empty lines are counted up to the last value: what follows is how the file ends."""
        assert missing(make("x.txt", text)) == empty

    def test_nothing_else_is_stripped(self, make):
        """Blanks, tabs and all but one CR belong to the value."""
        assert read(make("x.txt", " a \n\t\nb\r\r\nc\r")) == [" a ", "\t", "b\r", "c"]

    @pytest.mark.parametrize("mark", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\x00"])
    def test_only_line_feeds_end_lines(self, make, mark):
        """What `str.splitlines` splits at is part of the value."""
        assert read(make("x.txt", f"a{mark}b\nc\n")) == [f"a{mark}b", "c"]

    @pytest.mark.parametrize("bad", [b"caf\xe9", b"\xe2\x82", b"\xed\xa0\x80", b"\xff"])
    @pytest.mark.parametrize(("before", "line"), [(0, 1), (1, 2), (40_000, 40_001)])
    @pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl", "x.txt.gz"])
    def test_other_encodings_are_refused(self, make, name, before, line, bad):
        """Replaced bytes would make one value of several: the line is named, and what to do."""
        quote = b'"' if name == "x.jsonl" else b""
        data = b"\r\n".join([quote + PRIVATE.encode() + quote] * before + [quote + bad + quote, b"7", b""])
        path = make(name, gzip.compress(data) if name.endswith(".gz") else data)
        said = f"a text file must be UTF-8, got another encoding in line {line} of"
        assert refusal(path) == f"{said} {str(path)!r}: save it as UTF-8"
        if name == "x.txt":
            assert refusal("-", stdin=io.BytesIO(data)) == f"{said} '-': save it as UTF-8"

    @pytest.mark.parametrize("mark", ["\ufeff", ""])
    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    @pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl", "x.txt.gz"])
    def test_utf_16_is_called_by_its_name(self, make, name, encoding, mark):
        """What a spreadsheet saves as "Unicode text" is refused with what to do, and not taken for garbage."""
        data = f"{mark}site,country\n{PRIVATE},de\n".encode(encoding)
        said = refusal(make(name, gzip.compress(data) if name.endswith(".gz") else data))
        assert "a text file must be UTF-8, got UTF-16 in" in said
        assert said.endswith("save it as UTF-8")

    @pytest.mark.parametrize("mark", ["\ufeff", ""])
    @pytest.mark.parametrize("order", ["le", "be"])
    @pytest.mark.parametrize("width", [16, 32])
    @pytest.mark.parametrize("text", SCRIPTS)
    def test_wide_text_of_any_script_is_called_by_its_name(self, make, text, width, order, mark):
        """UTF-32 is not called UTF-16, and neither needs a mark or Latin letters."""
        said = refusal(make("x.txt", (mark + text).encode(f"utf-{width}-{order}")))
        assert f"got UTF-{width} in" in said

    @pytest.mark.parametrize(
        "text",
        ["1\n2\n3\n4\n5\n6", "1\t2\t3\t4\t5\t6", "a b c d e f", "1\r\n2\r\n3\r\n4", "\x01a\x01b\x01c\x01d\x01\x01e"],
    )
    def test_short_lines_are_not_utf_16(self, make, text):
        """Every second byte is a line end, a tab or a blank, as the first byte of some scripts is in UTF-16."""
        assert read(make("x.txt", text)) == text.replace("\r", "").split("\n")

    @pytest.mark.parametrize("text", ["a\0b\0", "\0\0\0\0\0\0\0\0\0\0", "tea\0\0\0\0\0", "a\0b\0c\0d\0e\0fg"])
    def test_zero_bytes_alone_are_not_utf_16(self, make, text):
        """A value may hold zero bytes: only a file with one in every pair of bytes is refused."""
        assert read(make("x.txt", f"{text}\n")) == [text]

    def test_a_list_of_json_is_no_lines(self, make):
        """A file that is one list is not one person's value."""
        with pytest.raises(InputError, match=r"must hold one object a line, got a list in .*write it as JSON lines"):
            open_people(str(make("people.json", '[{"site": "a"}]')))

    def test_the_byte_order_mark_is_dropped(self, make):
        """One mark at the start of the file is no part of the first value."""
        assert read(make("x.txt", "\ufeffa\n\ufeffb\n")) == ["a", "\ufeffb"]
        assert read(make("x.txt", "\ufeff\nb\n")) == ["b"]

    def test_gzip(self, make):
        """A file named .gz is unpacked, byte order mark and all."""
        assert read(make("x.txt.gz", gzip.compress("\ufeffa\nb\n".encode()))) == ["a", "b"]
        assert read(make("x.GZ", gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == ["a", "b"]

    @given(st.lists(LINES, min_size=1))
    def test_lines_in_are_values_out(self, lines):
        """Any lines come back as they are, however they end."""
        lines[0] = "." + lines[0]  # neither a byte order mark nor PAR1
        for end in ("\n", "\r\n"):
            assert piped((end.join(lines) + end).encode()) == lines
            assert piped(gzip.compress(end.join(lines).encode())) == lines

    @given(st.binary(min_size=1))
    def test_any_bytes_are_text_or_refused(self, data):
        """Whatever the bytes are, the values are what splitting at LF gives, or the file is not UTF-8."""
        data = b".\n" + data
        if data.decode("utf-8", "replace").encode() != data:
            assert "a text file must be UTF-8, got " in refusal("-", stdin=io.BytesIO(data))
        elif 0 not in data:  # with zero bytes it may look like UTF-32, which is refused
            assert piped(data) == [line for each in data.decode().split("\n") if (line := each.removesuffix("\r"))]

    @pytest.mark.parametrize("lines", [["b", "a", "b"], [f"value {k}" for k in range(30_000)]], ids=len)
    def test_lines_of_old_macs(self, make, lines):
        """In a file that has CR and no LF lines end at CR, in every format; a CR at its very end is no such file."""
        assert read(make("x.txt", "\r".join(lines))) == read(make("x.txt", "\r".join([*lines, ""]))) == lines
        assert read(make("x.csv", "\r".join(["word", *lines]))) == lines
        assert read(make("x.jsonl", "\r".join(f'"{line}"' for line in lines))) == lines
        assert read(make("x.txt", "a\r")) == ["a"]
        assert missing(make("x.txt", "a\r\rb\r")) == 1


class TestCsv:
    """One row a person, named columns."""

    def test_a_column_by_name(self, make):
        """The values are the ones below the name, whichever column it is."""
        path = make("x.csv", "id,word\n1,cat\n2,dog\n")
        assert read(path, column="word") == ["cat", "dog"]
        assert read(path, column="id") == ["1", "2"]

    def test_one_column_needs_no_name(self, make):
        """With one column there is nothing to choose."""
        assert read(make("x.csv", "word\ncat\ndog\n")) == ["cat", "dog"]

    def test_quotes(self, make):
        """Quoted commas, quotes and line ends belong to the value."""
        path = make("x.CSV", 'word,n\r\n"a,""b""\r\nc\nd",1\r\n\u2028,2\r\n')
        assert read(path, column="word") == ['a,"b"\r\nc\nd', "\u2028"]

    def test_short_and_empty_rows(self, make):
        """A row with too few fields has no value, an empty field is none, and a row without any field is no row."""
        path = make("x.csv", "\na,b\n1,2\n3\n\n\r\n,\n4,5,6\n")
        assert read(path, column="b") == ["2", "5"]
        assert missing(path, column="b") == 2
        path = make("x.csv", 'a\n\n""\nb\n')
        assert (read(path), missing(path)) == (["b"], 1)

    def test_tabs(self, make):
        """A file named .tsv is separated by tabs."""
        assert read(make("x.tsv", "a\tb,c\n1\t2,3\n"), column="b,c") == ["2,3"]
        assert read(make("x.tsv.gz", gzip.compress(b"a\tb\n1\t2\n")), column="b") == ["2"]

    @pytest.mark.parametrize("options", [{"column": "a"}, {"column": "a", "person": "a"}])
    def test_a_column_makes_text_csv(self, make, options):
        """Asking for a column reads any text as CSV."""
        assert read(make("x.txt", "a,b\n1,2\n"), **options) == ["1"]
        assert piped(b"a,b\n1,2\n", **options) == ["1"]

    def test_encoding(self, make):
        """The byte order mark is no part of the first name."""
        assert read(make("x.csv", b'\xef\xbb\xbf"a",b\n1,2\n'), column="a") == ["1"]
        assert read(make("x.csv.gz", gzip.compress(b"\xef\xbb\xbfa,b\n1,2\n")), column="a") == ["1"]

    @given(
        st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers()), min_size=1)
    )
    def test_fields_in_are_values_out(self, rows):
        """Whatever `csv` writes comes back as it is."""
        table = io.StringIO(newline="")
        csv.writer(table, quoting=csv.QUOTE_ALL).writerows([("word", "n"), *rows])
        assert piped(table.getvalue().encode(), column="word") == [word for word, _ in rows]

    def test_unknown_columns(self, make):
        """A name that is not there is refused, with the names that are."""
        path = make("x.csv", f"a,b\n{PRIVATE},2\n")
        assert refusal(path, column="c") == "the column must be one of 'a', 'b', got 'c'"
        assert refusal(path, column="a", person="c") == "the person column must be one of 'a', 'b', got 'c'"
        assert refusal(path, column="") == "the column must be one of 'a', 'b', got ''"

    def test_several_columns_need_a_name(self, make):
        """With several columns one has to be named, also when the person is."""
        path = make("x.csv", f"a,b\n{PRIVATE},2\n")
        expected = "a CSV with several columns needs --column, one of 'a', 'b'"
        assert refusal(path) == expected
        assert refusal(path, person="a") == expected

    @pytest.mark.parametrize(
        "text",
        [
            f"{PRIVATE},b\n{PRIVATE},2\n",  # a value that its column holds again
            f"{PRIVATE}@mail.example,b\n1,2\n",
            f"{PRIVATE},2024-02-29\na,2024-03-01\n",
            f"{PRIVATE},1.5\na,b\n",
            f"{PRIVATE},\na,b\n",
            f"{PRIVATE},{PRIVATE}\na,b\n",
            f"{PRIVATE * 7},b\na,b\n",
            f"{PRIVATE},b\n",
        ],
    )
    def test_a_first_row_that_is_no_header_is_not_quoted(self, make, text):
        """A file without a header has somebody's values in its first row, and no message shows them."""
        path = make("x.csv", text)
        for message in (refusal(path), refusal(path, column="c")):
            assert "one of the 2 names in its first row" in message

    def test_many_and_long_names_are_shortened(self, make):
        """A message lists eight names."""
        names = [f"name {'x' * 30} {k}" for k in range(12)]
        message = refusal(make("x.csv", ",".join(names) + "\n1\n"))
        assert repr(names[7]) in message
        assert repr(names[8]) not in message
        assert message.endswith(" and 4 more")

    def test_a_name_used_twice(self, make):
        """A name two columns share does not say which one is meant."""
        path = make("x.csv", "a,b,a\n1,2,3\n")
        assert refusal(path, column="a") == "the column must be in the file once, got 'a' 2 times"
        assert read(path, column="b") == ["2"]

    @pytest.mark.parametrize("row", ["", "1,2\n"])
    def test_a_field_above_the_limit(self, make, row):
        """An unclosed quote, which swallows the rest, is refused at the limit of `csv`."""
        path = make("x.csv", f'a,b\n{row}1,"{PRIVATE * 50_000}')
        reason = f"field larger than field limit ({csv.field_size_limit()})"
        assert refusal(path, column="b") == f"the file must be CSV, got {str(path)!r} ({reason})"


class TestParquet:
    """One row a person, typed columns."""

    def test_strings_and_integers_stay(self, tmp_path):
        """Strings are str, integers are int, and null and the empty text are missing."""
        path = parquet(
            tmp_path / "x.parquet",
            word=["cat", None, ""],
            small=pa.array([1, None, -3], pa.int8()),
            large=pa.array([0, 2**64 - 1, None], pa.uint64()),
            coded=pa.array(["a", None, "a"]).dictionary_encode(),
            nothing=pa.nulls(3),
        )
        assert read(path, column="word") == ["cat"]
        assert read(path, column="small") == [1, -3]
        assert read(path, column="large") == [0, 2**64 - 1]
        assert read(path, column="coded") == ["a", "a"]
        assert [missing(path, column=name) for name in ("word", "small", "large", "coded")] == [2, 1, 1, 1]
        assert (
            refusal(path, column="nothing")
            == f"the file must hold at least one person, got 0 and 3 without a value in {str(path)!r}"
        )

    def test_other_types_are_text(self, tmp_path):
        """What is neither text nor a whole number becomes text, whole floats become int, and bytes are UTF-8."""
        path = parquet(
            tmp_path / "x.parquet",
            truth=[True, False],
            real=[1.0, 2.5],
            gaps=[13.0, math.nan],
            half=pa.array([13.0, math.nan], pa.float16()),
            time=pa.array([0, 10**18 + 1], pa.timestamp("ns", "UTC")),
            day=[date(2024, 2, 29), None],
            price=[Decimal("1.50"), None],
            raw=[b"caf\xc3\xa9", b""],
            latin=[b"caf\xe9", b"tea"],
        )
        assert read(path, column="truth") == ["true", "false"]
        assert read(path, column="real") == [1, "2.5"]
        assert read(path, column="gaps") == read(path, column="half") == [13]
        assert read(path, column="time") == ["1970-01-01T00:00:00+00:00", "2001-09-09T01:46:40.000000001+00:00"]
        assert read(path, column="day") == ["2024-02-29"]
        assert read(path, column="price") == ["1.5"]
        assert read(path, column="raw") == ["café"]
        with pytest.raises(InputError, match="must be UTF-8, got other bytes"):
            read(path, column="latin")
        assert [missing(path, column=name) for name in ("real", "gaps", "half", "day", "price")] == [0, 1, 1, 1, 1]

    def test_the_first_bytes_tell(self, tmp_path):
        """Parquet is known by its first bytes under any name, and on standard input."""
        path = parquet(tmp_path / "x.csv", a=[1, 2])
        assert read(path) == [1, 2]
        assert piped(path.read_bytes()) == [1, 2]
        assert piped(path.read_bytes(), column="a", person="a") == [1, 2]

    def test_many_row_groups(self, tmp_path):
        """Batches and row groups leave no seams."""
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table({"a": range(200_000)}), path, row_group_size=70_000)
        assert read(path) == list(range(200_000))

    def test_names_with_dots(self, tmp_path):
        """A dot in a name is not a path into a nested column."""
        path = parquet(tmp_path / "x.parquet", **{"a": [1], "a.b": [2], "c.d": [3]})
        assert [read(path, column=name) for name in ("a", "a.b", "c.d")] == [[1], [2], [3]]

    def test_columns(self, tmp_path):
        """The column rules are those of CSV."""
        path = parquet(tmp_path / "x.parquet", a=[PRIVATE], b=[2])
        assert refusal(path) == "a Parquet file with several columns needs --column, one of 'a', 'b'"
        assert refusal(path, column="c") == "the column must be one of 'a', 'b', got 'c'"
        table = pa.table([[1], [2]], names=["a", "a"])
        pq.write_table(table, path)
        assert refusal(path, column="a") == "the column must be in the file once, got 'a' 2 times"

    def test_nested_columns(self, tmp_path):
        """A list or a struct is not one value."""
        path = parquet(tmp_path / "x.parquet", a=[[PRIVATE]], b=[{"c": PRIVATE}], d=[1])
        assert refusal(path, column="a").startswith("the column must hold plain values, got 'a' (list<")
        assert refusal(path, column="b").startswith("the column must hold plain values, got 'b' (struct<")
        assert refusal(path, column="d", person="a").startswith("the person column must hold plain values")

    @pytest.mark.parametrize("start", ["", "PAR1", "PAR1PAR1"])
    def test_not_parquet(self, make, start):
        """What only says it is Parquet, by name or first bytes, is refused."""
        path = make("x.parquet", start + PRIVATE * 9)
        assert refusal(path).startswith(f"the file must be Parquet, got {str(path)!r} (Parquet ")

    def test_damaged_pages(self, tmp_path):
        """Damage behind a sound footer is refused without quoting the data."""
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table({"a": [PRIVATE] * 100}), path, compression="none", use_dictionary=False)
        data = bytearray(path.read_bytes())
        data[4:60] = b"\xff" * 56
        path.write_bytes(data)
        reason = "column 'a' of type string cannot be read"
        assert refusal(path) == f"the file must be Parquet, got {str(path)!r} ({reason})"

    def test_strings_that_are_not_utf8(self, tmp_path):
        """A string column with other bytes is refused without quoting them."""
        raw = pa.array([PRIVATE.encode() + b"\xff"])
        text = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
        assert "cannot be read" in refusal(parquet(tmp_path / "x.parquet", a=text))

    def test_names_that_are_not_utf8(self, tmp_path):
        """A damaged column name is refused, not crashed on."""
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table({"zzzz": [1]}), path, store_schema=False)
        path.write_bytes(path.read_bytes().replace(b"zzzz", b"z\xff\xffz"))
        assert refusal(path).startswith(f"cannot read {str(path)!r}: ")

    def test_gzipped_parquet(self, make):
        """Parquet has its own compression."""
        path = make("x.parquet.gz", gzip.compress(b"PAR1"))
        assert refusal(path) == f"a Parquet file must not be gzipped, got {str(path)!r}"


class TestPerson:
    """One row of each person, whichever."""

    TABLE = "id,word\n1,a\n2,b\n1,c\n3,d\n1,e\n2,f\n"

    @pytest.mark.parametrize("seed", [None, *range(8)])
    def test_one_row_each_in_row_order(self, make, seed):
        """Each person gives one of their own rows, and the rows keep their order."""
        path = make("x.csv", self.TABLE)
        values = read(path, column="word", person="id", seed=seed)
        assert values == sorted(values)
        person = {"a": 1, "c": 1, "e": 1, "b": 2, "f": 2, "d": 3}
        assert sorted(person[value] for value in values) == [1, 2, 3]

    def test_the_same_column(self, make):
        """Value and person may be one column, which gives the distinct values."""
        assert sorted(read(make("x.csv", self.TABLE), column="id", person="id")) == ["1", "2", "3"]
        assert read(make("y.csv", "id\n1\n1\n2\n"), person="id") == ["1", "2"]

    def test_parquet_chooses_alike(self, make, tmp_path):
        """The same rows are chosen in every format, with whole numbers for persons too."""
        ids, words = [1, 2, 1, 3, 1, 2], list("abcdef")
        path = parquet(tmp_path / "x.parquet", id=ids, word=words)
        for seed in range(20):
            expected = read(make("x.csv", self.TABLE), column="word", person="id", seed=seed)
            assert read(path, column="word", person="id", seed=seed) == expected

    def test_rows_of_nobody_are_skipped_and_counted(self, make, tmp_path):
        """Nobody can say whose they are; they are missing, with one value of each person and with several."""
        table = make("x.csv", "word,id\na,1\nb\nc,\nd\n")
        path = parquet(tmp_path / "x.parquet", word=list("abcd"), id=[1, None, None, 2])
        for several in (False, True):
            options = {"column": "word", "person": "id", "all_values": several}
            assert (read(table, **options), missing(table, **options)) == (["a"], 3)
            assert (read(path, **options), missing(path, **options)) == (["a", "d"], 2)

    def test_only_rows_with_a_value_are_chosen(self, make):
        """A person with a value in one row is one with that value, and a person without any is nobody."""
        path = make("x.csv", "id,word\n1,\n1,a\n2,\n1,\n3,b\n3,\n")
        for seed in range(8):
            assert read(path, column="word", person="id", seed=seed) == ["a", "b"]
        assert missing(path, column="word", person="id") == 4

    def test_empty_rows_do_not_shift_the_choice(self, make):
        """Rows that are nobody's are not counted in either pass."""
        assert read(make("x.csv", "id,word\n\n1,a\n\n\n2,b\n"), column="word", person="id") == ["a", "b"]

    @given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 2**32))
    def test_the_count_is_of_persons(self, ids, seed):
        """There are as many values as persons, and each is the person's own."""
        table = "id,word\n" + "".join(f"{person},{person}-{row}\n" for row, person in enumerate(ids))
        values = piped(table.encode(), column="word", person="id", seed=seed)
        assert Counter(str(value).split("-")[0] for value in values) == Counter(map(str, set(ids)))

    @pytest.mark.parametrize(
        "rows", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow)]
    )
    def test_the_choice_is_uniform(self, make, rows):
        """Over fixed seeds each row is taken as often as an exact binomial allows, false alarm 1e-9."""
        table = "".join(f"{person},{person}-{row}\n" for row in range(rows) for person in "AB")
        path = str(make("x.csv", "id,row\n" + table))
        runs = 1_500
        taken: Counter[object] = Counter()
        for seed in range(runs):
            with open_people(path, column="row", person="id", seed=seed) as people:
                (values,) = people.chunks()
            taken.update(values)
        low, high = binomial_bounds(runs, Fraction(1, rows), Fraction(1, 10**9) / (2 * rows))
        assert {f"{person}-{row}" for row in range(rows) for person in "AB"} == set(taken)
        assert all(low <= times <= high for times in taken.values()), (taken, low, high)
        # Tight enough to notice a row that is replaced half of the time, whatever its number.
        assert rows == 2 or high < runs / 2

    def test_without_a_seed_the_choice_is_the_systems(self, make, monkeypatch):
        """The system's generator chooses, and two openings differ (the same by chance: 2**-128)."""
        path = make("x.csv", "id,row\n" + "".join(f"{i % 128},{i}\n" for i in range(256)))
        assert read(path, column="row", person="id") != read(path, column="row", person="id")
        monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(5))
        assert read(path, column="row", person="id") == read(path, column="row", person="id", seed=5)


def binomial_bounds(n: int, p: Fraction, alarm: Fraction) -> tuple[int, int]:
    """The smallest interval of counts with at most half the false alarm below and half above, exactly."""
    a, b = p.numerator, p.denominator - p.numerator
    limit = alarm / 2 * p.denominator**n

    def edge(hit: int, miss: int) -> int:
        below, count = 0, 0
        while (below := below + math.comb(n, count) * hit**count * miss ** (n - count)) <= limit:
            count += 1
        return count

    return edge(a, b), n - edge(b, a)


def test_binomial_bounds():
    """The bounds of ten fair coins leave out what is rarer than the false alarm."""
    assert binomial_bounds(10, Fraction(1, 2), Fraction(22, 1024)) == (2, 8)
    assert binomial_bounds(10, Fraction(1, 2), Fraction(21, 1024)) == (1, 9)
    assert binomial_bounds(2, Fraction(1, 4), Fraction(1, 8)) == (0, 1)


class TestSpool:
    """What is read once is kept for the second time, and not longer."""

    def test_the_spool_is_gone_after_exit(self, spools):
        """Standard input is on disk while it is read, for this user only, and then no more."""
        with open_people("-", stdin=io.BytesIO(b"a\nb\n")) as people:
            (folder,) = spools.iterdir()
            assert folder.stat().st_mode & 0o077 == 0
            assert list(people.chunks(1)) == [["a"], ["b"]]
        assert list(spools.iterdir()) == []

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_the_spool_is_gone_after_an_exception(self, spools, error):
        """An exception or Ctrl-C in the middle of the values removes the spool."""

        def go_over() -> None:
            with open_people("-", stdin=io.BytesIO(b"a\nb\n")) as people:
                for _ in people.chunks(1):
                    assert list(spools.iterdir()) != []
                    raise error

        with pytest.raises(error):
            go_over()
        assert list(spools.iterdir()) == []

    def test_the_spool_is_gone_when_opening_fails(self, spools):
        """A refusal and a Ctrl-C while spooling remove the spool."""

        class Interrupted(io.BytesIO):
            def read1(self, _: int | None = -1, /) -> bytes:
                assert list(spools.iterdir()) != []
                raise KeyboardInterrupt

        assert refusal("-", stdin=io.BytesIO(b"a,b\n1,2\n"), column="c")
        with pytest.raises(KeyboardInterrupt):
            open_people("-", stdin=Interrupted(b"a\n"))
        assert list(spools.iterdir()) == []

    def test_a_file_is_not_spooled(self, make, spools):
        """A file on disk is read where it is."""
        with open_people(str(make("x.txt", "a\n"))):
            assert list(spools.iterdir()) == []

    def test_a_pipe_is_spooled(self, spools):
        """A pipe by name, as a shell makes one of <(...), is kept like standard input."""
        out, into = os.pipe()
        os.write(into, b"a\nb\n")
        os.close(into)
        try:
            assert read(f"/dev/fd/{out}") == ["a", "b"]
        finally:
            os.close(out)
        assert list(spools.iterdir()) == []

    def test_the_process_standard_input(self, monkeypatch):
        """Without a stream to read, "-" is the standard input of the process."""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
        with open_people("-") as people:
            assert list(people.chunks()) == [["a", "b"]]

    def test_gzip_on_standard_input(self):
        """Gzip is known by its first bytes where there is no name."""
        assert piped(gzip.compress(b"a\nb\n")) == ["a", "b"]
        assert piped(gzip.compress(b"a,b\n1,2\n"), column="b") == ["2"]

    def test_no_folder_for_temporary_files(self, monkeypatch):
        """A missing temporary folder is not taken for a missing file."""

        def nowhere(*_: object, **__: object) -> None:
            raise FileNotFoundError(2, "No usable temporary directory found")

        monkeypatch.setattr(tempfile, "TemporaryDirectory", nowhere)
        expected = "cannot read '-': no usable temporary directory found"
        assert refusal("-", stdin=io.BytesIO(b"a")) == expected


class TestFiles:
    """What is not a file of people."""

    def test_a_file_that_is_not_there(self, tmp_path):
        """A missing file is named."""
        path = str(tmp_path / "x.txt")
        assert refusal(path) == f"cannot read {path!r}: no such file or directory"

    def test_a_directory(self, tmp_path):
        """A directory is not a file."""
        assert refusal(tmp_path) == f"cannot read {str(tmp_path)!r}: is a directory"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_file_of_somebody_else(self, make):
        """A file without permission is named."""
        path = make("x.txt", "a\n")
        path.chmod(0)
        assert refusal(path) == f"cannot read {str(path)!r}: permission denied"

    @pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.parquet", "x.gz"])
    def test_an_empty_file(self, make, name):
        """Nobody in any format is refused."""
        path = make(name, "")
        assert refusal(path) == f"the file must hold at least one person, got an empty file {str(path)!r}"
        expected = "the file must hold at least one person, got an empty file '-'"
        assert refusal("-", stdin=io.BytesIO(b"")) == expected

    def test_nobody_in_the_file(self, make, tmp_path):
        """A file of empty lines, of a header or of a schema alone holds nobody."""
        paths = [
            make("x.txt", "\ufeff\n\r\n"),
            make("x.csv", "word\n\n"),
            make("x.gz", gzip.compress(b"")),
            parquet(tmp_path / "x.parquet", a=pa.array([], pa.string())),
        ]
        for path in paths:
            assert refusal(path) == f"the file must hold at least one person, got 0 in {str(path)!r}"
        expected = "the file must hold at least one person, got 0 in "
        assert refusal(paths[1], column="word", person="word") == expected + repr(str(paths[1]))

    def test_no_columns(self, make, tmp_path):
        """A table without a column holds nobody."""
        for path in (make("x.csv", "\n\n"), parquet(tmp_path / "x.parquet")):
            expected = f"the file must hold at least one person, got no columns in {str(path)!r}"
            assert refusal(path) == expected
            assert refusal(path, column="a") == expected

    def test_damaged_gzip(self, make):
        """What is not gzip, or not all of it, is refused without quoting it."""
        packed = gzip.compress(PRIVATE.encode() * 1_000)
        flipped = packed[:12] + bytes(255 - byte for byte in packed[12:])
        for data in (PRIVATE.encode(), packed[:-9], flipped):
            path = make("x.txt.gz", data)
            assert refusal(path) == f"cannot read {str(path)!r}: damaged, or not gzip"

    def test_a_file_that_changes(self, make):
        """People counted in one file are not looked for in another."""
        path = make("x.txt", "a\nb\n")
        with open_people(str(path)) as people:
            path.write_text("a\nb\nc\n")
            os.utime(path, ns=(1, 1))
            with pytest.raises(InputError, match="changed while it was read"):
                next(people.chunks())

    def test_a_file_that_changes_while_it_is_read(self, make):
        """A file that grows gives nobody new, and one that shrinks is refused."""
        path = make("x.txt", "abcdefg\n" * 20_000)
        with open_people(str(path)) as people:
            values = people.chunks(1)
            next(values)
            with path.open("a") as file:
                file.write("new\n" * 9)
            assert sum(map(len, values)) == 20_000 - 1
        with open_people(str(path)) as people:
            values = people.chunks(1)
            next(values)
            path.write_text("")
            with pytest.raises(InputError, match="changed while it was read"):
                list(values)


class TestChunks:
    """Values a list at a time."""

    def test_sizes(self, make):
        """Every list is full except the last, and none is empty."""
        with open_people(str(make("x.txt", "a\nb\nc\nd\n"))) as people:
            assert list(people.chunks(3)) == [["a", "b", "c"], ["d"]]
            assert list(people.chunks(2)) == [["a", "b"], ["c", "d"]]
            assert list(people.chunks()) == [["a", "b", "c", "d"]]

    def test_two_at_once(self, make):
        """Two goings over do not disturb each other, and one may be left unfinished."""
        path = make("x.csv", "a,b\n1,1\n2,2\n3,1\n")
        with open_people(str(path), column="a", person="b", seed=0) as people:
            first, second = people.chunks(1), people.chunks(1)
            assert next(first) == next(second)
            assert list(first) == list(second)
            next(people.chunks(1))

    def test_the_representation_tells_nothing(self, make):
        """Neither a value nor a person shows in the representation."""
        with open_people(str(make("x.csv", f"a,b\n{PRIVATE},2\n")), column="a", person="b") as people:
            assert repr(people) == "Crowd(count=1, missing=0)"

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.txt.gz", "x.parquet"])
    def test_streaming(self, tmp_path, name):
        """The memory needed is that of a chunk, not that of the file or of a row group."""
        lines = [f"{i:0100}" for i in range(100_000)]
        path = tmp_path / name
        if name == "x.parquet":
            pq.write_table(pa.table({"a": lines}), path, compression="none", use_dictionary=False)
            assert pq.ParquetFile(path).num_row_groups == 1
        else:
            with gzip.open(path, "wt", 1) if name.endswith(".gz") else path.open("w") as file:
                file.writelines(f"{line}\n" for line in lines)
        size = sum(map(len, lines))
        tracemalloc.start()
        try:
            with open_people(str(path)) as people:
                assert sum(map(len, people.chunks(1_000))) == people.count
            assert tracemalloc.get_traced_memory()[1] < size / 2
        finally:
            tracemalloc.stop()
