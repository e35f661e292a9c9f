"""Metrics of several workers; tests/cli/test_service.py has the sums over two of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hubbub.collector.metrics import forget_dead_workers


def test_gauges_of_dead_workers_are_forgotten(tmp_path: Path) -> None:
    """What a killed worker had in its hands is not shown for ever; what it has counted stays."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    names = {f"{kind}_{pid}.db" for kind in ("gauge_livesum", "counter") for pid in (dead.pid, os.getpid())}
    for name in names:
        (tmp_path / name).touch()
    forget_dead_workers(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == names - {f"gauge_livesum_{dead.pid}.db"}
