"""Running a collector in one process or several, until it is told to stop."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from hubbub.collector.app import create_app
from hubbub.collector.metrics import DIRECTORY, forget_dead_workers
from hubbub.collector.state import Collector
from hubbub.errors import ParameterError, ServiceError
from hubbub.store.store import Store

_DATABASE: Final = "HUBBUB_DB"
_QUIET: Final[dict[str, Any]] = {
    "access_log": False,  # it would hold the addresses and times of reports
    "log_level": "warning",
    "proxy_headers": False,
    "server_header": False,
    "lifespan": "on",
    "timeout_graceful_shutdown": 20,
}


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


def serve(database: str, listener: socket.socket, workers: int, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish all requests that have begun and fold their reports.

    Parameters
    ----------
    database : str
        The database, as for `Store`.
    listener : socket
        Where to listen; see `bind`.
    workers : int
        The number of processes.
    announce : callable
        Is called when the server handles signals: one that comes right after the announcement is not lost.
    """
    if workers == 1:
        with Store(database) as store:
            server = uvicorn.Server(_config(create_app(Collector(store))))
            with server.capture_signals():
                announce()
                server.run([listener])
        return
    announce()
    host, port = listener.getsockname()[:2]
    listener.close()  # uvicorn opens another one, which its workers share
    name = "hubbub.collector.serving:app_of_environment"
    with tempfile.TemporaryDirectory(prefix="hubbub-metrics-") as directory:
        # The workers are new processes, which learn this from their environment.
        os.environ.update({_DATABASE: database, DIRECTORY: directory})
        uvicorn.run(name, host=host, port=port, factory=True, workers=workers, **_QUIET)


def app_of_environment() -> ASGIApp:
    """Return the application of one of several workers."""
    if os.name == "posix":  # elsewhere there is no harmless way to ask whether a process lives
        forget_dead_workers(os.environ[DIRECTORY])
    return create_app(Collector(Store(os.environ[_DATABASE])))


@contextmanager
def serving(collector: Collector, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Run a collector in a thread of this process, on a free port; yield its address."""
    listener = bind(host, port)
    server = uvicorn.Server(_config(create_app(collector)))
    thread = Thread(target=server.run, args=([listener],), name="hubbub-server", daemon=True)
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


def _config(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of the server for an application."""
    return uvicorn.Config(app, **_QUIET)
