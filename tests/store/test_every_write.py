"""A survey that crashes at calls that write loses nothing, counts nothing twice, and leaves no damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="the C library is loaded in the way of Linux"),
]


def injected(*arguments: str) -> dict[str, object]:
    """What the faults did."""
    command = [sys.executable, "-m", "tests.store.every_write", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def test_a_crash_at_any_write() -> None:
    """Some of all faults, of every kind; without --every the program injects all of them."""
    found = injected("sqlite", "--every", "151")
    assert found["wrong"] == []
    assert found["calls"] > 50
    assert found["faults"] >= 8
    assert "77" in found["ended"]


def test_an_acknowledgement_that_comes_too_early_is_caught() -> None:
    """A collector that acknowledges before it stores loses what it said that it had."""
    assert any("lost" in each for each in injected("sqlite", "--every", "61", "--too-early")["wrong"])
