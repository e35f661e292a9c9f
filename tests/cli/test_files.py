"""Files on the command line: encode, tally, merge, and the answer from a tally."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.files.reports import SURVEY, break_group, make_reports, sum_of, write

from hubbub import load_survey, read_tally, write_tally

REPORTS = make_reports(2_000)


@pytest.fixture
def survey_file(tmp_path: Path) -> Path:
    """The file of a survey."""
    path = tmp_path / "survey.json"
    path.write_bytes(SURVEY.to_json())
    return path


def test_a_survey_in_a_file(hubbub_cli, tmp_path: Path) -> None:
    """`survey new --out` needs no collector; the file is the canonical survey."""
    path = tmp_path / "survey.json"
    result = hubbub_cli("survey", "new", "ages", "--domain", "integers:8", "-e", "2", "--out", path, "--json")
    survey = load_survey(path.read_bytes())
    assert json.loads(result.stdout)["survey_id"] == survey.survey_id.hex()
    assert (survey.name, str(survey.epsilon)) == ("ages", "2")
    refused = hubbub_cli("survey", "new", "ages", "--domain", "integers:8", "--out", path, "--origin", "https://a.b")
    assert refused.returncode == 2
    assert "--origin must come without --out" in refused.stderr


def test_from_values_to_an_answer(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """Values become reports, reports a tally, tallies one, and the tally an answer."""
    (tmp_path / "ages.txt").write_text("\n".join(["7"] * 3_000 + ["9"] * 500))
    hubbub_cli("encode", tmp_path / "ages.txt", "--survey", survey_file, "-o", tmp_path / "reports", "--seed", 1)
    out = tmp_path / "a.tally"
    result = hubbub_cli("tally", tmp_path / "reports", "--survey", survey_file, "-o", out)
    assert result.stdout.startswith("3,500 reports of 3,500 rows in")
    answer = hubbub_cli("hitters", "--tally", out, "--survey", survey_file, "--json", "--top", 1)
    assert json.loads(answer.stdout)["hitters"][0]["value"] == 7
    again = hubbub_cli("encode", tmp_path / "ages.txt", "--survey", survey_file, "-o", tmp_path / "reports")
    assert again.returncode == 2
    assert "must be a new directory" in again.stderr


def test_slices_in_files(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """`tally --day` names a slice; `trend` takes the days of files, and `merge` keeps one that all name."""
    names = []
    for number, day in enumerate(("2026-10-05", "2026-10-12", "2026-10-12")):
        reports = write(tmp_path / f"{number}.parquet", REPORTS[500 * number : 500 * number + 500])
        names.append(tmp_path / f"{number}.tally")
        made = hubbub_cli("tally", reports, "--survey", survey_file, "-o", names[-1], "--day", day, "--json")
        assert json.loads(made.stdout)["day"] == day
    merged = [hubbub_cli("merge", *some, "-o", tmp_path / "sum.tally", "--json") for some in (names, names[1:])]
    assert [json.loads(each.stdout)["day"] for each in merged] == [None, "2026-10-12"]
    asked = ("trend", "--survey", survey_file, "--tally", names[0], "--tally", tmp_path / "sum.tally", "--json")
    found = json.loads(hubbub_cli(*asked).stdout)
    assert [(each["start"], each["reports"]) for each in found["periods"]] == [
        ("2026-10-05", 500),
        ("2026-10-12", 1000),
    ]
    assert json.loads(hubbub_cli(*asked, "--to", "2026-10-12").stdout)["reports"] == 500
    for wrong, rule in (
        (("trend", "--survey", survey_file, "--tally", names[1], "--tally", names[2]), "name each day once"),
        (
            ("tally", tmp_path / "0.parquet", "--survey", survey_file, "-o", names[0], "--day", "1969-12-31"),
            "from 1970 on",
        ),
        (("tally", tmp_path / "0.parquet", "--survey", survey_file, "-o", names[0], "--day", "soon"), "must be a date"),
    ):
        refused = hubbub_cli(*wrong)
        assert (refused.returncode, rule in refused.stderr) == (2, True)
    write_tally(tmp_path / "plain.tally", sum_of(REPORTS[:10]))
    refused = hubbub_cli("trend", "--survey", survey_file, "--tally", tmp_path / "plain.tally")
    assert "got a file that names none" in refused.stderr


def test_what_is_left_out_is_said(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """Copies, conflicts, invalid reports and damage are counted in sentences; without --skip-bad nothing is written."""
    changed = REPORTS[:3].copy()
    changed["symbol"] ^= 1
    forged = REPORTS[:1].copy()
    forged["symbol"] = 255
    path = write(tmp_path / "a.parquet", REPORTS[:1_000], changed, forged, REPORTS[1_000:])
    break_group(path, 3)
    out = tmp_path / "a.tally"
    refused = hubbub_cli("tally", path, "--survey", survey_file, "-o", out, "--work", tmp_path / "work")
    assert refused.returncode == 2
    assert f"row group 3 of {str(path)!r} is damaged" in refused.stderr
    assert not out.exists()
    said = hubbub_cli("tally", path, "--survey", survey_file, "-o", out, "--skip-bad").stdout.splitlines()
    assert said[0].startswith("1,000 reports of 1,004 rows in ")
    assert said[1:] == [
        "1 row is not a valid report: left out.",
        "3 reports came again: each id counts once.",
        "3 ids came with different payloads: the smallest counts. No honest device sends these.",
        "1 damaged row group skipped, with 1,000 rows.",
        said[-1],
    ]
    assert said[-1].startswith(f"  row group 3 of {str(path)!r} is damaged (")


def test_skipped_files_are_named_in_good_english(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """One file is one, and two are two; each is named with the reason, in JSON too."""
    files = [write(tmp_path / "a.parquet", REPORTS)]
    for said in ("1 file skipped: not a whole file of", "2 files skipped: not whole files of"):
        files.append(tmp_path / f"{len(files)}.parquet")
        files[-1].write_bytes(b"no parquet")
        shown = hubbub_cli("tally", *files, "--survey", survey_file, "-o", tmp_path / "a.tally", "--skip-bad").stdout
        counted, *named = shown.splitlines()[1:]
        assert counted == f"{said} this survey."
        assert [line.partition(" (")[0] for line in named] == [
            f"  the file of reports must be whole Parquet, got {str(file)!r}" for file in files[1:]
        ]
    done = hubbub_cli("tally", *files, "--survey", survey_file, "-o", tmp_path / "a.tally", "--skip-bad", "--json")
    found = json.loads(done.stdout)
    assert [(each["file"], each["row_group"], each["rows"]) for each in found["skipped"]] == [
        (str(file), None, 0) for file in files[1:]
    ]
    assert [f"  {each['reason']}" for each in found["skipped"]] == named


def test_many_skipped_files_are_not_all_named_in_text(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """A terminal gets the first twenty, and how many more there are; JSON has all."""
    write(tmp_path / "a.parquet", REPORTS)
    for number in range(23):
        (tmp_path / f"b{number:02d}.parquet").write_bytes(b"no parquet")
    words = ["tally", tmp_path, "--survey", survey_file, "-o", tmp_path / "a.tally", "--skip-bad"]
    shown = hubbub_cli(*words).stdout.splitlines()
    assert len(shown) == 23
    assert shown[-1] == "  and 3 more; --json names all."
    assert len(json.loads(hubbub_cli(*words, "--json").stdout)["skipped"]) == 23


def test_merging_refuses_what_is_the_same(hubbub_cli, tmp_path: Path) -> None:
    """The sum is exact; a file twice, a copy, a damaged file and another survey are refused."""
    one, two, copy, out = (tmp_path / f"{name}.tally" for name in ("one", "two", "copy", "out"))
    write_tally(one, sum_of(REPORTS[:900]))
    write_tally(two, sum_of(REPORTS[900:]))
    copy.write_bytes(one.read_bytes())
    assert hubbub_cli("merge", one, two, "-o", out).stdout == f"2,000 reports of 2 tallies in {out}.\n"
    assert read_tally(out, SURVEY) == sum_of(REPORTS)
    for same in (one, copy):
        refused = hubbub_cli("merge", one, two, same, "-o", out)
        assert refused.returncode == 2
        assert "must be given once" in refused.stderr
    assert hubbub_cli("merge", one, copy, "-o", out, "--allow-equal").returncode == 0
    copy.write_bytes(one.read_bytes()[:-1] + b"?")
    refused = hubbub_cli("merge", two, copy, "-o", out)
    assert refused.returncode == 2
    assert f"{str(copy)!r} is not a whole tally" in refused.stderr


def test_a_survey_must_be_there(hubbub_cli, tmp_path: Path) -> None:
    """A survey that is neither a file nor an address; a file where an address is needed."""
    write_tally(tmp_path / "a.tally", sum_of(REPORTS[:1]))
    refused = hubbub_cli("hitters", "--tally", tmp_path / "a.tally", "--survey", tmp_path / "no.json")
    assert (refused.returncode, "cannot read the survey " in refused.stderr) == (2, True)
    refused = hubbub_cli("hitters", "--survey", tmp_path / "no.json", "--token", "x")
    assert (refused.returncode, "survey must be an address" in refused.stderr) == (2, True)


def test_an_output_that_cannot_be_is_told_at_once(hubbub_cli, tmp_path: Path, survey_file: Path) -> None:
    """No input is replaced, no folder is made, and no survey is overwritten, to which reports may be out there."""
    reports, sums = write(tmp_path / "a.parquet", REPORTS), tmp_path / "a.tally"
    write_tally(sums, sum_of(REPORTS))
    before = reports.read_bytes(), sums.read_bytes(), survey_file.read_bytes()
    tally = ("tally", reports, "--survey", survey_file)
    new = ("survey", "new", "ages", "--domain", "integers:8", "--out")
    for command, out, told in (
        ((*tally, "-o"), reports, "must be none of the inputs"),
        ((*tally, "-o"), tmp_path, "which is a directory"),
        ((*tally, "-o"), tmp_path / "no" / "a.tally", "must be in a directory that exists"),
        (("merge", sums, "-o"), sums, "must be none of the inputs"),
        (new, survey_file, "must be a new file"),
    ):
        refused = hubbub_cli(*command, out)
        assert (refused.returncode, told in refused.stderr) == (2, True)
    assert (reports.read_bytes(), sums.read_bytes(), survey_file.read_bytes()) == before
    assert not (tmp_path / "no").exists()
