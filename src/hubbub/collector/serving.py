"""Running a collector: one process or several, until it is told to stop."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from hubbub.collector.app import create_app
from hubbub.collector.state import Collector
from hubbub.errors import ParameterError, ServiceError
from hubbub.store.store import Store

_DATABASE: Final = "HUBBUB_DB"
_QUIET: Final[dict[str, Any]] = {
    "access_log": False,  # it would hold addresses and times
    "log_level": "warning",
    "proxy_headers": False,
    "server_header": False,
    "lifespan": "on",
    "timeout_graceful_shutdown": 20,
}


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is any that is free."""
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


def serve(database: str, listener: socket.socket, workers: int, announce: Callable[[], None]) -> None:
    """Announce it, and serve until SIGTERM or SIGINT; then finish what was begun, make it durable, and fold it.

    A signal that comes at once after the announcement is not lost: the server is listening to signals by then. (One
    that raised an exception instead, while modules load, could meet code that drops exceptions.)
    """
    if workers == 1:
        with Store(database) as store:
            server = uvicorn.Server(_config(create_app(Collector(store))))
            with server.capture_signals():
                announce()
                server.run([listener])
        return
    announce()
    os.environ[_DATABASE] = database  # a worker is a new process, which is told nothing else
    host, port = listener.getsockname()[:2]
    listener.close()  # the framework opens its own, which its workers share
    name = "hubbub.collector.serving:app_of_environment"
    uvicorn.run(name, host=host, port=port, factory=True, workers=workers, **_QUIET)


def app_of_environment() -> ASGIApp:
    """The application of a worker."""
    return create_app(Collector(Store(os.environ[_DATABASE])))


@contextmanager
def serving(collector: Collector, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """A collector in a thread of this process, on a port that is free; its address."""
    listener = bind(host, port)
    server = uvicorn.Server(_config(create_app(collector)))
    thread = Thread(target=server.run, args=([listener],), name="hubbub-server", daemon=True)
    thread.start()
    try:
        while not server.started:
            thread.join(0.005)
            if not thread.is_alive():
                raise ServiceError("the collector must start, got one that ended; see what it printed")
        yield address_of(listener)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def address_of(listener: socket.socket) -> str:
    """The address to give to others."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(app, **_QUIET)
