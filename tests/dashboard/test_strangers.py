"""What a stranger can ask a collector for costs it nothing that grows, and nothing in the loop that serves uploads."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.collector.service import PATIENCE, Service

from hubbub import Categories, create_survey
from hubbub.analysis import wording
from hubbub.collector import api_page, metrics, uploads
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard import home, rendering
from hubbub.dashboard.app import create_app
from hubbub.store import keys
from hubbub.store.keys import make_code
from hubbub.store.overview import count_surveys, list_surveys
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token

pytestmark = pytest.mark.slow

LOOP = "hubbub-server"  # the thread in which `serving` runs the loop
NAMES = 20_000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A collector with its dashboard, and with a survey whose long list begins with names that cannot be shown."""
    with Store(str(tmp_path / "a.db")) as store:
        names = [f"\u202e{number}" for number in range(NAMES)]
        store.add_survey(create_survey("long list", Categories(names), 1))
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
        with serving(collector, build=create_app) as url:
            yield Service(url, store, collector, replace_token(store.engine))


@pytest.fixture
def survey_id(service: Service) -> str:
    """The id of the survey with the long list."""
    return list_surveys(service.store.engine)[0].survey_id.hex()


class Calls:
    """Counts the calls of a function, and notes in which threads they were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.threads: list[str] = []
        self.results: list[Any] = []
        real: Callable[..., Any] = getattr(module, name)

        def counted(*args: Any, **named: Any) -> Any:
            self.threads.append(threading.current_thread().name)
            self.results.append(real(*args, **named))
            return self.results[-1]

        monkeypatch.setattr(module, name, counted)


def test_the_public_page_is_made_once(service: Service, survey_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked for, it is rendered once, not in the loop, and without a walk through the names."""
    rendered, shown = Calls(monkeypatch, rendering, "render"), Calls(monkeypatch, wording, "visible")
    replies = [service.ask("GET", f"/about/{survey_id}", Accept="text/html") for _ in range(5)]
    assert {(reply.status, reply.body) for reply in replies} == {(200, replies[0].body)}
    assert len(rendered.threads) == 1
    assert LOOP not in rendered.threads + shown.threads
    assert 0 < len(shown.threads) < 1000 < NAMES


def test_the_public_page_follows_the_survey(service: Service, survey_id: str) -> None:
    """A page that was made while the survey was open is not shown once it is closed; the owner has links of her own."""
    path = f"/about/{survey_id}"
    assert 'class="badge open"' in service.ask("GET", path, Accept="text/html").body.decode()
    code = make_code(service.store.engine)
    login = service.ask("POST", "/login", json.dumps({"code": code}).encode(), Origin=service.url)
    cookie = login.headers["set-cookie"].partition(";")[0]
    assert "Log out" in service.ask("GET", path, Accept="text/html", Cookie=cookie).body.decode()
    assert service.ask("POST", f"/v1/surveys/{survey_id}/close", owner=True).status == 200
    page = service.ask("GET", path, Accept="text/html").body.decode()
    assert 'class="badge closed"' in page
    assert "Log out" not in page


