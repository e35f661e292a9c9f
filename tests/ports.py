"""Ports for servers that must be told theirs."""

from __future__ import annotations

import random
import socket

_BELOW_CONNECTIONS = range(20_000, 32_000)  # the system takes higher ones for connections, at any moment


def free_port() -> int:
    """A port that nobody listens on, and that no connection will take before a server does."""
    while True:
        port = random.SystemRandom().choice(_BELOW_CONNECTIONS)
        with socket.socket() as bound:
            try:
                bound.bind(("0.0.0.0", port))  # noqa: S104  # it is closed at once
            except OSError:
                continue
            return port
