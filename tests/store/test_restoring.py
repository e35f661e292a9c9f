"""Restoring from a copy that is damaged: the copy is what is wrong, and another one is what helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.collector.own_cell import build, own_cell_survey, some_reports

from hubbub.errors import StoreError
from hubbub.store.reports import Upload, append
from hubbub.store.restoring import restore, restore_survey
from hubbub.store.schema import tallies, writing
from hubbub.store.store import Store
from hubbub.store.upkeep import backup


def emptied(copy: Path) -> None:
    """Nothing is left of it."""
    copy.write_bytes(b"")


def replaced(copy: Path) -> None:
    """It is another kind of file."""
    copy.write_bytes(b"something else " * 1000)


def cut(copy: Path) -> None:
    """The second half is missing."""
    copy.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2 // 4096 * 4096])


def changed(copy: Path) -> None:
    """A bit of a tally is another."""
    with Store(str(copy), build) as store, writing(store.engine) as connection:
        connection.execute(update(tallies).values(tally=b"\1" * 200))


@pytest.mark.parametrize("hurt", [emptied, replaced, cut, changed])
def test_a_damaged_copy_is_named(tmp_path: Path, hurt: Callable[[Path], None]) -> None:
    """Nobody is sent back to the command that failed, and nothing is put in the place of the store."""
    copy, target = tmp_path / "copy.db", tmp_path / "new.db"
    with Store(str(tmp_path / "a.db"), build) as store:
        stored = store.add_survey(own_cell_survey(3))
        append(store.engine, [Upload(stored.key, some_reports([1, 2]))])
        backup(store, copy)
        hurt(copy)
        with pytest.raises(StoreError, match=r"the copy is damaged \(.*\): take another copy") as whole:
            restore(copy, str(target), build)
        assert "store restore" not in str(whole.value)
        assert not target.exists()
        with pytest.raises(StoreError, match=r"the copy is damaged \(.*\): take another copy"):
            restore_survey(store, copy, stored.survey_id)
        assert store.tally(stored.survey_id).count == 2
