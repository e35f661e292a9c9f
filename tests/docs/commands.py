"""The command line as the documentation shows it: what its commands are, and how the tests run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner

from hubbub.cli.main import app


def leaves(group: click.Group, path: str = "") -> dict[str, click.Command]:
    """All commands below a group, by their names with blanks between."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found |= leaves(command, f"{path}{name} ") if isinstance(command, click.Group) else {path + name: command}
    return found


COMMAND_LINE = leaves(app)


def as_documented(printed: str) -> str:
    """What was printed, with the address and the ids that the documentation writes."""
    server = os.environ.get("HUBBUB_SERVER", "http://127.0.0.1:8000")
    printed = re.sub(r"/v1/surveys/[0-9a-f]{64}", "/v1/surveys/ID", printed.replace(server, "http://127.0.0.1:8000"))
    return re.sub(r'data-site="[0-9a-f]{32}"', 'data-site="KEY"', printed)


def run_server(arguments: list[str]) -> str:
    """Run `hubbub serve` or `relay` as a process, on a port that is free, until it listens; what it prints."""
    command = [sys.executable, "-m", "hubbub", *arguments, "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "HUBBUB_DB"}
    environment["HUBBUB_RELAY_TOKEN"] = "made-up"  # noqa: S105  # no release is sent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        printed = ""
        while "Listening" not in printed and (line := process.stdout.readline()):
            printed += line
        process.terminate()
    assert "Listening" in printed
    return printed


def run_command(command: str) -> str:
    """Run a hubbub command line in this process and return what it prints."""
    name, *arguments = shlex.split(os.path.expandvars(command))
    assert name == "hubbub"
    if arguments[0] in ("serve", "relay") and not {"--help", "--show-config"} & set(arguments):
        return run_server(arguments)
    given = None
    if "<" in arguments:
        *arguments, _, file = arguments
        given = Path(file).read_bytes()
    result = CliRunner().invoke(app, arguments, input=given)
    assert result.exit_code == 0, f"{command}: exit code {result.exit_code}\n{result.output}"
    return as_documented(result.stdout)
