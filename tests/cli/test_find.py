"""`hubbub find`: the documented JSON, the table, every format, and values that try to do harm."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hubbub
from hubbub.analysis.reply import Heading
from hubbub.cli.common import number
from hubbub.cli.showing import AnswerView, show
from hubbub.finding import default_domain

Cli = Callable[..., CompletedProcess[str]]

BY_PERSON = ("--column", "value", "--person", "person", "-m", "bucket", "--truth", "--json", "--seed", "1")
# 4,000 people: two values stand out clearly among fifty.
PEOPLE = [0] * 1600 + [7] * 1000 + [10 + k % 50 for k in range(1400)]
EASY = ("-m", "jl", "--domain", "integers:8", "--epsilon", "3", "--seed", "1")
BUCKET = ("-m", "bucket", "--epsilon", "5", "--seed", "1")  # finds one text that everyone holds

HARMFUL = {
    "escape sequence": "\x1b[31mred\x1b[0m",
    "escape in the middle": "a\x1b]0;title\x07b",
    "one-byte CSI": "a\x9b31mb",
    "bell": "\x07bell",
    "backspace": "abc\x08\x08x",
    "carriage return": "safe\revil",
    "NUL": "a\x00b",
    "delete": "a\x7fb",
    "right-to-left override": "a\u202eb",
}


def table_of(value: str, people: int = 3000) -> str:
    """A CSV in which everyone holds a value, whatever is in it."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["value"], *[[value]] * people])
    return text.getvalue()


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object of a run that went well: one line on stdout, nothing on stderr."""
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith("\n")
    assert run.stdout.count("\n") == 1
    return json.loads(run.stdout)


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    """All but the seconds."""
    return {key: value for key, value in document.items() if key != "seconds"}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of PEOPLE."""
    path = tmp_path_factory.mktemp("crowd") / "people.txt"
    path.write_text("".join(f"{value}\n" for value in PEOPLE))
    return path


@pytest.fixture(scope="module")
def found(hubbub_cli: Cli, crowd: Path) -> dict[str, Any]:
    """What is found in PEOPLE."""
    return answer(hubbub_cli("find", crowd, *EASY, "--json"))


@pytest.fixture(scope="module")
def found_with_truth(hubbub_cli: Cli, crowd: Path) -> dict[str, Any]:
    """What is found in PEOPLE, beside the truth."""
    return answer(hubbub_cli("find", crowd, *EASY, "--truth", "--json"))


