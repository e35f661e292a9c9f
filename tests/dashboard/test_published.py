"""Answers for everybody: when they are made, what is in them, and what strangers may do with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import numpy as np
import pytest
from sqlalchemy import update
from tests.collector.service import PATIENCE, Reply, Service, wait_until
from tests.store.earlier import turn_back

from hubbub import Categories, Hostnames, create_survey
from hubbub.analysis.public_words import TEXTS, right_of_100
from hubbub.analysis.published_forms import as_atom, as_svg
from hubbub.collector.bodies import Budget
from hubbub.collector.published_document import document_of
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard.app import create_app
from hubbub.errors import ParameterError
from hubbub.model.mechanism import Histogram
from hubbub.store.keys import make_code
from hubbub.store.life_cycle import close_survey, delete_survey
from hubbub.store.merged_tallies import merge_tally
from hubbub.store.pages import Page, change_page, page_of
from hubbub.store.publications import due, latest, publish
from hubbub.store.restoring import restore
from hubbub.store.schema import surveys, writing
from hubbub.store.slices import date_of, day_now, slice_of
from hubbub.store.store import Store, StoredSurvey
from hubbub.store.tokens import replace_token
from hubbub.store.upkeep import backup

pytestmark = pytest.mark.slow

HOSTILE = ("<script>alert(1)</script>", "]]>&amp;<b>", "https://evil.example/", "a\u202eb", '"onload="x', "ordinary")
NOW = datetime.now(UTC)
THIS_WEEK = slice_of(day_now(), 7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(str(tmp_path / "a.db")) as opened:
        yield opened


def add(store: Store, weeks: tuple[int, ...], names: tuple[str, ...] = HOSTILE, name: str = "a <list>") -> StoredSurvey:
    """Add a survey about a list with so many reports in each week, the last of which goes on."""
    stored = store.add_survey(create_survey(name, Categories(names, other=False), 2, mechanism="subset"))
    for back, people in enumerate(reversed(weeks)):
        add_week(store, stored, people, back)
    return stored


def add_week(store: Store, stored: StoredSurvey, people: int, back: int) -> None:
    """Add reports of a week: most of them say the first value."""
    names = stored.survey.domain.names  # type: ignore[attr-defined]
    counts = np.array([people, *(people // (2 + place) for place in range(1, len(names)))])
    crowd = Histogram(stored.survey.domain.encode(list(names)), counts)
    tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(back))
    merge_tally(store, stored.survey_id, f"{back} {people}", bytes(32), tally, THIS_WEEK - 7 * back)


def made(store: Store, now: datetime = NOW) -> list[tuple[int, bool]]:
    """Make what is due, as the collector does; return until when answers are, in weeks from now."""
    found = due(store, now)
    for each in found:
        publish(store, each, now)
    return [((each.until - THIS_WEEK) // 7, each.final) for each in found]


def document(store: Store, stored: StoredSurvey) -> dict:
    """What everybody may read."""
    return document_of(stored, page_of(store.engine, stored.key), latest(store.engine, stored.key)[0])


class TestWhen:
    """Answers are made at fixed dates, once."""

    def test_once_at_the_end_of_a_slice(self, store: Store) -> None:
        """Only of surveys that the owner shows, only of slices that have ended; reports of this week change nothing."""
        stored = add(store, (1_000, 500))
        assert made(store) == []
        change_page(store.engine, stored, Page(shown=True))
        assert made(store) == [(0, False)]
        first = document(store, stored)
        assert first["answers"] == sum(np.array([1_000, *(1_000 // (2 + place) for place in range(1, 6))]))
        add_week(store, stored, 7_000, 0)
        assert made(store) == []
        assert document(store, stored) == first
        assert first["until"] == date_of(THIS_WEEK - 1).isoformat()
        assert first["next"] == date_of(THIS_WEEK + 7).isoformat()
        assert made(store, NOW + timedelta(days=7)) == [(1, False)]
        assert document(store, stored)["answers"] > first["answers"]
        assert made(store, NOW + timedelta(days=30)) == [], "no report came"

    def test_when_it_is_closed(self, store: Store) -> None:
        """A survey without periods has its last answer at once, also without an ended slice; it is made once."""
        stored = add(store, (1_000,))
        change_page(store.engine, stored, Page(shown=True))
        assert made(store) == []
        close_survey(store, stored.survey_id)
        assert made(store) == [(1, True)]
        assert made(store, NOW + timedelta(days=8)) == []
        assert document(store, stored)["next"] is None

    def test_what_repeats_ends_with_its_slice(self, store: Store) -> None:
        """Closing a survey that repeats shows nothing before the week is over."""
        opens = f"{date_of(THIS_WEEK)}T00:00:00Z"
        made_once = create_survey("x", Categories(["a", "b"]), 1, mechanism="subset", opens=opens, every=28)
        stored = store.add_survey(made_once)
        add_week(store, stored, 500, 0)
        change_page(store.engine, stored, Page(shown=True))
        close_survey(store, stored.survey_id)
        assert made(store) == []
        assert made(store, NOW + timedelta(days=7)) == [(1, False)]

    def test_a_clock_that_is_wrong_for_a_moment(self, store: Store) -> None:
        """A survey whose time seems over shows its last answer an hour later at the earliest."""
        closes = f"{date_of(THIS_WEEK + 700)}T00:00:00Z"
        stored = store.add_survey(create_survey("x", Categories(["a", "b"]), 1, mechanism="subset", closes=closes))
        add_week(store, stored, 500, 0)
        change_page(store.engine, stored, Page(shown=True))
        seconds = int(NOW.timestamp())
        with writing(store.engine) as connection:
            connection.execute(update(surveys).values(over_since=seconds))
        assert made(store, NOW + timedelta(seconds=3_599)) == []
        assert made(store, NOW + timedelta(seconds=3_600)) == [(1, True)]

    def test_nobody_answered(self, store: Store) -> None:
        """Without a report there is no answer; one or two are answers without values."""
        stored = add(store, ())
        change_page(store.engine, stored, Page(shown=True))
        assert made(store, NOW + timedelta(days=70)) == []
        for number in (1, 2):
            tally = stored.mechanism.sample_tally(
                Histogram(stored.survey.domain.encode(["ordinary"]), np.array([1])), np.random.default_rng(1)
            )
            merge_tally(store, stored.survey_id, f"{number}", bytes(32), tally, THIS_WEEK - 21 + 7 * number)
        assert made(store) == [(0, False)]
        assert document(store, stored)["answers"] == 2
        ElementTree.fromstring(as_svg(document(store, stored)))  # noqa: S314  # our own

    def test_two_collectors(self, store: Store) -> None:
        """The first result stays."""
        stored = add(store, (1_000, 0))
        change_page(store.engine, stored, Page(shown=True))
        (one,) = due(store, NOW)
        publish(store, one, NOW)
        publish(store, one, NOW + timedelta(days=1))
        assert [each.made for each in latest(store.engine, stored.key, 9)] == [int(NOW.timestamp())]


class TestWhat:
    """What is shown, and what is withheld."""

    def test_spam_and_what_the_owner_hides(self, store: Store) -> None:
        """Neither is in any form, not even as a name; the number of them is; hiding works on answers of before."""
        survey = create_survey("x", Hostnames(), 4, expected_reports=100_000, options={"size": "small"})
        stored = store.add_survey(survey)
        held = {"semalt.com": 20_000, "news.example": 30_000, "shop.example": 30_000, "direct": 10_000}
        crowd = Histogram(survey.domain.encode(list(held)), np.array(list(held.values())))
        tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(5))
        merge_tally(store, stored.survey_id, "a", bytes(32), tally, THIS_WEEK - 7)
        change_page(store.engine, stored, Page(shown=True))
        assert made(store) == [(0, False)]
        first = document(store, stored)
        assert {each["value"] for each in first["values"]} == {"news.example", "shop.example", "direct"}
        assert first["withheld"] == 1
        change_page(store.engine, stored, Page(shown=True, hidden=("shop.example", "")))
        later = document(store, stored)
        assert later["withheld"] == 2
        for form in (json.dumps(later), as_svg(later), as_atom([later])):
            assert "semalt" not in form
            assert "shop.example" not in form
            assert "news.example" in form

    def test_hostile_values_are_text(self, store: Store) -> None:
        """In a picture, a feed and JSON no value is a tag, an attribute, a link or turns text around."""
        stored = add(store, (5_000, 0), name="<title>\u202e & ]]>")
        change_page(store.engine, stored, Page(shown=True, texts={"description": "<script>", "answer_when": "</svg>"}))
        assert made(store) == [(0, False)]
        found = document(store, stored)
        picture, feed = as_svg(found, {"answer_when": "</svg>\u202e"}), as_atom([found, found])
        drawn = ElementTree.fromstring(picture)  # noqa: S314
        told = ElementTree.fromstring(feed)  # noqa: S314
        tags = {each.tag.rpartition("}")[2] for each in [*drawn.iter(), *told.iter()]}
        assert tags == {"svg", "title", "desc", "style", "rect", "text", "path"} | {
            *("feed", "id", "updated", "author", "name", "link", "entry", "content")
        }
        assert {key for each in drawn.iter() for key in each.attrib} <= {
            *("viewBox", "width", "height", "role", "aria-label", "lang", "class", "x", "y", "rx", "d", "text-anchor")
        }
        texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert "<script>alert(1)</script>" in texts
        assert [each.attrib for each in told.iter("{http://www.w3.org/2005/Atom}link")] == [
            {"rel": "self", "type": "application/atom+xml", "href": "published.atom"}
        ]
        for form in (picture, feed, json.dumps(found, ensure_ascii=False)):
            assert "\u202e" not in form

    def test_long_values_fit(self, store: Store) -> None:
        """A long value is cut, one of wide characters earlier; nothing is as wide as the picture."""
        stored = add(store, (5_000, 0), ("x" * 64, "字" * 20, "b"), "n" * 90)
        change_page(store.engine, stored, Page(shown=True))
        made(store)
        picture = as_svg(document(store, stored))
        texts = [each.text or "" for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
        assert "字" * 17 + "…" in texts
        assert "x" * 34 + "…" in texts
        assert max(map(len, texts)) <= 60

    def test_only_what_stands_out(self, store: Store) -> None:
        """Of a universe of texts nothing is shown that does not stand out: not even that it was looked for."""
        survey = create_survey("x", Hostnames(), 1, options={"size": "small"})
        stored = store.add_survey(survey)
        crowd = Histogram(survey.domain.encode(["secret.example"]), np.array([20]))
        tally = stored.mechanism.sample_tally(crowd, np.random.default_rng(5))
        merge_tally(store, stored.survey_id, "a", bytes(32), tally, THIS_WEEK - 7)
        change_page(store.engine, stored, Page(shown=True))
        made(store)
        assert document(store, stored)["values"] == []
        assert "secret.example" not in json.dumps(document(store, stored))

    def test_what_a_page_may_say(self, store: Store) -> None:
        """Texts have names, lengths and a language; an empty one is hubbub's own."""
        stored = add(store, ())
        for wrong in (Page(lang="de_DE"), Page(lang="<"), Page(texts={"x": "y"}), Page(texts={"title": "x" * 4_001})):
            with pytest.raises(ParameterError):
                change_page(store.engine, stored, wrong)
        with pytest.raises(ParameterError):
            change_page(store.engine, stored, Page(hidden=tuple(map(str, range(1_001)))))
        change_page(store.engine, stored, Page(lang="pt-BR", texts={"title": " Um ", "learn": " "}))
        assert page_of(store.engine, stored.key) == Page(False, (), "pt-BR", {"title": "Um"}, None)

    def test_deleted_copied_and_brought_up_to_date(self, store: Store, tmp_path: Path) -> None:
        """A copy shows the same answer; nothing is left of a deleted survey; older databases get the tables."""
        stored = add(store, (1_000, 0))
        change_page(store.engine, stored, Page(shown=True, texts={"title": "x"}))
        (one,) = due(store, NOW)
        publish(store, one, NOW)
        first = document(store, stored)
        backup(store, tmp_path / "copy.db")
        delete_survey(store, stored.survey_id)
        publish(store, one, NOW)
        assert latest(store.engine, stored.key) == []
        assert page_of(store.engine, stored.key) == Page()
        restore(tmp_path / "copy.db", str(tmp_path / "new.db"))
        with Store(str(tmp_path / "new.db")) as new:
            again = new.survey(stored.survey_id)
            assert document(new, again) == first
            with writing(new.engine) as connection:
                turn_back(connection, 12)
        with Store(str(tmp_path / "new.db")) as old:
            assert page_of(old.engine, again.key) == Page()
            change_page(old.engine, again, Page(shown=True))
            assert made(old) == [(0, False)]


