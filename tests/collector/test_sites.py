"""Sites over HTTP: what browsers read, and what the owner does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.service import Service, running

from hubbub import name_lists
from hubbub.analysis.ready_made import KINDS, LANGUAGES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A collector."""
    folder: Path = tmp_path_factory.mktemp("sites")
    with running(str(folder / "a.db")) as started:
        yield started


def new_site(service: Service, **facts: object) -> dict:
    """Make a site; return what the collector says of it."""
    reply = service.ask("POST", "/v1/sites", {"name": "example.org"} | facts, owner=True)
    assert reply.status == 201, reply.body
    assert reply.headers["location"] == f"/v1/sites/{reply.json['site']}"
    return reply.json


def document(service: Service, survey_id: str) -> dict:
    """Return a survey's document."""
    return service.ask("GET", f"/v1/surveys/{survey_id}").json


def test_every_kind_of_question(service: Service) -> None:
    """Each is a survey with the values of its kind, the site's periods, and its part of the people."""
    of = {"search": "q", "goal": "signup", "own": "plan"}
    asked = [{"asks": kind} | ({"of": of[kind]} if kind in of else {}) for kind in KINDS]
    site = new_site(service, questions=asked, origins=["https://www.example.org"], expected_reports=9_000)
    assert [each["asks"] for each in site["questions"]] == list(KINDS)
    assert (site["each"], site["own"], site["every"], site["largest_epsilon"]) == (1_000, ["example.org"], 28, "1")
    domains = {}
    for each in site["questions"]:
        survey = document(service, each["survey_id"])
        assert (survey["every"], survey["opens"], survey["expected_reports"]) == (28, site["opens"], 1_000)
        assert survey["mechanism"] == ("subset" if survey["domain"]["kind"] == "categories" else "tree")
        assert each["origins"] == ["https://www.example.org"]
        domains[each["asks"]] = survey["domain"]
    rules = {kind: domain["normalization"] for kind, domain in domains.items() if domain["kind"] == "coded_text"}
    assert rules == {
        "referrer": "hostnames-2", "campaign": "text-1", "path": "text-1", "search": "words-1", "own": "text-1"
    }  # fmt: skip
    lists = {kind: (tuple(d["names"]), d["other"]) for kind, d in domains.items() if d["kind"] == "categories"}
    assert lists == {
        "device": (("phone", "tablet", "computer"), False),
        "goal": (("no", "yes"), False),
        "language": (LANGUAGES, True),
        "zone": (name_lists.names("zones"), True),
    }


