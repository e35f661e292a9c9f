"""How long SQLite's log becomes before it is begun anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hubbub import Integers, create_survey
from hubbub.store.reports import Upload, append
from hubbub.store.schema import PAGE_BYTES, wal_limit
from hubbub.store.store import Store


@pytest.mark.parametrize(("reports", "pages"), [(1, 2048), (128, 2048), (1000, 16_000), (20_000, 16_384)])
def test_the_log_has_room_for_several_commits(tmp_path: Path, reports: int, pages: int) -> None:
    """Single reports keep the log short, and large batches make it longer, up to its limit."""
    most = wal_limit(tmp_path / "a.db") // PAGE_BYTES  # less on a small disk
    with Store(str(tmp_path / "a.db")) as store:
        stored = store.add_survey(create_survey("log", Integers(64), 1))
        sent = np.zeros(reports, stored.mechanism.report_dtype)
        sent["id"] = np.random.default_rng(1).integers(0, 2**64, (reports, 2), np.uint64)
        (new,) = append(store.engine, [Upload(stored.key, sent)])
        assert np.all(new)
        with store.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar() == min(pages, most)
