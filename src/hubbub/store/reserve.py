"""Room that is kept free on the disk of a SQLite database, by a file of zeros beside it.

On a full disk nothing can be written, and so nothing can be folded, closed or deleted to make room. Then half of the
file is given up, and the room is there for these, while uploads are refused. An upload that was under way can take that
half as well; the other half is kept for emptying the write-ahead log, which gives back what it took. When the file can
be made whole again, and there is room beside it, uploads are taken.

What a commit adds to the database is written twice: to the log, and to the file when the log is emptied. So no commit
is begun after which the log could not be emptied even with the reserve.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from hubbub.errors import StoreUnavailable
from hubbub.store.schema import file_of, wal_limit

T = TypeVar("T")

_MOST_BESIDE: Final = 4  # times its own size is the most room that is asked for beside the file


class Reserve:
    """The room beside one database. Several processes may share it.

    Parameters
    ----------
    database : Path
        The file of the database. The reserve is `<database>-reserve`.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + "-reserve")
        self._log = database.with_name(database.name + "-wal")
        self.size = 2 * wal_limit(database)  # one half is for emptying the log, whose pages may all be new to the file
        self._beside = 0

    def demand_more(self) -> None:
        """Ask for twice as much room beside the file, up to four times its size: what there was did not last."""
        self._beside = min(max(2 * self._beside, self.size // 4), _MOST_BESIDE * self.size)

    def demand_least(self) -> None:
        """Ask for no room beside the file, as in the beginning."""
        self._beside = 0

    def fill(self) -> bool:
        """Make the file if it is not there. Returns False if there is no room for it, or not enough beside it."""
        if not self._make():
            return False
        if (self._beside and shutil.disk_usage(self.path.parent).free < self._beside) or not self.has_room_for(0):
            self.release()
            return False
        return True

    def has_room_for(self, added: int) -> bool:
        """Return whether the log could be emptied after a commit that adds so many bytes. Costs some microseconds.

        All that is in the log may be new to the file. The log is long if somebody has read the database for a while:
        it cannot be begun anew before they are done.
        """
        log = 0
        with suppress(FileNotFoundError):
            log = os.stat(self._log).st_size
        try:
            disk = os.statvfs(self.path.parent)
        except OSError:  # the commit will say what is wrong
            return True
        return disk.f_blocks == 0 or log + 2 * added <= disk.f_bavail * disk.f_frsize + self.size

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


def says_full(error: Exception) -> bool:
    """Return whether these are the words of a database whose disk is full."""
    words = str(error).lower() if isinstance(error, StoreUnavailable) else ""
    return "full" in words or "disk i/o" in words


def with_room(database: str, work: Callable[[], T]) -> T:
    """Do some work on a store, and return its result. On a full disk give up what is needed of the reserve for it."""
    try:
        return work()
    except StoreUnavailable as error:
        file = file_of(database)
        if file is None or not says_full(error):
            raise
        reserve, failure = Reserve(file), error
    for give_up in (reserve.release, reserve.release_all):
        give_up()
        try:
            return work()
        except StoreUnavailable as error:
            failure = error
    raise failure


def _allocate(handle: int, size: int) -> None:
    """Take room on the disk for an open file, and not only a length."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    for start in range(0, size, 1 << 20):
        os.write(handle, bytes(min(1 << 20, size - start)))
