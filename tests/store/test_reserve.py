"""Room that is kept free beside a database: given up in two halves, and made again when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collector.troubles import fill, small_disk

from hubbub.store.reserve import Reserve


def test_a_half_is_kept_for_the_log(tmp_path: Path) -> None:
    """On a full disk half of the reserve is given up, what another program takes is not, and all comes back."""
    with small_disk(tmp_path / "disk", "1m") as mounted:
        if not mounted:
            pytest.skip("mounting a small disk needs rights that this user has not")
        reserve = Reserve(tmp_path / "disk" / "a.db")
        assert reserve.fill()
        assert reserve.path.stat().st_size == reserve.size == 131_072
        reserve.release()
        fill(tmp_path / "disk" / "ballast")
        for _ in range(2):
            assert not reserve.fill()
            assert reserve.path.stat().st_size == reserve.size // 2
        reserve.release_all()
        assert not reserve.path.exists()
        assert not reserve.fill(), "only half of it has room"
        (tmp_path / "disk" / "ballast").unlink()
        assert reserve.fill()
        assert reserve.path.stat().st_size == reserve.size
