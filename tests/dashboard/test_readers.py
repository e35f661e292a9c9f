"""Read-only tokens: what they read, and that everything else is refused, on every route that there is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from click.testing import CliRunner
from tests.collector.service import PATIENCE, Reply, Service
from tests.store.earlier import turn_back

from hubbub import Categories, create_survey
from hubbub.cli.main import app as command_line
from hubbub.collector.bodies import Budget
from hubbub.collector.owner_route import OwnerRoute
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard import access
from hubbub.dashboard.app import create_app
from hubbub.errors import ParameterError, UnknownSite, UnknownSurvey
from hubbub.model.mechanism import Histogram
from hubbub.store.keys import end_sessions, is_session, make_code, open_reading, session_reader
from hubbub.store.life_cycle import delete_survey
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.readers import add_reader, readers_by_hash, revoke_reader
from hubbub.store.restoring import restore
from hubbub.store.schema import writing
from hubbub.store.sites import add_site, ask_existing, delete_site, remove_question
from hubbub.store.slices import date_of, slice_of
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.tokens import replace_token
from hubbub.store.upkeep import backup

pytestmark = pytest.mark.slow

SURVEY = "/v1/surveys/{survey_id}"
READ = {f"GET {SURVEY}/{part}" for part in ("status", "hitters", "hitters.csv", "trend", "slices", "names")}
"""What a token may do that nobody may without one."""
SEEN = {f"GET /read{part}" for part in ("", "/{s}", "/{s}/answer.json", "/{s}/answer.csv", "/{s}/trend")}
SEEN = {each.replace("{s}", "{survey_id}") for each in SEEN} | {"GET /session"}
"""What its session may do."""


def add(store: Store, name: str, weeks: tuple[int, ...]) -> StoredSurvey:
    """Add a survey with so many reports in each week, the last of which goes on."""
    stored = store.add_survey(create_survey(name, Categories(["a", "b"]), 2, mechanism="subset"))
    monday = slice_of(int(time.time()) // 86_400, 7)
    for back, people in enumerate(reversed(weeks)):
        crowd = Histogram(stored.survey.domain.encode(["a", "b"]), np.array([people // 2, people - people // 2]))
        tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(back))
        merge_tally(store, stored.survey_id, str(back), bytes(32), tally, monday - 7 * back)
    return stored


class Reading(Service):
    """A collector with two surveys, of which a token reads the first."""

    mine: str
    other: str
    reader: str

    def read(self, path: str, token: str = "", **headers: str) -> Reply:
        """Ask with the read-only token."""
        return self.ask("GET", path, Authorization=f"Bearer {token or self.reader}", **headers)

    def log_in(self, code: str) -> str:
        """Log in with a link; return the cookie."""
        reply = self.ask("POST", "/login", json.dumps({"code": code}).encode(), Origin=self.url)
        return reply.headers["set-cookie"].partition(";")[0] if reply.status == 204 else ""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Reading]:
    """The collector with its dashboard."""
    with Store(str(tmp_path / "a.db")) as store:
        mine, other = add(store, "mine", (300, 200, 100)), add(store, "other", (50,))
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=60.0)
        with serving(collector, build=create_app) as url:
            started = Reading(url, store, collector, replace_token(store.engine))
            started.mine, started.other = mine.survey_id.hex(), other.survey_id.hex()
            started.reader = add_reader(store.engine, "the editors", [mine.survey_id])[1]
            yield started


def all_routes(service: Reading) -> list[Any]:
    """Return all routes of the application, also those of routers in it."""
    routes: list[Any] = list(create_app(service.collector).routes)
    return [
        inner
        for each in routes
        for inner in (each.original_router.routes if hasattr(each, "original_router") else [each])
    ]


def let_in(service: Reading, survey_id: str, token: str = "", in_session: bool = False) -> set[str]:
    """Return all routes of the application that let somebody in: every method of every route is tried."""
    found = set()
    for route in all_routes(service):
        for method in sorted(route.methods - {"HEAD"}):
            path = route.path.replace("{survey_id}", survey_id).replace("{token_id}", "0" * 16)
            path = path.replace("{site}", "0" * 32).replace("{name}", "style.css").replace("{rest}", "x.js")
            headers = {"Origin": service.url, **({"Authorization": f"Bearer {token}"} if token else {})}
            if in_session:  # a new one for each route, since one of them ends it
                headers["Cookie"] = service.log_in(service.reader)
            reply = service.ask(method, path, None if method == "GET" else b"", **headers)
            if reply.status not in (401, 403, 429) and reply.headers.get("location") != "/login":
                found.add(f"{method} {route.path}")
    return found


def both(service: Reading, survey_id: str) -> tuple[set[str], set[str]]:
    """Return what a token and what its session may do beyond what strangers may."""
    strangers = let_in(service, survey_id)
    return let_in(service, survey_id, service.reader) - strangers, let_in(service, survey_id, "", True) - strangers


def test_every_route_refuses_what_only_reads(service: Reading) -> None:
    """Of all routes, a token and its session get those that read its survey; of another survey, none."""
    assert len(all_routes(service)) > 40
    assert both(service, service.mine) == (READ, SEEN)
    assert both(service, service.other) == (set(), {"GET /read", "GET /session"})
    assert service.ask("GET", f"/v1/surveys/{service.mine}/status", owner=True).json["state"] == "open", (
        "nothing happened"
    )


def test_routes_that_forget_to_refuse_are_noticed(service: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants: owner's routes that let readers in, pages that take any session, readers that read everything."""
    with monkeypatch.context() as patch:
        patch.setattr(OwnerRoute, "for_readers", True)
        assert f"POST {SURVEY}/close" in both(service, service.mine)[0] - READ
    with monkeypatch.context() as patch:
        patch.setattr(access, "is_session", lambda engine, key: session_reader(engine, key) is not None)
        assert "GET /new" in both(service, service.mine)[1] - SEEN
    with monkeypatch.context() as patch:
        patch.setattr(access, "check_reader", lambda *_: None)
        assert "GET /read/{survey_id}" in both(service, service.other)[1]


