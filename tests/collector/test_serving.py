"""Running a collector until it is told to stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# A process in which a signal is dropped unless the server itself listens to it, told to stop as it announces itself.
PROGRAM = """
import signal, sys
from hubbub.collector.serving import bind, serve
from hubbub.store.store import Store
name = getattr(signal, sys.argv[2])
signal.signal(name, lambda number, frame: None)
Store(sys.argv[1]).close()
serve(sys.argv[1], bind("127.0.0.1", 0), lambda: signal.raise_signal(name))
print("ended")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_right_after_the_announcement_is_not_lost(tmp_path: Path, name: str) -> None:
    """The server listens to signals before it says that it is there."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.db"), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "ended\n"
