"""`hubbub audit` as a user meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_a_mechanism_is_certified(hubbub_cli) -> None:
    """The certificate says the loss, what attains it and what was run; --ci changes nothing where all is well."""
    run = hubbub_cli("audit", "-m", "subset", "-e", "1", "--domain", "choices:yes,no", "--ci")
    assert run.returncode == 0
    assert "exact loss  0.99999999999999999" in run.stdout
    assert "library: sources " in run.stdout
    assert "'yes' against 'no', report " in run.stdout or "'no' against 'yes', report " in run.stdout


def test_a_survey_is_certified(hubbub_cli, tmp_path: Path) -> None:
    """A file of `survey new --out` is audited under its own id; a smaller claim exits with 1 and one sentence."""
    file = tmp_path / "survey.json"
    assert hubbub_cli("survey", "new", "poll", "--domain", "choices:yes,no", "--out", file).returncode == 0
    run = hubbub_cli("audit", file, "--json")
    document = json.loads(run.stdout)
    assert run.returncode == 0
    assert document["within"] is True
    assert document["implementations"][0]["ratio"].count("/") == 1
    above = hubbub_cli("audit", file, "--ci", "--epsilon", "0.9")
    assert above.returncode == 1
    assert above.stderr.startswith("hubbub: library fails the check 'loss': the loss must be at most ε = 0.9, got 1")
    assert above.stderr.count("\n") == 1
    assert hubbub_cli("audit", file, "--epsilon", "0.9").returncode == 0


def test_a_guessing_game_is_played(hubbub_cli) -> None:
    """With --draws the certificate has a lower bound, below the claim; a claim that it refutes is named."""
    run = hubbub_cli("audit", "-m", "subset", "-e", "1", "--domain", "choices:yes,no", "--draws", "30k", "--json")
    (played, *_) = (each["played"] for each in json.loads(run.stdout)["implementations"])
    assert 0.8 < played["loss_at_least"] <= 1
    assert played["part"] == "report"
    assert sum(played["tested"]) == 54_000


def test_a_program_is_audited(hubbub_cli, tmp_path: Path) -> None:
    """A program that flips too few coins is refuted; one that flips enough is not."""
    program = tmp_path / "coin.py"
    program.write_text(
        "import random, sys\n"
        "for line in sys.stdin:\n"
        "    print('tea' if (line == 'tea\\n') == (random.random() < float(sys.argv[1])) else 'coffee')\n"
    )
    words = ("--values", "tea,coffee", "--epsilon", "1", "--draws", "20k", "--ci")
    fair = hubbub_cli("audit", "--command", f"{sys.executable} {program} 0.7", *words, "--json")
    assert fair.returncode == 0
    assert json.loads(fair.stdout)["within"] is True
    told = hubbub_cli("audit", "--command", f"{sys.executable} {program} 0.9", *words)
    assert told.returncode == 1
    assert "the command fails the check 'game': the loss must be at most ε = 1, got at least " in told.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "an audit must be of a survey or of a --mechanism, got neither"),
        (("x.json", "-m", "tree"), "an audit must be of a survey or of a --mechanism, got both"),
        (("no-such.json",), "cannot read the survey"),
        (("-m", "naive-laplace", "--domain", "integers:2"), "an exact audit must be of pure ε"),
        (("-m", "tree", "-e", "x"), "epsilon must be"),
        (("-m", "tree", "--draws", "10"), "draws must be at least 1,000"),
        (("-m", "tree", "--command", "cat"), "of a --command, got several"),
        (("--command", "cat", "--values", "a"), "--values must be two different values"),
        (("--command", "false", "--values", "a,b"), "command must end with exit code 0"),
        (("-m", "tree", "--values", "a,b"), "--values must come with --command"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(hubbub_cli, words: tuple[str, ...], said: str) -> None:
    """Bad input ends with exit code 2, also with --ci."""
    run = hubbub_cli("audit", *words, "--ci")
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
