"""Running a collector until it is told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.collector.hostile import connect, first_line, half_upload, target

from hubbub import Integers, create_survey
from hubbub.store.store import Store

pytestmark = pytest.mark.slow

# A process in which a signal is dropped unless the server itself listens to it, told to stop as it announces itself.
PROGRAM = """
import signal, sys
from hubbub.collector.listening import bind
from hubbub.collector.serving import serve
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


def test_slow_and_silent_peers_do_not_hold_up_the_end(tmp_path: Path) -> None:
    """Half an upload is refused, a silent connection is closed, and the collector ends well."""
    with target(tmp_path) as collector:
        with Store(collector.database) as store:
            survey_id = store.add_survey(create_survey("ids", Integers(16), 1)).survey_id.hex()
        silent = connect(collector.url)
        half = connect(collector.url, half_upload(f"/v1/surveys/{survey_id}/reports", 5000))
        assert collector.ask("GET", "/healthz")[0] == 200  # so both have been accepted
        collector.process.send_signal(signal.SIGTERM)
        assert half.recv(12) == b"HTTP/1.1 503"
        assert silent.recv(1) == b""
        assert collector.process.wait(60) == 0
        for peer in (silent, half):
            peer.close()


def test_a_closed_terminal_ends_a_collector(tmp_path: Path) -> None:
    """SIGHUP to a collector whose standard input is a terminal ends it, and starts nothing."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "hubbub", "serve", "--db", str(tmp_path / "a.db"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, text=True) as process:
        try:
            first_line(process)
            process.send_signal(signal.SIGHUP)
            assert process.communicate(timeout=120)[0] == ""
            assert process.returncode == 0
        finally:
            process.kill()
    os.close(ours)
    os.close(theirs)
