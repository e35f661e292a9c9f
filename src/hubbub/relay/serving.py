"""Runs a relay in this process."""

from __future__ import annotations

import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from hubbub.collector.connections import most_connections
from hubbub.collector.listening import Server, config_of


def serve(app: ASGIApp, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal comes. `announce` is called when the server listens and handles signals."""
    Server(config_of(app, most_connections()), announce).run([listener.dup()])
