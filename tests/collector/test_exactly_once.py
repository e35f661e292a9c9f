"""Exactly once: the simulation of `simulation.py` in its short form, and what it must catch. `make soak` is longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.simulation import Zygote, simulate, zygote
from tests.collector.troubles import small_disk
from tests.databases import new_postgresql_database

pytestmark = pytest.mark.slow

KILLS = 60


@pytest.fixture(scope="module")
def forks() -> Iterator[Zygote]:
    """The process that forks collectors."""
    with zygote() as made:
        yield made


def test_sqlite_survives_kills(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """One collector on SQLite, killed again and again: every acknowledged report is counted once, none twice."""
    report = simulate(forks, str(tmp_path / "a.db"), seed, KILLS)
    assert report["kills"] == KILLS


def test_weeks_that_end_while_collectors_are_killed(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """A day passes at every kill, and the clock is wrong now and then: slices and purged ids change no count."""
    report = simulate(forks, str(tmp_path / "a.db"), seed, KILLS // 2, weeks=tmp_path / "clock")
    assert report["clock jumps"] > 0
    assert report["slices"] > KILLS // 2 // 7


def test_ids_that_are_forgotten_early_are_noticed(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """A collector that forgets ids as soon as their week is over counts reports twice, and the rule sees it."""
    with pytest.raises(AssertionError, match="counted twice"):
        simulate(forks, str(tmp_path / "a.db"), seed, KILLS, mutant="forgets ids early", weeks=tmp_path / "clock")


def test_two_collectors_on_postgresql_survive_kills(forks: Zygote, postgresql: str, seed: int) -> None:
    """Two collectors on one PostgreSQL, killed in turn: the same."""
    report = simulate(forks, new_postgresql_database(postgresql), seed, KILLS, collectors=2)
    assert report["kills"] == KILLS


def test_two_collectors_on_sqlite(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """Two processes on one file of SQLite: the same, as with --workers."""
    simulate(forks, str(tmp_path / "a.db"), seed, 6, collectors=2)


def test_full_disks_wrong_clocks_and_silent_peers(forks: Zygote, tmp_path: Path, seed: int) -> None:
    """Trouble of every kind between the kills: the same; nothing was closed for good by a clock that was wrong."""
    disk = tmp_path / "disk"
    with small_disk(disk) as mounted:
        report = simulate(forks, str(disk / "a.db"), seed, 8, troubles=disk, fills_disk=mounted)
    assert report["clock jumps"] > 0
    if not mounted:
        pytest.skip("without full disks: mounting a small one needs rights that this user has not")


@pytest.mark.parametrize(
    ("mutant", "complaint"),
    [("forgets ids", "counted twice"), ("answers too early", "acknowledged report was lost")],
)
def test_the_simulation_sees_mistakes(forks: Zygote, tmp_path: Path, seed: int, mutant: str, complaint: str) -> None:
    """A collector that forgets ids counts twice, one that answers before the commit loses: both are caught."""
    with pytest.raises(AssertionError, match=complaint):
        simulate(forks, str(tmp_path / "a.db"), seed, 4, mutant=mutant, replies=200)
