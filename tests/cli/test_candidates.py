"""`hubbub find --candidates`: values named in advance, in the table, in JSON, and lists that cannot be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import hubbub

Cli = Callable[..., CompletedProcess[str]]

# 4,000 people: 0 stands out, 7 only if it is named, 99 is nobody's.
PEOPLE = [0] * 2000 + [7] * 260 + [10 + k % 58 for k in range(1740)]
EASY = ("--domain", "integers:40", "--epsilon", "2", "--seed", "4")


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A folder with PEOPLE and lists of names."""
    (tmp_path / "people.txt").write_text("".join(f"{value}\n" for value in PEOPLE))
    (tmp_path / "named.txt").write_bytes(b"\xef\xbb\xbf7\r\n99\r\n\r\n7\r\nelsewhere\r\n")
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "foreign.txt").write_text("elsewhere\n-1\n")
    return tmp_path


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object of a run that went well."""
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


@pytest.mark.slow
def test_a_named_value_is_found(hubbub_cli: Cli, crowd: Path) -> None:
    """A value below the limit of the search is found if it is named, and marked; the others are not."""
    common = ("find", crowd / "people.txt", *EASY, "--json")
    plain = answer(hubbub_cli(*common))
    named = answer(hubbub_cli(*common, "--candidates", crowd / "named.txt"))
    assert [hitter["value"] for hitter in plain["hitters"]] == [0]
    assert [(hitter["value"], hitter["listed"]) for hitter in named["hitters"]] == [(0, False), (7, True)]
    assert plain["candidate_limit"] is None
    assert named["candidate_limit"] < 260 < named["detection_limit"]


@pytest.mark.slow
def test_all_candidates_have_a_row(hubbub_cli: Cli, crowd: Path) -> None:
    """With --all-candidates every named value of the domain has a row, also one that nobody holds."""
    options = ("--candidates", crowd / "named.txt", "--all-candidates", "--top", "1", "--truth", "--json")
    found = answer(hubbub_cli("find", crowd / "people.txt", *EASY, *options))
    rows = {hitter["value"]: hitter for hitter in found["hitters"]}
    assert list(rows) == [0, 7, 99]
    assert [row["listed"] for row in rows.values()] == [False, True, True]
    assert all(row["low"] <= row["true_count"] <= row["high"] for row in rows.values())
    assert rows[99]["true_count"] == 0
    assert rows[99]["confidence"] < 0.9


@pytest.mark.slow
def test_the_table_marks_them(hubbub_cli: Cli, crowd: Path) -> None:
    """People see which rows were named, and both limits; without a list there is no such column."""
    options = ("--candidates", crowd / "named.txt", "--truth")
    run = hubbub_cli("find", crowd / "people.txt", *EASY, *options)
    rows = {cells[0]: cells for line in run.stdout.splitlines() if (cells := line.split())}
    assert rows["value"][-2:] == ["named", "true"]
    assert rows["0"][-2:] == ["no", "2,000"]
    assert rows["7"][-2:] == ["yes", "260"]
    assert "people may go unseen, named ones by fewer than about " in run.stdout
    assert "named" not in hubbub_cli("find", crowd / "people.txt", *EASY, "--truth").stdout


@pytest.mark.slow
def test_it_is_what_python_gives(hubbub_cli: Cli, crowd: Path) -> None:
    """The command and `hubbub.find` with the same seed give the same rows."""
    found = answer(hubbub_cli("find", crowd / "people.txt", *EASY, "--candidates", crowd / "named.txt", "--json"))
    same = hubbub.find(PEOPLE, 2, hubbub.Integers(40), candidates=[7, 99], seed=4)
    assert [(h["value"], h["count"], h["low"]) for h in found["hitters"]] == [
        (h.value, h.count, h.low) for h in same.hitters
    ]


@pytest.mark.slow
def test_the_level_sets_the_limits(hubbub_cli: Cli, crowd: Path) -> None:
    """A smaller level needs larger counts, and 0.05 is the default."""
    common = ("find", crowd / "people.txt", *EASY, "--candidates", crowd / "named.txt", "--json")
    default, same, strict = (answer(hubbub_cli(*common, *more)) for more in ((), ("--level", "0.05"), LEVEL))
    assert default["hitters"] == same["hitters"]
    for limit in ("detection_limit", "candidate_limit"):
        assert default[limit] == same[limit] < strict[limit]


LEVEL = ("--level", "0.0001")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--candidates", "{folder}/missing.txt"), "cannot read the names in "),
        (("--candidates", "{folder}"), "cannot read the names in "),
        (("--candidates", "{folder}/empty.txt"), "a file of names must name at least one value, got none in "),
        (("--names", "{folder}/empty.txt"), "a file of names must name at least one value, got none in "),
        (("--names", "{folder}/missing.txt"), "cannot read the names in "),
        (("--names", "{folder}/named.txt", "--csv", "{folder}/named.txt"), "the output must be none of the inputs, "),
        (("--candidates", "{folder}/foreign.txt"), "candidates must name at least one value of the domain, got none"),
        (("--all-candidates",), "all_candidates must come with candidates, got none"),
        (("--level", "0"), "level must be between 0 and 1, got level=0.0"),
        (("--level", "1"), "level must be between 0 and 1, got level=1.0"),
        (("--level", "nan"), "level must be between 0 and 1, got level=nan"),
    ],
)
def test_what_cannot_be_is_one_sentence(hubbub_cli: Cli, crowd: Path, options: tuple[str, ...], said: str) -> None:
    """A list or a level that cannot be ends with exit code 2 and one sentence on stderr."""
    given = [option.format(folder=crowd) for option in options]
    run = hubbub_cli("find", crowd / "people.txt", *EASY, *given)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"hubbub: {said}")
    assert run.stderr.count("\n") == 1


def test_an_empty_answer_says_what_a_candidate_takes(hubbub_cli: Cli, tmp_path: Path) -> None:
    """The same in words, whole numbers spelled as floats too: what was named is what is spoken of."""
    numbers, named = tmp_path / "numbers.txt", tmp_path / "named.txt"
    numbers.write_text("7\n8\n")
    named.write_text("7.0\n8.0\n")
    run = hubbub_cli("find", numbers, "--domain", "integers:20", "--candidates", named, "--seed", "1")
    assert (run.returncode, run.stderr) == (0, "")
    assert "To see one of 2 candidates that 50 % hold takes about " in " ".join(run.stdout.split())


def test_a_tally_takes_the_same_candidates(hubbub_cli: Cli, tmp_path: Path) -> None:
    """`hitters` reads a file of candidates by the rules of `find`: 7.0 is the whole number 7."""
    numbers, named, survey, tally = (tmp_path / name for name in ("numbers.txt", "named.txt", "s.json", "t.tally"))
    numbers.write_text("7\n8\n")
    named.write_text("7.0\n")
    survey.write_bytes(hubbub.create_survey("numbers", hubbub.Integers(20), 1, public_seed=bytes(32)).to_json())
    for step in (
        ("encode", numbers, "--survey", survey, "--seed", "1", "--out", tmp_path / "reports"),
        ("tally", tmp_path / "reports", "--survey", survey, "--out", tally),
    ):
        assert hubbub_cli(*step).returncode == 0
    run = hubbub_cli("hitters", "--survey", survey, "--tally", tally, "--candidates", named, "--all-candidates")
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"^ +7 .* yes ", run.stdout, re.MULTILINE)
    assert "To see the candidate that 50 % hold takes about " in " ".join(run.stdout.split())
