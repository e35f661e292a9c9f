"""Peers that mean harm: half uploads, endless heads, garbage, sudden ends. `make soak` sends them for minutes.

They are raw sockets, and the collector is a process, so that its memory and its log can be looked at.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import secrets
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from hubbub import Categories, create_survey
from hubbub.store.store import Store
from hubbub.wire.report_batch import encode_batch

MIB = 1 << 20
FLOOD_BYTES = 64 * MIB
PATIENCE = 120.0


class Target:
    """A collector that runs as a process, with a survey."""

    def __init__(self, process: subprocess.Popen[str], said: dict[str, str], database: str, log: Path) -> None:
        self.process, self.url, self.token = process, said["url"], said["token"]
        self.database, self.log = database, log
        with Store(database) as store:
            self.stored = store.add_survey(create_survey("names", Categories(["a", "b"]), 1))
        self.path = f"/v1/surveys/{self.stored.survey_id.hex()}/reports"

    def batch(self, rng: random.Random, count: int = 1) -> bytes:
        """An upload of new reports."""
        reports = np.zeros(count, self.stored.mechanism.report_dtype)
        reports["id"] = [[rng.getrandbits(64), rng.getrandbits(64)] for _ in range(count)]
        return encode_batch(self.stored.survey_id, reports)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """A request of somebody who means no harm."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def counted(self) -> int:
        """How many reports are in the tally."""
        with Store(self.database) as store:
            return store.tally(self.stored.survey_id).count

    def memory(self) -> int:
        """The bytes that all of its processes have in memory."""
        process = psutil.Process(self.process.pid)
        return sum(each.memory_info().rss for each in [process, *process.children()])

    def failures(self) -> list[str]:
        """The lines of the log that tell of an exception."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if re.search(r"Traceback|\w+ at \S+:\d+\)|ERROR", line)]


@contextmanager
def target(folder: Path, *more: str) -> Iterator[Target]:
    """A collector that is there as long as it is needed."""
    database, log = str(folder / "a.db"), folder / "log"
    command = [sys.executable, "-m", "hubbub", "serve", "--db", database, "--port", "0", "--json", *more]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
    try:
        yield Target(process, json.loads(first_line(process)), database, log)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def first_line(process: subprocess.Popen[str]) -> str:
    """What a process says when it listens."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert ready, "the collector does not start"
    return process.stdout.readline()


