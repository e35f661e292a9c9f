"""A survey's id has one spelling everywhere: a survey under a second one could be answered twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from hubbub.client import Client, ClientError
from hubbub.collector.state import parse_id
from hubbub.errors import UnknownSurvey

GOOD = "0123456789abcdef" * 4
OTHERS = {
    "upper case": GOOD.upper(),
    "mixed case": GOOD[:-1] + "F",
    "a digit less": GOOD[1:],
    "a digit more": GOOD + "0",
    "a blank": GOOD[:2] + " " + GOOD[3:],
    "blanks between bytes": GOOD[:2] + " " + GOOD[2:],
    "a line end": GOOD + "\n",
    "other digits": "\uff10" + GOOD[1:],
    "a prefix": "0x" + GOOD[2:],
    "escaped": "%30" + GOOD[1:],
    "nothing": "",
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_spelling_is_refused(name: str, hubbub_cli, tmp_path: Path) -> None:
    """By the client, the commands of a person and of an owner, and the routes of the collector."""
    given = OTHERS[name]
    with pytest.raises(ClientError, match="64 lower-case hex digits"):
        Client(f"http://127.0.0.1:1/v1/surveys/{given}", ledger=tmp_path / "ledger.json")
    with pytest.raises(UnknownSurvey, match="64 lower-case hex digits"):
        parse_id(given)
    address = f"http://127.0.0.1:1/v1/surveys/{given}"
    (tmp_path / "copy").write_bytes(b"")
    for words in (
        ["report", "7", "--survey", address, "--ledger", tmp_path / "ledger.json"],
        ["store", "restore", tmp_path / "copy", "--survey", given or "0", "--db", tmp_path / "surveys.db"],
    ):
        result = hubbub_cli(*words)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.count("\n") == 1
        assert " must be " in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


def test_the_spelling_of_the_library_is_taken(tmp_path: Path) -> None:
    """What the library writes is what everybody reads."""
    assert parse_id(bytes.fromhex(GOOD).hex()) == bytes.fromhex(GOOD)
    with Client(f"http://127.0.0.1:1/v1/surveys/{GOOD}", ledger=tmp_path / "ledger.json") as client:
        assert client.survey_id == GOOD
