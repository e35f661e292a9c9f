"""Room that is kept free beside a database: given up in two halves, and made again when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.collector.troubles import fill, small_disk

from hubbub.errors import StoreFull, StoreUnavailable
from hubbub.store.reserve import Reserve, with_room

FULL = StoreFull("the database cannot be used now: database or disk is full")


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


def test_what_is_added_must_fit_twice(tmp_path: Path) -> None:
    """A commit goes to the log first and then to the file; what is in the log already has to go there, too."""
    with small_disk(tmp_path / "disk", "16m") as mounted:
        if not mounted:
            pytest.skip("mounting a small disk needs rights that this user has not")
        reserve = Reserve(tmp_path / "disk" / "a.db")
        assert reserve.fill()
        assert reserve.size == 2 << 20
        assert reserve.has_room_for(8 << 20), "14 MiB are free, and 2 in the reserve"
        assert not reserve.has_room_for(9 << 20)
        (tmp_path / "disk" / "a.db-wal").write_bytes(bytes(4 << 20))
        assert not reserve.has_room_for(5 << 20)
        assert reserve.fill()
        with open(tmp_path / "disk" / "a.db-wal", "ab") as log:
            log.write(bytes(5 << 20))
        assert not reserve.fill(), "a log of 9 MiB cannot be emptied with 7"
        (tmp_path / "disk" / "a.db-wal").unlink()
        assert reserve.fill()


def test_room_beside_has_a_limit(tmp_path: Path) -> None:
    """However often the disk is full, no more is asked for than four times the reserve."""
    with small_disk(tmp_path / "disk", "16m") as mounted:
        if not mounted:
            pytest.skip("mounting a small disk needs rights that this user has not")
        reserve = Reserve(tmp_path / "disk" / "a.db")
        for _ in range(20):
            reserve.demand_more()
        assert reserve.fill(), "8 MiB are asked for, and 14 are there"
        (tmp_path / "disk" / "ballast").write_bytes(bytes(7 << 20))
        assert not reserve.fill()
        reserve.demand_least()
        assert reserve.fill()


def test_work_on_a_full_disk_gets_room(tmp_path: Path) -> None:
    """What fails because the disk is full is tried with half of the reserve, and then with all of it."""
    reserve = Reserve(tmp_path / "a.db")
    reserve.path.write_bytes(b"")
    with open(reserve.path, "r+b") as file:
        file.truncate(reserve.size)
    seen: list[int] = []

    def work(least: int) -> str:
        seen.append(reserve.path.stat().st_size if reserve.path.exists() else 0)
        if seen[-1] > least:
            raise FULL
        return "done"

    assert with_room(str(tmp_path / "a.db"), lambda: work(reserve.size // 2)) == "done"
    assert with_room(str(tmp_path / "a.db"), lambda: work(0)) == "done"
    assert seen == [reserve.size, reserve.size // 2, reserve.size // 2, reserve.size // 2, 0]
    with pytest.raises(StoreFull, match="disk is full"):
        with_room(str(tmp_path / "a.db"), lambda: work(-1))


def test_other_failures_take_nothing(tmp_path: Path) -> None:
    """Only a full disk is a reason to give up the reserve."""
    reserve = Reserve(tmp_path / "a.db")
    reserve.path.write_bytes(b"some")
    locked = StoreUnavailable("the database cannot be used now: database is locked")

    def work() -> None:
        raise locked

    with pytest.raises(StoreUnavailable, match="locked"):
        with_room(str(tmp_path / "a.db"), work)
    assert reserve.path.exists()
