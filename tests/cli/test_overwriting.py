"""No command replaces what it reads, or writes two things into one file: that is refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.files.reports import SURVEY, make_reports, sum_of, write

from hubbub import read_tally, write_tally

Cli = Callable[..., CompletedProcess[str]]

NO_INPUT = "the output must be none of the inputs, got"
FIND = ("find", "data.png", "--format", "lines")
TALLY = ("tally", "reports.parquet", "--survey", "survey.png")
HITTERS = ("hitters", "--tally", "sums.png", "--survey", "survey.png", "--candidates", "names.png")


@pytest.fixture
def content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A folder of everything that commands read, by names that a figure may have, and links to it; with what it is."""
    monkeypatch.chdir(tmp_path)
    Path("data.png").write_text("tea\n" * 50)
    Path("names.png").write_text("tea\nmilk\n")
    Path("survey.png").write_bytes(SURVEY.to_json())
    write_tally("sums.png", sum_of(make_reports(20)))
    write(tmp_path / "reports.parquet", make_reports(20))
    os.symlink("data.png", "symbolic.png")
    os.link("data.png", "hard.png")
    return contents(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and what is in it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ((*FIND, "--csv"), "data.png"),
        ((*FIND, "--plot"), "data.png"),
        ((*FIND, "--csv"), "symbolic.png"),
        ((*FIND, "--csv"), "hard.png"),
        ((*FIND, "--csv"), os.path.join(".", "data.png")),
        ((*FIND, "--candidates", "names.png", "--csv"), "names.png"),
        ((*FIND, "--candidates", "names.png", "--plot"), "names.png"),
        ((*FIND, "--domain", "categories:names.png", "--csv"), "names.png"),
        ((*FIND, "--domain", "categories:names.png", "--plot"), "names.png"),
        ((*FIND, "--domain", "code:names.png", "--csv"), "names.png"),
        (("compare", "data.png", "--plot"), "data.png"),
        (("compare", "data.png", "--domain", "categories:names.png", "--plot"), "names.png"),
        (("plan", "-n", "8k", "-e", "1", "--domain", "categories:names.png", "--plot"), "names.png"),
        *[((*HITTERS, option), name) for option in ("--csv", "--plot") for name in HITTERS[2::2]],
        ((*TALLY, "-o"), "survey.png"),
        ((*TALLY, "-o"), "reports.parquet"),
        (("merge", "sums.png", "-o"), "sums.png"),
        (("encode", "data.png", "--survey", "survey.png", "-o"), "data.png"),
        (("encode", "data.png", "--survey", "survey.png", "-o"), "survey.png"),
        (("code", "fit", "data.png", "-o"), "data.png"),
    ],
)
def test_no_input_is_replaced(
    hubbub_cli: Cli, content: dict[str, bytes], tmp_path: Path, command: tuple[str, ...], name: str
) -> None:
    """An output that leads to an input, by whatever path, is one sentence and exit code 2, and all files stay."""
    refused = hubbub_cli(*command, name)
    assert (refused.returncode, refused.stderr) == (2, f"hubbub: {NO_INPUT} {name!r}\n")
    assert contents(tmp_path) == content


@pytest.mark.slow
def test_standard_input_is_an_input(hubbub_process: Cli, content: dict[str, bytes], tmp_path: Path) -> None:
    """A file that comes by standard input is not replaced either."""
    with open("data.png", "rb") as data:
        refused = hubbub_process("find", "-", "--csv", "data.png", stdin=data.fileno())
    assert (refused.returncode, refused.stderr) == (2, f"hubbub: {NO_INPUT} 'data.png'\n")
    assert contents(tmp_path) == content


@pytest.mark.parametrize("other", ["new.png", "./new.png"])
def test_two_outputs_are_two_files(hubbub_cli: Cli, content: dict[str, bytes], tmp_path: Path, other: str) -> None:
    """A figure and a table in one file are refused."""
    refused = hubbub_cli(*FIND, "--plot", "new.png", "--csv", other)
    said = f"hubbub: two outputs must be two files, got 'new.png' and {other!r}, which are the same\n"
    assert (refused.returncode, refused.stderr) == (2, said)
    assert contents(tmp_path) == content


@pytest.mark.parametrize("command", [("merge", "sums.png"), TALLY])
def test_a_tally_replaces_nothing_but_a_tally(
    hubbub_cli: Cli, content: dict[str, bytes], tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A file of something else is kept; an older tally is replaced."""
    refused = hubbub_cli(*command, "-o", "names.png")
    said = "hubbub: the output must be a new file or a tally, got 'names.png', which is neither\n"
    assert (refused.returncode, refused.stderr) == (2, said)
    assert contents(tmp_path) == content
    write_tally("old.tally", sum_of(make_reports(3)))
    assert hubbub_cli(*command, "-o", "old.tally").returncode == 0
    assert read_tally("old.tally", SURVEY).count == 20
