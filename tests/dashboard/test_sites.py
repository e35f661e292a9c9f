"""The pages of sites over real HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collector.service import PATIENCE
from tests.dashboard.test_dashboard import Dashboard

from hubbub import SeededRandomWords, mechanism_for
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard.app import create_app
from hubbub.store.life_cycle import close_survey
from hubbub.store.sites import find_site, list_sites
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

FORM = {"name": "example.org", "site": "https://www.example.org", "asks": ["referrer", "path", "device"],
        "epsilon": "1", "every": "28", "people": "9000"}  # fmt: skip


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Dashboard]:
    """A dashboard without surveys, logged in."""
    with Store(str(tmp_path / "b.db")) as store:
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
        with serving(collector, build=create_app) as url:
            service = Dashboard(url, store, collector, replace_token(store.engine))
            assert service.log_in().status == 204
            yield service


def text_of(page: bytes) -> str:
    """Return the words of a page, with single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.decode()))


def new_site(dashboard: Dashboard, **more: object) -> str:
    """Make a site with the form; its key."""
    reply = dashboard.send("/sites/new", FORM | more)
    assert reply.status == 303, text_of(reply.body)
    return reply.headers["location"].rpartition("/")[2]


def report(dashboard: Dashboard, survey_id: bytes, values: list[str]) -> None:
    """Send a report for each of the values."""
    survey = dashboard.store.survey(survey_id).survey
    mechanism = mechanism_for(survey)
    words = SeededRandomWords(5).draw(len(values), mechanism.random_words_per_report)
    reports = mechanism.randomize(survey.domain.encode(values), words)
    assert dashboard.upload(survey_id, encode_batch(survey_id, reports)).status == 200
    dashboard.store.fold_all()


def test_from_the_form_to_the_answers(fresh: Dashboard) -> None:
    """The page has the line until a report has come; then the answers, with what is largest."""
    assert "No sites yet" in text_of(fresh.get("/").body)
    key = new_site(fresh)
    page = text_of(fresh.get(f"/sites/{key}").body)
    assert f'data-site="{key}"' in page
    for said in (
        "Put it on your site", "Waiting for the first report", "integrity=", "You expect 9,000 visitors every 28 days.",
        "With 3 questions each gets about 3,000.", "becomes at most 73.2 % sure", "Nothing is to be done next period",
    ):  # fmt: skip
        assert said in page
    tops = text_of(fresh.get(f"/sites/{key}/tops").body)
    assert tops.count("0 reports") == 3
    device = find_site(fresh.store.engine, key).questions[2]
    report(fresh, device.survey_id, ["phone"] * 400 + ["computer"] * 200)
    assert fresh.get(f"/sites/{key}/state", "*/*").json == {"reports": 600}
    page = text_of(fresh.get(f"/sites/{key}").body)
    assert "Put it on your site" not in page
    assert "First report on 20" in page
    assert page.index("End it") > page.index("The line on your pages")
    tops = text_of(fresh.get(f"/sites/{key}/tops").body)
    assert re.search(r"Devices 600 reports phone \d", tops)
    home = text_of(fresh.get("/").body)
    assert "example.org 3 questions · 600 reports: 600 in the last 7 days, 0 in the 7 before" in home
    assert "No sites yet" not in home
    survey = text_of(fresh.get(f"/surveys/{device.survey_id.hex()}").body)
    assert "A question of example.org" in survey
    assert "data-survey" not in survey


def test_time_zones_are_shown_by_country(fresh: Dashboard) -> None:
    """The card has countries with their intervals; a question in which nothing stands out says so."""
    key = new_site(fresh, asks=["zone", "device"])
    zone, device = find_site(fresh.store.engine, key).questions
    report(fresh, zone.survey_id, ["Asia/Calcutta"] * 500 + ["Asia/Kolkata"] * 500 + ["Europe/Berlin"] * 300)
    report(fresh, device.survey_id, ["phone"])
    tops = text_of(fresh.get(f"/sites/{key}/tops").body)
    assert re.search(r"Time zones 1,300 reports India [\d.]+% [\d,]+ – [\d,]+ people", tops)
    assert "Devices 1 report Nothing stands out yet." in tops


