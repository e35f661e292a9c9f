"""`hubbub report`: what a collector, or anybody on the way, sees of it is the same for every value."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.peer import Peer, serving

from hubbub import Categories, Survey, create_survey

pytestmark = pytest.mark.slow

POLL = create_survey("poll", Categories(["yes", "no"], other=False), 1, public_seed=bytes(32))
OPEN = create_survey("open", Categories(["yes", "no"]), 1, public_seed=bytes(32))
VALUES = ("yes", "no", "maybe", "", "news.example", "x" * 4000, "-5", "日本", "(other)", "7.0")
GUESS = create_survey("guess", Categories(["maybe", "news.example"], other=False), 1, public_seed=bytes(32))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback interface is reached without a proxy."""
    monkeypatch.setenv("no_proxy", "*")


def seen(
    hubbub_cli, survey: Survey, faults: list[str], value: str, ledger: Path, *more: str, end: str = "\n"
) -> tuple[object, ...]:
    """All that the collector sees when a person with an empty ledger reports a value, and the exit code."""
    with serving(Peer(survey, GUESS)) as peer:
        peer.faults = list(faults)  # `other survey` shows the list of GUESS under the survey's address
        options = ["--survey", peer.url(survey), "--ledger", ledger, *more]
        result = hubbub_cli("report", "-", *options, stdin=f"{value}{end}")
        host = peer.base.partition("//")[2]
        trace = [tuple(str(part).replace(host, "HOST") for part in each) for each in peer.trace]
        said = result.stdout + result.stderr
    files = sorted((path.name, path.stat().st_size) for path in ledger.parent.iterdir())
    return result.returncode, trace, said.replace(str(ledger), ""), files


@pytest.mark.parametrize(
    ("faults", "requests"),
    [
        ([], ["GET", "POST"]),
        (["other survey"], ["GET", "GET", "POST"]),
        (["", "other survey"], ["GET", "POST", "POST"]),
        (["", "problem 503"], ["GET", "POST", "POST"]),
        (["problem 404"], ["GET", "GET", "POST"]),
    ],
    ids=str,
)
def test_a_server_sees_the_same_for_every_value(hubbub_cli, faults: list[str], requests: list[str], tmp_path) -> None:
    """Requests, headers, sizes, output, exit code and files, also of a server that shows a list of its own first."""
    values = VALUES if not faults else ("yes", "maybe")
    for survey in (POLL, OPEN) if not faults else (POLL,):
        found = []
        for number, value in enumerate(values):
            (tmp_path / survey.name / str(number)).mkdir(parents=True)
            found.append(seen(hubbub_cli, survey, faults, value, tmp_path / survey.name / str(number) / "l.json"))
        assert [trace[0].split()[0] for trace in found[0][1]] == requests
        assert found[0][0] == 0
        assert all(each == found[0] for each in found)


def test_no_line_is_an_empty_value(hubbub_cli, tmp_path: Path) -> None:
    """A program that prints nothing has an empty value: silence would tell that."""
    found = []
    for number, (value, end) in enumerate((("", ""), ("", "\n"), ("yes", ""))):
        (tmp_path / str(number)).mkdir()
        found.append(seen(hubbub_cli, POLL, [], value, tmp_path / str(number) / "l.json", end=end))
    assert found[0] == found[1] == found[2]


def test_a_server_that_always_lies_gets_no_report(hubbub_cli, tmp_path: Path) -> None:
    """Whether a value is on the list that it shows cannot be seen: no request has a report, and nothing is kept."""
    found = []
    for number, value in enumerate(("yes", "maybe", "neither")):
        (tmp_path / str(number)).mkdir()
        ledger = tmp_path / str(number) / "ledger.json"
        found.append(seen(hubbub_cli, POLL, ["other survey"] * 50, value, ledger, "--timeout", "0.6"))
    assert {trace[0].split()[0] for each in found for trace in each[1]} == {"GET"}  # how many, random waits decide
    assert [(code, files) for code, _, _, files in found] == [(2, [])] * 3


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that the system's resolver is asked for, which are not looked up."""
    hosts: list[str] = []

    def record(host: str, *_: object, **__: object) -> None:
        hosts.append(host)
        raise OSError("no names here")

    monkeypatch.setattr("socket.getaddrinfo", record)
    return hosts


SWAPPED = ["news.example", "http://news.example", "http://news.example/v1/surveys/1", "file:///"]


@pytest.mark.parametrize("value", SWAPPED)
def test_swapped_arguments_tell_nobody(hubbub_cli, value: str, tmp_path: Path, looked_up: list[str]) -> None:
    """A value in the place of the address is neither looked up nor fetched, nor repeated."""
    url = f"http://127.0.0.1:1/v1/surveys/{POLL.survey_id.hex()}"
    result = hubbub_cli("report", url, "--survey", value, "--ledger", tmp_path / "ledger.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("hubbub: a survey's address must be http(s)://")
    assert "news" not in result.stderr
    assert looked_up == []


def test_a_survey_at_hand_is_checked_before_the_network(hubbub_cli, tmp_path: Path) -> None:
    """With its document, a value that is not on a closed list is refused, and nobody hears of it."""
    document, ledger = tmp_path / "poll.json", tmp_path / "ledger.json"
    document.write_bytes(POLL.to_json())
    with serving(Peer(POLL)) as peer:
        words = ("--survey", peer.url(POLL), "--document", document, "--ledger", ledger)
        slip = hubbub_cli("report", "maybe", *words)
        assert (slip.returncode, slip.stdout, peer.trace) == (2, "", [])
        said = "hubbub: the value must be one of the survey's (yes, no), got another one; nothing was sent\n"
        assert slip.stderr == said
        assert not ledger.exists()
        assert hubbub_cli("report", "no", *words, "--timeout", "60").returncode == 0
        assert [each[0].split()[0] for each in peer.trace] == ["POST"]
