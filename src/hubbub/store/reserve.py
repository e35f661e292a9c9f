"""Reserves space on the disk of a SQLite database, with a file of zeros next to it.

On a full disk nothing can be written, so nothing can be folded, closed or deleted to free space. Then half of the file
is released for this work, and uploads are refused. An upload in progress may still use up that half; the other half is
kept for emptying the write-ahead log, which frees its space again. When the file can be restored to its full size, and
enough space is free besides, uploads are accepted again.

Bytes that a commit adds to the database are written twice: to the log, and to the file when the log is emptied. So a
commit is refused if the log could not be emptied after it, even with the reserve.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from hubbub.errors import StoreFull
from hubbub.store.addresses import file_of
from hubbub.store.schema import wal_limit

T = TypeVar("T")

_MOST_BESIDE: Final = 4  # times its own size is the most room that is asked for beside the file


class Reserve:
    """The reserved space of one database, in the file `<database>-reserve`. Several processes may share it."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + "-reserve")
        self._log = database.with_name(database.name + "-wal")
        self.size = 2 * wal_limit(database)  # half is for emptying the log, which may add all its pages to the file
        self._beside = 0

    def demand_more(self) -> None:
        """Require twice as much free space besides the file, up to four times its size, since less was not enough."""
        self._beside = min(max(2 * self._beside, self.size // 4), _MOST_BESIDE * self.size)

    def demand_least(self) -> None:
        """Require no free space besides the file, as at the start."""
        self._beside = 0

    def fill(self) -> bool:
        """Create the file if it is missing. Returns False if there is no space for it, or too little besides."""
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
        sizes = [0, 0]  # of the log, and of what is reserved now
        for place, path in enumerate((self._log, self.path)):
            with suppress(FileNotFoundError):
                sizes[place] = os.stat(path).st_size
        try:
            disk = os.statvfs(self.path.parent)
        except OSError:  # the commit will say what is wrong
            return True
        return disk.f_blocks == 0 or sizes[0] + 2 * added <= disk.f_bavail * disk.f_frsize + sizes[1]

    def _make(self) -> bool:
        """Extend the file to its full size, or at least to half of it. Returns False if it is not at full size."""
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
        """Release half of the file, for work that frees space."""
        with suppress(OSError):
            if self.path.stat().st_size > self.size // 2:
                os.truncate(self.path, self.size // 2)

    def release_all(self) -> None:
        """Release all of the file, so that the log can be emptied."""
        self.path.unlink(missing_ok=True)


def with_room(database: str, work: Callable[[], T]) -> T:
    """Do some work on a store, and return its result. On a full disk give up what is needed of the reserve for it."""
    try:
        return work()
    except StoreFull as error:
        file, failure = file_of(database), error
        if file is None:
            raise
    reserve = Reserve(file)
    for give_up in (reserve.release, reserve.release_all):
        give_up()
        try:
            return work()
        except StoreFull as error:
            failure = error
    raise failure


def _allocate(handle: int, size: int) -> None:
    """Allocate real disk space for an open file, not only a length."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    for start in range(0, size, 1 << 20):
        os.write(handle, bytes(min(1 << 20, size - start)))
