"""Everything that each side has, read in full: packets, files, logs. The relay cannot read, the gateway cannot name."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from tests.collector.service import running, wait_until
from tests.collector.test_gateway import relayed
from tests.relay.running import relay_process

from hubbub.store.tokens import replace_token

pytestmark = pytest.mark.slow

CROWD = 5
PEERS = [f"127.7.7.{number}" for number in range(11, 11 + CROWD)]
MARK = "mark-of-the-visitor"


class Tap:
    """Passes connections on to a server, and keeps every byte of both directions."""

    def __init__(self, server: str) -> None:
        host, _, port = server.removeprefix("http://").partition(":")
        self._server, self.up, self.down = (host, int(port)), bytearray(), bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                peer, address = self._listener.accept()
                # The other side sees the address of the peer, as it would without the tap.
                onward = socket.create_connection(self._server, source_address=(address[0], 0))
                for source, target, kept in ((peer, onward, self.up), (onward, peer, self.down)):
                    threading.Thread(target=self._copy, args=(source, target, kept), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
        with source, suppress(OSError):
            while data := source.recv(65536):
                kept += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()


@contextmanager
def tap(server: str) -> Iterator[Tap]:
    """A tap in front of a server."""
    made = Tap(server)
    try:
        yield made
    finally:
        made.close()


def spellings(address: str) -> list[bytes]:
    """How an address may be written: as text, as bytes in either order, in hexadecimal, and as a number."""
    raw = socket.inet_aton(address)
    numbers = [str(int.from_bytes(raw, order)).encode() for order in ("big", "little")]  # type: ignore[arg-type]
    return [address.encode(), raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode(), *numbers]


def send(url: str, peer: str, request: bytes) -> None:
    """Send a sealed request from this address, with everything that a browser might tell of its user."""
    address = url.removeprefix("http://")
    with closing(http.client.HTTPConnection(address, timeout=60, source_address=(peer, 0))) as connection:
        told = {"User-Agent": MARK, "Cookie": f"id={MARK}", "Referer": f"https://{MARK}.example/", "X-Mark": MARK}
        connection.request("POST", f"/v1/sealed?{MARK}", request, {**told, "Origin": f"https://{MARK}.example"})
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (202, b"{}")


def files_of(folder: Path) -> bytes:
    """All bytes of all files in a folder."""
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def test_nobody_sees_both(tmp_path: Path) -> None:
    """No address, no mark and no time reaches the gateway; no report, id, value or survey can be read at the relay."""
    ours, theirs = tmp_path / "collector", tmp_path / "relay"
    ours.mkdir()
    theirs.mkdir()
    with running(str(ours / "collector.db")) as service:
        survey, token = relayed(service, crowd=CROWD), replace_token(service.store.engine, "relay")
        reports = survey.reports(CROWD)
        before = b""
        with tap(service.url) as gateway, relay_process(theirs, gateway.url, token) as relay, tap(relay.url) as entry:
            for number, (peer, report) in enumerate(zip(PEERS, reports, strict=True)):
                if number == CROWD - 1:
                    before = files_of(theirs)  # what waits, and what is in the log of the database
                send(entry.url, peer, survey.seal(report))
            wait_until(lambda: service.store.tally(survey.stored.survey_id).count == CROWD)
            wait_until(lambda: relay.metric("on_their_way") == 0)
            at_relay = before + files_of(theirs)
        at_relay += files_of(theirs)
        packets = bytes(entry.up + entry.down + gateway.up + gateway.down)
        at_gateway = bytes(gateway.up + gateway.down) + files_of(ours)
        kept_by_relay = at_relay + bytes(gateway.up)

    assert MARK.encode() in entry.up  # the tap does see what peers tell
    for report in reports:
        for secret in (report, report[:16], report[:16].hex().encode(), survey.stored.survey_id):
            assert secret not in at_relay + packets
            assert secret.hex().encode() not in at_relay + packets
    assert MARK.encode() not in at_gateway + at_relay
    for peer in PEERS:
        for spelling in spellings(peer):
            if len(spelling) > 4:  # four bytes may be there by chance
                assert spelling not in at_gateway + kept_by_relay, spelling
    heads = re.findall(rb"POST [^\r]*\r\n(?:[^\r]+\r\n)+\r\n", bytes(gateway.up))
    assert len(heads) >= 1
    for head in heads:
        names = {line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:] if line}
        said = {b"host", b"content-length", b"content-type", b"authorization", b"user-agent", b"accept-encoding"}
        assert names <= {*said, b"connection"}, names
        assert head.startswith(b"POST /v1/releases HTTP/1.1\r\n")


def test_times_at_the_relay_are_days(tmp_path: Path) -> None:
    """The only number in the queue that tells of time is the day; no file has another column for it."""
    import sqlite3

    with running(str(tmp_path / "collector.db")) as service:
        survey = relayed(service, crowd=CROWD)
        with relay_process(tmp_path, service.url, "a-token") as relay:
            for request in survey.requests(3):
                assert relay.send(request).status == 202
    with closing(sqlite3.connect(tmp_path / "relay.db")) as connection:
        rows = connection.execute("SELECT * FROM waiting").fetchall()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(waiting)")]
    assert columns == ["key", "crowd", "digest", "day", "request"]
    assert len(rows) == 3
    assert {type(row[3]) for row in rows} == {int}
    assert len({row[3] for row in rows}) <= 2  # a test may run at midnight
    assert all(15_000 < row[3] < 200_000 for row in rows)
