"""Who is the owner, who may read, who the relay is: checks tokens, and slows down strangers who try many."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from hubbub.collector.problems import Problem
from hubbub.store.hashing import hash_of
from hubbub.store.readers import Reader
from hubbub.store.tokens import Whose, is_token

MOST_FAILURES: Final = 20
_HASH_SECONDS: Final = 1.0


class OwnerCheck:
    """Checks the owner's token, and read-only ones; or the token of the relay.

    While many wrong tokens come, the stored hashes are read at most once a second.
    """

    def __init__(
        self,
        stored_hash: Callable[[], str | None],
        readers: Callable[[], Mapping[str, Reader]] = dict,
        whose: Whose = "owner",
    ) -> None:
        self._stored_hash, self._readers, self._whose = stored_hash, readers, whose
        self._lock = threading.Lock()
        self._known: tuple[float, str | None, Mapping[str, Reader]] = (-1.0, None, {})
        self._failures: deque[float] = deque(maxlen=MOST_FAILURES)

    def check(self, authorization: str | None) -> Reader | None:
        """Return who reads, or None for the owner.

        Raises Problem if the header has neither's token. Many wrong ones in a minute get 429.
        """
        scheme, _, token = (authorization or "").partition(" ")
        with self._lock:
            now = time.monotonic()
            too_many = len(self._failures) == MOST_FAILURES and now - self._failures[0] < 60
            if not too_many or now >= self._known[0]:
                self._known = now + _HASH_SECONDS, self._stored_hash(), self._readers()
            _, owner, readers = self._known
            if scheme.lower() == "bearer":
                if is_token(owner, token.strip()):
                    return None
                if (reader := readers.get(hash_of(token.strip()))) is not None:
                    return reader
            self._failures.append(now)
        if too_many:
            sentence = f"too many requests came without the {self._whose}'s token"
            raise Problem("too-many-attempts", sentence, {"Retry-After": "60"})
        sentence = f"the request must have the {self._whose}'s token, got none or another"
        kind = "unauthorized" if self._whose == "owner" else "no-relay"
        raise Problem(kind, sentence, {"WWW-Authenticate": "Bearer"})
