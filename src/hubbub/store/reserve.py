"""Room that is kept free on the disk of a SQLite database, by a file of zeros beside it.

On a full disk nothing can be written, and so nothing can be folded, closed or deleted to make room. Then half of the
file is given up, and the room is there for these, while uploads are refused. An upload that was under way can take that
half as well; the other half is kept for emptying the write-ahead log, which gives back what it took. When the file can
be made whole again, and there is room beside it, uploads are taken.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from hubbub.store.schema import wal_limit


class Reserve:
    """The room beside one database. Several processes may share it.

    Parameters
    ----------
    database : Path
        The file of the database. The reserve is `<database>-reserve`.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + "-reserve")
        self.total = shutil.disk_usage(database.parent).total
        self.size = 2 * wal_limit(database)  # one half is for emptying the log, whose pages may all be new to the file
        self._beside = 0

    def demand_more(self) -> None:
        """Ask for twice as much room beside the file, up to half of the disk: what there was did not last."""
        self._beside = min(max(2 * self._beside, self.size // 4), self.total // 2)

    def demand_least(self) -> None:
        """Ask for no room beside the file, as in the beginning."""
        self._beside = 0

    def fill(self) -> bool:
        """Make the file if it is not there. Returns False if there is no room for it, or not enough beside it."""
        if not self._make():
            return False
        if self._beside and shutil.disk_usage(self.path.parent).free < self._beside:
            self.release()
            return False
        return True

    def _make(self) -> bool:
        """Make the file whole, or at least half of it. Returns False if there is no room for all of it."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return False
        before = os.fstat(handle).st_size
        try:
            for size in (self.size // 2, self.size):
                if before < size:
                    _allocate(handle, size)
                    before = size
        except OSError:
            os.ftruncate(handle, before)
            return False
        finally:
            os.close(handle)
        return True

    def release(self) -> None:
        """Give up half of the file, so that what makes room has some."""
        with suppress(OSError):
            if self.path.stat().st_size > self.size // 2:
                os.truncate(self.path, self.size // 2)

    def release_all(self) -> None:
        """Give up all of the file, so that the log can be emptied."""
        self.path.unlink(missing_ok=True)


def _allocate(handle: int, size: int) -> None:
    """Take room on the disk for an open file, and not only a length."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    for start in range(0, size, 1 << 20):
        os.write(handle, bytes(min(1 << 20, size - start)))
