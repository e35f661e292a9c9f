"""`hubbub report` and `hubbub ledger show`: what a person at a terminal sees, and what nobody sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.peer import Peer, serving

from hubbub import Categories, Integers, Survey, create_survey
from hubbub.client import Client, Ledger

SECRET = "1234567"  # noqa: S105  # a value


@pytest.fixture
def survey() -> Survey:
    """Numbers at ε = 1."""
    return create_survey("num\x1bbers", Integers(32), 1, public_seed=bytes(32))


@pytest.fixture
def peer(survey: Survey, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Peer]:
    """A collector, and a home of its own for the ledger."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with serving(Peer(survey)) as peer:
        yield peer


def ledger_of(tmp_path: Path) -> Path:
    """The usual place below the home of the test."""
    return tmp_path / "state" / "hubbub" / "ledger.json"


def test_report_and_show(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """A report is sent once; the ledger shows it; the value is in no output."""
    first = hubbub_cli("report", SECRET, "--survey", peer.url(survey), "--timeout", "60")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "Sent: the collector has the report. ε = 1 for this survey, 1 for all in the ledger.\n"
    again = hubbub_cli("report", "7", "--survey", peer.url(survey), "--timeout", "60")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("Answered before: nothing new was made or sent.")
    assert len(peer.posted) == len(peer.counted) == 1
    shown = hubbub_cli("ledger", "show")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert survey.survey_id.hex()[:8] in shown.stdout
    assert "num\\x1bbers" in shown.stdout
    assert "Left: ε in 30 days 7 of 8, ε in 365 days 27 of 28, δ in" in shown.stdout
    assert f"All together ε = 1 and δ = 0. The ledger is {ledger_of(tmp_path)}" in shown.stdout
    assert SECRET not in first.stdout + again.stdout + shown.stdout + ledger_of(tmp_path).read_text()


def test_json(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """Both commands for machines; numbers are exact, in strings."""
    ledger = tmp_path / "own.json"
    printed = json.loads(hubbub_cli("report", "7", "--survey", peer.url(survey), "--ledger", ledger, "--json").stdout)
    assert printed == {
        "status": "sent",
        "detail": "",
        "survey_id": survey.survey_id.hex(),
        "epsilon": "1",
        "delta": "0",
        "told_epsilon": "1",
        "told_delta": "0",
        "choices": None,
        "ledger": str(ledger),
    }
    shown = json.loads(hubbub_cli("ledger", "show", "--ledger", ledger, "--json").stdout)
    answered = shown["surveys"][0].pop("answered")
    assert answered == Ledger(ledger).read()[survey.survey_id.hex()]["answered"]
    assert shown == {
        "ledger": str(ledger),
        "told_epsilon": "1",
        "told_delta": "0",
        "year_epsilon": "1",
        "left": {"month": "7", "year": "27", "lifetime": None, "delta": "0.000001"},
        "surveys": [
            {
                "survey_id": survey.survey_id.hex(),
                "name": "num\x1bbers",
                "url": peer.url(survey),
                "epsilon": "1",
                "delta": "0",
                "state": "sent",
                "detail": "",
            }
        ],
    }
    assert not ledger_of(tmp_path).exists()


def test_an_empty_ledger(hubbub_cli, peer: Peer, tmp_path: Path) -> None:
    """Nothing told is an answer, and makes no file."""
    shown = hubbub_cli("ledger", "show")
    assert (shown.returncode, shown.stdout) == (
        0,
        f"No survey was answered from this device. The ledger would be {ledger_of(tmp_path)}\n"
        "Left: ε in 30 days 8 of 8, ε in 365 days 28 of 28, δ in a lifetime 0.000001 of 0.000001.\n",
    )
    assert hubbub_cli("ledger").stdout == shown.stdout
    assert json.loads(hubbub_cli("ledger", "show", "--json").stdout)["surveys"] == []
    assert not ledger_of(tmp_path).exists()


@pytest.mark.parametrize("given", [f"{SECRET}\n", f"{SECRET}\r\nmore\n", SECRET])
def test_the_value_from_standard_input(hubbub_cli, given: str, peer: Peer, survey: Survey, monkeypatch) -> None:
    """`-` reads the first line, without its end."""
    seen: list[object] = []
    monkeypatch.setattr("hubbub.client.client.encode_report", lambda _, value, __: seen.append(value) or bytes(17))
    assert hubbub_cli("report", "-", "--survey", peer.url(survey), stdin=given).returncode == 0
    assert seen == [SECRET]


def test_a_value_that_is_not_utf_8(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """It is refused before anything is written: another value would use up the only answer."""
    for given in ("-", "caf\udce9"):  # as Python reads such an argument
        slip = hubbub_cli("report", given, "--survey", peer.url(survey), stdin=b"caf\xe9\n")
        assert (slip.returncode, slip.stdout) == (2, "")
        assert slip.stderr == "hubbub: the value must be UTF-8, got another encoding; nothing was sent\n"
    assert not ledger_of(tmp_path).exists()


def test_a_closed_list_is_told_to_everybody(hubbub_cli, peer: Peer, tmp_path: Path) -> None:
    """Whoever answers a closed list is told its names, with a value on it or not: the output says nothing of it."""
    poll = create_survey("poll", Categories(["yes", "no"], other=False), 1, public_seed=bytes(32))
    peer.surveys[poll.survey_id.hex()] = poll
    said = "The survey's values are yes, no. Any other value counts as one of them.\n"
    for value in ("no", SECRET):
        words = ("report", value, "--survey", peer.url(poll), "--timeout", "60")
        sent = hubbub_cli(*words, "--ledger", tmp_path / value)
        assert (sent.returncode, sent.stderr) == (0, "")
        assert sent.stdout.endswith(said)
        told = json.loads(hubbub_cli(*words, "--ledger", tmp_path / f"{value}.json", "--json").stdout)
        assert told["choices"] == ["yes", "no"]


def test_a_survey_that_is_closed(hubbub_cli, peer: Peer, survey: Survey) -> None:
    """The report is kept for a week, in case that is a mistake, and this is said."""
    peer.faults = ["", *["problem 410"] * 100]  # the survey itself is there
    queued = hubbub_cli("report", SECRET, "--survey", peer.url(survey), "--timeout", "1")
    assert queued.returncode == 3
    assert "(410)); the report is in the ledger, and is given up if that stays so for 7 days." in queued.stdout


def test_a_queued_report(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """Exit code 3 while the collector does not answer; the same command again sends it, another survey's does not."""
    other = create_survey("other", Integers(8), 1, public_seed=bytes(32))
    peer.surveys[other.survey_id.hex()] = other
    peer.faults = ["drop"] * 1000
    with Client(survey.to_json(), url=peer.url(survey)) as client:
        assert client.report(SECRET).status == "queued"
    queued = hubbub_cli("report", SECRET, "--survey", peer.url(survey), "--timeout", "0.1")
    assert queued.returncode == 3
    assert queued.stdout.startswith("Queued: not delivered yet (")
    assert Ledger(ledger_of(tmp_path)).read()[survey.survey_id.hex()]["state"] == "pending"
    peer.faults = []
    assert hubbub_cli("report", "7", "--survey", peer.url(other), "--timeout", "60").returncode == 0
    assert len(peer.counted) == 1, "sent back to back, the two would be linked"
    assert hubbub_cli("report", "-", "--survey", peer.url(survey), "--timeout", "60", stdin="x\n").returncode == 0
    assert len(peer.counted) == 2
    states = [entry["state"] for entry in Ledger(ledger_of(tmp_path)).read().values()]
    assert states == ["sent", "sent"]


REFUSED = "the survey was not answered: "
NOBODY = f"http://127.0.0.1:1/v1/surveys/{'0' * 64}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([SECRET, "8", "--survey", "URL"], "one value must be given, in quotes if it has spaces, got 2"),
        (
            [SECRET, "--survey", SECRET],
            "a survey's address must be http(s)://…/v1/surveys/<64 lower-case hex digits>, got another",
        ),
        (
            [SECRET, "--survey", "URL", "--max-epsilon", "0.5"],
            REFUSED + "a survey must state at most ε = 0.5, got ε = 1; max_epsilon sets this limit, --max-epsilon on",
        ),
        (
            [SECRET, "--survey", "URL", "--max-epsilon", "x"],
            "max_epsilon must be a number from 0 to 10^6 with at most 60 decimals, got max_epsilon='x'",
        ),
        (
            [SECRET, "--survey", "URL", "--lifetime-epsilon", "0.5"],
            REFUSED + "ε of all surveys together must be at most 0.5, got 0 and 1 more",
        ),
        ([SECRET, "--survey", NOBODY, "--timeout", "0"], "the survey could not be fetched ("),
    ],
)
def test_refusals(hubbub_cli, words: list[str], sentence: str, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """One sentence, exit code 2, no value, nothing sent, nothing kept."""
    given = [] if "--timeout" in words else ["--timeout", "60"]
    result = hubbub_cli("report", *(peer.url(survey) if word == "URL" else word for word in words), *given)
    assert (result.returncode, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert SECRET not in result.stderr
    assert not peer.posted
    assert not ledger_of(tmp_path).exists()


def test_a_negative_number_is_a_value(hubbub_cli, peer: Peer, survey: Survey) -> None:
    """What looks like an option and is none is not repeated in an error, but taken for the value."""
    assert hubbub_cli("report", "-5", "--survey", peer.url(survey)).returncode == 0
    assert len(peer.counted) == 1


def test_a_corrupted_ledger(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """Both commands say so and leave it."""
    ledger = tmp_path / "own.json"
    ledger.write_text("{")
    for words in (["ledger", "show"], ["report", SECRET, "--survey", peer.url(survey)]):
        result = hubbub_cli(*words, "--ledger", ledger)
        assert result.returncode == 2
        assert "is damaged or another kind of file; it was not changed" in result.stderr
    assert ledger.read_text() == "{"


def test_a_person_sets_her_own_limits(hubbub_cli, peer: Peer, survey: Survey, tmp_path: Path) -> None:
    """`ledger cap` sets them, `ledger show` says what they leave, and a report beyond them is refused."""
    own = ("--ledger", tmp_path / "own.json")
    assert hubbub_cli("ledger", "cap", "--month", "1.5", "--year", "none", *own).returncode == 0
    assert hubbub_cli("report", SECRET, "--survey", peer.url(survey), "--timeout", "60", *own).returncode == 0
    shown = hubbub_cli("ledger", "show", *own)
    assert "Left: ε in 30 days 0.5 of 1.5, δ in a lifetime 0.000001 of 0.000001." in shown.stdout
    left = {"month": "0.5", "year": None, "lifetime": None, "delta": "0.000001"}
    for words in (["ledger", "show", "--json"], ["ledger", "--json"]):
        assert json.loads(hubbub_cli(*words, *own).stdout)["left"] == left
    misplaced = hubbub_cli("ledger", "--json", "show", *own)
    assert (misplaced.returncode, misplaced.stdout) == (2, "")
    assert "options must come after the command" in misplaced.stderr
    other = create_survey("other", Integers(8), 1, public_seed=bytes(32))
    peer.surveys[other.survey_id.hex()] = other
    beyond = hubbub_cli("report", SECRET, "--survey", peer.url(other), "--timeout", "60", *own)
    assert beyond.returncode == 2
    assert "ε of all surveys in 30 days must be at most 1.5, got 1 and 1 more" in beyond.stderr
    assert len(peer.posted) == 1
    hubbub_cli("ledger", "cap", "--month", "none", "--delta", "none", *own)
    assert "There is no limit.\n" in hubbub_cli("ledger", "show", *own).stdout