def test_the_odds_are_bounds() -> None:
    """Of 100 guesses at most so many are right: not fewer than the best guesser has, and at most one more."""
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        best = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert 100 * best <= right_of_100(epsilon) < 100 * best + 1
    assert right_of_100(1.0, 0.1) >= 100 * (np.e + 0.1) / (1 + np.e)


class Public(Service):
    """A collector with its dashboard, logged in."""

    cookie = ""

    def send(self, path: str, **fields: str) -> Reply:
        """Send a form of the owner."""
        headers = {"Origin": self.url, "Cookie": self.cookie, "Accept": "text/html"}
        return self.ask("POST", path, urlencode(fields).encode(), **headers)


@pytest.fixture
def service(store: Store) -> Iterator[Public]:
    """The collector. It folds five times a second, and publishes what is due."""
    collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
    with serving(collector, build=create_app) as url:
        started = Public(url, store, collector, replace_token(store.engine))
        code = json.dumps({"code": make_code(store.engine)}).encode()
        started.cookie = started.ask("POST", "/login", code, Origin=url).headers["set-cookie"].partition(";")[0]
        yield started


class TestOverHttp:
    """The routes, the page and the form."""

    def test_the_collector_publishes(self, service: Public) -> None:
        """What the owner ticks is shown within a round; what she unticks is gone at once; strangers need no token."""
        stored = add(service.store, (1_000, 500))
        path = f"/v1/surveys/{stored.survey_id.hex()}"
        assert service.ask("GET", f"{path}/published").kind == "not-published"
        page = service.ask("PATCH", f"{path}/page", {"shown": True}, owner=True).json
        assert (page["shown"], page["secret"]) == (True, None)
        wait_until(lambda: bool(latest(service.store.engine, stored.key)))
        service.ask("PATCH", f"{path}/page", {"hidden": ["ordinary"]}, owner=True)
        reply = service.ask("GET", f"{path}/published", Origin="https://anybody.example")
        assert reply.headers["access-control-allow-origin"] == "*"
        assert reply.json["withheld"] == 1
        assert service.ask("GET", f"{path}/page", owner=True).json["hidden"] == ["ordinary"]
        for ending, kind in ((".svg", "image/svg+xml"), (".atom", "application/atom+xml"), ("", "application/json")):
            reply = service.ask("GET", path + "/published" + ending)
            assert reply.headers["content-type"].partition(";")[0] == kind
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["content-security-policy"].startswith("default-src 'none'")
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert "max-age" in reply.headers["cache-control"]
            again = service.ask("GET", path + "/published" + ending, If_None_Match=reply.headers["etag"])
            assert (again.status, again.body) == (304, b"")
        service.ask("PATCH", f"{path}/page", {"shown": False}, owner=True)
        assert service.ask("GET", f"{path}/published").status == 404
        assert service.ask("GET", f"/v1/surveys/{'0' * 64}/published").kind == "unknown-survey"

    def test_strangers_cost_nothing(self, service: Public, monkeypatch: pytest.MonkeyPatch) -> None:
        """However often it is asked for, a picture is drawn once, and the database is read once in five seconds."""
        stored = add(service.store, (1_000, 500))
        change_page(service.store.engine, stored, Page(shown=True))
        wait_until(lambda: bool(latest(service.store.engine, stored.key)))
        drawn, read = [], []
        monkeypatch.setattr("hubbub.collector.published.as_svg", lambda *_: drawn.append(1) or "<svg/>")
        monkeypatch.setattr("hubbub.collector.published.page_of", lambda *_: read.append(1) or Page(shown=True))
        monkeypatch.setattr("hubbub.collector.published._SECONDS", 1e9)
        for _ in range(20):
            assert service.ask("GET", f"/v1/surveys/{stored.survey_id.hex()}/published.svg").body == b"<svg/>"
        assert (len(drawn), len(read)) == (1, 1)

    def test_the_public_page_in_another_language(self, service: Public) -> None:
        """The owner replaces every text that a visitor sees, each is escaped and has its language; numbers stay."""
        stored = add(service.store, (1_000, 500))
        survey = stored.survey_id.hex()
        fields = {name: f"<{name}> {{of_100}}" for name in TEXTS}
        reply = service.send(f"/surveys/{survey}/public", shown="1", lang="de", hidden="b", **fields)
        assert reply.headers["location"] == f"/surveys/{survey}/public?kept"
        wait_until(lambda: bool(latest(service.store.engine, stored.key)))
        service.send(f"/surveys/{survey}/public", shown="1", lang="de", hidden="b", **fields)
        page = service.ask("GET", f"/about/{survey}", Accept="text/html").body.decode()
        for name in TEXTS:
            if name not in ("state_closed", "answer_nothing", "answer_range", "answer_by"):
                assert f"&lt;{name}&gt;" in page, name
        assert "&lt;learn&gt; 89" in page
        assert page.count(' lang="de"') >= 20
        picture = service.ask("GET", f"/v1/surveys/{survey}/published.svg").body.decode()
        assert "&lt;answer_by&gt;" in picture
        # The part that checks the script is hubbub's own: an owner who could word it could say anything of the check.
        page = re.sub(r'<section[^>]*"check-title".*?</section>', " ", page, flags=re.DOTALL)
        visible = re.sub(r"<[^>]+>", " ", re.sub(r"<(head|svg|datalist|style)\b.*?</\1>", " ", page, flags=re.DOTALL))
        left = {
            word
            for word in re.findall(r"[A-Za-z]{3,}", unescape(visible))
            if word.lower() not in " ".join(fields).lower()
        }
        assert left <= {"hubbub", "SVG", "JSON", "Atom", *re.findall(r"[A-Za-z]{3,}", " ".join(HOSTILE)), "list"}

    def test_a_form_that_is_wrong(self, service: Public) -> None:
        """What was typed stays in the form, next to what is wrong with it."""
        stored = add(service.store, ())
        reply = service.send(f"/surveys/{stored.survey_id.hex()}/public", lang="<wrong>", description="kept <b>")
        assert (reply.status, "kept &lt;b&gt;" in reply.body.decode(), 'role="alert"' in reply.body.decode()) == (
            *(422, True, True),
        )
        assert page_of(service.store.engine, stored.key) == Page()
