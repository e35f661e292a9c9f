"""How commands start: quickly, with nothing loaded that they do not use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from subprocess import CompletedProcess

import click
import pytest

from hubbub.cli.main import COMMANDS, app

HEAVY = ("fastapi", "matplotlib", "numba", "numpy", "pyarrow", "pydantic", "rich", "scipy", "sqlalchemy", "uvicorn")

Cli = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["mechanisms"],
        ["ledger", "show"],
        ["find", "--help"],
        ["ledger", "show", "--ledger", "none"],
    ],
)
def test_a_command_loads_what_it_needs(words: list[str], tmp_path) -> None:
    """Neither help nor lists load numpy, a compiler, a web framework or a table's formatter."""
    code = (
        "import atexit, sys; from hubbub.cli import run; sys.argv = ['hubbub', *sys.argv[1:]]\n"
        f"loaded = lambda: print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "atexit.register(loaded); run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert done.stdout
    assert done.stderr.split() == []


def test_every_command_of_the_help_is_there(hubbub_cli: Cli) -> None:
    """The help names each command with a sentence that fits on its line, and each can be loaded."""
    listed = hubbub_cli("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS) == app.list_commands(click.Context(app))
    assert all(line.endswith(".") and "..." not in line and len(line) < 80 for line in listed)
    for name in COMMANDS:
        assert hubbub_cli(name, "--help").stdout.startswith(f"Usage: hubbub {name} ")


def test_a_misspelt_command_is_not_looked_for_elsewhere(hubbub_cli: Cli) -> None:
    """Modules beside the commands are no commands."""
    for name in ("common", "main", "fnd"):
        done = hubbub_cli(name)
        assert done.returncode == 2
        assert f"no such command '{name}'" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["find", "x", "--top", "abc"], "--top must be "),
        (["find", "x", "--top", "0"], "--top must be "),
        (["find", "x", "--level", "high"], "--level must be "),
        (["code", "fit", "x", "-o", "y", "--kind", "poems"], "'--kind'"),
    ],
)
def test_a_usage_error_shows_what_was_given(words: list[str], said: str, hubbub_cli: Cli) -> None:
    """The option and the value, once each, and exit code 2."""
    done = hubbub_cli(*words)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert said in last
    assert last.count(repr(words[-1])) == 1
