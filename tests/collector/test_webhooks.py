"""Webhooks against real servers with TLS on this machine, which only the `is_allowed` of a test permits."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.collector.service import PATIENCE, Service, wait_until

from hubbub import Categories, create_survey
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.collector.webhooks import NotDelivered, Sender, Webhooks, is_public
from hubbub.errors import ParameterError
from hubbub.model.mechanism import Histogram
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.pages import Page, change_page
from hubbub.store.publications import due, publish
from hubbub.store.slices import day_now, slice_of
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.webhooks import WAITS, check_url

pytestmark = pytest.mark.slow

NOW = datetime.now(UTC)


class Hook:
    """A server that takes what is sent, and says what a test wants."""

    def __init__(self, certificate: Path) -> None:
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        self.status, self.drips = 204, False
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.taken.append((self.path, dict(self.headers), body))
                if hook.drips:
                    while True:  # a byte of a head that never ends, often enough for any timeout of a socket
                        self.wfile.write(b"H")
                        self.wfile.flush()
                        hook.stop.wait(0.02)
                self.send_response(hook.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.stop = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # peers that leave are the point
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_port}/hook?key=1"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(NOW - timedelta(days=1)).not_valid_after(NOW + timedelta(days=9))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
    signed = made.add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256())
    path: Path = tmp_path_factory.mktemp("tls") / "both.pem"
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*plain) + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def hook(certificate: Path) -> Iterator[Hook]:
    """The server."""
    started = Hook(certificate)
    threading.Thread(target=started.server.serve_forever, args=[0.01], daemon=True).start()
    yield started
    started.stop.set()
    started.server.shutdown()
    started.server.server_close()


@pytest.fixture
def sender(certificate: Path) -> Sender:
    """A sender that may reach this machine and trusts the certificate."""
    return Sender(lambda _: True, ssl.create_default_context(cafile=str(certificate)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(str(tmp_path / "a.db")) as opened:
        yield opened


def add(store: Store, url: str) -> tuple[StoredSurvey, str]:
    """Add a survey with reports of last week and a webhook; return it with the secret."""
    stored = store.add_survey(create_survey("x", Categories(["a", "hidden one"]), 2, mechanism="subset"))
    crowd = Histogram(stored.survey.domain.encode(["a", "hidden one"]), np.array([500, 300]))
    tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(1))
    merge_tally(store, stored.survey_id, "a", bytes(32), tally, slice_of(day_now(), 7) - 7)
    secret = change_page(store.engine, stored, Page(shown=True, hidden=("hidden one",), webhook=url))
    assert secret is not None
    return stored, secret


def test_a_collector_sends_what_everybody_may_read(store: Store, hook: Hook, sender: Sender) -> None:
    """Once, signed with the secret, byte for byte what the public route says, without what is withheld."""
    stored, secret = add(store, hook.url)
    collector = Collector(store, Budget(commit_seconds=PATIENCE), 0.1, sender=sender)
    with serving(collector) as url:
        wait_until(lambda: bool(hook.taken))
        service = Service(url, store, collector, "")
        shown = service.ask("GET", f"/v1/surveys/{stored.survey_id.hex()}/published").body
    [(path, headers, body)] = hook.taken
    assert (path, headers["Host"]) == ("/hook?key=1", hook.url.split("/")[2])
    assert body == shown
    assert b"hidden one" not in body
    assert headers["Hubbub-Signature"] == f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    assert headers["Hubbub-Delivery"] == f"{stored.survey_id.hex()}:{json.loads(body)['until']}"
    assert secret not in str(headers)
    assert not Webhooks(store, sender).send_next(int(NOW.timestamp()) + 10**6), "it has arrived"


def test_private_addresses_are_refused(hook: Hook, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector as it is served reaches nothing on its own machine or network, whatever a name says."""
    trusted = ssl.create_default_context(cafile=str(certificate))
    with pytest.raises(NotDelivered, match="localhost is no public address"):
        Sender(context=trusted).send(hook.url, "s", b"{}", "n")
    port, asked = hook.server.server_port, []

    def answer(addresses: list[str]) -> None:
        def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr("hubbub.collector.webhooks.socket.getaddrinfo", resolve)

    answer(["8.8.8.8", "127.0.0.1"])
    with pytest.raises(NotDelivered, match="no public address"):
        Sender(context=trusted).send(hook.url, "s", b"{}", "n")
    assert hook.taken == []
    # The name is resolved once: what it says later (DNS rebinding) has no say.
    answer(["127.0.0.1"])
    asked.clear()
    Sender(lambda address: address == "127.0.0.1", trusted).send(hook.url, "s", b"{}", "n")
    assert asked == ["localhost", "127.0.0.1"], "the name once, and then the address that was checked"
    assert len(hook.taken) == 1


