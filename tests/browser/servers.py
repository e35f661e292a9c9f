"""What a browser test runs: a real `hubbub serve`, a relay in front of it that writes down requests, and a site."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Collector:
    """A `hubbub serve` of its own process."""

    url: str
    token: str
    login: str
    database: str

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request of the owner; the JSON of the reply."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=120)
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status < 300, text
            return json.loads(text) if text else None
        finally:
            connection.close()

    def new_survey(self, name: str, **more: object) -> str:
        """Create a survey of host names, unless `more` says something else; its id."""
        request = {"name": name, "epsilon": "4", "expected_reports": 300, **more}
        if "domain" not in request:
            from hubbub import Hostnames

            request["domain"] = Hostnames().to_json()
        return str(self.ask("POST", "/v1/surveys", request)["survey_id"])

    def reports(self, survey_id: str) -> int:
        """How many reports a survey has."""
        return int(self.ask("GET", f"/v1/surveys/{survey_id}/status")["reports"])


@contextmanager
def collector_process(database: Path, port: int = 0) -> Iterator[Collector]:
    """`hubbub serve` as a process of its own."""
    command = [sys.executable, "-m", "hubbub", "serve", "--db", str(database), "--port", str(port), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy()) as server:
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            yield Collector(said["url"], said["token"] or "", said.get("login") or "", str(database))
        finally:
            server.send_signal(signal.SIGTERM)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A server with this handler, in threads; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Relay:
    """Stands in front of a collector, writes down what comes, and fails as it is told.

    Attributes
    ----------
    url : str
        Where it listens.
    seen : list
        Method, path, headers and body of every request.
    replied : list
        The bytes of the body of every reply, as they went over the wire.
    down : bool
        Whether uploads are cut off instead of being passed on.
    served : dict
        Bodies by path, which it replies with by itself.
    """

    url: str = ""
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    replied: list[int] = field(default_factory=list)
    down: bool = False
    served: dict[str, bytes] = field(default_factory=dict)

    def requests(self) -> list[str]:
        """All requests, as method and path without ids."""
        return [f"{method} {path.split('/')[-1] if 'reports' in path else path[:12]}" for method, path, *_ in self.seen]

    def uploads(self) -> list[bytes]:
        """The bodies of all uploads."""
        return [body for method, path, _, body in self.seen if method == "POST" and path.endswith("/reports")]


@contextmanager
def relay_to(collector: Collector) -> Iterator[Relay]:
    """A relay in front of a collector."""
    relay = Relay()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            relay.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if relay.down and self.command == "POST":
                self.close_connection = True
                return
            if (data := relay.served.get(self.path)) is not None:
                relay.replied.append(len(data))
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                return
            connection = http.client.HTTPConnection(collector.url.removeprefix("http://"), timeout=60)
            connection.request(self.command, self.path, body or None, dict(self.headers))
            reply = connection.getresponse()
            data = reply.read()
            relay.replied.append(len(data))
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in ("connection", "content-length", "transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            connection.close()

        do_GET = do_POST = do_OPTIONS = do_HEAD = _pass_on  # noqa: N815  # names of the standard library

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with listening(Handler) as port:
        relay.url = f"http://127.0.0.1:{port}"
        yield relay


@dataclass
class Site:
    """A web site of another origin than the collector's: its pages by path, each with headers.

    Attributes
    ----------
    url : str
        Its origin.
    pages : dict
        Path to (HTML, headers).
    """

    url: str = ""
    pages: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)

    def add(self, path: str, body: str, **headers: str) -> str:
        """Add a page; its address."""
        html = f'<!doctype html><html lang="en"><title>A site</title><h1>A site</h1>{body}'
        self.pages[path] = (html, {name.replace("_", "-"): value for name, value in headers.items()})
        return self.url + path


@contextmanager
def site_server() -> Iterator[Site]:
    """A site at http://localhost:PORT, where a collector is at 127.0.0.1: another origin, and another site."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the standard library's name
            html, headers = site.pages.get(self.path.partition("?")[0], ("", {}))
            data = html.encode()
            self.send_response(200 if html else 404)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with listening(Handler) as port:
        site.url = f"http://localhost:{port}"
        yield site


def snippet(url: str, survey_id: str, attributes: str = "", name: str = "hubbub.js") -> str:
    """The line that a site owner pastes."""
    return f'<script defer src="{url}/{name}" data-survey="{survey_id}" {attributes}></script>'
