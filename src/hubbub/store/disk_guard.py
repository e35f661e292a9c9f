"""Guards the disk of a database: nothing is written for which there is no room, and some is kept to make more."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Engine

from hubbub.errors import HubbubError, StoreFull
from hubbub.store.erasing import STEP_BYTES, remove_copies
from hubbub.store.reserve import Reserve
from hubbub.store.schema import database_file

_STEPS: Final = 4  # a transaction that folds takes at most this part (a quarter) of the reserve; half of it if full
FULL_SECONDS: Final = 60.0
"""For this long after the disk was full, more free space is required than the reserve."""

log = logging.getLogger("hubbub.store")


class DiskGuard:
    """What is known about the room for a database. A store has one, and its collector uses the same.

    One transaction of folding, purging or shrinking changes about `step_bytes`: less on a small or full disk. If it
    `has_erased_rows`, the database may still hold copies of rows that were deleted; `remove_erased` removes them. If it
    `is_full`, uploads are refused until the reserve is there again. There is a `reserve` from `keep_reserve` on; never
    with PostgreSQL.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.step_bytes = STEP_BYTES
        self.has_erased_rows = True  # an earlier process may have left some
        self.is_full = False
        self.reserve: Reserve | None = None
        self._full_at = -math.inf

    def keep_reserve(self) -> None:
        """Look after the disk from now on. A collector needs this; other programs that open a store do not."""
        file = database_file(self._engine)
        if file is not None:
            self.reserve = Reserve(file)
            self.step_bytes = min(STEP_BYTES, self.reserve.size // _STEPS)

    @property
    def most_bytes(self) -> float:
        """About how many bytes one commit may add to the database."""
        return math.inf if self.reserve is None else max(1, self.reserve.size // 2)

    def check(self) -> None:
        """Raise StoreFull while the disk is full."""
        if self.is_full:
            raise StoreFull("the disk is full")

    def require(self, size: int) -> None:
        """Raise StoreFull if the log could not be emptied after so many more bytes, even with the reserve."""
        if self.reserve is None or self.reserve.has_room_for(size):
            return
        self.has_erased_rows = True
        self.remove_erased()  # it fits perhaps when the log has been emptied
        if not self.reserve.has_room_for(size):
            raise StoreFull("the disk is full")

    def note(self, error: Exception) -> bool:
        """Note a failure of the database. Returns whether it says that the disk is full, and nobody knew before."""
        if self.reserve is None or self.is_full or not isinstance(error, StoreFull):
            return False
        log.error("the disk is full: uploads are refused until there is room")
        self.reserve.demand_more()
        self.is_full, self._full_at = True, time.monotonic()
        return True

    def remove_erased(self) -> None:
        """Remove the copies of erased rows that the database keeps outside its tables, if there may be some.

        If some are left, since somebody reads them, it is tried again the next time.
        """
        if self.has_erased_rows:
            self.has_erased_rows = False  # first, because another thread may erase rows meanwhile
            removed = False
            try:
                removed = remove_copies(self._engine)
            finally:
                if not removed:
                    self.has_erased_rows = True

    def begin_round(self) -> None:
        """Give up half of the reserve while the disk is full: uploads are refused, so work that frees more has it."""
        if self.is_full and self.reserve is not None:
            self.reserve.release()
            self.step_bytes, self.has_erased_rows = self.reserve.size // (2 * _STEPS), True

    def end_round(self) -> None:
        """Fill the reserve again, after work in which the disk was not full."""
        if self.reserve is None:
            return
        if time.monotonic() - self._full_at > FULL_SECONDS:
            self.reserve.demand_least()  # also while uploads are refused: so much room may never come
        was_full, self.is_full = self.is_full, not self.reserve.fill()
        if was_full and not self.is_full:
            log.warning("there is room on the disk again: uploads are accepted")
            self.step_bytes = min(STEP_BYTES, self.reserve.size // _STEPS)

    def succeeds_with_all(self, step: Callable[[], None]) -> bool:
        """Try a step again that makes room, with all that the reserve has. It makes the file hardly longer."""
        if self.reserve is None:
            return False
        self.reserve.release_all()
        try:
            self.remove_erased()
            step()
        except HubbubError:
            return False
        return True
