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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TypeAlias

from starlette.types import ASGIApp

from hubbub.collector.app import create_app
from hubbub.collector.connections import (
    HEAD_SECONDS,
    READ_SECONDS,
    most_connections,
)
from hubbub.collector.listening import INHERITED, Server, address_of, bind, config_of
from hubbub.collector.rates import Rates
from hubbub.collector.state import Collector
from hubbub.collector.workers import STAND_IN, Workers
from hubbub.errors import ServiceError
from hubbub.store.store import Store

Build: TypeAlias = Callable[[Collector], ASGIApp]
"""Makes the application of a collector: a function of a module, so that other processes find it by its name."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGE_BLOCK = -1, -3, 128 << 10  # settings of glibc's mallopt, and bytes


def restart(listener: socket.socket, stand_in: Workers) -> NoReturn:
    """Replace this process by a new one with the same arguments, which takes over the socket: see `listen`."""
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.environ[STAND_IN] = stand_in.hand_on()
    os.dup2(listener.fileno(), INHERITED)
    os.set_inheritable(INHERITED, True)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # the command that runs now


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
        server = Server(config_of(build(Collector(store, rates=rates)), most_connections()), announce, prepare)
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
    server = Server(config_of(build(collector), most, head_seconds, read_seconds))
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
