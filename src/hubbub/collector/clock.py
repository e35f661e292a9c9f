"""The time, and whether it can be trusted: a wall clock may be set and then jumps; the monotonic clock does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

JUMP_SECONDS: Final = 5.0
"""A difference between the two clocks of at least this much is a jump. Adjustments by a time server are smaller."""

STEADY_SECONDS: Final = 3600.0
"""How long the clock must have run without a jump before anything irreversible is done because of it."""


class Clock:
    """The wall clock in seconds since 1970, watched by the monotonic one. Tests bring their own two."""

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._lock = threading.Lock()
        self._seen = wall(), monotonic()
        self._steady_since = self._seen[1]

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.fromtimestamp(self._wall(), UTC)

    def jump(self) -> float:
        """Return by how many seconds the wall clock jumped since the last call: 0 if it did not."""
        with self._lock:
            wall, monotonic = self._wall(), self._monotonic()
            moved = (wall - self._seen[0]) - (monotonic - self._seen[1])
            self._seen = wall, monotonic
            if abs(moved) < JUMP_SECONDS:
                return 0.0
            self._steady_since = monotonic
            return moved

    def is_steady(self) -> bool:
        """Return whether no call of `jump` has found a jump for an hour."""
        with self._lock:
            return self._monotonic() - self._steady_since >= STEADY_SECONDS