def test_the_manifest_is_the_same_for_everybody(service: Service) -> None:
    """Canonical bytes with a tag, for an hour; an unknown or an empty site is 204."""
    site = new_site(service, questions=[{"asks": "search", "of": "suche ü"}, {"asks": "referrer"}])
    path = f"/v1/sites/{site['site']}"
    replies = [service.ask("GET", path, Origin=origin) for origin in ("https://a.example", "https://b.example", "null")]
    assert len({reply.body for reply in replies}) == 1
    headers = replies[0].headers
    assert headers["cache-control"] == "public, max-age=3600"
    assert headers["access-control-allow-origin"] == "*"
    assert "set-cookie" not in headers
    assert "vary" not in headers
    ids = [each["survey_id"] for each in site["questions"]]
    expected = {
        "own": [],
        "questions": [{"asks": "search", "of": "suche ü", "survey": ids[0]}, {"asks": "referrer", "survey": ids[1]}],
        "site": site["site"],
        "version": 1,
    }
    assert replies[0].body == json.dumps(expected, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert headers["etag"].strip('"') == hashlib.sha256(replies[0].body).hexdigest()[:32]
    assert service.ask("GET", path, If_None_Match=headers["etag"]).status == 304
    assert service.ask("HEAD", path).status == 200
    for key in ("0" * 32, "x", site["site"].upper(), "%00", "a" * 5_000):
        reply = service.ask("GET", f"/v1/sites/{key}")
        assert (reply.status, reply.body, reply.headers["cache-control"]) == (204, b"", "public, max-age=300")
    for survey_id in ids:
        service.ask("POST", f"/v1/surveys/{survey_id}/close", owner=True)
    assert service.ask("GET", path).status == 204


def test_questions_come_and_go(service: Service) -> None:
    """Added ones get n/k people, the order is the owner's, and a removed one keeps its survey."""
    site = new_site(service, questions=[{"asks": "device"}], expected_reports=300)
    path = f"/v1/sites/{site['site']}"
    added = service.ask("POST", f"{path}/questions", {"asks": "path", "values": ["/a", "https://x.example/ü?q", "/a"]},
                        owner=True).json  # fmt: skip
    assert [(each["asks"], each["expected_reports"]) for each in added["questions"]] == [("device", 300), ("path", 150)]
    second = added["questions"][1]["survey_id"]
    assert document(service, second)["domain"]["names"] == ["/a", "/%C3%BC"]
    ids = [each["survey_id"] for each in added["questions"]]
    moved = service.ask("PUT", f"{path}/questions", {"surveys": ids[::-1]}, owner=True)
    assert [each["asks"] for each in moved.json["questions"]] == ["path", "device"]
    assert service.ask("DELETE", f"{path}/questions/{second}", owner=True).status == 204
    assert service.ask("GET", f"{path}/status", owner=True).json["each"] == 300
    assert service.ask("GET", f"/v1/surveys/{second}/status", owner=True).json["state"] == "open"
    back = service.ask("POST", f"{path}/surveys", {"asks": "path", "survey": second}, owner=True)
    assert (back.status, len(back.json["questions"])) == (201, 2)
    changed = service.ask("PATCH", path, {"name": "new", "origins": ["https://new.example"]}, owner=True).json
    assert (changed["name"], changed["questions"][0]["origins"], changed["own"]) == ("new", ["https://new.example"], [])


@pytest.mark.parametrize(("surveys", "state"), [("keep", "open"), ("close", "closed"), ("delete", None)])
def test_deleting_a_site(service: Service, surveys: str, state: str | None) -> None:
    """Its surveys stay, unless the owner says otherwise."""
    site = new_site(service, questions=[{"asks": "device"}, {"asks": "goal", "of": "x"}])
    path = f"/v1/sites/{site['site']}"
    query = "" if surveys == "keep" else f"?surveys={surveys}"
    assert service.ask("DELETE", path + query, owner=True).status == 204
    for each in site["questions"]:
        reply = service.ask("GET", f"/v1/surveys/{each['survey_id']}/status", owner=True)
        assert reply.json.get("state") == state
    assert service.ask("GET", f"{path}/status", owner=True).kind == "unknown-site"
    assert site["site"] not in {each["site"] for each in service.ask("GET", "/v1/sites", owner=True).json["sites"]}


def test_strangers_see_the_manifest_alone(service: Service) -> None:
    """All else needs the token."""
    path = f"/v1/sites/{new_site(service)['site']}"
    for method, route in (
        ("POST", "/v1/sites"), ("GET", "/v1/sites"), ("GET", f"{path}/status"), ("PATCH", path), ("DELETE", path),
        ("POST", f"{path}/questions"), ("PUT", f"{path}/questions"), ("POST", f"{path}/surveys"),
        ("DELETE", f"{path}/questions/{'0' * 64}"),
    ):  # fmt: skip
        assert service.ask(method, route, {}).kind == "unauthorized"


def entities(many: int) -> str:
    """Return a document that grows with every level of its entities."""
    lines = [f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(many)]
    return f'<!DOCTYPE a [<!ENTITY e0 "a">{"".join(lines)}]><urlset><url><loc>&e{many};</loc></url></urlset>'


URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"asks": "referrer", "of": "x"}, "of must be left out"),
        ({"asks": "goal"}, "of must be the name of the goal"),
        ({"asks": "own", "of": "a\nb"}, "of must be the name"),
        ({"asks": "own", "of": "a" * 65}, "of must be the name"),
        ({"asks": "device", "values": ["a"]}, "values must be for entry pages"),
        ({"asks": "referrer", "answers": "words"}, "answers must be for searches"),
        ({"asks": "own", "of": "x", "values": ["a"], "answers": "text"}, "answers must be for"),
        ({"asks": "mood"}, "asks"),
        ({"asks": "own", "of": "x", "values": ["(other)", "a"]}, "reserved"),
        ({"asks": "own", "of": "x", "values": [str(n) for n in range(4_096)]}, "values"),
        ({"asks": "campaign", "epsilon": "4"}, "a survey every 28 days"),
        ({"asks": "device", "sitemap": URLSET}, "sitemap must be for entry pages"),
        ({"asks": "path", "sitemap": ""}, "no XML"),
        ({"asks": "path", "sitemap": "<a>"}, "no XML"),
        ({"asks": "path", "sitemap": "<a\x00/>"}, "no XML"),
        ({"asks": "path", "sitemap": URLSET.format("")}, "list pages, got none"),
        ({"asks": "path", "sitemap": "<sitemapindex><sitemap><loc>x</loc></sitemap></sitemapindex>"}, "an index"),
        ({"asks": "path", "sitemap": entities(9)}, "no document type"),
        ({"asks": "path", "sitemap": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><urlset/>'}, "no document type"),
        ({"asks": "path", "sitemap": URLSET.format("<url><loc>http://[</loc></url>")}, "a page must be"),
        (
            {"asks": "path", "sitemap": URLSET.format("".join(f"<url><loc>/{n}</loc></url>" for n in range(4_096)))},
            "at most 4,095",
        ),
    ],
)
def test_a_question_that_cannot_be(service: Service, body: dict, words: str) -> None:
    """Each refusal is one sentence, and nothing is added: neither a question nor a survey."""
    path = f"/v1/sites/{new_site(service)['site']}"
    surveys = len(service.ask("GET", "/v1/surveys", owner=True).json["surveys"])
    reply = service.ask("POST", f"{path}/questions", body, owner=True)
    assert (reply.kind, reply.status) == ("invalid-request", 422)
    assert words in reply.json["detail"]
    whole = service.ask("POST", "/v1/sites", {"name": "a", "questions": [{"asks": "device"}, body]}, owner=True)
    assert whole.status == 422
    assert len(service.ask("GET", "/v1/surveys", owner=True).json["surveys"]) == surveys