def test_questions_are_added_moved_and_removed(fresh: Dashboard) -> None:
    """Each has its part of the visitors; a list may be a sitemap; what is wrong is said beside the form."""
    key = new_site(fresh, asks=["device"])
    assert "The one question gets all of them." in text_of(fresh.get(f"/sites/{key}").body)
    sitemap = '\ufeff<?xml version="1.0" encoding="UTF-16"?><urlset><url><loc>https://e.example/a</loc></url></urlset>'
    forecast = fresh.send(f"/sites/{key}/preview", {"asks": "path", "values": sitemap}, accept="*/*").json
    assert forecast["before"] == "You expect 9,000 visitors every 28 days. With 2 questions each gets about 4,500."
    assert forecast["verdict"]
    assert fresh.send(f"/sites/{key}/questions", {"asks": "path", "values": sitemap}).status == 303
    site = find_site(fresh.store.engine, key)
    path = site.questions[1]
    assert fresh.store.survey(path.survey_id).survey.domain.names == ("/a",)
    assert fresh.store.survey(path.survey_id).survey.expected_reports == 4_500
    for given, words in (
        ({}, "Choose a question."),
        ({"asks": "device"}, "a site must ask each question once"),
        ({"asks": "goal"}, "of must be the name of the goal"),
        ({"asks": "own", "of": "x", "epsilon": "3"}, "Choose how private it is"),
        ({"asks": "own", "of": "x", "epsilon": "4"}, "a survey every 28 days must have"),
        ({"asks": "path", "values": "<a"}, "no XML"),
    ):
        reply = fresh.send(f"/sites/{key}/questions", given)
        assert (reply.status, words in text_of(reply.body)) == (422, True), text_of(reply.body)
        assert "complaint" in fresh.send(f"/sites/{key}/preview", given, accept="*/*").json or given == {
            "asks": "device"
        }
    assert fresh.send(f"/sites/{key}/move", {"survey": path.survey_id.hex()}).status == 303
    assert [each.asks for each in find_site(fresh.store.engine, key).questions] == ["path", "device"]
    assert fresh.send(f"/sites/{key}/remove", {"survey": path.survey_id.hex()}).status == 303
    assert [each.asks for each in find_site(fresh.store.engine, key).questions] == ["device"]
    assert fresh.send(f"/sites/{key}/remove", {"survey": path.survey_id.hex()}).status == 404
    assert "example.org: entry pages" in text_of(fresh.get("/").body)


def test_what_pages_say_of_a_question(fresh: Dashboard) -> None:
    """The public page asks for what the site asks for; a closed survey without reports waits for none."""
    key = new_site(fresh, asks=["device"])
    assert fresh.send(f"/sites/{key}/questions", {"asks": "search", "of": "q"}).status == 303
    for question in find_site(fresh.store.engine, key).questions:
        path = question.survey_id.hex()
        about = text_of(fresh.get(f"/about/{path}").body)
        said = {"device": "whether it is on a phone, a tablet or a computer", "search": "what its visitor searched for"}
        assert said[question.asks] in about
        assert "unless it draws another of the site's 2 questions" in about.replace("&#39;", "'")
        assert "This page shows reports by itself" in text_of(fresh.get(f"/surveys/{path}").body)
        close_survey(fresh.store, question.survey_id)
        for part in ("", "/answer"):
            page = text_of(fresh.get(f"/surveys/{path}{part}").body)
            assert "No report came in this time, and no more are taken." in page
            assert "No report yet" not in page


