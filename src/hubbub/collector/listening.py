"""Listens on a socket and serves an application, until a signal comes: for collectors, and for relays."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp

from hubbub.collector.connections import HEAD_SECONDS, IDLE_SECONDS, READ_SECONDS, WatchedProtocol, protocol_of
from hubbub.collector.signals import handling_signals
from hubbub.collector.workers import Workers
from hubbub.errors import ParameterError

INHERITED: Final = 3  # the first descriptor after standard error, as systemd passes sockets
_QUIET: Final[dict[str, Any]] = {
    "access_log": False,  # it would hold the addresses and times of reports
    "log_config": None,  # `logs` sets them up
    "proxy_headers": False,
    "server_header": False,
    "ws": "none",
    "lifespan": "on",
    "timeout_graceful_shutdown": 20,
    "timeout_keep_alive": IDLE_SECONDS,
}


def listen(host: str, port: int) -> socket.socket:
    """Return the listening socket that systemd or an earlier `restart` has left for this process, else a new one."""
    count = os.environ.pop("LISTEN_FDS", "")
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return bind(host, port)
    if count != "1":
        raise ParameterError(f"the service must be given one listening socket, got {count!r}")
    listener = socket.socket(fileno=INHERITED)
    listener.set_inheritable(False)
    is_tcp = listener.family in (socket.AF_INET, socket.AF_INET6) and listener.type == socket.SOCK_STREAM
    if not is_tcp or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ParameterError("the service must be given a socket that listens for TCP, got another one")
    return listener


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 means any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = error.strerror or "no such host"
        raise ParameterError(f"host and port must be free to listen on, got {host}:{port} ({reason})") from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket, for clients."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def notify_system(state: str) -> None:
    """Tell systemd how the service is doing, if it started this process and wants to know."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(state.encode(), "\0" + address[1:] if address[0] == "@" else address)


class Server(uvicorn.Server):
    """A server that announces when it listens, and ends without an error after a signal.

    `prepare` starts a stand-in when a signal asks for a restart: `stand_in` serves while this process restarts.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        announce: Callable[[], None] = lambda: None,
        prepare: Callable[[], Workers] | None = None,
    ) -> None:
        super().__init__(config)
        self._announce, self._prepare = announce, prepare
        self.stand_in: Workers | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and announce it."""
        await super().startup(sockets)
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all connections; those that come at the last moment, too."""
        cast("type[WatchedProtocol]", self.config.http_protocol_class).is_leaving = True
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Let signals end the server. Unlike uvicorn's, this does not raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with handling_signals(self.handle_exit, self._prepare) as told:
            yield
        self.stand_in = told.prepared


def config_of(
    app: ASGIApp, most: int, head_seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS
) -> uvicorn.Config:
    """Return the settings of the server for an application."""
    return uvicorn.Config(app, http=protocol_of(most, head_seconds, read_seconds), **_QUIET)
