"""Replies that everybody may ask for: each is made once, in a thread, and then only sent."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

MOST_BYTES: Final = 64 << 20


class KeptBytes:
    """Bytes by key, up to a limit. Those that were not asked for longest are dropped first.

    Strangers may ask any number of times: only the first request for a key costs more than a look-up, and one such
    request at a time is worked on, never in the loop.
    """

    def __init__(self, limit: int = MOST_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._making = asyncio.Lock()

    async def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the bytes of a key. `make` is called in a thread if they are not kept."""
        if key not in self._kept:
            async with self._making:
                if key not in self._kept:  # another request may have made them meanwhile
                    self._keep(key, await asyncio.to_thread(make))
                return self._kept[key]
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: Hashable, made: bytes) -> None:
        """Keep new bytes, and drop others until all fit. The new ones are kept in any case."""
        while self._kept and self._size + len(made) > self._limit:
            self._size -= len(self._kept.popitem(last=False)[1])
        self._kept[key] = made
        self._size += len(made)