class TestJson:
    """The documented object."""

    def test_it_has_the_documented_fields(self, found: dict[str, Any]) -> None:
        """The object has exactly the fields of the documentation, of the types of the documentation."""
        names = ["survey", "survey_id", "reports", "detection_limit", "long_limit", "candidate_limit"]
        names += ["out_of_reach", "whole_list", "values_per_person", "not_shown"]
        names += ["foreign_candidates", "known_names", "own_names", "remembered_names", "post_processing"]
        names += ["guessed_from", "mode", "share", "forged", "sentences", "missing", "cut", "other", "over"]
        names += ["better_domain", "better_share", "value_limit", "better_limit", "too_long"]
        assert list(found) == [*names, "hitters", "guesses", "groups", "seconds"]
        assert (found["missing"], found["cut"], found["other"]) == (0, 0, 0)
        assert found["candidate_limit"] is None
        assert found["reports"] == len(PEOPLE)
        assert isinstance(found["survey_id"], str)
        assert 0 < found["detection_limit"] < len(PEOPLE)
        assert found["seconds"] > 0
        for hitter in found["hitters"]:
            names = ["value", "count", "share", "stderr", "low", "high", "confidence", "listed", "late", "uneven"]
            assert list(hitter) == [*names, "stands_out", "ahead_of", "fake_reports", "rival", "stands_to", "first_to"]

    def test_the_heavy_values_are_found(self, found: dict[str, Any]) -> None:
        """The two heavy values come first, largest first, as whole numbers."""
        assert [hitter["value"] for hitter in found["hitters"][:2]] == [0, 7]
        counts = [hitter["count"] for hitter in found["hitters"]]
        assert counts == sorted(counts, reverse=True)

    def test_the_error_bars_are_consistent(self, found_with_truth: dict[str, Any]) -> None:
        """Each interval holds its estimate and the true count, and the share is the count over the reports."""
        for hitter in found_with_truth["hitters"]:
            assert hitter["low"] < hitter["count"] < hitter["high"]
            assert hitter["low"] <= hitter["true_count"] <= hitter["high"]
            assert hitter["share"] == pytest.approx(hitter["count"] / len(PEOPLE))
            assert hitter["stderr"] > 0
            assert 0.9 < hitter["confidence"] <= 1

    def test_the_truth_is_the_true_counts(self, found_with_truth: dict[str, Any]) -> None:
        """With --truth every hitter has its true count, and the largest true counts are listed, most first."""
        true = Counter(PEOPLE)
        for hitter in found_with_truth["hitters"]:
            assert hitter["true_count"] == true[hitter["value"]]
        listed = [(entry["value"], entry["count"]) for entry in found_with_truth["truth"]]
        assert listed[:2] == [(0, 1600), (7, 1000)]
        assert len(listed) == 20
        assert all(true[value] == count for value, count in listed)

    def test_the_truth_does_not_change_the_answer(
        self, found: dict[str, Any], found_with_truth: dict[str, Any]
    ) -> None:
        """Looking at the truth does not touch what is found."""
        hitters = [dict(hitter) for hitter in found_with_truth["hitters"]]
        for hitter in hitters:
            del hitter["true_count"]
        assert hitters == found["hitters"]
        assert found_with_truth["survey_id"] == found["survey_id"]

    def test_without_truth_no_true_count_is_told(self, found: dict[str, Any]) -> None:
        """Without --truth the object holds no true count."""
        assert "truth" not in json.dumps(found).replace("truth_threshold", "")
        assert "true_count" not in json.dumps(found)

    @pytest.mark.slow
    @pytest.mark.parametrize("domain", ["integers:8", "integers:300", "bytes:3", "bytes:32", "categories"])
    @pytest.mark.parametrize("chosen", [(), ("-m", "bucket"), ("-m", "bucket", "-o", "calibration=tight")])
    def test_the_survey_reloads_with_its_id(
        self, hubbub_cli: Cli, tmp_path: Path, domain: str, chosen: tuple[str, ...]
    ) -> None:
        """The survey in the object, spelled canonically, is one that `load_survey` accepts under the same id."""
        names = tmp_path / "names.txt"
        names.write_text('naïve\n日本\n"quoted"\n', encoding="utf-8")
        domain = f"categories:{names}" if domain == "categories" else domain
        options = ("--domain", domain, *chosen, "--json")
        found = answer(hubbub_cli("find", "-", *options, stdin="日本\n" * 20))
        text = json.dumps(found["survey"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        survey = hubbub.load_survey(text)
        assert survey.survey_id.hex() == found["survey_id"]
        assert survey.expected_reports == found["reports"] == 20

    def test_nothing_stands_out(self, hubbub_cli: Cli) -> None:
        """Where nobody agrees the answer is an empty list and no failure."""
        found = answer(hubbub_cli("find", "-", *EASY, "--epsilon", "1", "--json", stdin="1\n2\n3\n4\n5\n"))
        assert found["hitters"] == []
        assert found["reports"] == 5
        assert found["detection_limit"] is None  # five people cannot reach it

    @pytest.mark.slow
    def test_one_person_is_a_crowd(self, hubbub_cli: Cli) -> None:
        """A single person is never seen, and no failure."""
        found = answer(hubbub_cli("find", "-", "--seed", "1", "--json", stdin="alone"))
        assert (found["hitters"], found["reports"]) == ([], 1)

    def test_top_limits_the_list(self, hubbub_cli: Cli, crowd: Path, found: dict[str, Any]) -> None:
        """--top keeps the largest."""
        only = answer(hubbub_cli("find", crowd, *EASY, "--top", "1", "--json"))
        assert [hitter["value"] for hitter in only["hitters"]] == [0]
        assert only["hitters"][0]["count"] == found["hitters"][0]["count"]


class TestDefaults:
    """What is taken where nothing is said."""

    @pytest.mark.parametrize("mechanism", ["jl", "bucket"])
    @pytest.mark.parametrize(("calibration", "delta"), [("onebit", "0"), ("paper", "0.000001"), ("tight", "0.000001")])
    def test_epsilon_and_delta(self, hubbub_cli: Cli, mechanism: str, calibration: str, delta: str) -> None:
        """Epsilon is 1, and delta is 0 for one bit and 1e-6 for Laplace noise."""
        options = ("-m", mechanism, "-o", f"calibration={calibration}", "--domain", "integers:6", "--json")
        survey = answer(hubbub_cli("find", "-", *options, stdin="1\n" * 20))["survey"]
        assert (survey["epsilon"], survey["delta"]) == ("1", delta)
        assert survey["mechanism"] == mechanism
        assert survey["options"]["calibration"] == calibration

    def test_a_given_delta_is_kept(self, hubbub_cli: Cli) -> None:
        """A delta that was given is the one of the survey, in plain digits."""
        options = ("-m", "jl", "-o", "calibration=tight", "--delta", "1e-9", "--domain", "integers:6", "--json")
        survey = answer(hubbub_cli("find", "-", *options, stdin="1\n" * 20))["survey"]
        assert survey["delta"] == "0.000000001"

    @pytest.mark.parametrize(
        ("domain", "mechanism"),
        [("integers:1", "subset"), ("integers:20", "tree"), ("integers:21", "tree"), ("bytes:4", "tree")],
    )
    def test_the_mechanism_follows_from_the_domain(self, hubbub_cli: Cli, domain: str, mechanism: str) -> None:
        """The mechanism is subset for short lists and tree for everything else; both are pure."""
        survey = answer(hubbub_cli("find", "-", "--domain", domain, "--json", stdin="1\n" * 20))["survey"]
        assert (survey["mechanism"], survey["epsilon"], survey["delta"]) == (mechanism, "1", "0")

    @pytest.mark.slow
    @pytest.mark.parametrize("epsilon", ["1", "2", "3", "5"])
    def test_what_everyone_holds_is_found(self, hubbub_cli: Cli, epsilon: str) -> None:
        """The defaults find a value that all hold, far above the limit they state, at every epsilon."""
        options = ("--domain", "bytes:18", "--epsilon", epsilon, "--seed", "1", "--json")
        found = answer(hubbub_cli("find", "-", *options, stdin="aaaa\n" * 6000))
        assert found["detection_limit"] < 6000
        assert [hitter["value"] for hitter in found["hitters"]] == ["aaaa"]

    def test_the_domain_is_coded_text(self, hubbub_cli: Cli) -> None:
        """Without --domain values are texts in the shipped code."""
        found = answer(hubbub_cli("find", "-", "--json", stdin="a\n"))
        assert found["survey"]["domain"] == default_domain(["text"]).to_json()


class TestSeeds:
    """Rehearsals that can be repeated."""

    def test_the_same_seed_gives_the_same_answer(self, hubbub_cli: Cli, crowd: Path, found: dict[str, Any]) -> None:
        """With the same seed everything but the time is the same."""
        again = answer(hubbub_cli("find", crowd, *EASY, "--json"))
        assert without_time(again) == without_time(found)

    def test_another_seed_gives_another_answer(self, hubbub_cli: Cli, crowd: Path, found: dict[str, Any]) -> None:
        """With another seed both the survey and the noise are others."""
        other = answer(hubbub_cli("find", crowd, *EASY[:-1], "2", "--json"))
        assert other["survey_id"] != found["survey_id"]
        assert other["hitters"][0]["count"] != found["hitters"][0]["count"]

    def test_without_a_seed_no_two_surveys_are_the_same(self, hubbub_cli: Cli) -> None:
        """Without a seed the public seed comes from the operating system."""
        runs = [answer(hubbub_cli("find", "-", *EASY[:-2], "--json", stdin="1\n2\n")) for _ in range(2)]
        assert runs[0]["survey"]["public_seed"] != runs[1]["survey"]["public_seed"]

    def test_a_seeded_choice_among_rows_is_repeatable(self, hubbub_cli: Cli) -> None:
        """The seed also decides which row of a person is taken."""
        rows = "person,value\n" + "".join(f"p{k % 40},{k % 7}\n" for k in range(200))
        options = ("--column", "value", "--person", "person", *EASY, "--truth", "--json")
        first, second = (answer(hubbub_cli("find", "-", *options, stdin=rows)) for _ in range(2))
        assert first["truth"] == second["truth"]


class TestFormats:
    """One crowd in every format gives one answer."""

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("people.csv", ()),
            ("people.tsv", ("--column", "value")),
            ("wide.csv", ("--column", "value")),
            ("table.txt", ("--column", "value")),
            ("people.txt.gz", ()),
            ("people.csv.gz", ()),
            ("people.parquet", ()),
            ("strings.parquet", ("--column", "value")),
            ("crlf.txt", ()),
            ("bom.txt", ()),
            ("no-end.txt", ()),
            ("empty-lines.txt", ()),
            ("semicolons.csv", ("--column", "value")),
            ("colons.txt", ("--column", "value", "--delimiter", ":")),
            ("gaps.csv", ("--column", "value")),
            ("gaps.parquet", ("--column", "value")),
            ("people.jsonl", ("--column", "value")),
            ("people.log", ("--column", "value", "--format", "jsonl")),
        ],
    )
    def test_files(
        self, hubbub_cli: Cli, tmp_path: Path, found: dict[str, Any], name: str, options: tuple[str, ...]
    ) -> None:
        """Text, CSV, JSON lines, Parquet, gzip, CRLF, floats and gaps all read as the same people."""
        path = tmp_path / name
        lines = [str(value) for value in PEOPLE]
        wide = "".join(f'"{k}, Main Street",{value},x\n' for k, value in enumerate(PEOPLE))
        if name == "people.parquet":
            pq.write_table(pa.table({"value": PEOPLE}), path)
        elif name == "gaps.parquet":
            pq.write_table(pa.table({"value": [None, *map(float, PEOPLE)]}), path)
        elif name == "strings.parquet":
            pq.write_table(pa.table({"other": lines, "value": lines}), path)
        else:
            text = {
                "people.csv": "\n".join(["value", *lines]),
                "people.tsv": "\n".join(["a\tvalue", *(f"x\t{line}" for line in lines)]),
                "wide.csv": f"address,value,more\n{wide}",
                "table.txt": f"address,value,more\n{wide}",
                "people.txt.gz": "\n".join(lines),
                "people.csv.gz": "\n".join(["value", *lines]),
                "crlf.txt": "\r\n".join(lines) + "\r\n",
                "bom.txt": "\ufeff" + "\n".join(lines),
                "no-end.txt": "\n".join(lines),
                "empty-lines.txt": "\n\n" + "\n\n".join(lines) + "\n\n\n",
                "semicolons.csv": "\n".join(["n,m;value", *(f"1,5;{line}" for line in lines)]),
                "colons.txt": "\n".join(["n:value", *(f"1:{line}" for line in lines)]),
                "gaps.csv": "\n".join(["n,value", "1,", *(f"2,{line}.0" for line in lines)]),
                "people.jsonl": "\n".join(json.dumps({"n": 1, "value": value}) for value in PEOPLE),
                "people.log": "\n".join(json.dumps({"value": str(value)}) for value in PEOPLE),
            }[name]
            path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        read = without_time(answer(hubbub_cli("find", path, *options, *EASY, "--json")))
        missing = {"empty-lines.txt": 4001, "gaps.csv": 1, "gaps.parquet": 1}.get(name, 0)
        assert (read.pop("missing"), len(read.pop("sentences"))) == (missing, 2 if missing else 1)
        assert read == {k: value for k, value in without_time(found).items() if k not in ("missing", "sentences")}

    @pytest.mark.parametrize("kind", ["text", "csv", "gzip", "parquet"])
    def test_standard_input(
        self, hubbub_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], kind: str
    ) -> None:
        """Standard input is read in every format too, and what was spooled of it is gone afterwards."""
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        lines = "".join(f"{value}\n" for value in PEOPLE)
        table = io.BytesIO()
        pq.write_table(pa.table({"value": PEOPLE}), table)
        stdin = {
            "text": lines.encode(),
            "csv": b"value\n" + lines.encode(),
            "gzip": gzip.compress(lines.encode()),
            "parquet": table.getvalue(),
        }[kind]
        options = ("--column", "value") if kind == "csv" else ()
        run = hubbub_cli("find", "-", *options, *EASY, "--json", stdin=stdin)
        assert without_time(answer(run)) == without_time(found)
        assert list(tmp_path.iterdir()) == []

    def test_a_person_counts_once(self, hubbub_cli: Cli) -> None:
        """With a person column a person with a thousand rows is one report, with one of their own rows."""
        rows = [("flood", "spam")] * 1000 + [(f"p{k}", "ham") for k in range(500)] + [("p0", "eggs")]
        text = "person,value\n" + "".join(f"{person},{value}\n" for person, value in rows)
        found = answer(hubbub_cli("find", "-", *BY_PERSON, "--domain", "bytes:4", stdin=text))
        true = {entry["value"]: entry["count"] for entry in found["truth"]}
        assert found["reports"] == sum(true.values()) == 501
        assert true["spam"] == 1
        assert true["ham"] in (499, 500)
        assert found["survey"]["expected_reports"] == 501

    def test_which_row_of_a_person_is_taken_is_random(self, hubbub_cli: Cli) -> None:
        """Of two rows either is taken about as often: the first is no better than the last."""
        text = "person,value\n" + "".join(f"p{k},{value}\n" for value in ("first", "last") for k in range(400))
        found = answer(hubbub_cli("find", "-", *BY_PERSON, "--domain", "bytes:5", stdin=text))
        true = {entry["value"]: entry["count"] for entry in found["truth"]}
        assert true["first"] + true["last"] == 400
        assert 150 < true["first"] < 250  # five standard deviations


