"""A collector that restarts behind a real nginx refuses nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.deploy.restarts import restart_under_load

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("workers", "by_system"), [(1, False), (2, False), (1, True)], ids=["1", "2", "systemd"])
def test_a_restart_refuses_nobody(tmp_path: Path, workers: int, by_system: bool) -> None:
    """By SIGHUP, with one worker or two, and by systemd: each upload is acknowledged, and counts once."""
    found = restart_under_load(tmp_path, 1, workers, by_system)
    assert found["acknowledged"] >= 80
