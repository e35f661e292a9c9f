"""`hubbub demo --relay`: visitors, a relay and a collector, and what the collector alone learns of one of them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_quick_demo_says_what_the_collector_learns(
    start_hubbub: Callable[..., subprocess.Popen[str]], temporary: Path
) -> None:
    """It ends by itself with the exact figure, which is below the ε of each visitor, and leaves nothing behind."""
    process = start_hubbub("demo", "--relay", "--quick", "--seed", "1")
    printed, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (0, "")
    assert "500 visitors came." in printed
    found = re.search(r"ε ≤ ([0-9.]+) to the collector alone \(δ = 10\^-8\)", printed)
    assert found is not None, printed
    assert 0 < float(found[1]) < 6
    assert "to both together: ε = 6." in printed
    assert not list(temporary.glob("hubbub-relay-*"))


@pytest.mark.parametrize("options", [["--relay", "--live"], ["--quick"], ["--relay", "--people", "1"]])
def test_what_does_not_go_together_is_refused(
    hubbub_cli: Callable[..., subprocess.CompletedProcess[str]], options: list[str]
) -> None:
    """Two demos at once, a short one of what cannot be shortened, and a crowd of one: a sentence and exit code 2."""
    run = hubbub_cli("demo", *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("hubbub: ")