class TestMechanisms:
    """Every mechanism, with every option, on the file."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("mechanism", "options"),
        [
            ("tree", ()),
            ("tree", ("-o", "size=standard")),
            ("naive-laplace", ()),
            ("jl", ("-o", "calibration=paper")),
            ("jl", ("-o", "calibration=tight", "-o", "projection=dense")),
            ("jl", ("-o", "projection=dense")),
            ("bucket", ()),
            ("bucket", ("-o", "decoder=hard", "-o", "beta=0.01")),
            ("bucket", ("-o", "calibration=tight")),
        ],
    )
    def test_the_value_everyone_holds_is_found(self, hubbub_cli: Cli, mechanism: str, options: tuple[str, ...]) -> None:
        """Each mechanism finds the value that all hold, with an interval that holds the truth."""
        common = ("--domain", "integers:6", "--epsilon", "6", "--seed", "1", "--json")
        found = answer(hubbub_cli("find", "-", "-m", mechanism, *options, *common, stdin="42\n" * 3000))
        first = found["hitters"][0]
        assert first["value"] == 42
        assert first["low"] <= 3000 <= first["high"]
        given = dict(option.split("=") for option in options if option != "-o")
        assert given.items() <= found["survey"]["options"].items()

    def test_too_many_draws_are_refused(self, hubbub_cli: Cli) -> None:
        """Above 2e8 draws of noise the answer is to simulate, at once and not after hours."""
        run = hubbub_cli("find", "-", "-m", "naive-laplace", "--domain", "integers:16", stdin="1\n" * 3052)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith("hubbub: ")
        assert run.stderr.count("\n") == 1
        assert "hubbub simulate" in run.stderr
        assert "2e+08" in run.stderr


class TestValues:
    """What values become."""

    def test_other_is_a_text_like_any_other(self, hubbub_cli: Cli) -> None:
        """In a domain of texts the value "(other)" is that text."""
        options = (*BUCKET, "--domain", "bytes:7", "--truth", "--json")
        found = answer(hubbub_cli("find", "-", *options, stdin="(other)\n" * 3000 + "a\n" * 10))
        assert found["hitters"][0]["value"] == "(other)"
        assert found["hitters"][0]["true_count"] == 3000

    @pytest.mark.parametrize("domain", ["integers:6", "categories"])
    def test_what_is_not_in_the_domain_is_other(self, hubbub_cli: Cli, tmp_path: Path, domain: str) -> None:
        """Values outside the domain are counted together, with the literal "(other)"."""
        names = tmp_path / "names.txt"
        names.write_text("5\n6\n7\n")
        domain = f"categories:{names}" if domain == "categories" else domain
        values = ["5"] * 1500 + ["elsewhere", "-1", "(other)", "1e3"] * 400
        options = (*EASY, "--domain", domain, "--truth", "--json", "--hitters-only")
        found = answer(hubbub_cli("find", "-", *options, stdin="\n".join(values)))
        five = 5 if domain.startswith("integers") else "5"
        true = {hitter["value"]: hitter["true_count"] for hitter in found["hitters"]}
        assert true == {"(other)": 1600, five: 1500}

    def test_repeated_names_of_categories_are_dropped(self, hubbub_cli: Cli, tmp_path: Path) -> None:
        """Lines that repeat in a file of names, empty lines, CRLF and a byte order mark make no difference."""
        names = tmp_path / "names.txt"
        names.write_bytes(b"\xef\xbb\xbfred\r\ngreen\r\n\r\nred\r\n")
        found = answer(hubbub_cli("find", "-", "--domain", f"categories:{names}", "--json", stdin="red\n"))
        assert found["survey"]["domain"]["names"] == ["red", "green"]

    def test_equal_texts_are_counted_together(self, hubbub_cli: Cli) -> None:
        """Two spellings of one text, composed and decomposed, are one value."""
        options = (*BUCKET, "--domain", "bytes:3", "--truth", "--json")
        found = answer(hubbub_cli("find", "-", *options, stdin="é\n" * 900 + "e\u0301\n" * 800))
        assert [(hitter["value"], hitter["true_count"]) for hitter in found["hitters"]] == [("é", 1700)]

    @pytest.mark.parametrize(
        "value", [*HARMFUL.values(), "line one\nline two", "[red]x[/red]", "[/]", 'quo"te', "日本"]
    )
    def test_json_gives_values_back_exactly(self, hubbub_cli: Cli, value: str) -> None:
        """Whatever is in a value, the object is one line of JSON that holds it."""
        options = (*BUCKET, "--column", "value", "--domain", "bytes:18", "--json")
        found = answer(hubbub_cli("find", "-", *options, stdin=table_of(value)))
        assert [hitter["value"] for hitter in found["hitters"]] == [value]


class TestIntake:
    """What became of values that could not be taken as they are."""

    @pytest.mark.slow
    def test_missing_values_are_nobody(self, hubbub_cli: Cli) -> None:
        """Rows without a value are no people: no nameless value is found, and a sentence says how many there are."""
        table = "id,word\n" + "1,tea\n" * 3000 + "2,\n" * 2000
        options = ("find", "-", "--column", "word", "--domain", "bytes:4", "--epsilon", "3", "--seed", "1")
        found = answer(hubbub_cli(*options, "--json", stdin=table))
        assert (found["reports"], found["missing"]) == (3000, 2000)
        assert [hitter["value"] for hitter in found["hitters"]] == ["tea"]
        shown = hubbub_cli(*options, stdin=table).stdout
        assert "2,000 rows have no value: skipped, and not among the reports.\n" in shown
        one = hubbub_cli(*options, stdin='word\ntea\n""\n').stdout
        assert "1 row has no value: skipped, and not among the reports.\n" in one

    @pytest.mark.slow
    def test_what_is_cut_is_said(self, hubbub_cli: Cli) -> None:
        """Texts that are too long are counted, and the truth has them whole: two that are cut to one are two."""
        lines = "abcd-1\n" * 2500 + "abcd-2\n" * 500 + "ab\n" * 1000
        options = ("find", "-", "--domain", "bytes:4", "--epsilon", "3", "--seed", "1", "--truth")
        found = answer(hubbub_cli(*options, "--json", stdin=lines))
        assert (found["missing"], found["cut"], found["other"]) == (0, 3000, 0)
        assert {hitter["value"]: hitter["true_count"] for hitter in found["hitters"]} == {"abcd": 0, "ab": 1000}
        assert found["truth"] == [
            {"value": "abcd-1", "count": 2500, "fate": "cut"},
            {"value": "ab", "count": 1000, "fate": "kept"},
            {"value": "abcd-2", "count": 500, "fate": "cut"},
        ]
        shown = hubbub_cli(*options, stdin=lines).stdout
        assert (
            "3,000 people (75.00%) hold a text of more than 4 bytes: it was cut there, and texts with the same "
            "beginning count as one.\n"
        ) in shown
        assert re.search(r"abcd-1 .* was cut .* 2,500 ", shown)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("domain", "why"),
        [
            ("integers:8", "a whole number from 0 to 2^8 − 2"),
            ("ipv4", "an address such as 192.0.2.1"),
            ("categories", "one of the 2 names"),
            ("hostnames", "a host name whose code has at most 136 bits"),
        ],
    )
    def test_what_is_other_is_said(self, hubbub_cli: Cli, tmp_path: Path, domain: str, why: str) -> None:
        """Values that are not in the domain are counted, with the reason, and are themselves in the truth."""
        names = tmp_path / "names.txt"
        names.write_text("1\n2\n")
        domain = f"categories:{names}" if domain == "categories" else domain
        lines = "no such\n" * 30 + "5 5\n" * 10 + "1\n192.0.2.1\n"
        options = ("find", "-", "--domain", domain, "--seed", "1", "--truth")
        shown = hubbub_cli(*options, stdin=lines).stdout
        found = answer(hubbub_cli(*options, "--json", stdin=lines))
        count = found["other"]
        assert 40 <= count <= 41
        assert f'{count} people ({count / 42:.2%}) hold a value that is not {why}: it became "(other)".\n' in shown
        assert re.search(r"no such .* is \(other\) .* 30 ", shown)
        assert found["truth"][0] == {"value": "no such", "count": 30, "fate": "other"}
        assert "--domain text would hold all of the values.\n" in shown
        assert (found["better_domain"], found["better_share"]) == ("text", 1.0)

    def test_a_list_of_one_name_is_spoken_of_as_such(self, hubbub_cli: Cli, tmp_path: Path) -> None:
        """It is not "one of the 1 name"."""
        names = tmp_path / "names.txt"
        names.write_text("yes\n")
        shown = hubbub_cli("find", "-", "--domain", f"categories:{names}", "--seed", "1", stdin="yes\nno\n" * 20).stdout
        assert '20 people (50.00%) hold a value that is not the one name: it became "(other)".\n' in shown

    def test_a_domain_that_would_fit_is_named(self, hubbub_cli: Cli) -> None:
        """With the share that it would hold; where there is none, nothing is said."""
        lines = "search.example\nnews.example\n" * 100 + "not a host\n"
        options = ("find", "-", "--domain", "ipv4", "--seed", "1")
        assert "--domain hostnames would hold about 99 % of the values.\n" in hubbub_cli(*options, stdin=lines).stdout
        assert "would hold" not in hubbub_cli(*options, stdin="x" * 3_000).stdout

    def test_nothing_is_said_where_nothing_happened(self, hubbub_cli: Cli, crowd: Path) -> None:
        """Where every value is in the domain, there is no word about it."""
        shown = hubbub_cli("find", crowd, *EASY).stdout
        assert not any(text in shown for text in ("no value", "was cut", "(other)", "noise"))

    def test_it_is_what_python_gives(self, hubbub_cli: Cli) -> None:
        """The command and `hubbub.find` say the same of the same values."""
        values = ["a", "abcdef", "", "b"] * 50
        options = ("find", "-", "--domain", "bytes:4", "--seed", "1", "--json")
        found = answer(hubbub_cli(*options, stdin="\n".join(values)))
        same = hubbub.find(values, domain=hubbub.Bytes(4), seed=1)
        assert same.intake == hubbub.Intake(found["missing"], found["cut"], found["other"]) == hubbub.Intake(50, 50, 0)


class TestTable:
    """What people see."""

    def test_an_interval_holds_what_it_is_shown_with(self, hubbub_cli: Cli, tmp_path: Path) -> None:
        """Counts below 0 are shown as 0, in intervals from 0; JSON has the estimates."""
        (tmp_path / "named.txt").write_text("".join(f"{k}\n" for k in range(60, 90)))
        options = (*EASY, "--candidates", tmp_path / "named.txt", "--all-candidates")
        lines = "".join(f"{value}\n" for value in PEOPLE)
        found = answer(hubbub_cli("find", "-", *options, "--json", stdin=lines))
        shown = hubbub_cli("find", "-", *options, stdin=lines).stdout
        negative = [hitter for hitter in found["hitters"] if hitter["count"] < 0]
        assert negative
        for hitter in negative:
            assert hitter["low"] == 0  # nobody can hold it less often than that
            assert re.search(rf" {hitter['value']} +0 +0.00% +0 – {re.escape(number(hitter['high']))} ", shown)

    @pytest.mark.parametrize(
        ("row", "shown"),
        [
            ((105.0, 1.05, 10.0, 80.0, 100.0), ["100", "100.00%", "80", "–", "100"]),
            ((-12.0, -0.12, 10.0, 0.0, 30.0), ["0", "0.00%", "0", "–", "30"]),
            ((50.0, 0.5, 10.0, 30.0, 70.0), ["50", "50.00%", "30", "–", "70"]),
        ],
        ids=["share", "count", "neither"],
    )
    def test_what_no_crowd_can_have_is_not_shown(
        self, capsys: pytest.CaptureFixture[str], row: tuple[float, ...], shown: list[str]
    ) -> None:
        """A share above 100 % is shown as all, and a count below 0 as none; an interval holds the count beside it."""
        survey = hubbub.create_survey("x", hubbub.Integers(8), 1)
        answer = hubbub.Answer(100, 20.0, (hubbub.Hitter(7, *row, confidence=0.5),))
        show(AnswerView(Heading.of(survey), lambda: survey, answer, None, 0.1), 20)
        printed = capsys.readouterr().out
        assert next(line for line in printed.splitlines() if line.split()[:1] == ["7"]).split()[1:6] == shown
        assert printed.endswith(" 0.1 s.\n")

    def test_it_shows_the_hitters_with_error_bars(self, hubbub_cli: Cli, crowd: Path, found: dict[str, Any]) -> None:
        """The table has the counts, shares and intervals of the JSON object, and what could not be seen."""
        run = hubbub_cli("find", crowd, *EASY)
        assert (run.returncode, run.stderr) == (0, "")
        row = next(line for line in run.stdout.splitlines() if line.split()[:1] == ["0"])
        first = found["hitters"][0]
        assert f"{first['count']:,.0f}" in row
        assert f"{first['share']:.2%}" in row
        assert f"{first['low']:,.0f} – {first['high']:,.0f}" in row
        assert f"{found['detection_limit']:,.0f}" in run.stdout
        assert "4,000" in run.stdout
        assert "ε = 3" in run.stdout
        assert "true" not in run.stdout

    def test_it_shows_the_truth_when_asked(self, hubbub_cli: Cli, crowd: Path) -> None:
        """With --truth the true count stands at the end of each row, also of heavy values that were not found."""
        run = hubbub_cli("find", crowd, *EASY, "--truth")
        rows = {cells[0]: cells for line in run.stdout.splitlines() if (cells := line.split())}
        assert rows["0"][-1] == "1,600"
        assert rows["7"][-1] == "1,000"
        assert "not seen" in " ".join(rows["10"])

    @pytest.mark.slow
    def test_nothing_stands_out_is_said(self, hubbub_cli: Cli) -> None:
        """An empty answer is said in words."""
        run = hubbub_cli("find", "-", "--seed", "1", stdin="a\nb\n")
        assert run.returncode == 0
        assert "Nothing stands out" in run.stdout

    @pytest.mark.parametrize("top", [1, 2, 5, 20])
    def test_unseen_rows_keep_to_the_top(self, hubbub_cli: Cli, crowd: Path, top: int) -> None:
        """With the truth the table has no more rows than were asked for."""
        run = hubbub_cli("find", crowd, *EASY, "--truth", "--top", str(top))
        rows = [line for line in run.stdout.splitlines() if re.match(r"  [0-9]+ ", line)]
        assert len(rows) == (top if top < 10 else 10)

    def test_values_that_were_cut_are_no_people(self, hubbub_cli: Cli) -> None:
        """Where people have several values, these are counted, and no share of the people is made of them."""
        rows = [f"{person},{place}{'x' * 40}" for person in range(100) for place in range(3)]
        table = "\n".join(["person,value", *rows])
        options = ("--column", "value", "--person", "person", "--values-per-person", "3", "--domain", "bytes:2")
        said = hubbub_cli("find", "-", *options, "--seed", "1", stdin=table).stdout
        assert "300 values are a text of more than 2 bytes: it was cut there" in said
        assert "300 people" not in said

    def test_what_top_cuts_off_is_not_called_unseen(self, hubbub_cli: Cli) -> None:
        """A value that stands out and only falls to --top is not among those that were not seen."""
        values = "".join(f"{k % 6}\n" for k in range(6000))
        run = hubbub_cli("find", "-", *EASY, "--domain", "integers:3", "--top", "2", "--truth", stdin=values)
        assert run.returncode == 0
        assert "not seen" not in run.stdout

    @pytest.mark.parametrize("value", ["[red]x[/red]", "[/]", "[bold", ":smile:", "[link=http://x]y[/link]"])
    def test_markup_is_text(self, hubbub_cli: Cli, value: str) -> None:
        """What looks like markup is shown as it is, and colours nothing."""
        options = (*BUCKET, "--domain", "bytes:23", "--truth")
        run = hubbub_cli("find", "-", *options, stdin=f"{value}\n" * 3000, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
        assert run.returncode == 0
        row = next(line for line in run.stdout.splitlines() if value in line)
        assert "\x1b" not in row

    @pytest.mark.parametrize("value", HARMFUL.values(), ids=HARMFUL)
    @pytest.mark.parametrize("known", [False, True], ids=["text", "categories"])
    def test_control_characters_never_reach_the_terminal(
        self, hubbub_cli: Cli, tmp_path: Path, value: str, known: bool
    ) -> None:
        """A value cannot colour, move, ring or retitle the terminal of whoever looks at the answer."""
        names = tmp_path / "names.txt"
        names.write_bytes(f"{value}\nother\n".encode())
        domain = f"categories:{names}" if known else "bytes:18"
        options = (*BUCKET, "--column", "value", "--domain", domain, "--truth")
        run = hubbub_cli("find", "-", *options, stdin=table_of(value))
        assert run.returncode == 0
        assert "3,000" in run.stdout
        assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", run.stdout) == []

    def test_a_value_of_two_lines_is_one_row(self, hubbub_cli: Cli) -> None:
        """A line end in a value does not start a line that looks like another value."""
        options = (*BUCKET, "--column", "value", "--domain", "bytes:18")
        run = hubbub_cli("find", "-", *options, stdin=table_of("line one\nline two"))
        assert run.returncode == 0
        row = next(line for line in run.stdout.splitlines() if "line one" in line)
        assert "line two" in row

    def test_no_color_is_respected(self, hubbub_cli: Cli, crowd: Path) -> None:
        """With NO_COLOR a terminal gets no colour."""
        run = hubbub_cli("find", crowd, *EASY, env={"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "100"})
        codes = {code for sequence in re.findall(r"\x1b\[([\d;]*)m", run.stdout) for code in sequence.split(";")}
        assert codes <= {"", "0", "1", "2", "3"}

    @pytest.mark.parametrize("columns", [40, 60])
    def test_no_number_is_broken_in_a_narrow_terminal(self, hubbub_cli: Cli, crowd: Path, columns: int) -> None:
        """However narrow the terminal is, a number is in one piece: 1,5 above 93 reads as another number."""
        env = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(columns)}
        first = answer(hubbub_cli("find", crowd, *EASY, "--json"))["hitters"][0]
        run = hubbub_cli("find", crowd, *EASY, "--truth", env=env)
        for said in (f"{first['count']:,.0f}", f"{first['low']:,.0f}", f"{first['high']:,.0f}", "1,600"):
            assert said in run.stdout
        assert max(map(len, run.stdout.splitlines())) <= columns  # so that the terminal breaks no line by itself
