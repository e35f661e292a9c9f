"""docs/commands.md and docs/http-api.md have every option, JSON field, problem and exit code, and no other."""

from __future__ import annotations

import dataclasses
import json
import os
import re

import pytest
from click.testing import CliRunner
from tests.docs.commands import COMMAND_LINE, run_command
from tests.docs.pages import COMMANDS, DOCS

from hubbub import Group, Guess, tally_reports, write_tally
from hubbub.cli.main import app
from hubbub.cli.service import read_survey
from hubbub.collector.problems import TITLES


def section(name: str) -> str:
    """The section of docs/commands.md about a command."""
    text = COMMANDS.read_text(encoding="utf-8")
    match = re.search(rf"^### `hubbub {name}`\n(.*?)(?=^###? |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"docs/commands.md has no section about hubbub {name}"
    return match[1]


@pytest.mark.parametrize("name", COMMAND_LINE)
def test_every_option_is_documented(name: str) -> None:
    """Each option that `hubbub COMMAND --help` lists is in the command's section, and no other is in its table."""
    shown = run_command(f"hubbub {name} --help")
    options = {option for param in COMMAND_LINE[name].params for option in param.opts if option.startswith("-")}
    assert all(re.search(rf"(?<![\w-]){option}\b", shown) for option in options)
    listed = re.findall(r"^\| (`-[^|]*) \|", section(name), re.MULTILINE)
    documented = {option.split()[0] for cell in listed for option in re.findall(r"`(-[^`]*)`", cell)}
    assert documented == options


def test_top_level_options_are_documented() -> None:
    """The options of `hubbub` itself are on the page too."""
    text = COMMANDS.read_text(encoding="utf-8")
    for option in re.findall(r"(?<![\w-])--?[a-z]+", run_command("hubbub --help").partition("Options:")[2]):
        assert f"`{option}`" in text


_ASKED_FOR = {"guesses": Guess, "groups": Group}
_NAMES = {"out_of_reach", "tokens[].sites"}  # lists of texts, which may be empty


def fields(value: object, path: str = "") -> set[str]:
    """The paths of all fields of a JSON document, with [] for the elements of a list; surveys are not entered."""
    if path in _ASKED_FOR and not value:  # none was asked for
        return {f"{path}[].{field.name}" for field in dataclasses.fields(_ASKED_FOR[path])}
    if isinstance(value, list) and not value and path in _NAMES:
        return {f"{path}[]"}
    if isinstance(value, list):
        return set().union(*(fields(each, f"{path}[]") for each in value))
    if not isinstance(value, dict) or path in ("survey", "options"):
        return {path}
    return set().union(*(fields(each, f"{path}.{name}".lstrip(".")) for name, each in value.items()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("find", "find visits.csv --column country --domain categories:countries.txt --truth --json --seed 1"),
        ("plan", "plan --people 100k --epsilon 1 --domain integers:32 --proved --relay 10k --json"),
        ("simulate", "simulate -m bucket -n 8000 --bits 32 --heavy 0.5 --json --seed 1"),
        ("compare", "compare --zipf 1 -n 500 --bits 20 --mechanisms jl,tree,subset --epsilons 4 --json --seed 1"),
        ("mechanisms", "mechanisms --json"),
        ("audit", "audit -m glps --domain integers:4 --draws 1k --json"),
        ("paper", "paper --quick --only error-against-universe --jobs 1 --out report --json --seed 1"),
        ("code measure", "code measure own.json countries.txt --kind words --json"),
        ("encode", "encode referrers.txt --survey survey.json -o other --json"),
        ("tally", "tally reports countries.txt --survey survey.json -o again.tally --skip-bad --json"),
        ("merge", "merge one.tally -o all.tally --json"),
        ("report", 'report news.example --survey "$SURVEY" --json'),
        ("ledger show", "ledger show --json"),
    ],
)
def test_json_fields_are_documented(name: str, command: str, request: pytest.FixtureRequest) -> None:
    """The table of JSON fields is the set of fields that the command prints."""
    request.getfixturevalue("collector" if name in ("report", "ledger show") else "samples")
    if "own.json" in command:
        run_command("hubbub code fit countries.txt --output own.json --kind words")
    if "tally" in command or "encode" in command:
        run_command("hubbub survey new referrers --domain hostnames --out survey.json")
        run_command("hubbub encode referrers.txt --survey survey.json -o reports")
        run_command("hubbub tally reports --survey survey.json -o one.tally")
    if name == "ledger show":
        run_command('hubbub report news.example --survey "$SURVEY"')
    printed = fields(json.loads(run_command(f"hubbub {command}")))
    table = section(name).partition("### JSON")[2]
    assert set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == printed


@pytest.mark.slow
@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(
    "command",
    [
        "survey list",
        'survey show --survey "$SURVEY"',
        'survey slices --survey "$SURVEY"',
        'hitters --survey "$SURVEY" --top 3',
        'trend --survey "$SURVEY" --top 3',
        'survey merge empty.tally --survey "$SURVEY"',
        "token list",
        "site show",
        "site list",
        "login",
        "store check",
        "store backup copy.db",
        "store token",
    ],
)
def test_json_fields_of_the_service_are_documented(command: str) -> None:
    """The same for the commands of a collector."""
    name = re.match(r"(hitters|trend|login|[a-z]+ [a-z]+)", command)[1]
    if "empty.tally" in command:
        survey = read_survey(os.environ["SURVEY"])
        write_tally("empty.tally", tally_reports(survey, []))
    if name == "token list":
        run_command('hubbub token new board --survey "$SURVEY"')
    if name.startswith("site"):
        made = json.loads(run_command("hubbub site new a --ask device --own a.example --json"))
        command += f" {made['site']}" if name == "site show" else ""
    printed = fields(json.loads(run_command(f"hubbub {command} --json")))
    table = set(re.findall(r"^\| `([^`]+)` \|", section(name).partition("### JSON")[2], re.MULTILINE))
    if name == "trend":  # it has the answer's fields, too
        table |= set(re.findall(r"^\| `([^`]+)` \|", section("hitters").partition("### JSON")[2], re.MULTILINE))
        table -= {"period", "seconds"}
    # A list that is empty has no elements to see.
    assert table == printed | ({"problems[]"} if name == "store check" else set())


def test_problems_are_documented() -> None:
    """The table of problems has every kind, with its status."""
    text = (DOCS / "http-api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", text, re.MULTILINE)
    assert {kind: int(status) for kind, status in listed} == {kind: status for kind, (status, _) in TITLES.items()}


def test_exit_codes_are_as_documented() -> None:
    """A refusal is one sentence on standard error and exit code 2."""
    result = CliRunner().invoke(app, ["find", "no-such-file.txt"])
    assert result.exit_code == 2
    assert result.stderr == "hubbub: cannot read 'no-such-file.txt': no such file or directory\n"
    assert result.stderr.strip() in COMMANDS.read_text(encoding="utf-8")