def test_other_public_pages_are_made_once(service: Service, survey_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The login page, the page about the routes and the packed survey, too."""
    rendered = Calls(monkeypatch, rendering, "render")
    described = Calls(monkeypatch, api_page, "api_page")
    packed = Calls(monkeypatch, uploads.gzip, "compress")
    for path in ("/login", "/docs", "/openapi.json", f"/v1/surveys/{survey_id}"):
        replies = [service.ask("GET", path, Accept_Encoding="gzip") for _ in range(3)]
        assert {(reply.status, reply.body) for reply in replies} == {(200, replies[0].body)}
    assert gzip.decompress(replies[0].body) == service.ask("GET", f"/v1/surveys/{survey_id}").body
    for calls in (rendered, described, packed):
        assert len(calls.threads) == 1
        assert LOOP not in calls.threads


def test_metrics_read_the_surveys_now_and_then(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gauges of all surveys are read once for many requests, and never in the loop; counters are those of now."""
    listed = Calls(monkeypatch, metrics, "list_surveys")
    monkeypatch.setattr(metrics, "FACTS_SECONDS", 1e9)
    first, *others = (service.ask("GET", "/metrics").body.decode() for _ in range(5))
    assert len(listed.threads) == 1
    assert LOOP not in listed.threads
    assert "hubbub_damaged_surveys 0.0" in first.splitlines()
    service.ask("GET", "/v1/surveys")
    assert "hubbub_owner_refusals_total 1.0" in service.ask("GET", "/metrics").body.decode().splitlines()
    gauges = [text[text.index("# HELP hubbub_survey_reports") :] for text in (first, *others)]
    assert set(gauges) == {gauges[0]}


def test_the_home_page_reads_what_it_shows(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many surveys only those on the page are read; a stranger causes no reading at all."""
    engine = service.store.engine
    for number in range(home.CARDS + 3):
        service.store.add_survey(create_survey(f"survey {number}.", Categories(["a", "b"]), 1, mechanism="subset"))
    assert count_surveys(engine) == home.CARDS + 4
    everything = list_surveys(engine)[::-1]
    assert list_surveys(engine, newest=(home.CARDS, home.CARDS)) == everything[home.CARDS :]
    listed = Calls(monkeypatch, home, "list_surveys")
    assert service.ask("GET", "/", Accept="text/html").status == 303
    assert listed.results == []
    code = make_code(engine)
    login = service.ask("POST", "/login", json.dumps({"code": code}).encode(), Origin=service.url)
    cookie = login.headers["set-cookie"].partition(";")[0]
    for page in ("/", "/?page=2"):
        assert service.ask("GET", page, Accept="text/html", Cookie=cookie).status == 200
    assert listed.results == [everything[: home.CARDS], everything[home.CARDS :]]
    assert LOOP not in listed.threads


def test_wrong_codes_lock_nobody_out(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many wrong codes and made-up sessions write nothing; then a right code logs in from the same address."""
    code = make_code(service.store.engine)
    written = Calls(monkeypatch, keys, "writing")
    cookie = f"hubbub-{service.url.rpartition(':')[2]}={'A' * 32}"
    for number in range(50):
        wrong = json.dumps({"code": f"{code[:-4]}{number:04d}"}).encode()
        assert service.ask("POST", "/login", wrong, Origin=service.url).kind == "wrong-code"
    assert service.ask("POST", "/logout", b"", Origin=service.url, Cookie=cookie).status == 303
    assert written.threads == []
    right = json.dumps({"code": code}).encode()
    assert service.ask("POST", "/login", right, Origin=service.url).status == 204
    assert len(written.threads) == 1
    assert "hubbub_owner_refusals_total 50.0" in service.ask("GET", "/metrics").body.decode().splitlines()


def test_codes_are_too_many_to_guess(service: Service) -> None:
    """A code is 24 random bytes in 32 letters, so no limit on wrong ones is needed."""
    codes = {make_code(service.store.engine) for _ in range(20)}
    assert len(codes) == 20
    assert {len(base64.urlsafe_b64decode(code)) for code in codes} == {24}


DEEP = b"[" * 500
NESTED = [DEEP, b'{"code":' * 120, b'{"code": "' + b"x" * (1 << 19) + b'"}', b"[" * (1 << 19)]


@pytest.mark.parametrize("body", NESTED, ids=["list", "objects", "long", "very deep"])
def test_nested_logins(service: Service, body: bytes) -> None:
    """However deep or long a login is, it is refused with a problem document."""
    reply = service.ask("POST", "/login", body, Origin=service.url)
    assert (reply.status, reply.kind) == ((400, "bad-request") if len(body) < 1024 else (413, "too-large"))


def test_nested_documents_of_the_owner(service: Service) -> None:
    """The owner's own routes refuse nested JSON in the same way."""
    body = b'{"name": "x", "epsilon": 1, "domain": ' + b'{"kind":' * 100_000 + b"1" + b"}" * 100_001
    reply = service.ask("POST", "/v1/surveys", body, owner=True, Content_Type="application/json")
    assert (reply.status, reply.kind) in ((400, "bad-request"), (422, "invalid-request"))
