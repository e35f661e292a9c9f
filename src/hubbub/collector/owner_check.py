"""Who is the owner, and who the relay: checks tokens, and slows down strangers who try many."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from hubbub.collector.problems import Problem
from hubbub.store.tokens import Whose, is_token

MOST_FAILURES: Final = 20
_HASH_SECONDS: Final = 1.0


class OwnerCheck:
    """Checks the token of the owner, or of the relay. While many wrong ones come, it reads the hash once a second."""

    def __init__(self, stored_hash: Callable[[], str | None], whose: Whose = "owner") -> None:
        self._stored_hash, self._whose = stored_hash, whose
        self._lock = threading.Lock()
        self._known: tuple[float, str | None] = (-1.0, None)
        self._failures: deque[float] = deque(maxlen=MOST_FAILURES)

    def check(self, authorization: str | None) -> None:
        """Raise Problem unless the header has the token. Many wrong ones in a minute get 429."""
        scheme, _, token = (authorization or "").partition(" ")
        with self._lock:
            now = time.monotonic()
            too_many = len(self._failures) == MOST_FAILURES and now - self._failures[0] < 60
            if not too_many or now >= self._known[0]:
                self._known = now + _HASH_SECONDS, self._stored_hash()
            if scheme.lower() == "bearer" and is_token(self._known[1], token.strip()):
                return
            self._failures.append(now)
        if too_many:
            sentence = f"too many requests came without the {self._whose}'s token"
            raise Problem("too-many-attempts", sentence, {"Retry-After": "60"})
        sentence = f"the request must have the {self._whose}'s token, got none or another"
        kind = "unauthorized" if self._whose == "owner" else "no-relay"
        raise Problem(kind, sentence, {"WWW-Authenticate": "Bearer"})