def test_a_sitemap_gives_the_paths(service: Service) -> None:
    """Every loc of a page, each path once; those of images are none."""
    pages = ("https://e.example/", "https://e.example/a?x", " https://e.example/a ", "https://e.example/%C3%BC&amp;b")
    inside = "".join(f"<url><loc>{page}</loc></url>" for page in pages)
    inside += '<url><loc>/c</loc><i:image xmlns:i="x"><i:loc>https://e.example/i.png</i:loc></i:image></url>'
    asked = {"asks": "path", "sitemap": URLSET.format(inside)}
    site = new_site(service, questions=[asked])
    survey = document(service, site["questions"][0]["survey_id"])
    assert survey["domain"]["names"] == ["/", "/a", "/%C3%BC&b", "/c"]


def test_own_questions_have_the_values_that_the_owner_says(service: Service) -> None:
    """A list, text, or words."""
    asked = [
        {"asks": "own", "of": "plan", "values": [" free ", "paid", "free"]},
        {"asks": "own", "of": "word", "answers": "words"},
        {"asks": "search", "of": "q", "answers": "text"},
    ]
    site = new_site(service, questions=asked, every=None, epsilon=4)
    domains = [document(service, each["survey_id"])["domain"] for each in site["questions"]]
    assert domains[0]["names"] == ["free", "paid"]
    assert [each["normalization"] for each in domains[1:]] == ["words-1", "text-1"]
    assert (site["every"], site["opens"]) == (None, None)


def test_a_later_question_begins_with_the_period_that_goes_on(service: Service, tmp_path: Path) -> None:
    """Its periods are those of the site, however old the site is."""
    from datetime import UTC, datetime, timedelta

    from hubbub.store.sites import add_site, find_site

    site = add_site(service.store, "a")
    opens = datetime.fromisoformat(site.opens)
    for days, passed in ((0, 0), (27, 0), (28, 1), (400, 14), (-3, 0)):
        expected = opens + timedelta(days=28 * passed)
        assert find_site(service.store.engine, site.site).period(opens + timedelta(days=days)) == f"{expected:%FT%TZ}"
    assert datetime.now(UTC) >= opens
