"""A running collector for tests, and a small client for it: real HTTP on a real port."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.collector.own_cell import build

from hubbub.collector.bodies import Budget
from hubbub.collector.clock import Clock
from hubbub.collector.rates import Rates
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token

PATIENCE = 60.0


class Reply(NamedTuple):
    """What a collector says."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """What kind of problem it is, once its shape is seen to be that of RFC 9457."""
        assert self.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail"} <= set(self.json)
        assert self.json["status"] == self.status
        assert "\n" not in self.json["detail"]
        return self.json["type"].removeprefix("urn:hubbub:problem:")


class Service:
    """A collector with the owner's token."""

    def __init__(self, url: str, store: Store, collector: Collector, token: str) -> None:
        self.url, self.store, self.collector, self.token = url, store, collector, token

    def ask(self, method: str, path: str, body: bytes | object = None, owner: bool = False, **headers: str) -> Reply:
        """One request on a connection of its own."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if owner:
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, bytes):
            body, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def upload(self, survey_id: bytes, body: bytes, **headers: str) -> Reply:
        """Send a batch."""
        return self.ask("POST", f"/v1/surveys/{survey_id.hex()}/reports", body, **headers)


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Ask again and again until it is true; fail after so long."""
    patience = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < patience, "it did not become true"
        time.sleep(0.01)


@contextmanager
def running(
    database: str,
    budget: Budget | None = None,
    fold_seconds: float = 0.2,
    clock: Clock | None = None,
    head_seconds: float = PATIENCE,
    rates: Rates | None = None,
    **more: Any,
) -> Iterator[Service]:
    """A collector on a database. Nothing is refused because the machine is slow, unless a test asks for it."""
    budget = budget or Budget(commit_seconds=PATIENCE)
    with Store(database, build) as store:
        token = replace_token(store.engine)
        collector = Collector(store, budget, fold_seconds, clock, rates)
        with serving(collector, head_seconds=head_seconds, **more) as url:
            yield Service(url, store, collector, token)
