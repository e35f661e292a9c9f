"""Tables of people: what separates their fields, what names their columns, and JSON lines."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from hubbub.errors import InputError, ParameterError
from hubbub.inputs.csv_file import looks_like_header, parse_delimiter, sniff_delimiter
from hubbub.inputs.people import FORMATS, open_people

PRIVATE = "s3cret"


def read(path: Path | str, **options: object) -> tuple[list[object], int]:
    """All values of a file, and how many rows have none."""
    with open_people(str(path), **options) as people:  # type: ignore[arg-type]
        return [value for chunk in people.chunks() for value in chunk], people.missing


def written(folder: Path, name: str, text: str) -> Path:
    """A file of this text."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


class TestDelimiters:
    """What separates the fields."""

    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_it_is_sniffed(self, tmp_path, delimiter):
        """Commas, semicolons, tabs and bars are told apart, whatever else is in the fields."""
        rows = [["city", "size"], ["a,b", "1"], ["c;d", "2"], ["e|f", "3"]]
        quoted = "\n".join(delimiter.join(f'"{field}"' for field in row) for row in rows)
        assert read(written(tmp_path, "x.csv", quoted), column="city") == (["a,b", "c;d", "e|f"], 0)

    def test_decimal_commas(self, tmp_path):
        """A semicolon separates where numbers have commas."""
        path = written(tmp_path, "x.csv", "name;size\na;1,5\nb;2,5\n")
        assert read(path, column="size") == (["1,5", "2,5"], 0)

    def test_one_column_has_no_delimiter(self, tmp_path):
        """What is in the values of a single column separates nothing if it is not in its name."""
        assert read(written(tmp_path, "x.csv", "word\na;b\nc|d\n")) == (["a;b", "c|d"], 0)

    def test_the_name_that_is_asked_for_decides(self, tmp_path):
        """A delimiter under which the header has the column is taken, even if another makes more fields."""
        path = written(tmp_path, "x.csv", "a,b,c;d\n1,2,3;4\n")
        assert read(path, column="d") == (["4"], 0)
        assert read(path, column="b") == (["2"], 0)

    def test_rows_that_agree_decide(self):
        """Between two delimiters of the header, the one that all rows agree on is taken."""
        assert sniff_delimiter(["a,b;c\n", "1;2\n", "3,4;5\n", "6;7\n"]) == ";"
        assert sniff_delimiter([]) == ","

    @pytest.mark.parametrize(("given", "between"), [(":", ":"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (";", ";")])
    def test_it_can_be_given(self, tmp_path, given, between):
        """A delimiter that was given is taken, and makes any text CSV."""
        path = written(tmp_path, "x.txt", f"a{between}b,c\n1{between}2\n")
        assert read(path, delimiter=given, column="a") == (["1"], 0)

    @pytest.mark.parametrize("bad", ["", ",,", '"', "\n", "comma"])
    def test_it_must_be_one_character(self, bad):
        """What is not one character, or ends fields and lines already, is refused."""
        with pytest.raises(ParameterError, match="delimiter must be one character or tab"):
            parse_delimiter(bad)

    def test_it_is_for_csv(self, tmp_path):
        """A delimiter for a format that has none is refused."""
        with pytest.raises(ParameterError, match="delimiter must come with CSV"):
            open_people(str(written(tmp_path, "x.txt", "a")), format="lines", delimiter=";")


class TestHeaders:
    """Whether a first row may be quoted."""

    @pytest.mark.parametrize(
        "rows",
        [
            [["visitor", "country"], ["1", "de"]],
            [["user id", "E-mail", "Größe (cm)"], ["1", "a@b", "180"]],
            [["x1"], ["5"]],
        ],
    )
    def test_headers(self, rows):
        """Distinct short names that the rows below do not repeat are a header."""
        assert looks_like_header(rows)

    @pytest.mark.parametrize(
        "rows",
        [
            [["visitor", "country"]],
            [["ann", "de"], ["bob", "de"]],
            [["1", "2"], ["a", "b"]],
            [["a", ""], ["1", "2"]],
            [["a", "a"], ["1", "2"]],
            [["ann@mail.example"], ["x"]],
            [["12.5"], ["x"]],
            [["2024-02-29"], ["x"]],
            [["x" * 41], ["y"]],
        ],
    )
    def test_values(self, rows):
        """A row alone, values that come again, numbers, dates, mail addresses and long texts are none."""
        assert not looks_like_header(rows)


class TestJsonLines:
    """A JSON value or object a line."""

    def test_a_field_of_objects(self, tmp_path):
        """The value is the field that is asked for; null, "", NaN and no field at all are missing."""
        rows = ['{"a": 1, "b": "x"}', '{"b": null}', "", '{"a": 3}', '{"b": ""}', '{"b": NaN}', '{"b": 13.0}', " "]
        rows += ['{"b": 2.5}', '{"b": true}']
        path = written(tmp_path, "x.jsonl", "\n".join(rows))
        assert read(path, column="b") == (["x", 13, "2.5", "true"], 4)

    def test_the_only_field_needs_no_name(self, tmp_path):
        """With one field there is nothing to choose."""
        assert read(written(tmp_path, "x.ndjson", '{"b": "x"}\n{"b": "y"}\n')) == (["x", "y"], 0)

    def test_values_alone(self, tmp_path):
        """A line may be the value itself."""
        assert read(written(tmp_path, "x.jsonl", '"x"\n7\nnull\n7.0\n')) == (["x", 7, 7], 1)

    def test_everywhere(self, tmp_path):
        """JSON lines are known by their name, by --format, and by a column and a brace, gzipped or not."""
        text = '{"a": "x", "b": 1}\n'
        assert read(written(tmp_path, "x.jsonl", "\ufeff" + text), column="a") == (["x"], 0)
        assert read(written(tmp_path, "x.log", text), column="a", format="jsonl") == (["x"], 0)
        assert read("-", column="a", stdin=io.BytesIO(text.encode())) == (["x"], 0)
        packed = tmp_path / "x.jsonl.gz"
        packed.write_bytes(gzip.compress(text.encode()))
        assert read(packed, column="a") == (["x"], 0)

    def test_persons(self, tmp_path):
        """A person counts once."""
        path = written(tmp_path, "x.jsonl", "".join(json.dumps({"id": k % 3, "v": k % 3}) + "\n" for k in range(9)))
        assert sorted(read(path, column="v", person="id")[0]) == [0, 1, 2]

    @pytest.mark.parametrize(
        ("text", "column", "said"),
        [
            ('{"a": 1, "b": 2}', None, "a file of JSON lines with several columns needs --column, one of 'a', 'b'"),
            ('{"a": 1}\n{"b": 2}', "c", "the column must be one of 'a', 'b', got 'c'"),
            (f'{{"{PRIVATE}@x.y": 1}}', "c", "the column must be the only field of its objects, got 'c'"),
            ("1\n2", "c", "the column must be a field of the file's objects, but it has no objects, got 'c'"),
            (f'{{"a": 1}}\n{PRIVATE}', "a", "(line 2 is not JSON)"),
            (f'{{"a": "{PRIVATE}', "a", "(line 1 is not JSON)"),
            ("[" * 100_000, None, "(line 1 is not JSON)"),
            (f'{{"a": 1}}\n"{PRIVATE}"', "a", "(line 2 is not an object)"),
            (f'{{"a": ["{PRIVATE}"]}}', "a", "(the value in line 1 is a list)"),
            (f'1\n\n{{"a": "{PRIVATE}"}}', None, "(the value in line 3 is an object)"),
            ("\n \n", None, "the file must hold at least one person, got 0"),
        ],
        ids=range(11),
    )
    def test_refusals(self, tmp_path, text, column, said):
        """What is not JSON lines is refused with the number of the line, and no value is quoted."""
        with pytest.raises(InputError) as caught:
            read(written(tmp_path, "x.jsonl", text), column=column)
        assert said in str(caught.value)
        assert PRIVATE not in str(caught.value)


class TestFormats:
    """The format can be given."""

    def test_lines(self, tmp_path):
        """With --format lines a file named .csv is text."""
        assert read(written(tmp_path, "x.csv", "a,b\nc\n"), format="lines") == (["a,b", "c"], 0)

    def test_csv(self, tmp_path):
        """With --format csv any name will do."""
        assert read(written(tmp_path, "x.jsonl", "a,b\n1,2\n"), format="csv", column="b") == (["2"], 0)

    def test_parquet(self, tmp_path):
        """With --format parquet the file must be Parquet."""
        with pytest.raises(InputError, match="must be Parquet"):
            read(written(tmp_path, "x.txt", "abc"), format="parquet")

    def test_unknown(self, tmp_path):
        """There are four."""
        with pytest.raises(ParameterError, match=f"format must be one of {', '.join(FORMATS)}, got format='xml'"):
            open_people(str(tmp_path), format="xml")

    def test_lines_have_no_columns(self, tmp_path):
        """A column of lines is refused."""
        with pytest.raises(ParameterError, match="a column must come with a format that has columns"):
            open_people(str(written(tmp_path, "x.txt", "a")), format="lines", column="a")