def test_refusals_say_why(service: Reading) -> None:
    """Problem documents for programs, pages for people; no Bearer, half a token and a session key are no tokens."""
    path = f"/v1/surveys/{service.mine}"
    assert service.read("/v1/surveys").kind == "read-only"
    assert service.read(f"/v1/surveys/{service.other}/status").kind == "not-for-token"
    assert service.read(f"/v1/surveys/{'0' * 64}/status").kind == "not-for-token"
    assert service.read(f"{path}/status?live=1").kind == "invalid-request"
    session = open_reading(service.store.engine, service.reader) or ""
    for wrong in (service.reader[:-1], service.reader + "A", session, service.reader.swapcase()):
        assert service.read(f"{path}/status", wrong).kind == "unauthorized"
    cookie = service.log_in(service.reader)
    page = service.ask("GET", "/new", Accept="text/html", Cookie=cookie)
    assert (page.status, b"only reads answers" in page.body) == (403, True)
    assert service.ask("GET", "/", Accept="text/html", Cookie=cookie).headers["location"] == "/read"


def test_only_slices_that_have_ended(service: Reading) -> None:
    """In every reply the slice that goes on is left out, unless the owner ticked live; ranges cannot bring it back."""
    path, today = f"/v1/surveys/{service.mine}", slice_of(int(time.time()) // 86_400, 7)
    live = add_reader(service.store.engine, "live", None, live=True)[1]
    for token, reports, weeks in ((service.reader, 500, 2), (live, 600, 3)):
        assert service.read(f"{path}/status", token).json["reports"] == reports
        assert service.read(f"{path}/hitters", token).json["reports"] == reports
        assert len(service.read(f"{path}/slices", token).json["slices"]) == weeks
        trend = service.read(f"{path}/trend", token).json
        assert [each["reports"] for each in trend["periods"]] == [300, 200, 100][:weeks]
        assert service.read(f"{path}/hitters?to={date_of(today + 7)}", token).json["reports"] == reports
        assert service.read(f"{path}/hitters?last=1w", token).json["reports"] == (200 if token != live else 100)
        text = service.read(f"{path}/hitters.csv", token).body.decode("utf-8-sig")
        assert text.startswith("value,")
        assert text.count("\n") == 4
    refused = service.read(f"{path}/hitters?from={date_of(today)}")
    assert "when the last slice ended" in refused.json["detail"]
    page = f"/read/{service.mine}"
    cookies = [service.log_in(token) for token in (service.reader, live)]
    shown = [service.ask("GET", page, Accept="text/html", Cookie=cookie).body.decode() for cookie in cookies]
    assert ["from 500 reports" in shown[0], "from 600 reports" in shown[1]] == [True, True]
    files = [service.ask("GET", f"{page}/answer.json", Cookie=cookie).json["reports"] for cookie in cookies]
    assert files == [500, 600]
    assert b"other" in service.ask("GET", "/read", Cookie=cookies[1]).body
    assert b"other" not in service.ask("GET", "/read", Cookie=cookies[0]).body
    # A survey that is closed and does not repeat has its final sums.
    assert service.ask("POST", f"{path}/close", owner=True).status == 200
    assert service.read(f"{path}/hitters").json["reports"] == 600


def test_the_first_slice_goes_on(service: Reading) -> None:
    """Before any slice has ended there is nothing to see, and that is said."""
    token = add_reader(service.store.engine, "early", [bytes.fromhex(service.other)])[1]
    path = f"/v1/surveys/{service.other}"
    assert service.read(f"{path}/status", token).json["reports"] == 0
    answer = service.read(f"{path}/hitters", token).json
    assert (answer["reports"], service.read(f"{path}/slices", token).json) == (0, {"slices": []})
    page = service.ask("GET", f"/read/{service.other}", Cookie=service.log_in(token)).body.decode()
    assert "There is an answer when the first slice of time with reports has ended." in page


def test_revoked_at_once(service: Reading) -> None:
    """A revoked token and the sessions of its link read nothing from the next request on; others go on."""
    other = service.ask("POST", "/v1/tokens", {"name": "a", "surveys": None}, owner=True).json
    cookie, path = service.log_in(service.reader), f"/v1/surveys/{service.mine}/status"
    assert [service.read(path, token).status for token in (service.reader, other["token"])] == [200, 200]
    (mine,) = (each for each in service.ask("GET", "/v1/tokens", owner=True).json["tokens"] if each["name"] != "a")
    assert mine["surveys"] == [service.mine]
    assert service.ask("DELETE", f"/v1/tokens/{mine['id']}", owner=True).status == 204
    assert service.ask("DELETE", f"/v1/tokens/{mine['id']}", owner=True).kind == "not-found"
    assert [service.read(path, token).status for token in (service.reader, other["token"])] == [401, 200]
    assert service.ask("GET", "/read", Accept="*/*", Cookie=cookie).status == 401
    assert service.log_in(service.reader) == ""


def test_tokens_are_stored_as_hashes(service: Reading, tmp_path: Path) -> None:
    """Neither the database nor a list has the text of a token, of which only the reply that made it has one."""
    made = service.ask("POST", "/v1/tokens", {"name": "b", "surveys": [service.mine], "live": True}, owner=True)
    assert made.headers["cache-control"] == "no-store"
    token = made.json["token"]
    assert token not in service.ask("GET", "/v1/tokens", owner=True).body.decode()
    backup(service.store, tmp_path / "copy.db")
    assert token.encode() not in (tmp_path / "copy.db").read_bytes()


def test_the_page_of_the_owner(service: Reading) -> None:
    """The dashboard makes a link, shows it once, lists who has what, and revokes; a wrong form is told why."""
    cookie = service.log_in(make_code(service.store.engine))

    def send(path: str, *fields: tuple[str, str]) -> Reply:
        return service.ask(
            "POST", path, urlencode(fields).encode(), Origin=service.url, Cookie=cookie, Accept="text/html"
        )

    made = send("/tokens", ("name", "<b>board</b>"), ("survey", service.mine), ("survey", service.other)).body.decode()
    link = made.partition("/login#")[2].partition("<")[0]
    assert "&lt;b&gt;board" in made
    assert service.log_in(link)
    page = service.ask("GET", "/tokens", Cookie=cookie, Accept="text/html").body.decode()
    assert link not in page
    assert "<bdi>mine</bdi>, <bdi>other</bdi>" in page
    for fields in (
        [("name", "x")],
        [("name", "the editors"), ("survey", "all")],
        [("name", "y"), ("survey", "0" * 64)],
    ):
        refused = send("/tokens", *fields)
        assert (refused.status, 'role="alert"' in refused.body.decode()) == (422, True)
    found = next(each for each in readers_by_hash(service.store.engine).values() if "board" in each.name)
    assert send(f"/tokens/{found.id}/revoke").headers["location"] == "/tokens"
    assert service.log_in(link) == ""


def test_the_commands(service: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hubbub token new`, `list` and `revoke`, with their JSON."""
    monkeypatch.setenv("HUBBUB_SERVER", service.url)
    monkeypatch.setenv("HUBBUB_TOKEN", service.token)

    def run(*words: str) -> Any:
        result = CliRunner().invoke(command_line, ["token", *words])
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout) if "--json" in words else result.stdout

    made = run("new", "press", "--survey", f"{service.url}/v1/surveys/{service.mine}", "--live", "--json")
    assert made["link"] == f"{service.url}/login#{made['token']}"
    assert service.read(f"/v1/surveys/{service.mine}/status", made["token"]).json["reports"] == 600
    assert sorted(each["name"] for each in run("list", "--json")["tokens"]) == ["press", "the editors"]
    assert "slices that have ended" in run("list")
    assert run("revoke", "press", "--json")["revoked"] is True
    assert CliRunner().invoke(command_line, ["token", "revoke", "press"]).exit_code == 2
    assert "Link: http" in run("new", "everybody")


def test_what_a_token_is_for(service: Reading) -> None:
    """Names are unique and plain; a token for nothing is refused; unknown surveys are; nothing is left of a refusal."""
    engine = service.store.engine
    mine = bytes.fromhex(service.mine)
    for name, wanted in (("", None), ("x" * 61, None), ("a\u202eb", None), ("the editors", None), ("none", [])):
        with pytest.raises(ParameterError):
            add_reader(engine, name, wanted)
    with pytest.raises(UnknownSurvey):
        add_reader(engine, "half", [mine, bytes(32)])
    assert [each.name for each in readers_by_hash(engine).values()] == ["the editors"]
    assert add_reader(engine, "half", [mine, mine])[0].surveys == {service.mine}
    assert not revoke_reader(engine, "")
    assert not revoke_reader(engine, "%")


def test_all_questions_of_a_site(service: Reading) -> None:
    """A token for a site reads the questions that it has now, whichever they are; a deleted site leaves nothing."""
    store = service.store
    site = add_site(store, "shop", every=None)
    token = service.ask("POST", "/v1/tokens", {"name": "shop", "sites": [site.site]}, owner=True).json
    assert (token["surveys"], token["sites"]) == ([], [site.site])
    path = f"/v1/surveys/{service.mine}/status"
    assert service.read(path, token["token"]).kind == "not-for-token"
    ask_existing(store, site.site, "own", "a", store.survey(bytes.fromhex(service.mine)))
    assert service.read(path, token["token"]).status == 200
    remove_question(store, site.site, bytes.fromhex(service.mine))
    assert service.read(path, token["token"]).kind == "not-for-token"
    ask_existing(store, site.site, "own", "a", store.survey(bytes.fromhex(service.mine)))
    delete_site(store, site.site)
    assert service.read(path, token["token"]).kind == "not-for-token"
    with pytest.raises(UnknownSite):
        add_reader(store.engine, "none", None, of_sites=[site.site])


def test_deleted_copied_and_brought_up_to_date(service: Reading, tmp_path: Path) -> None:
    """A deleted survey leaves the lists; a copy has the tokens and none of the sessions; older databases get tables."""
    engine = service.store.engine
    add_reader(engine, "both", [bytes.fromhex(each) for each in (service.mine, service.other)])
    session = open_reading(engine, service.reader) or ""
    backup(service.store, tmp_path / "copy.db")
    delete_survey(service.store, bytes.fromhex(service.mine))
    assert {each.name: set(each.surveys) for each in readers_by_hash(engine).values()} == {
        "the editors": set(),
        "both": {service.other},
    }
    assert session_reader(engine, session) is not None
    assert not is_session(engine, session)
    assert end_sessions(engine) == 1
    restore(tmp_path / "copy.db", str(tmp_path / "new.db"))
    with Store(str(tmp_path / "new.db")) as new:
        assert sorted(len(each.surveys) for each in readers_by_hash(new.engine).values()) == [1, 2]
        assert session_reader(new.engine, session) is None
        key = open_reading(new.engine, service.reader) or ""
        with writing(new.engine) as connection:
            turn_back(connection, 10)
    with Store(str(tmp_path / "new.db")) as again:
        assert is_session(again.engine, key), "sessions of then were the owner's"
        assert readers_by_hash(again.engine) == {}
