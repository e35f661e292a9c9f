"""Files by their names: relative, with ~, patterns, addresses, and names that are hard to type."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.files.reports import SURVEY, make_reports, sum_of, write_own

from hubbub import InputError, tally_files
from hubbub.files.listing import list_files

REPORTS = make_reports(60)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home and the current directory, with three files in directories of odd names."""
    for number, name in enumerate(["über uns/Größe 1.parquet", "über uns/a [1].parquet", "b/50%+x.parquet"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_own(tmp_path / name, REPORTS[20 * number : 20 * number + 20])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["."], ["./b/50%+x.parquet", "./über uns/Größe 1.parquet", "./über uns/a [1].parquet"]),
        (["über uns"], ["über uns/Größe 1.parquet", "über uns/a [1].parquet"]),
        (["über uns/a [1].parquet"], ["über uns/a [1].parquet"]),
        (["*/*1*.parquet"], ["über uns/Größe 1.parquet", "über uns/a [1].parquet"]),
        (["[b]", "**/Gr*"], ["b/50%+x.parquet", "über uns/Größe 1.parquet"]),
        (["~/b"], ["{home}/b/50%+x.parquet"]),
        (["file://{home}/b/50%25+x.parquet"], ["{home}/b/50%+x.parquet"]),
        (["file:{home}/%C3%BCber%20uns"], ["{home}/über uns/Größe 1.parquet", "{home}/über uns/a [1].parquet"]),
    ],
)
def test_what_a_name_stands_for(folder: Path, names: list[str], found: list[str]) -> None:
    """A name that exists is taken as it is; else it may be a pattern, begin with ~, or be an address of a file."""
    given = [name.replace("{home}", str(folder)) for name in names]
    assert list_files(given) == [name.replace("{home}", str(folder)) for name in found]


def test_all_of_them_are_read(folder: Path) -> None:
    """What was listed can be opened."""
    assert tally_files(SURVEY, "*").tally == sum_of(REPORTS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "s3://bucket/reports",
            "must be in a directory of this machine, got 's3://bucket/reports': mount or copy it, or",
        ),
        ("hdfs://master:8020/reports/*.parquet", "must be in a directory of this machine, got 'hdfs:"),
        ("file://other.example/reports", "must be in a directory of this machine, got 'file://other.example/reports'"),
        ("c/*.parquet", "cannot read 'c/*.parquet': no such file or directory"),
        ("~/c", "cannot read '~/c': no such file or directory"),
        ("", "cannot read '': no such file or directory"),
        ("a\0b", "cannot read 'a\\x00b': a name has no null character"),
    ],
)
def test_what_is_not_there(folder: Path, name: str, said: str) -> None:
    """One sentence with the name as it was given; other systems are not read here."""
    with pytest.raises(InputError) as caught:
        list_files([name])
    assert said in str(caught.value)


def test_a_file_by_a_pattern_and_by_name_is_given_twice(folder: Path) -> None:
    """A pattern does not hide that a file is counted twice."""
    with pytest.raises(InputError, match="must be given once"):
        list_files(["b/*.parquet", "~/b"])


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="everything can be read")
def test_a_directory_that_cannot_be_listed_is_refused(folder: Path) -> None:
    """The reports in it are not left out silently."""
    (folder / "b").chmod(0)
    try:
        with pytest.raises(InputError, match=r"cannot read the directory './b': permission denied"):
            list_files(["."])
    finally:
        (folder / "b").chmod(0o755)
