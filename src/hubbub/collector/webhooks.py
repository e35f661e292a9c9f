"""Sends answers to the webhooks of owners: over TLS, to public addresses only, signed, and not for long.

The owner names the address, but the request comes from the collector's machine, which may reach what strangers may not.
So the name is resolved once, every address that it has must be public, and the connection goes to one that was checked.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from hubbub.collector.published_document import document_of
from hubbub.errors import HubbubError
from hubbub.store.pages import page_of
from hubbub.store.store import Store
from hubbub.store.webhooks import check_url, delivered, next_delivery

SECONDS: Final = 10.0
"""How long a delivery may take in all: the name, the connection and the reply."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")

log = logging.getLogger("hubbub.collector")


class NotDelivered(HubbubError):
    """A webhook did not take an answer; the sentence has nothing of its address but the host."""


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet. Those that stand for another address are not.

    >>> [is_public(each) for each in ("192.0.2.1", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:8.8.8.8")]
    [False, False, False, False, False]
    >>> is_public("8.8.8.8"), is_public("2001:4860:4860::8888")
    (True, True)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # with a zone, for example
        return False
    if isinstance(found, ipaddress.IPv6Address) and (
        found.ipv4_mapped or found.sixtofour or found.teredo or found in _NAT64 or found.is_site_local
    ):
        return False
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


class Sender:
    """Sends one thing at a time.

    Parameters
    ----------
    is_allowed : callable
        Whether an address may be connected to. Only tests, whose servers are on this machine, give another one.
    context : SSLContext, optional
        The trusted certificates; by default those of the system.
    seconds : float
        How long a delivery may take.
    """

    def __init__(
        self,
        is_allowed: Callable[[str], bool] = is_public,
        context: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._is_allowed, self._context, self._seconds = is_allowed, context, seconds

    def send(self, url: str, secret: str, body: bytes, name: str) -> None:
        """Send a body to an address. Raises NotDelivered unless the reply is a 2xx; redirects are not followed."""
        check_url(url)
        parts, deadline = urlsplit(url), time.monotonic() + self._seconds
        host, port = str(parts.hostname), parts.port or 443
        try:
            plain = self._connect(self._addresses(host, port, deadline), port, deadline)
        except OSError:
            raise NotDelivered(f"{host} cannot be reached") from None
        context = self._context or ssl.create_default_context()
        safe = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        # Timeouts of sockets are about each step, and a peer that drips would never end: this ends it in any case.
        watchdog = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, [safe])
        watchdog.daemon = True
        watchdog.start()
        try:
            with safe:
                safe.do_handshake()
                status = _post(safe, parts.netloc, parts.path or "/", parts.query, _signed(body, secret, name), body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = "its certificate is not trusted" if isinstance(error, ssl.SSLCertVerificationError) else "no reply"
            raise NotDelivered(f"{host} took nothing ({reason})") from None
        finally:
            watchdog.cancel()
        if not 200 <= status < 300:
            raise NotDelivered(f"{host} replied with status {status}")

    def _addresses(self, host: str, port: int, deadline: float) -> list[str]:
        """Return the addresses of a host, all of which are allowed. Resolving has no timeout of its own."""
        found: list[str] = []

        def resolve() -> None:
            """Ask for the addresses, in a thread."""
            with suppress(OSError, UnicodeError):
                told = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                found.extend(dict.fromkeys(str(each[4][0]) for each in told))

        asking = threading.Thread(target=resolve, daemon=True)
        asking.start()
        asking.join(max(0.0, deadline - time.monotonic()))
        if asking.is_alive() or not found:
            raise NotDelivered(f"{host} has no address")
        if not all(map(self._is_allowed, found)):
            raise NotDelivered(f"{host} is no public address")
        return found

    def _connect(self, addresses: list[str], port: int, deadline: float) -> socket.socket:
        """Return a connection to the first of these addresses that takes one. No name is resolved here."""
        for place, address in enumerate(addresses):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            with suppress(OSError):
                return socket.create_connection((address, port), left / (len(addresses) - place))
        raise OSError


def _post(safe: ssl.SSLSocket, host: str, path: str, query: str, headers: dict[str, str], body: bytes) -> int:
    """Send a request over a connection; return the status of the reply. Its body is not read."""
    connection = http.client.HTTPConnection("unused")
    connection.sock = safe
    connection.request("POST", f"{path}?{query}" if query else path, body, {"Host": host, **headers})
    return connection.getresponse().status


def _signed(body: bytes, secret: str, name: str) -> dict[str, str]:
    """Return the headers of a delivery."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "hubbub",
        "Hubbub-Delivery": name,
        "Hubbub-Signature": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}",
    }


def _cut(safe: ssl.SSLSocket) -> None:
    """End a connection at once, whatever it waits for."""
    with suppress(OSError):
        safe.shutdown(socket.SHUT_RDWR)


class Webhooks:
    """Sends what waits in a store, in a thread of its own: never in the loop, nor in the thread for folds."""

    def __init__(self, store: Store, sender: Sender | None = None) -> None:
        self._store, self._sender = store, sender or Sender()
        self._thread: threading.Thread | None = None

    def turn(self, now: int) -> None:
        """Begin to send what is to be sent, unless something is being sent. Costs one read."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._send, args=[now], name="hubbub-webhooks", daemon=True)
            self._thread.start()

    def _send(self, now: int) -> None:
        """Send all that waits, one after the other; the body of the thread."""
        try:
            while self.send_next(now):
                pass
        except HubbubError as error:
            log.warning("webhooks will be tried again: %s", error)
        except Exception:
            log.exception("webhooks will be tried again")

    def send_next(self, now: int) -> bool:
        """Send one answer, if one is to be sent at this time; return whether there was one."""
        delivery = next_delivery(self._store.engine, now)
        if delivery is None:
            return False
        stored = self._store.survey(delivery.survey_id)
        document = document_of(stored, page_of(self._store.engine, delivery.survey), delivery.made)
        name = f"{delivery.survey_id.hex()}:{document['until']}"
        try:
            body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
            self._sender.send(delivery.url, delivery.secret, body, name)
        except NotDelivered as error:
            again = "it is not tried again" if delivery.is_last else "it is tried again later"
            log.warning("the webhook of survey %s was not reached: %s; %s", name[:8], error, again)
        else:
            delivered(self._store.engine, delivery)
        return True