def test_asking_again_keeps_the_line(fresh: Dashboard) -> None:
    """A closed question is asked again at its place, from the period that goes on."""
    key = new_site(fresh)
    site = find_site(fresh.store.engine, key)
    old = site.questions[1]
    close_survey(fresh.store, old.survey_id)
    page = text_of(fresh.get(f"/sites/{key}").body)
    assert page.count("Ask again") == 1
    assert "the site's line stays" in text_of(fresh.get(f"/surveys/{old.survey_id.hex()}").body).replace("&#39;", "'")
    assert fresh.send(f"/surveys/{old.survey_id.hex()}/again", {}).status == 303
    now = find_site(fresh.store.engine, key).questions
    assert [each.asks for each in now] == [each.asks for each in site.questions]
    assert now[1].survey_id != old.survey_id
    assert f"{fresh.store.survey(now[1].survey_id).survey.opens:%Y-%m-%dT%H:%M:%SZ}" == site.opens


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": " "}, "Give the site a name"),
        ({"asks": []}, "Choose at least one question"),
        ({"asks": ["goal"]}, "Choose at least one question"),
        ({"people": "many"}, "Say how many people"),
        ({"site": "a b"}, "Write the address of your site"),
        ({"every": "5"}, "Choose how private"),
        ({"epsilon": "4"}, "a survey every 28 days must have"),
    ],
)
def test_a_site_that_cannot_be(fresh: Dashboard, given: dict, words: str) -> None:
    """What is wrong is said above the form, which keeps what was filled in."""
    reply = fresh.send("/sites/new", FORM | given)
    assert (reply.status, words in text_of(reply.body)) == (422, True)
    assert list_sites(fresh.store.engine) == []
    if given.get("name", "x").strip():
        assert b'value="example.org"' in reply.body


def test_pages_of_sites_that_are_not_secure(fresh: Dashboard) -> None:
    """The page says that browsers answer nothing without https, except on the owner's own machine."""
    key = new_site(fresh, site="http://www.example.org, http://localhost:8080")
    page = text_of(fresh.get(f"/sites/{key}").body)
    assert "http://www.example.org is not secure: browsers answer nothing" in page
    assert "without https: browsers on other machines" not in page


def test_changing_and_deleting(fresh: Dashboard) -> None:
    """Name, pages and own hosts change; deleting needs the name, and does with the surveys what was said."""
    key = new_site(fresh, name="<b>&amp;\u202e")
    assert "<b>&amp;" not in fresh.get(f"/sites/{key}").body.decode().partition("<main")[2].partition("<form")[0]
    changed = {"name": "new", "site": "https://new.example", "own": "new.example, shop.example"}
    assert fresh.send(f"/sites/{key}/change", changed).status == 303
    site = find_site(fresh.store.engine, key)
    assert (site.name, site.origins, site.own) == ("new", ("https://new.example",), ("new.example", "shop.example"))
    assert fresh.send(f"/sites/{key}/change", changed | {"own": "a%b"}).status == 422
    assert fresh.send(f"/sites/{key}/delete", {"name": "old"}).status == 422
    assert "They stay as they are" in text_of(fresh.get(f"/sites/{key}/delete").body)
    assert fresh.send(f"/sites/{key}/delete", {"name": "new", "surveys": "close"}).status == 303
    assert fresh.get(f"/sites/{key}").status == 404
    assert {fresh.store.survey(each.survey_id).closed for each in site.questions} == {True}


def test_strangers_and_other_pages(fresh: Dashboard) -> None:
    """Without a session nothing is shown or changed; a page of another origin changes nothing."""
    key = new_site(fresh)
    for path in ("change", "remove", "move", "delete", "questions", "preview"):
        assert fresh.send(f"/sites/{key}/{path}", {}, "https://evil.example", "*/*").kind == "foreign-page"
    cookie, fresh.cookie = fresh.cookie, ""
    for path in ("/sites/new", f"/sites/{key}", f"/sites/{key}/tops", f"/sites/{key}/state", f"/sites/{key}/delete"):
        assert fresh.get(path).status == 303
    for path in ("change", "remove", "move", "delete", "questions", "preview"):
        assert fresh.send(f"/sites/{key}/{path}", {}, accept="*/*").status == 401
    fresh.cookie = cookie
    for path in ("/sites/" + "0" * 32, "/sites/x/tops", "/sites/%00"):
        assert fresh.get(path).status == 404
