"""The dashboard over real HTTP: who gets in, what forms do, what pages and files hold."""

from __future__ import annotations

import asyncio
import csv
import html
import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

import pytest
from click.testing import CliRunner
from tests.browser.samples import HOSTILE, HOSTILE_NAME, fill
from tests.collector.service import PATIENCE, Reply, Service

import hubbub
from hubbub import Categories, SeededRandomWords, Survey, Words, create_survey, find_hitters, mechanism_for, plan
from hubbub.analysis.outlook import smallest_share, what_is_needed
from hubbub.analysis.shuffle import ASSUMPTION, seen_from_outside
from hubbub.analysis.wording import cells, one_in
from hubbub.cli.main import app
from hubbub.collector.bodies import Budget
from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard.app import create_app
from hubbub.dashboard.home import CARDS
from hubbub.store.keys import end_session, is_session, make_code, open_session
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token
from hubbub.wire.report_batch import encode_batch

pytestmark = pytest.mark.slow

HTML = "text/html"


class Dashboard(Service):
    """A collector with its dashboard, and a browser that is logged in, or not."""

    ids: dict[str, str]
    cookie = ""

    @property
    def origin(self) -> str:
        """Its own origin."""
        return self.url

    def get(self, path: str, accept: str = HTML) -> Reply:
        """Read a page."""
        return self.ask("GET", path, Accept=accept, Cookie=self.cookie)

    def send(self, path: str, fields: dict[str, str], origin: str | None = None, accept: str = HTML) -> Reply:
        """Send a form."""
        headers = {"Origin": origin or self.origin, "Cookie": self.cookie, "Accept": accept}
        return self.ask("POST", path, urlencode(fields, doseq=True).encode(), **headers)

    def log_in(self, code: str | None = None, **headers: str) -> Reply:
        """Log in with a code, and keep the cookie."""
        code = make_code(self.store.engine) if code is None else code
        reply = self.ask("POST", "/login", json.dumps({"code": code}).encode(), **{"Origin": self.origin, **headers})
        if reply.status == 204:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard with surveys of all sorts."""
    with Store(str(tmp_path_factory.mktemp("dashboard") / "a.db")) as store:
        ids = fill(store)
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
        token = replace_token(store.engine)
        with serving(collector, build=create_app) as url:
            service = Dashboard(url, store, collector, token)
            service.ids = ids
            yield service


@pytest.fixture
def dashboard(samples: Dashboard) -> Dashboard:
    """The same, logged in."""
    assert samples.log_in().status == 204
    return samples


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Dashboard]:
    """A dashboard without surveys, logged in."""
    with Store(str(tmp_path / "b.db")) as store:
        collector = Collector(store, Budget(commit_seconds=PATIENCE), fold_seconds=0.2)
        with serving(collector, build=create_app) as url:
            service = Dashboard(url, store, collector, replace_token(store.engine))
            assert service.log_in().status == 204
            yield service


class TestAccess:
    """Nobody but the owner gets in."""

    def test_pages_need_a_session(self, samples: Dashboard) -> None:
        """A person is sent to the login, a module is told; nothing else comes out."""
        samples.cookie = ""
        survey = samples.ids["busy"]
        paths = ["/", "/new", *(f"/surveys/{survey}{part}" for part in ("", "/close", "/delete", "/answer.csv"))]
        for path in paths:
            reply = samples.get(path)
            assert (reply.status, reply.headers["location"], reply.body) == (303, "/login", b"")
            reply = samples.get(path, "*/*")
            assert (reply.status, reply.kind) == (401, "unauthorized")
        for path in ("/new", f"/surveys/{survey}/close", f"/surveys/{survey}/delete", f"/surveys/{survey}/names"):
            assert samples.send(path, {}, accept="*/*").status == 401
        samples.cookie = f"hubbub-{samples.url.rpartition(':')[2]}={'A' * 32}"
        assert samples.get("/").status == 303

    def test_a_code_works_once(self, samples: Dashboard) -> None:
        """The second login with a code is refused, and so is a made-up one."""
        code = make_code(samples.store.engine)
        assert samples.log_in(code).status == 204
        for wrong in (code, "", "x" * 32, "\u202e"):
            reply = samples.log_in(wrong)
            assert (reply.status, reply.kind) == (403, "wrong-code")
            assert "set-cookie" not in reply.headers

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"code": 7}', b'{"other": "x"}', b"\xff"])
    def test_a_login_that_is_none(self, fresh: Dashboard, body: bytes) -> None:
        """What has no code is refused as such."""
        reply = fresh.ask("POST", "/login", body, Origin=fresh.origin)
        assert (reply.status, reply.kind) == (400, "bad-request")

    def test_a_new_token_ends_sessions(self, fresh: Dashboard) -> None:
        """With the owner's token all sessions end, and codes that were not used do not work any more."""
        database, code = fresh.store.engine.url.database, make_code(fresh.store.engine)
        assert fresh.get("/").status == 200
        assert CliRunner().invoke(app, ["store", "token", "--db", database]).exit_code == 0
        assert fresh.get("/").status == 303
        assert fresh.log_in(code).kind == "wrong-code"

    def test_all_sessions_are_ended(self, fresh: Dashboard) -> None:
        """`hubbub store sessions` counts them, and with --end it ends them and makes codes invalid; the token stays."""
        database, code = fresh.store.engine.url.database, make_code(fresh.store.engine)
        first = fresh.cookie
        assert fresh.log_in().status == 204

        def run(*more: str) -> str:
            return CliRunner().invoke(app, ["store", "sessions", "--db", database, *more]).stdout

        assert run() == "2 sessions open\n"
        assert fresh.get("/").status == 200
        assert run("--end") == "2 sessions ended\n"
        for cookie in (first, fresh.cookie):
            assert fresh.ask("GET", "/session", Cookie=cookie).status == 401
        assert fresh.log_in(code).kind == "wrong-code"
        assert json.loads(run("--end", "--json")) == {"sessions": 0, "ended": True}
        assert fresh.ask("GET", "/v1/surveys", owner=True).status == 200

    def test_a_copy_brings_no_session_back(self, fresh: Dashboard, tmp_path: Path) -> None:
        """A store that was restored from a copy knows none of the sessions that were open when the copy was made."""
        database, key = fresh.store.engine.url.database or "", fresh.cookie.partition("=")[2]
        assert is_session(fresh.store.engine, key)
        for command in (["backup", "c.db", "--db", database], ["restore", "c.db", "--db", "d.db"]):
            words = [str(tmp_path / word) if word in ("c.db", "d.db") else word for word in command]
            assert CliRunner().invoke(app, ["store", *words]).exit_code == 0
        with Store(str(tmp_path / "d.db")) as restored:
            assert not is_session(restored.engine, key)

    def test_codes_and_sessions_end(self, fresh: Dashboard) -> None:
        """A code ends after its time, and so does a session; one that was ended is over at once."""
        engine = fresh.store.engine
        assert open_session(engine, make_code(engine, seconds=0)) is None
        old = open_session(engine, make_code(engine), seconds=0)
        new = open_session(engine, make_code(engine))
        assert old is not None
        assert new is not None
        assert [is_session(engine, key) for key in (old, new, make_code(engine))] == [False, True, False]
        fresh.cookie = f"hubbub-{fresh.url.rpartition(':')[2]}={old}"
        assert fresh.get("/").status == 303
        end_session(engine, new)
        assert not is_session(engine, new)

    def test_the_cookie(self, fresh: Dashboard) -> None:
        """No script reads it, no other site sends it, and under TLS no other host can set it."""
        plain = fresh.log_in().headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=604800"):
            assert part in plain
        assert "Secure" not in plain
        host = fresh.url.removeprefix("http://")
        secure = fresh.log_in(Origin=f"https://{host}").headers["set-cookie"]  # what a browser says behind a proxy
        assert secure.startswith("__Host-hubbub=")
        assert "Secure" in secure
        assert "Domain" not in plain + secure
        fresh.cookie = secure.partition(";")[0]
        assert fresh.get("/").status == 200

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
    def test_pages_of_others_change_nothing(self, samples: Dashboard, origin: str) -> None:
        """Even with the cookie, a request that changes something must come from our own page."""
        assert samples.log_in().status == 204
        survey = samples.ids["busy"]
        for path in ("/login", "/logout", "/new", f"/surveys/{survey}/close", f"/surveys/{survey}/delete"):
            reply = samples.ask(
                "POST", path, b"name=x", Cookie=samples.cookie, **({"Origin": origin} if origin else {})
            )
            assert (reply.status, reply.kind) == (403, "foreign-page")
        assert samples.get("/").status == 200

    def test_logging_out(self, fresh: Dashboard) -> None:
        """The session is over, also for whoever kept the cookie."""
        reply = fresh.send("/logout", {})
        assert (reply.status, reply.headers["location"]) == (303, "/login")
        assert fresh.get("/").status == 303
        assert fresh.ask("GET", "/session", Cookie=fresh.cookie).status == 401

    def test_the_headers_of_pages(self, dashboard: Dashboard) -> None:
        """Nothing from elsewhere, nothing inline, in no frame, kept nowhere."""
        survey = dashboard.ids["busy"]
        for path in ("/new", "/login", f"/surveys/{survey}", f"/about/{survey}", f"/surveys/{'0' * 64}"):
            reply = dashboard.get(path)
            policy = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert reply.headers["cache-control"] == "no-store"
            text = reply.body.decode()
            assert not re.search(r"<(script|style)[^>]*>[^<]", text)  # no inline code
            assert not re.search(r"\s(on[a-z]+|style)=", text)
            assert not re.search(r'<[^>]*(src|href)="(https?:)?//', text)  # no third party


