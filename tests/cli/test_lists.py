"""Lists in files, as the command line reads them: names, candidates, sample strings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from hubbub.cli.code import read_strings
from hubbub.cli.domains import read_names
from hubbub.errors import InputError

Cli = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize(
    "command",
    [
        ("find", "data.txt", "--domain", "categories:list.txt"),
        ("find", "data.txt", "--candidates", "list.txt"),
        ("compare", "data.txt", "--domain", "categories:list.txt"),
        ("plan", "-n", "8k", "-e", "1", "--domain", "categories:list.txt"),
        ("survey", "new", "drinks", "--domain", "categories:list.txt", "--out", "survey.json"),
        ("code", "fit", "list.txt", "-o", "code.json"),
        ("code", "measure", "words", "list.txt"),
    ],
    ids=lambda words: " ".join(words),
)
def test_utf_16_is_called_by_its_name(
    hubbub_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
    mark: str,
    command: tuple[str, ...],
) -> None:
    """A list in UTF-16 gets the sentence that people's values get, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text("tea\n" * 50)
    Path("list.txt").write_bytes(f"{mark}tea\r\nmilk\r\n".encode(encoding))
    run = hubbub_cli(*command)
    said = "hubbub: a text file must be UTF-8, got UTF-16 in 'list.txt': save it as UTF-8\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.txt", "list.txt"]


def test_lines_end_at_lf_alone(tmp_path: Path) -> None:
    """The mark of UTF-8 and CR before LF are no part of a name. What is not UTF-8 is refused."""
    path = tmp_path / "list.txt"
    long = "x" * 100
    path.write_bytes(b"\xef\xbb\xbftea\r\n\nmi\rlk\n" + f"{long}\ntea\n\u2028last".encode())
    assert read_names(str(path)) == ["tea", "mi\rlk", long, "\u2028last"]
    path.write_bytes(b"tea\rmilk\r")  # an old Mac's
    assert read_names(str(path)) == ["tea", "milk"]
    path.write_bytes(b"tea\r\ncaf\xe9\r\n")
    with pytest.raises(
        InputError, match=r"must be UTF-8, got another encoding in line 2 of .*list.txt': save it as UTF-8"
    ):
        read_names(str(path))
    path.write_bytes("ä\t2\r\ntea\n".encode())
    assert read_strings(str(path), "text") == ({"ä".encode(): 2.0, b"tea": 1.0}, 0)


def test_a_list_may_come_by_a_pipe(tmp_path: Path) -> None:
    """A pipe, as the shell makes one for <(…), is read once and from its start."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("tea\nmilk\n" * 100,))
    writer.start()
    assert read_names(str(path)) == ["tea", "milk"]
    writer.join()
