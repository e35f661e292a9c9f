"""The command line as a user meets it: the real application in this process, or in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from hubbub.cli.main import app

# What the terminal of whoever runs the tests must not decide.
_TERMINAL = ("COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONIOENCODING", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


@pytest.fixture(scope="session")
def hubbub_cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in this process, which saves its start; what it does not handle fails the test."""

    def run(
        *args: object, stdin: str | bytes | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        words = [str(arg) for arg in args]
        runner = CliRunner(env=dict.fromkeys(_TERMINAL))
        # With color=True nothing is stripped: what is seen here is what a terminal would get.
        result = runner.invoke(app, words, input=stdin, env=env, catch_exceptions=False, color=True)
        return subprocess.CompletedProcess(
            words, result.exit_code, result.stdout_bytes.decode(), result.stderr_bytes.decode()
        )

    return run


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """The folder for temporary files of the processes of a test, empty at first."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A run of tests that was started in the background ignores SIGINT, and its children would inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def start_hubbub(temporary: Path, interruptible: None) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command line as a process of its own, `python -m hubbub`; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start(
        *args: object, env: dict[str, str] | None = None, python: tuple[str, ...] = (), **files: int
    ) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if name not in _TERMINAL}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **files}
        process = subprocess.Popen(
            [sys.executable, *python, "-m", "hubbub", *map(str, args)],
            env={**inherited, "TMPDIR": str(temporary), "TERM": "xterm", **(env or {})},
            encoding="utf-8",
            **pipes,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def hubbub_process(
    start_hubbub: Callable[..., subprocess.Popen[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line as a process of its own until it ends."""

    def run(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
        process = start_hubbub(*args, **options)
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    return run