def connect(url: str, said: bytes = b"") -> socket.socket:
    """A connection on which this was said."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(said)
    return connection


def half_upload(path: str, size: int) -> bytes:
    """A request of which the last thousand bytes are missing."""
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size + 1000}\r\n\r\n".encode() + bytes(size)


class Flood(NamedTuple):
    """Something without an end: how it begins, what is repeated, and the status of the reply."""

    first: bytes
    unit: bytes
    status: int


def floods(path: str) -> dict[str, Flood]:
    """All parts of a request that have no end of their own."""
    get = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    chunked = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return {
        "an address": Flood(b"GET /", b"a" * 65536, 414),
        "a field's name": Flood(get, b"a" * 65536, 431),
        "a field's value": Flood(get + b"a: ", b"a" * 65536, 431),
        "fields": Flood(get, b"a: b\r\n" * 8192, 431),
        "large fields": Flood(get, b"a: %b\r\n" % (b"b" * 900) * 64, 431),
        "empty lines": Flood(b"", b"\r\n" * 32768, 431),
        "a trailer": Flood(chunked + b"1\r\na\r\n0\r\na: ", b"a" * 65536, 400),
        "trailers": Flood(chunked + b"1\r\na\r\n0\r\n", b"a: b\r\n" * 8192, 400),
        "a chunk's extension": Flood(chunked + b"1;a=", b"a" * 65536, 400),
        "extensions of chunks": Flood(chunked, (b"1;a=" + b"a" * 1000 + b"\r\nb\r\n") * 64, 400),
    }


def flood(target: Target, kind: Flood, total: int = FLOOD_BYTES) -> int:
    """Send so many bytes unless the other side hangs up; return the status of its reply."""
    with connect(target.url, kind.first) as connection:
        with suppress(ConnectionError):
            for _ in range(-(-total // len(kind.unit))):
                connection.sendall(kind.unit)
        reply = b""
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                reply += part
    head, _, body = reply.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] == status
    return status


def harass(target: Target, rng: random.Random) -> None:
    """One peer that says something, whole, cut or garbled, in some pieces, and leaves in some way."""
    upload = target.batch(rng, rng.choice([1, 1, 50]))
    post = f"POST {target.path} HTTP/1.1\r\nHost: x\r\n".encode()
    whole = post + b"Content-Length: %d\r\n\r\n" % len(upload) + upload
    others = [
        whole,
        post + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(upload) + upload,
        post + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(upload), upload),
        post + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n" % len(upload) + upload,
        post + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(upload) + upload,
        target.path.join(["GET ", " HTTP/1.0\r\n\r\n"]).encode(),
        b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n",
        b"HEAD /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
        b"POST /login HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 50\r\n\r\n" + bytes(50),
        f"GET /about/{target.path[12:76]} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n".encode(),
        b"POST /v1/surveys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /%2e%2e/%ff?%00=%zz HTTP/1.1\r\nHost: \xff\r\nCookie: hubbub-80=%\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        rng.randbytes(rng.randrange(1, 200)),
    ]
    said = b"".join(rng.choice(others) for _ in range(rng.choice([1, 1, 2, 5, 30])))
    fate = rng.random()
    if fate < 0.3:
        said = said[: rng.randrange(len(said))]
    elif fate < 0.5:
        spot = rng.randrange(len(said))
        said = said[:spot] + rng.randbytes(1) + said[spot + 1 :]
    with suppress(OSError), connect(target.url) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cuts = sorted(rng.randrange(len(said) + 1) for _ in range(rng.choice([0, 0, 1, 3])))
        for first, last in zip([0, *cuts], [*cuts, len(said)], strict=True):
            connection.sendall(said[first:last])
            time.sleep(rng.choice([0, 0, 0.002]))
        end = rng.choice(["reset", "half", "read", "close"])
        if end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif end == "half":
            connection.shutdown(socket.SHUT_WR)
        if end in ("half", "read"):
            connection.settimeout(0.05)
            connection.recv(rng.choice([1, 100_000]))


def main() -> None:
    """The long run: `make soak`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="how long, about")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats the peers' decisions; printed")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)  # noqa: T201
    end, rng, rounds, sent = time.monotonic() + arguments.seconds, random.Random(arguments.seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="hubbub-hostile-") as folder, target(Path(folder)) as victim:
        victim.ask("POST", victim.path, victim.batch(rng))
        before, sent = victim.memory(), 1
        while time.monotonic() < end:
            with ExitStack() as stack:
                for _ in range(rng.choice([70, 200])):
                    said = half_upload(victim.path, rng.choice([MIB - 1000, 500_000]))
                    with suppress(OSError):
                        stack.enter_context(connect(victim.url, said))
                sent += _must_take(victim, rng)
            kinds = floods(victim.path)
            for name in rng.sample(sorted(kinds), 3):
                assert flood(victim, kinds[name]) == kinds[name].status, name
                sent += _must_take(victim, rng)
            for _ in range(200):
                harass(victim, rng)
            sent += _must_take(victim, rng)
            rounds += 1
            grown = (victim.memory() - before) / MIB
            print(f"{rounds} rounds, {sent} uploads taken, {grown:.0f} MiB more", flush=True)  # noqa: T201
            assert grown < 2 * 64 + 64, "as much as the room for uploads, twice, and a little"
        assert victim.failures() == []
        assert victim.counted() >= sent


def _must_take(victim: Target, rng: random.Random) -> int:
    """One: the number of uploads that were taken."""
    status, said = victim.ask("POST", victim.path, victim.batch(rng))
    assert status == 200, (status, said)
    assert victim.ask("GET", "/v1/surveys", Authorization=f"Bearer {victim.token}")[0] == 200
    return 1


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
