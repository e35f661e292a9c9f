"""Every command in a console block runs and prints what is shown below it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.docs.commands import COMMAND_LINE, run_command
from tests.docs.pages import PAGES, ROOT, blocks, label

pytestmark = pytest.mark.slow


class Shown(NamedTuple):
    """A command in a console block, and the output shown below it."""

    command: str
    output: tuple[str, ...]


def shown_commands(page: Path) -> list[list[Shown]]:
    """For every console or sh block, its lines that start with "$ ", each with the lines that follow it."""
    found = []
    for block in blocks(page):
        if block.language in ("console", "sh"):
            parts = [part.splitlines() for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]]
            found.append([Shown(command, tuple(output)) for command, *output in parts])
    return found


SESSIONS = [
    pytest.param(session, id=f"{label(page)}: {session[0].command}")
    for page in PAGES
    for session in shown_commands(page)
    if session[0].command.startswith("hubbub")
]
OTHERS = [
    shown
    for page in PAGES
    for session in shown_commands(page)
    for shown in session
    if not shown.command.startswith("hubbub")
]


def squeezed(line: str) -> str:
    """A line without the blanks that only lay it out."""
    return " ".join(line.split())


def test_there_are_commands() -> None:
    """Every command of the command line is shown somewhere, so that an empty suite cannot pass."""
    shown = " ".join(each.command for session in SESSIONS for each in session.values[0])
    assert [name for name in COMMAND_LINE if f"hubbub {name} " not in f"{shown} "] == []


@pytest.mark.parametrize("session", SESSIONS)
def test_commands_run(session: list[Shown], request: pytest.FixtureRequest) -> None:
    """Every hubbub command exits with 0 and prints the lines shown, in order; "…" stands for what is left out."""
    needs_collector = any(
        re.match("hubbub (login|survey|site|token|hitters|store|report|ledger|encode)", shown.command)
        for shown in session
    )
    request.getfixturevalue("collector" if needs_collector else "samples")
    for shown in session:
        printed = iter([squeezed(line) for line in run_command(shown.command).splitlines()])
        for line in (squeezed(line) for line in shown.output):
            if line not in ("", "…"):
                start, cut, _ = line.partition(" …")
                match = str.startswith if cut else str.__eq__
                assert any(match(real, start) for real in printed), f"{shown.command} does not print {line!r} here"


def test_other_commands_are_make_targets() -> None:
    """Every other command is `make TARGET`, and the Makefile has the target."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert OTHERS
    for shown in OTHERS:
        words = shlex.split(shown.command, comments=True)
        assert words[0] == "make", shown.command
        assert set(words[1:]) <= set(targets), shown.command


def test_console_script_is_installed() -> None:
    """`hubbub` and `python -m hubbub` are the command line that the documentation speaks of."""
    for command in ([str(Path(sys.executable).with_name("hubbub"))], [sys.executable, "-m", "hubbub"]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert re.fullmatch(r"hubbub \d+\.\d+\.\d+\n", result.stdout)
