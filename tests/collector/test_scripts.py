"""The scripts for pages: under a fixed name, under their hash, and after an upgrade of the server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.collector.service import Service, running

import hubbub
from hubbub.collector.scripts import NAMES, shipped

STATIC = Path(hubbub.__file__).parent / "collector" / "static"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector on SQLite."""
    with running(str(tmp_path / "a.db")) as started:
        yield started


@pytest.mark.parametrize("name", NAMES)
def test_a_script_under_its_name(service: Service, name: str) -> None:
    """It is the file of the package, packed for browsers, for any page, and asked for again after five minutes."""
    plain, packed = service.ask("GET", f"/{name}"), service.ask("GET", f"/{name}", Accept_Encoding="br, gzip")
    assert plain.body == gzip.decompress(packed.body) == (STATIC / name).read_bytes()
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    for reply in (plain, packed):
        assert reply.headers["content-type"].startswith("text/javascript")
        assert reply.headers["access-control-allow-origin"] == "*"
        assert reply.headers["cache-control"] == "public, max-age=300"
        assert reply.headers["vary"] == "Accept-Encoding"
    again = service.ask("GET", f"/{name}", If_None_Match=plain.headers["etag"])
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("name", NAMES)
def test_a_script_under_its_hash(service: Service, name: str) -> None:
    """It has the bytes that its name and its `integrity` promise, for ever."""
    script = shipped()[name]
    reply = service.ask("GET", f"/{script.hashed_name}")
    assert reply.status == 200
    assert hashlib.sha256(reply.body).hexdigest()[:16] in script.hashed_name
    assert script.integrity == "sha384-" + base64.b64encode(hashlib.sha384(reply.body).digest()).decode()
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.headers["access-control-allow-origin"] == "*"  # a script with `integrity` is read with CORS


@pytest.mark.parametrize(
    "path", ["/hubbub-0123456789abcdef.js", "/hubbub-../a.js", "/hubbub-X.js", "/hubbub-.js", "/nothing"]
)
def test_no_such_script(service: Service, path: str) -> None:
    """Another hash is 404, in a document that every page may read."""
    reply = service.ask("GET", path)
    assert (reply.status, reply.kind) == (404, "not-found")
    assert reply.headers["access-control-allow-origin"] == "*"


@contextmanager
def process(package: Path, database: Path, port: int = 0) -> Iterator[str]:
    """`hubbub serve` as a process of its own, with the package that is in this folder; its address."""
    command = [sys.executable, "-m", "hubbub", "serve", "--db", str(database), "--port", str(port), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.send_signal(signal.SIGTERM)


def fetch(url: str, name: str) -> tuple[bytes, str]:
    """The body of a reply, and how long it may be kept."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    try:
        connection.request("GET", f"/{name}")
        reply = connection.getresponse()
        return reply.read(), reply.getheader("Cache-Control", "")
    finally:
        connection.close()


@pytest.mark.slow
def test_a_server_is_upgraded_under_a_page(tmp_path: Path) -> None:
    """What a page names by its hash stays served when the server has another version of the script."""
    package = Path(hubbub.__file__).parent
    older = tmp_path / "older"
    shutil.copytree(package, older / "hubbub", ignore=shutil.ignore_patterns("__pycache__"))
    script = older / "hubbub" / "collector" / "static" / "hubbub.js"
    script.write_bytes(script.read_bytes() + b"// an older version\n")
    name = f"hubbub-{hashlib.sha256(script.read_bytes()).hexdigest()[:16]}.js"
    with process(older, tmp_path / "a.db") as url:
        before = fetch(url, name)
        assert before[0] == fetch(url, "hubbub.js")[0] == script.read_bytes()
        assert "immutable" in before[1]
    with process(package.parent, tmp_path / "a.db") as url:
        assert fetch(url, name) == fetch(url, name) == before  # from the store, and then from memory
        assert fetch(url, "hubbub.js")[0] == (STATIC / "hubbub.js").read_bytes() != before[0]
