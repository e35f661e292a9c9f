"""Ctrl-C that a terminal sends to several processes, or that comes where no exception gets out: one line answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.files.reports import SURVEY, make_reports, write_own

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs a list of processes"),
]


def started(group: int) -> int:
    """How many worker processes a group has."""
    count = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and os.getpgid(int(folder.name)) == group:
                count += b"spawn_main" in (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            pass
    return count


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("command", "delay"), [("tally", 0.05), ("tally", 0.2), ("paper", 0.05)])
def test_one_line_for_all_processes(tmp_path: Path, command: str, delay: float) -> None:
    """However soon after the first process Ctrl-C comes, nothing but one line is said, and the exit code is 130."""
    (tmp_path / "survey.json").write_bytes(SURVEY.to_json())
    reports = make_reports(100_000) if command == "tally" else make_reports(1)
    for number in range(24):  # 40 MB: the least that is given to several processes is 32 MiB
        write_own(tmp_path / f"{number}.parquet", reports)
    words = {
        "tally": ["tally", ".", "--survey", "survey.json", "-o", "out.tally", "--jobs", "2"],
        "paper": ["paper", "--quick", "--out", "report", "--jobs", "2"],
    }[command]
    process = subprocess.Popen(
        [sys.executable, "-m", "hubbub", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not started(process.pid):
            assert process.poll() is None
            assert time.monotonic() < deadline
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, stdout, stderr) == (130, "", "hubbub: interrupted\n")
    assert not (tmp_path / "out.tally").exists()
    assert not (tmp_path / "report").exists()


def test_where_a_c_library_swallows_it(start_hubbub: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    """Ctrl-C in Python code that C calls, where no exception gets out, still ends the job, and says nothing else.

    The C code is a callback of ctypes, which runs when the command line is looked for.
    """
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(name, path, target=None):\n"
        "        if name == 'hubbub.cli.main':\n"
        "            ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = start_hubbub("simulate", "-m", "jl", "-n", "1e6", "--runs", "1000000", env={"PYTHONPATH": paths})
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert stderr in ("", "hubbub: interrupted\n")  # nothing where it comes while the command line is still loaded
