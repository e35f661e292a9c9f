"""A limit on the requests of each address. Addresses are in memory only, for a minute."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 60.0
_MOST_KNOWN: Final = 100_000


class Peers:
    """Counts the requests of each address, or of each /64 of IPv6, in a minute.

    `most` is how many are taken; 0 is any number. Peers on this machine are not counted: they are a proxy, which has a
    limit of its own. If very many addresses come in a minute, all are forgotten.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._until, self._counts = 0.0, dict[object, int]()

    def allows(self, address: str) -> bool:
        """Return whether one more request of this address is taken, and count it."""
        if not self._most or (named := _group(address)) is None:
            return True
        now = self._clock()
        if now >= self._until or len(self._counts) >= _MOST_KNOWN:
            self._until, self._counts = now + _SECONDS, {}
        count = self._counts.get(named, 0) + 1
        self._counts[named] = count
        return count <= self._most


def is_here(address: str) -> bool:
    """Return whether a peer is on this machine."""
    return _group(address) is None


def _group(address: str) -> object | None:
    """Return what is counted together with an address; None if it is of this machine, or no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    found = mapped or parsed
    if found.is_loopback:
        return None
    return int(found) >> 64 if isinstance(found, ipaddress.IPv6Address) else found