class TestPages:
    """What pages and files hold."""

    def test_hostile_values_are_text(self, dashboard: Dashboard) -> None:
        """No value and no name of a survey becomes HTML, and nothing hides in them."""
        survey = dashboard.ids["hostile"]
        for path in ("/", f"/surveys/{survey}", f"/about/{survey}", f"/surveys/{survey}/delete"):
            text = dashboard.get(path).body.decode()
            assert "<script>alert" not in text
            assert "<img src=x" not in text
            assert "\u202e" not in text.replace("\\u202e", "")
        assert "&lt;img src=x onerror=alert(1)&gt;" in dashboard.get(f"/surveys/{survey}/answer").body.decode()

    def test_csv_has_no_formula(self, dashboard: Dashboard) -> None:
        """A spreadsheet takes every value for text; the numbers are those of the JSON file."""
        survey = dashboard.ids["hostile"]
        reply = dashboard.get(f"/surveys/{survey}/answer.csv")
        assert "attachment" in reply.headers["content-disposition"]
        rows = list(csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig"))))
        assert not [row["value"] for row in rows if row["value"][0] in "=+-@\t\r"]
        document = dashboard.get(f"/surveys/{survey}/answer.json").json
        assert len(rows) == len(document["hitters"]) == len(HOSTILE) + 1
        for row, hitter in zip(rows, document["hitters"], strict=True):
            assert float(row["count"]) == pytest.approx(hitter["count"], rel=1e-5)

    def test_the_answer_is_the_api_s(self, dashboard: Dashboard) -> None:
        """The dashboard says what the owner's routes say."""
        survey = dashboard.ids["closed"]
        document = dashboard.get(f"/surveys/{survey}/answer.json").json
        asked = dashboard.ask("GET", f"/v1/surveys/{survey}/hitters?top=200&guesses=10&groups=auto", owner=True).json
        assert document == asked
        text = dashboard.get(f"/surveys/{survey}").body.decode()
        assert "shop.example" in text
        assert "direct" in text
        for guess in document["guesses"]:
            assert f"<bdi>{guess['value']}</bdi>, perhaps: " in text

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ("empty", "No report yet"),
            ("small", "Too few people: nothing could have been found"),
            ("many", "The first 20 of 200"),
            ("busy", "crafted report"),
        ],
    )
    def test_sorts_of_answers(self, dashboard: Dashboard, kind: str, said: str) -> None:
        """Nothing, too little and very much are all said in words."""
        text = dashboard.get(f"/surveys/{dashboard.ids[kind]}/answer").body.decode()
        assert said in text
        assert text.count('<th scope="row"') == {"empty": 0, "small": 0, "many": 200}.get(
            kind, text.count('scope="row"')
        )

    def test_forged_reports_are_supposed(self, dashboard: Dashboard) -> None:
        """The answer is what Python says of it; what is no number of its reports gets a sentence, and no other rows."""
        path = f"/surveys/{dashboard.ids['busy']}/answer"
        stored = dashboard.store.survey(bytes.fromhex(dashboard.ids["busy"]))
        answer = find_hitters(stored.survey, dashboard.store.tally(stored.survey_id), top=200, groups="auto").if_forged(
            9_000
        )
        text = html.unescape(dashboard.get(f"{path}?forged=9000").body.decode())
        assert "Whichever 9,000 reports may be forged" in text
        assert cells(answer.hitters[0]).between in text
        fallen = sum((row.stands_to or 0) < 9_000 or not row.stands_out for row in answer.hitters)
        assert text.count('class="faint"') == fallen > 0
        for wrong in ("-1", "x", "1e3", "9" * 40, str(answer.reports)):
            text = html.unescape(dashboard.get(f"{path}?forged={wrong}").body.decode())
            assert "forged must be" in text
            assert "Whichever 9,000" not in text

    def test_the_sums_of_a_closed_survey(self, dashboard: Dashboard) -> None:
        """When no more reports come, it is said how private the sums are, with what that assumes."""
        stored = dashboard.store.survey(bytes.fromhex(dashboard.ids["closed"]))
        text = html.unescape(dashboard.get(f"/surveys/{dashboard.ids['closed']}/answer").body.decode())
        outside = seen_from_outside(stored.mechanism, dashboard.store.tally(stored.survey_id).count)
        assert outside is not None
        assert outside.epsilon < outside.local
        assert f"{outside.words} {ASSUMPTION}" in text

    def test_the_sums_of_an_open_survey(self, fresh: Dashboard) -> None:
        """While reports come in, the page has no such figure; when it is closed, there is one."""
        stored = fresh.store.add_survey(create_survey("ids", Categories(["a", "b"]), 1, mechanism="subset"))
        reports = stored.mechanism.randomize(
            stored.survey.domain.encode(["a"] * 2_000),
            SeededRandomWords(3).draw(2_000, stored.mechanism.random_words_per_report),
        )
        fresh.upload(stored.survey_id, encode_batch(stored.survey_id, reports))
        path = f"/surveys/{stored.survey_id.hex()}"
        text = html.unescape(fresh.get(f"{path}/answer").body.decode())
        assert ASSUMPTION not in text
        assert "once the survey has closed" not in text
        assert "δ" not in text
        fresh.send(f"{path}/close", {})
        text = html.unescape(fresh.get(f"{path}/answer").body.decode())
        assert ASSUMPTION in text

    def test_what_it_would_take(self, dashboard: Dashboard) -> None:
        """Where nothing stands out, the planner says what it would have taken."""
        stored = dashboard.store.survey(bytes.fromhex(dashboard.ids["small"]))
        text = html.unescape(dashboard.get(f"/surveys/{dashboard.ids['small']}/answer").body.decode())
        known = len(hubbub.names("sites"))
        needed = what_is_needed(stored.survey, dashboard.store.tally(stored.survey_id).count, candidates=known)
        assert needed.startswith("To see ")
        assert needed in text

    def test_names_after_looking(self, dashboard: Dashboard) -> None:
        """They stay, have rows of their own in page and file, are marked, and change nothing of what stands out."""
        path = f"/surveys/{dashboard.ids['small']}"
        before = dashboard.get(f"{path}/answer.json").json
        reply = dashboard.send(f"{path}/names", {"names": "www.reddit.com\nnobody.example\n\nno host!"}, accept="*/*")
        # reddit.com is on the public list, which was fixed before: only what is not on it is named after looking.
        assert (reply.status, reply.json["fixed"]) == (200, [])
        assert reply.json["later"] == ["reddit.com", "nobody.example"]
        assert reply.json["sentences"][0] == "www.reddit.com is counted as reddit.com."
        answer = dashboard.get(f"{path}/answer.json").json
        marked = {row["value"]: (row["late"], row["stands_out"]) for row in answer["hitters"]}
        assert marked["nobody.example"] == (True, False)
        standing = [[row["value"] for row in each["hitters"] if row["stands_out"]] for each in (before, answer)]
        assert standing[0] == standing[1]
        text = html.unescape(dashboard.get(f"{path}/answer").body.decode())
        assert "Named after looking: nobody.example. They must stand out as if nobody had named them." in text
        assert ">after looking</td>" in text
        rows = csv.DictReader(io.StringIO(dashboard.get(f"{path}/answer.csv").body.decode("utf-8-sig")))
        assert {row["value"]: row["late"] for row in rows}["nobody.example"] == "True"
        assert "reddit.com\nnobody.example</textarea>" in dashboard.get(path).body.decode()
        assert dashboard.send(f"{path}/names", {"names": ""}, accept="*/*").json["later"] == []
        wrong = dashboard.send(f"{path}/names", {"names": "\n".join(map(str, range(10_001)))}, accept="*/*")
        assert (wrong.status, wrong.kind) == (422, "invalid-request")

    def test_names_of_the_form(self, fresh: Dashboard) -> None:
        """What is named in the form of a new survey is fixed before the first report, and shown on its page."""
        form = {
            "name": "x",
            "domain": "hostnames",
            "epsilon": "1",
            "people": "100",
            "named": "www.a.example\nb.example",
            "together": "Us: www.a.example, b.example\n\nThem: c.example",
        }
        page = fresh.send("/new", form).headers["location"]
        assert fresh.store.survey(bytes.fromhex(page.rpartition("/")[2])).survey.name == "x"
        shown = fresh.get(page).body.decode()
        assert "a.example\nb.example</textarea>" in shown
        assert "Us: a.example, b.example\nThem: c.example\n</textarea>" in shown
        assert fresh.ask("GET", f"/v1{page}/names", owner=True).json["groups"]["Us"] == ["a.example", "b.example"]
        changed = fresh.send(f"{page}/names", {"names": "x.example", "together": "Us: d.example"}, accept="*/*")
        assert changed.json["groups"] == [["Us", ["d.example"]]]
        refused = fresh.send("/new", {**form, "together": "a.example, b.example"})
        assert refused.status == 422
        assert "a line of groups must be a name, a colon and values with commas" in refused.body.decode()

    def test_groups_of_a_list(self, fresh: Dashboard) -> None:
        """The page of a list has a form for groups until the first report, and then says which ones there are."""
        form = {"name": "x", "domain": "list", "epsilon": "1", "people": "100", "names": "red\ngreen\nblue"}
        page = fresh.send("/new", {**form, "together": "warm: Red, red"}).headers["location"]
        shown = fresh.get(page).body.decode()
        assert "warm: red\n</textarea>" in shown
        assert 'name="names"' not in shown

    def test_the_figures_of_the_public_page(self, dashboard: Dashboard) -> None:
        """It says what a report gives away at most: e^2 is 7.389."""
        for kind, after, asked in (
            ("busy", "89", "which site its visitor came from"),
            ("hostile", "89", "for one of 8 answers"),
        ):
            text = html.unescape(dashboard.get(f"/about/{dashboard.ids[kind]}").body.decode())
            assert "yours makes it at most 7.39 times as likely." in text
            assert f"Without your report she is right for 50 of 100 people; with it, for at most {after} of 100" in text
            assert f"each browser, once, {asked}." in re.sub(r"\s+", " ", text)

    def test_no_such_survey(self, dashboard: Dashboard) -> None:
        """It is said in plain words."""
        reply = dashboard.get(f"/about/{'0' * 64}")
        assert reply.status == 404
        assert "There is no such survey here." in reply.body.decode()

    def test_lists_have_no_candidates(self, dashboard: Dashboard) -> None:
        """Every answer of a list is counted already, so there is nothing to name."""
        assert 'id="naming"' in dashboard.get(f"/surveys/{dashboard.ids['busy']}").body.decode()
        assert 'id="naming"' not in dashboard.get(f"/surveys/{dashboard.ids['hostile']}").body.decode()

    def test_an_answer_is_searched_once(self, dashboard: Dashboard) -> None:
        """As long as there are no new reports, no second search is made."""
        path = f"/surveys/{dashboard.ids['busy']}/answer"
        dashboard.get(path)
        before = _answers(dashboard)
        assert dashboard.get(path).status == dashboard.get(f"{path}.json").status == 200
        assert _answers(dashboard) == before

    def test_twice_the_reports_are_searched_at_once(self, fresh: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a search the survey rests, unless there are twice as many reports as then."""
        monkeypatch.setattr("hubbub.dashboard.kept_answers.REST", 1e9)
        stored = fresh.store.add_survey(create_survey("ids", Categories(["a", "b"]), 1, mechanism="subset"))
        path = f"/surveys/{stored.survey_id.hex()}/answer"
        told = iter(range(100))

        def come(people: int) -> int:
            """So many reports come; how many the answer is from."""
            items = stored.survey.domain.encode(["a"] * people)
            words = SeededRandomWords(next(told)).draw(people, stored.mechanism.random_words_per_report)
            reports = stored.mechanism.randomize(items, words)
            fresh.upload(stored.survey_id, encode_batch(stored.survey_id, reports))
            fresh.store.fold_all()
            return int(re.findall(r'data-reports="(\d+)"', fresh.get(path).body.decode())[0])

        assert [come(100), come(50), come(40), come(10), come(100)] == [100, 100, 100, 200, 200]

    def test_a_long_search_blocks_nothing(self, dashboard: Dashboard) -> None:
        """While the thread for answers is taken, uploads are acknowledged and pages come."""
        taken, go_on = threading.Event(), threading.Event()

        def long_work() -> None:
            taken.set()
            go_on.wait(60)

        busy = dashboard.ids["busy"]
        dashboard.get(f"/surveys/{busy}/answer")  # so that there is an answer to show
        holder = threading.Thread(target=lambda: asyncio.run(dashboard.collector.compute(long_work)))
        holder.start()
        try:
            assert taken.wait(60)
            survey = Survey.from_json(dashboard.ask("GET", f"/v1/surveys/{busy}").body)
            reports = mechanism_for(survey).randomize(
                survey.domain.encode(["a.example"]), SeededRandomWords(5).draw(1, 4)
            )
            body = encode_batch(survey.survey_id, reports)
            origin = "https://www.example.org"
            assert dashboard.upload(survey.survey_id, body, Origin=origin).json["accepted"] == 1
            for path in ("/", f"/surveys/{busy}", f"/surveys/{busy}/state", f"/surveys/{dashboard.ids['empty']}"):
                assert dashboard.get(path).status == 200
        finally:
            go_on.set()
            holder.join()

    def test_the_public_page(self, samples: Dashboard) -> None:
        """Everybody reads what is asked and by whom; it has no number of reports."""
        samples.cookie = ""
        text = samples.get(f"/about/{samples.ids['busy']}").body.decode()
        for part in (
            "https://www.example.org",
            "at most 89 of 100",
            "17 bytes",
            "Randomise my value",
            "Global Privacy Control",
        ):
            assert part in text
        assert "170,35" not in text
        reply = samples.get(f"/about/{'0' * 64}")
        assert (reply.status, reply.headers["content-type"]) == (404, "text/html; charset=utf-8")

    def test_the_public_page_of_a_long_list(self, fresh: Dashboard) -> None:
        """It says how many answers it does not show, and in which language words are asked for."""
        names = create_survey("long", Categories([f"answer {number}" for number in range(1_700)]), 1)
        words = create_survey("words", Words("de"), 1)
        for survey in (names, words):
            fresh.store.add_survey(survey)
        page = fresh.get(f"/about/{names.survey_id.hex()}").body.decode()
        assert "<bdi>answer 499</bdi>, and 1,200 more." in page
        assert "answer 500" not in page
        assert "for a word in German" in fresh.get(f"/about/{words.survey_id.hex()}").body.decode()


class TestHome:
    """Surveys as cards."""

    def test_limits_are_the_planner_s(self, dashboard: Dashboard) -> None:
        """A card's smallest share is the planner's for its reports, to two digits of them; without reports, none."""
        stored = dashboard.store.survey(bytes.fromhex(dashboard.ids["closed"]))
        count = dashboard.store.tally(stored.survey_id).count
        unit = 10 ** (len(str(count)) - 2)
        said = dashboard.get(f"/surveys/{dashboard.ids['closed']}/limit", "*/*").json
        assert said["now"] == one_in(smallest_share(stored.mechanism, count // unit * unit))
        assert dashboard.get(f"/surveys/{dashboard.ids['empty']}/limit", "*/*").json["now"] is None

    def test_many_surveys(self, fresh: Dashboard) -> None:
        """They come on pages, the newest first, and no mechanism is made for them."""
        domain = Categories(["a", "b"])
        for number in range(CARDS + 2):
            fresh.store.add_survey(create_survey(f"survey {number}.", domain, 1, mechanism="subset"))
        made: list[Survey] = []
        database = fresh.store.engine.url.database or ""
        with (
            Store(database, build=lambda survey: made.append(survey) or mechanism_for(survey)) as other,
            serving(Collector(other), build=create_app) as url,
        ):
            service = Dashboard(url, other, fresh.collector, fresh.token)
            assert service.log_in().status == 204
            texts = [service.get(path).body.decode() for path in ("/", "/?page=2", "/?page=3", "/?page=0")]
        names = [re.findall(r"survey (\d+)\.", text) for text in texts]
        assert [*map(int, names[0] + names[1])] == list(range(CARDS + 2))[::-1]
        assert len(names[0]) == CARDS
        assert names[2] == names[3] == []
        assert made == []
        for wrong in ("x", "-1", "1" * 30, "²"):
            assert len(re.findall(r"survey \d+\.", fresh.get(f"/?page={quote(wrong)}").body.decode())) == CARDS


class TestForms:
    """A survey from its form to its end."""

    FORM: ClassVar = {
        "name": "Referrers",
        "domain": "hostnames",
        "epsilon": "1",
        "people": "10,000",
        "site": "www.example.org/a",
    }

    def test_from_the_form_to_the_end(self, fresh: Dashboard) -> None:
        """It is made, shown with its line, closed, and deleted when its name is typed."""
        made = fresh.send("/new", self.FORM)
        assert made.status == 303
        place = made.headers["location"]
        text = fresh.get(place).body.decode()
        survey_id = place.rpartition("/")[2]
        assert f'<script defer src="{fresh.url}/hubbub.js" data-survey="{survey_id}"></script>' in plain(text)
        assert f"script-src {fresh.url}; connect-src {fresh.url}" in text
        assert "integrity=" in text
        status = fresh.ask("GET", f"/v1/surveys/{survey_id}/status", owner=True).json
        assert status["origins"] == ["https://www.example.org"]
        assert (status["expected_reports"], status["epsilon"], status["mechanism"]) == (10_000, "1", "tree")
        assert fresh.get(f"{place}/close").status == 200
        assert fresh.send(f"{place}/close", {}).status == 303
        assert "closed" in fresh.get(place).body.decode()
        assert fresh.get(f"{place}/delete").status == 200
        assert fresh.send(f"{place}/delete", {"name": "Something else"}).status == 422
        assert fresh.get(place).status == 200
        assert fresh.send(f"{place}/delete", {"name": "Referrers"}).headers["location"] == "/"
        assert fresh.get(place).status == 404

    def test_a_survey_that_repeats(self, fresh: Dashboard) -> None:
        """The form makes it, says what a year costs, and refuses what no budget carries; everybody is told."""
        form = {**self.FORM, "epsilon": "2", "every": "28", "slice": "day"}
        cost = "a browser that stays a year answers up to 14 times and spends ε = 28 in all."
        assert any(cost in said for said in fresh.send("/new/preview", form).json["words"])
        place = fresh.send("/new", form).headers["location"]
        status = fresh.ask("GET", f"/v1{place}/status", owner=True).json
        assert (status["every"], status["slice"], status["state"]) == (28, "day", "open")
        page = plain(fresh.get(place).body.decode())
        assert "once every 28 days for each browser" in page
        assert "It counts browsers at their first view of each period, not visits." in page
        about = plain(fresh.get(place.replace("surveys", "about")).body.decode())
        assert "each browser, once every 28 days, which site" in about
        assert cost in about
        refused = fresh.send("/new", {**form, "every": "7"})
        assert refused.status == 422
        assert "ε = 2 fits every 28 days" in refused.body.decode()
        assert fresh.send("/new/preview", {**form, "every": "7"}).json["complaint"].endswith("fits every 28 days")

    def test_ask_again(self, fresh: Dashboard) -> None:
        """What is over can be asked again with one button: the same question, with an id of its own."""
        form = {**self.FORM, "every": "28", "slice": "day", "named": "rare.example", "together": "a: b.example"}
        place = fresh.send("/new", form).headers["location"]
        assert "Ask again" not in fresh.get(place).body.decode()
        fresh.send(f"{place}/close", {})
        assert "Remove the line, or ask again" in fresh.get(place).body.decode()
        again = fresh.send(f"{place}/again", {}).headers["location"]
        assert again != place
        old, new = (fresh.ask("GET", f"/v1{each}/status", owner=True).json for each in (place, again))
        differ = {"survey_id", "state", "created"}
        assert {name for name in old if old[name] != new[name]} <= differ
        assert (old["state"], new["state"]) == ("closed", "open")
        kept = fresh.ask("GET", f"/v1{again}/names", owner=True).json
        assert (kept["fixed"], kept["groups"]) == (["rare.example"], {"a": ["b.example"]})

    def test_sites_are_spelled_as_browsers_do(self, fresh: Dashboard) -> None:
        """Several sites may be named; paths and the ports of schemes are no part of an origin."""
        sites = "example.org, https://WWW.example.org:443/news,http://localhost:8080, example.org,"
        place = fresh.send("/new", {**self.FORM, "site": sites}).headers["location"]
        status = fresh.ask("GET", f"/v1{place}/status", owner=True).json
        assert status["origins"] == ["https://example.org", "https://www.example.org", "http://localhost:8080"]

    @pytest.mark.parametrize(("domain", "attribute"), [("hostnames", ""), ("words", ' data-value="…"')])
    def test_the_line_fits_the_question(self, fresh: Dashboard, domain: str, attribute: str) -> None:
        """Only where a visitor comes from is known to the script; any other answer is named by the page."""
        text = plain(fresh.get(fresh.send("/new", {**self.FORM, "domain": domain}).headers["location"]).body.decode())
        assert f'"{attribute}></script>' in text
        assert ("It reports the site that a visitor comes from" in text) == (attribute == "")

    def test_a_list(self, fresh: Dashboard) -> None:
        """A list is asked with `subset`, and each page says its visitor's answer."""
        made = fresh.send("/new", {**self.FORM, "domain": "list", "names": "red\ngreen\n\nred\nblue"})
        text = fresh.get(made.headers["location"]).body.decode()
        assert "data-value=" in text
        survey_id = made.headers["location"].rpartition("/")[2]
        document = fresh.ask("GET", f"/v1/surveys/{survey_id}").json
        assert document["domain"]["names"] == ["red", "green", "blue"]
        assert document["mechanism"] == "subset"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"name": ""},
            {"name": "x" * 101},
            {"domain": "other"},
            {"domain": "list", "names": "one"},
            {"epsilon": "9"},
            {"epsilon": "nan"},
            {"every": "1"},
            {"every": "-7"},
            {"slice": "month"},
            {"people": "many"},
            {"people": "0"},
            {"people": "1" * 30},
            {"site": "https://exa mple.org"},
            {"site": "javascript:alert(1)//"},
            {"site": "a.example," * 101},
        ],
        ids=str,
    )
    def test_what_cannot_be(self, fresh: Dashboard, wrong: dict[str, str]) -> None:
        """It is said beside the form, which keeps what was written."""
        reply = fresh.send("/new", {**self.FORM, **wrong})
        assert reply.status == 422
        assert 'role="alert"' in reply.body.decode()
        assert fresh.ask("GET", "/v1/surveys", owner=True).json == {"surveys": []}
        if "name" not in wrong:
            assert fresh.send("/new/preview", {**self.FORM, **wrong}).json["complaint"]

    def test_the_forecast(self, fresh: Dashboard) -> None:
        """More people see smaller shares, and the crowd that is asked for is in the middle."""
        crowds = fresh.send("/new/preview", {**self.FORM, "epsilon": "4"}).json["crowds"]
        assert [crowd["people"] for crowd in crowds] == ["1,000", "10,000", "100,000"]
        widths = [crowd["width"] for crowd in crowds]
        assert widths == sorted(widths, reverse=True)
        assert widths[2] > 0

    def test_the_forecast_is_the_planner_s(self, fresh: Dashboard) -> None:
        """The sentences and the smallest share are those of `hubbub.plan` for the same survey."""
        forecast = fresh.send("/new/preview", {**self.FORM, "domain": "list", "names": "red\ngreen\nblue"}).json
        made = plan(Categories(["red", "green", "blue"]), people=10_000, epsilon=1, mechanism="subset")
        assert forecast["words"] + forecast["sums"] == list(made.words)
        assert forecast["sums"][1] == ASSUMPTION
        assert forecast["crowds"][1]["width"] == made.share

    def test_a_long_list(self, fresh: Dashboard) -> None:
        """Its forecast is the planner's, too; it has 4,095 answers at most, since "(other)" is one more."""
        names = [f"n{number}" for number in range(4_096)]
        form = {**self.FORM, "domain": "list", "epsilon": "4", "people": "100000"}
        crowds = fresh.send("/new/preview", {**form, "names": "\n".join(names[:2_000])}).json["crowds"]
        assert 0.0050 < crowds[1]["width"] < 0.0054
        assert fresh.send("/new", {**form, "names": "\n".join(names[:4_095])}).status == 303
        refused = fresh.send("/new", {**form, "names": "\n".join(names)})
        assert refused.status == 422
        assert "Write 2 to 4,095 different answers, one per line; you wrote 4,096." in refused.body.decode()

    def test_a_form_that_is_none(self, fresh: Dashboard) -> None:
        """Bytes that no browser sends are refused in one sentence."""
        for body in (b"\xff\xfe", b"&".join(b"a%d=1" % n for n in range(100))):
            reply = fresh.ask("POST", "/new", body, Origin=fresh.origin, Cookie=fresh.cookie)
            assert (reply.status, reply.kind) == (422, "invalid-request")
        huge = fresh.ask("POST", "/new", b"a=" + b"b" * (1 << 20), Origin=fresh.origin, Cookie=fresh.cookie)
        assert huge.status == 413


def plain(page: str) -> str:
    """The text of a page, without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def _answers(dashboard: Dashboard) -> str:
    """The counter of searches."""
    text = dashboard.ask("GET", "/metrics").body.decode()
    return re.findall(r"^hubbub_answers_total (.*)$", text, re.MULTILINE)[0]


def test_names_are_hostile() -> None:
    """The samples are what they are meant to be."""
    assert "<script>" in HOSTILE_NAME
    assert max(len(name.encode()) for name in HOSTILE) == 64
