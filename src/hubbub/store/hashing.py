"""How keys and tokens are stored: as hashes."""

from __future__ import annotations

import hashlib


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key or a token in hex. One pass is enough, since they have 192 random bits or more."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
