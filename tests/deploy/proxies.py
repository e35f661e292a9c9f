"""A real nginx or Caddy with our settings, on a free port, in a folder of its own."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.collector.service import wait_until
from tests.ports import free_port

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CADDY = shutil.which("caddy")


class Proxied(NamedTuple):
    """What came through the proxy."""

    status: int
    headers: dict[str, str]
    body: bytes


class Proxy:
    """A proxy that listens."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.folder = port, folder
        self.origin = f"https://127.0.0.1:{port}"

    def connect(self) -> http.client.HTTPSConnection:
        """A connection to it."""
        trust = ssl.create_default_context(cafile=str(self.folder / "fullchain.pem"))
        trust.check_hostname = False
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=120, context=trust)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Proxied:
        """One request on a connection of its own."""
        peer = self.connect()
        try:
            peer.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            reply = peer.getresponse()
            return Proxied(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            peer.close()


@contextmanager
def nginx(folder: Path, collector: str, rate: str = "100000r/s") -> Iterator[Proxy]:
    """An nginx in front of the collector at this address, with deploy/nginx.conf, but for the rate of an address."""
    make_certificate(folder)
    port = free_port()
    ours = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for old, new in {
        "127.0.0.1:8000;": f"{collector.removeprefix('http://')};",
        "rate=20r/s": f"rate={rate}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/ssl/hubbub": str(folder),
        "/var/log/nginx/hubbub.log": str(folder / "error.log"),
    }.items():
        assert old in ours
        ours = ours.replace(old, new)
    with start_nginx(folder, ours, port):
        yield Proxy(port, folder)


@contextmanager
def start_nginx(folder: Path, ours: str, port: int) -> Iterator[None]:
    """An nginx with these settings of a server, that listens on this port; skips the test if there is none."""
    if NGINX is None:
        assert "HUBBUB_REQUIRE_NGINX" not in os.environ, "nginx must be here"
        pytest.skip("nginx is not here")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in names)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}pid {folder}/nginx.pid;\nerror_log {folder}/main.log;\nevents {{}}\nhttp {{\n{paths}{ours}}}\n"
    )
    command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            wait_until(lambda: process.poll() is None and listens(port), 30)
            shutil.rmtree(folder / "client_body")  # an upload that needs a file fails
            yield
        finally:
            process.terminate()
            process.communicate(timeout=30)


def make_certificate(folder: Path) -> None:
    """Write a certificate of this machine and its key."""
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    keys = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *keys]
    subprocess.run(command, capture_output=True, check=True)


def caddy_file() -> str:
    """The text of deploy/Caddyfile, as the Caddy that is here understands it."""
    if CADDY is None:
        pytest.skip("caddy is not here")
    ours = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    version = subprocess.run([CADDY, "version"], capture_output=True, text=True, timeout=60, check=True).stdout
    if re.match(r"v?2\.[0-6]\.", version):  # the setting had another name
        ours = ours.replace("request_buffers 1MiB", "buffer_requests\n\t\tmax_buffer_size 1MiB")
    return ours


@contextmanager
def caddy(folder: Path, collector: str, read_body: str = "5m") -> Iterator[Proxy]:
    """A Caddy in front of the collector at this address, with deploy/Caddyfile, and a certificate that is at hand.

    `read_body` is how long a request may take to arrive.
    """
    ours = caddy_file()
    make_certificate(folder)
    port = free_port()
    for old, new in {
        "\tservers {": "\tadmin off\n\tauto_https disable_redirects\n\tservers {",
        "read_body 5m": f"read_body {read_body}",
        "collector:8000": collector.removeprefix("http://"),
        "{$HUBBUB_SITE} {": f"https://127.0.0.1:{port} {{\n\ttls {folder}/fullchain.pem {folder}/privkey.pem",
    }.items():
        assert old in ours
        ours = ours.replace(old, new)
    (folder / "Caddyfile").write_text(ours, encoding="utf-8")
    command = [str(CADDY), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (
        open(folder / "caddy.log", "wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            wait_until(lambda: process.poll() is None and listens(port), 30)
            yield Proxy(port, folder)
        finally:
            process.kill()  # asked to end, it would wait for peers
            process.wait(timeout=30)


def listens(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        time.sleep(0.05)
        return False
    return True
