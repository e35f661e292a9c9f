"""Nothing that a relay acknowledged is lost or counted twice, whoever is killed; and the test would notice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collector.simulation import zygote
from tests.relay.simulation import simulate

pytestmark = pytest.mark.slow


def test_every_report_once_under_fire(tmp_path: Path) -> None:
    """300 reports while the relay and the collector are killed six times, and the relay's disk is full once."""
    with zygote() as forks:
        found = simulate(forks, tmp_path, "1", 300, 6)
    assert found.kills == 6
    assert found.cut > 0
    assert found.counted > 280


def test_a_collector_that_forgets_ids_is_caught(tmp_path: Path) -> None:
    """A request that was sent again after its release must not count: a collector that does not look is found."""
    with zygote() as forks, pytest.raises(AssertionError, match="counted twice"):
        simulate(forks, tmp_path, "2", 300, 0, mutant="forgets ids")
