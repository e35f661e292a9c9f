"""Runs a collector in this process until it is told to stop. `workers` runs several processes.

A collector is restarted without refusing anybody: the listening socket stays open. systemd holds it for `systemctl
restart`, and what arrives in the meantime waits in it. After SIGHUP the process replaces itself and keeps the socket;
a stand-in, which is a worker of the new version, serves in the meantime.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TypeAlias, cast

import uvicorn
from starlette.types import ASGIApp

from hubbub.collector.app import create_app
from hubbub.collector.connections import (
    HEAD_SECONDS,
    IDLE_SECONDS,
    READ_SECONDS,
    WatchedProtocol,
    most_connections,
    protocol_of,
)
from hubbub.collector.rates import Rates
from hubbub.collector.signals import handling_signals
from hubbub.collector.state import Collector
from hubbub.collector.workers import STAND_IN, Workers
from hubbub.errors import ParameterError, ServiceError
from hubbub.store.store import Store

Build: TypeAlias = Callable[[Collector], ASGIApp]
"""Makes the application of a collector: a function of a module, so that other processes find it by its name."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGE_BLOCK = -1, -3, 128 << 10  # settings of glibc's mallopt, and bytes
_INHERITED: Final = 3  # the first descriptor after standard error, as systemd passes sockets
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
    listener = socket.socket(fileno=_INHERITED)
    listener.set_inheritable(False)
    is_tcp = listener.family in (socket.AF_INET, socket.AF_INET6) and listener.type == socket.SOCK_STREAM
    if not is_tcp or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ParameterError("the service must be given a socket that listens for TCP, got another one")
    return listener


def restart(listener: socket.socket, stand_in: Workers) -> NoReturn:
    """Replace this process by a new one with the same arguments, which takes over the socket; see `listen`."""
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.environ[STAND_IN] = stand_in.hand_on()
    os.dup2(listener.fileno(), _INHERITED)
    os.set_inheritable(_INHERITED, True)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # the command that runs now


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


class _Server(uvicorn.Server):
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


def serve(
    database: str,
    listener: socket.socket,
    announce: Callable[[], None],
    build: Build = create_app,
    rates: Rates | None = None,
    prepare: Callable[[], Workers] | None = None,
) -> Workers | None:
    """Serve until a signal comes, then finish all requests that have begun and fold their reports.

    The database must exist. `announce` is called when the server listens and handles signals: a signal right after it
    is not lost. `prepare` starts a stand-in when SIGHUP asks for a restart; then this stand-in is returned, and the
    listener stays open.
    """
    _give_memory_back()
    with Store(database, create=False) as store:
        server = _Server(_config(build(Collector(store, rates=rates)), most_connections()), announce, prepare)
        server.run([listener.dup()])
        return server.stand_in


def _give_memory_back() -> None:
    """Let the C library take large blocks from the system and give them back: uploads then leave no holes behind.

    By default glibc keeps blocks of up to 32 MiB in its heap once some were freed, and an overload leaves it full of
    holes. Other C libraries have no such setting.
    """
    with suppress(OSError, AttributeError):
        for setting in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(setting, _LARGE_BLOCK)


@contextmanager
def serving(
    collector: Collector,
    host: str = "127.0.0.1",
    port: int = 0,
    head_seconds: float = HEAD_SECONDS,
    build: Build = create_app,
    read_seconds: float = READ_SECONDS,
    most: int = 1000,
) -> Iterator[str]:
    """Run a collector in a thread of this process, on a free port; yield its address."""
    listener = bind(host, port)
    server = _Server(_config(build(collector), most, head_seconds, read_seconds))
    thread = threading.Thread(target=server.run, args=([listener],), name="hubbub-server", daemon=True)
    thread.start()
    try:
        while not server.started:
            thread.join(0.005)
            if not thread.is_alive():
                raise ServiceError("the collector ended before it could start; its log says why")
        yield address_of(listener)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


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


def _config(
    app: ASGIApp, most: int, head_seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS
) -> uvicorn.Config:
    """Return the settings of the server for an application."""
    return uvicorn.Config(app, http=protocol_of(most, head_seconds, read_seconds), **_QUIET)
