"""What `hubbub find` writes beside its table: figures, CSV, other counts, several values of one person."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hubbub.cli.main import app

LIST = ["--domain", "categories:names.txt", "--seed", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of values, one of persons, and a list."""
    monkeypatch.chdir(tmp_path)
    Path("values.txt").write_text("=1+1\n" * 600 + "tea\n" * 300 + "rare\n")
    Path("names.txt").write_text("=1+1\ntea\nmilk\nrare\n")
    rows = [f"{person},{value}" for person in range(900) for value in (["tea", "milk"], ["tea"], [""])[person % 3]]
    Path("baskets.csv").write_text("person,item\n" + "\n".join(rows) + "\n")
    return tmp_path


def run(*arguments: str) -> str:
    """The output of a command that works."""
    result = CliRunner().invoke(app, ["find", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    """The sentence of a command that does not."""
    result = CliRunner().invoke(app, ["find", *arguments])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    return result.stderr


def test_the_answer_is_written_to_files(folder: Path) -> None:
    """A figure by its name, and a CSV in which no value is a formula; the table is printed all the same."""
    shown = run("values.txt", *LIST, "--plot", "answer.svg", "--csv", "answer.csv", "--post", "clip")
    assert "fakes" in shown
    assert "Counts are after clip: plausible, and no longer unbiased." in shown
    assert (folder / "answer.svg").read_text(encoding="utf-8").startswith("<?xml")
    with open("answer.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["value"] for row in rows} == {"'=1+1", "tea", "milk", "rare", "(other)"}
    assert min(float(row["count"]) for row in rows) >= 0
    document = json.loads(run("values.txt", *LIST, "--post", "simplex", "--json"))
    assert document["post_processing"] == "simplex"
    assert sum(row["count"] for row in document["hitters"]) == pytest.approx(901)


@pytest.mark.slow
def test_the_table_with_fakes_fits_into_80_columns() -> None:
    """Also with candidates and counts of five digits: no line of the table is wider."""
    Path("many.txt").write_text("search.example\n" * 90_000)
    Path("named.txt").write_text("search.example\n")
    shown = run("many.txt", "--domain", "bytes:24", "--candidates", "named.txt", "--all-candidates", "--seed", "1")
    table = [line for line in shown.splitlines() if "search.example" in line or "fakes" in line]
    assert len(table) == 2
    assert max(len(line.rstrip()) for line in table) <= 80


def test_what_cannot_be_written_is_refused_before_any_work() -> None:
    """A name that says no format, a folder that is not there, a method that does not exist; one sentence each."""
    assert "must end in .png, .svg or .pdf, got 'answer.gif'" in refused("no.txt", "--plot", "answer.gif")
    assert "must be in a directory that exists, got 'nowhere/answer.csv'" in refused(
        "no.txt", "--csv", "nowhere/answer.csv"
    )
    assert "must be one of none, clip, simplex, got 'round'" in refused("no.txt", "--post", "round")
    Path("a.csv").mkdir()
    assert "must be a file, got 'a.csv', which is a directory" in refused("no.txt", "--csv", "a.csv")


def test_several_values_of_one_person() -> None:
    """The answer counts people, says so, and the truth beside it does, too; people without a value report as well."""
    several = ("baskets.csv", "--column", "item", "--person", "person", "--values-per-person", "2", *LIST)
    shown = run(*several, "--epsilon", "6", "--truth")
    assert "901" not in shown
    assert "900 reports" in shown
    assert "Everybody reported one of 2 slots; a count is of the people who have the value in any slot." in shown
    assert "300 rows have no value: they fill no slot." in shown
    document = json.loads(run(*several, "--epsilon", "6", "--truth", "--json"))
    assert (document["values_per_person"], document["missing"], document["over"]) == (2, 300, 0)
    truth = {row["value"]: row["true_count"] for row in document["hitters"]}
    assert truth == {"tea": 600, "milk": 300, "=1+1": 0, "rare": 0}
    assert all(row["low"] <= row["true_count"] <= row["high"] for row in document["hitters"])


def test_several_values_need_a_person_and_an_open_list() -> None:
    """One sentence each."""
    assert "--values-per-person must come with --person" in refused("values.txt", "--values-per-person", "2")
    given = ("baskets.csv", "--column", "item", "--person", "person", "--values-per-person", "2")
    assert 'must be 1 for a list without "(other)"' in refused(*given, "--domain", "choices:tea,milk")
    assert "1001" in refused(*given[:-1], "1001")
