"""Made-up bytes at both ends of a relay; `make fuzz` is the long run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.relay.fuzz import fuzz

pytestmark = pytest.mark.slow


def test_no_bytes_make_either_end_fail(tmp_path: Path) -> None:
    """400 bodies each: replies are 2xx or a problem of 4xx, some of both, and nothing changed is counted."""
    found = fuzz(tmp_path, 400, "1")
    assert {202, 400} <= found.relay.keys()
    assert {200, 400} <= found.gateway.keys()
    assert max(found.grown) < 64 << 20