PRIVATE = """
    127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255 224.0.0.1
    ::1 :: fe80::1 fe80::1%eth0 fc00::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 ff02::1 2002:7f00:1:: 2001:0:7f00:1:: fec0::1
"""


@pytest.mark.parametrize("address", [*PRIVATE.split(), "nonsense", ""])
def test_what_is_not_public(address: str) -> None:
    """Addresses of networks of one's own, and those that stand for others, are not."""
    assert not is_public(address)


def test_redirects_and_errors_are_no_success(hook: Hook, sender: Sender) -> None:
    """A redirect is not followed, and like an error it counts as not delivered; nothing of the path is told."""
    for status in (302, 307, 404, 500):
        hook.status = status
        with pytest.raises(NotDelivered, match=f"localhost replied with status {status}$"):
            sender.send(hook.url, "s", b"{}", "n")
    assert [path for path, *_ in hook.taken] == ["/hook?key=1"] * 4


def test_peers_that_mean_harm(hook: Hook, sender: Sender, certificate: Path) -> None:
    """Wrong certificates, plain text, closed ports and replies that drip for ever end in a sentence."""
    with pytest.raises(NotDelivered, match="certificate is not trusted"):
        Sender(lambda _: True).send(hook.url, "s", b"{}", "n")
    with pytest.raises(NotDelivered, match="certificate is not trusted"):
        sender.send(hook.url.replace("localhost", "127.0.0.1"), "s", b"{}", "n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        quick = Sender(lambda _: True, ssl.create_default_context(cafile=str(certificate)), seconds=0.3)
        with pytest.raises(NotDelivered, match="no reply"):
            quick.send(f"https://localhost:{port}/", "s", b"{}", "n")
    with pytest.raises(NotDelivered, match="cannot be reached"):
        sender.send(f"https://localhost:{port}/", "s", b"{}", "n")
    hook.drips = True
    with pytest.raises(NotDelivered, match="no reply"):
        quick.send(hook.url, "s", b"{}", "n")


def test_tries_are_bounded(store: Store, hook: Hook, sender: Sender) -> None:
    """Each try comes after a longer wait, also if the collector is killed in between; after the last there is none."""
    add(store, hook.url)
    publish(store, *due(store, NOW), NOW)
    hook.status = 500
    webhooks, now = Webhooks(store, sender), int(NOW.timestamp())
    for wait in (*WAITS, 10**9):
        assert webhooks.send_next(now)
        assert not webhooks.send_next(now + wait - 1)
        now += wait
    assert not webhooks.send_next(now)
    assert len(hook.taken) == 1 + len(WAITS)
    assert len({body for _, _, body in hook.taken}) == 1


def test_a_new_address_gets_nothing_old(store: Store, hook: Hook, sender: Sender) -> None:
    """What waited for another webhook is dropped; the secret of the new one is another."""
    stored, secret = add(store, "https://old.example/")
    publish(store, *due(store, NOW), NOW)
    assert change_page(store.engine, stored, Page(shown=True, webhook="https://old.example/")) is None
    assert change_page(store.engine, stored, Page(shown=True, webhook=hook.url)) not in (None, secret)
    assert not Webhooks(store, sender).send_next(int(NOW.timestamp()) + 10**6)
    assert hook.taken == []


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://example.org/",
            "https://",
            "https:///x",
            "ftp://example.org/",
            "example.org",
            "https://a:b@example.org/",
        ),
        *("https://example.org/#x", "https://example.org:0/", "https://example.org:99999/", "https://ex ample.org/"),
        *(
            "https://example.org/\r\nX: y",
            "https://exämple.org/",
            f"https://example.org/{'x' * 2_000}",
            "https://[::1/",
        ),
    ],
)
def test_addresses_that_do_not_fit(url: str) -> None:
    """They are refused when they are given; the sentence has nothing of them, since they may hold a secret."""
    with pytest.raises(ParameterError) as refused:
        check_url(url)
    assert "got" in str(refused.value)
    assert "a:b" not in str(refused.value)
