"""The dashboard in a real browser: logging in, watching reports come in, naming values, ending surveys; axe."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import PATIENCE
from tests.browser.samples import HOSTILE_NAME, fill
from tests.browser.screenshots import pages
from tests.browser.servers import Collector, Site, snippet
from tests.browser.visits import DELIVERED

from hubbub import Categories, create_survey
from hubbub.collector import state
from hubbub.collector.scripts import shipped
from hubbub.collector.serving import serving
from hubbub.dashboard.app import create_app
from hubbub.store.keys import make_code, open_session
from hubbub.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def log_in(page: Any, url: str, code: str) -> None:
    """Open the link that logs in, and wait for the surveys."""
    page.goto(f"{url}/login#{code}")
    page.wait_for_url(f"{url}/")
    page.get_by_role("heading", name="Surveys", exact=True).wait_for()


class Shown:
    """A dashboard with surveys of all sorts."""

    def __init__(self, url: str, store: Store, ids: dict[str, str]) -> None:
        self.url, self.store, self.ids = url, store, ids


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Surveys of all sorts, served by this process."""
    with Store(str(tmp_path_factory.mktemp("shown") / "a.db")) as store:
        ids = fill(store)
        with serving(state.Collector(store, fold_seconds=0.2), build=create_app) as url:
            yield Shown(url, store, ids)


@pytest.fixture
def page(context: Any, shown: Shown) -> Any:
    """A page that is logged in. Whatever goes wrong in a script or against the policy fails the test."""
    opened = context.new_page()
    opened.problems = []
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("dialog", lambda dialog: opened.problems.append(dialog.message) or dialog.dismiss())
    opened.on("request", lambda request: request.url.startswith(shown.url) or opened.problems.append(request.url))
    opened.on("console", lambda line: "Content Security Policy" in line.text and opened.problems.append(line.text))
    log_in(opened, shown.url, make_code(shown.store.engine))
    yield opened
    assert opened.problems == []


def test_the_link_of_the_first_start(context: Any, collector: Collector) -> None:
    """The link that `hubbub serve` printed logs in once; the code is gone from the address and from the history."""
    page = context.new_page()
    code = collector.login.partition("#")[2]
    log_in(page, collector.url, code)
    assert code not in page.evaluate("location.href + document.documentElement.innerHTML")
    [cookie] = context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["domain"]) == (True, "Strict", "127.0.0.1")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{collector.url}/login")
    page.goto(f"{collector.url}/")
    page.wait_for_url(f"{collector.url}/login")
    page.goto(collector.login)
    page.get_by_text("the code is wrong, used or older than 15 minutes").wait_for()
    assert page.evaluate("location.hash") == ""


def test_a_session_that_is_over(context: Any, shown: Shown) -> None:
    """Whoever comes with an old session sees the login."""
    engine = shown.store.engine
    old = open_session(engine, make_code(engine), seconds=0)
    name = f"hubbub-{shown.url.rpartition(':')[2]}"
    context.add_cookies([{"name": name, "value": old, "url": shown.url}])
    page = context.new_page()
    page.goto(f"{shown.url}/surveys/{shown.ids['busy']}")
    page.wait_for_url(f"{shown.url}/login")
    page.get_by_label("Or paste the link").fill(f"{shown.url}/login#wrong")
    page.get_by_label("Or paste the link").press("Enter")
    page.get_by_role("alert").filter(has_text="wrong, used or older").wait_for()


def test_from_the_form_to_the_first_report(context: Any, collector: Collector, site: Site, tmp_path: Path) -> None:
    """A survey is made with the keyboard, its line is pasted into a page, and its first report shows up by itself."""
    with Store(collector.database) as store:
        code = make_code(store.engine)
    page = context.new_page()
    log_in(page, collector.url, code)
    page.get_by_role("link", name="New survey").first.click()
    page.get_by_label("What do you want to know?").fill(HOSTILE_NAME)
    page.get_by_label("How many people will answer?").fill("2000")
    page.locator("#preview .share").nth(2).wait_for()
    page.get_by_text("Weak").click()
    page.locator("#preview").get_by_text("With 2,000 people at ε = 4 a value is seen if").wait_for()
    page.get_by_label("On which site?").fill("München.example/a")
    page.get_by_label("On which site?").blur()
    assert page.get_by_label("On which site?").input_value() == "https://xn--mnchen-3ya.example"
    page.get_by_label("On which site?").fill(site.url)
    page.get_by_label("On which site?").press("Enter")
    page.get_by_text("Waiting for the first report").wait_for()
    line = page.locator(".copy code").first.inner_text()
    survey_id = page.url.rpartition("/")[2]
    assert line == snippet(collector.url, survey_id).replace(" >", ">")
    visitor = context.browser.new_context()
    tab = visitor.new_page()
    tab.goto(site.add("/owner", line), referer="https://news.example/")
    tab.wait_for_function(DELIVERED)
    page.get_by_text("First report received").wait_for()
    page.get_by_text("from 1 report", exact=True).wait_for()
    assert page.locator("#reports").inner_text() == "1"
    visitor.close()


def test_cards_say_the_smallest_share(page: Any, shown: Shown) -> None:
    """It is asked for when a card is seen; a survey without reports shows nothing yet."""
    for kind, said in (("busy", re.compile("1 in [0-9]+")), ("empty", "none yet")):
        card = page.locator(f'[data-survey="{shown.ids[kind]}"]')
        card.scroll_into_view_if_needed()
        card.locator('[data-limit="now"]').filter(has_text=said).wait_for()


def test_sorting_and_searching(page: Any, shown: Shown) -> None:
    """A click on a heading sorts, a second one turns it round; typing searches."""
    page.goto(f"{shown.url}/surveys/{shown.ids['busy']}")
    rows = page.locator("#answer tbody tr:visible th")
    rows.first.wait_for()
    by_count = rows.all_inner_texts()
    assert by_count[:2] == ["direct", "search.example"]
    page.get_by_role("button", name="people").press("Enter")
    assert rows.all_inner_texts() == by_count[::-1]
    page.get_by_role("button", name="value").click()
    page.get_by_role("button", name="value").click()
    assert rows.all_inner_texts() == sorted(by_count)
    page.get_by_label("Search").fill("SEARCH")
    assert rows.all_inner_texts() == ["search.example"]
    page.get_by_label("Search").fill("no such value")
    page.get_by_text("No value has that in it.").wait_for()
    assert page.locator("figure.chart svg rect").count() == len(by_count)
    assert page.locator("figure.chart svg .limit").count() == 1


def test_names_and_files(page: Any, shown: Shown, tmp_path: Path) -> None:
    """Values are named by typing or by a file; they stay, and are in the one table and in its file."""
    page.goto(f"{shown.url}/surveys/{shown.ids['busy']}")
    page.get_by_role("textbox", name="Values").fill("www.nobody.example")
    page.get_by_role("button", name="Keep these names").click()
    page.get_by_text("www.nobody.example is counted as nobody.example.").wait_for()
    page.locator("#answer tbody").get_by_text("nobody.example").first.wait_for()
    file = tmp_path / "names.txt"
    file.write_text("somebody.example\n")
    page.locator("[type=file]").set_input_files(file)
    page.wait_for_function("document.getElementById('names').value.startsWith('somebody')")
    page.get_by_role("button", name="Keep these names").click()
    page.locator("#answer tbody").get_by_text("somebody.example").first.wait_for()
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").first.click()
    table = list(csv.DictReader(saved.value.path().read_text("utf-8-sig").splitlines()))
    assert table[0]["value"] == "direct"
    assert [row["value"] for row in table if row["late"] == "True"] == ["somebody.example"]
    page.reload()
    assert page.get_by_role("textbox", name="Values").input_value() == "somebody.example"


def test_closing_and_deleting_are_asked_twice(page: Any, shown: Shown) -> None:
    """A survey is closed on a second page; it is deleted when its name is typed as it is shown."""
    survey = create_survey(HOSTILE_NAME, Categories(["yes", "no"]), 1)
    shown.store.add_survey(survey)
    page.goto(f"{shown.url}/surveys/{survey.survey_id.hex()}")
    page.get_by_role("link", name="Close…").click()
    page.get_by_role("button", name="Close it").click()
    page.locator(".badge.closed").wait_for()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("textbox").fill("another name")
    page.get_by_role("button", name="Delete it for ever").click()
    page.get_by_text("That is not the survey's name.").wait_for()
    page.get_by_role("textbox").fill(page.locator("label bdi").inner_text())
    page.get_by_role("button", name="Delete it for ever").click()
    page.wait_for_url(f"{shown.url}/")
    assert page.locator(f"a[href*='{survey.survey_id.hex()}']").count() == 0


def test_randomise_my_value(context: Any, shown: Shown) -> None:
    """The public page runs the client's own code: reports of 17 bytes that differ each time, and no request."""
    page = context.new_page()
    page.goto(f"{shown.url}/about/{shown.ids['busy']}")
    page.locator("#try[data-ready]").wait_for()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.get_by_label("Your value").fill("news.example")
    for _ in range(12):
        page.get_by_role("button", name="Randomise my value").click()
    lines = page.locator("#reports li").all_inner_texts()
    assert len(lines) == len(set(lines)) == 8
    assert all(len(line.split()) == 17 for line in lines)
    assert requests == []


def checked(page: Any, address: str) -> tuple[str, str]:
    """What the public page's check says of the script: its verdict, and its sentences."""
    page.goto(address)
    page.get_by_role("button", name="Draw 100,000 reports").click()
    page.locator("#check[data-verdict]").wait_for()
    return page.locator("#check").get_attribute("data-verdict"), page.locator("#checked").inner_text()


def test_check_it_yourself(context: Any, shown: Shown) -> None:
    """A visitor's browser measures the script that ships, and notices one that tells the value."""
    page, address = context.new_page(), f"{shown.url}/about/{shown.ids['busy']}"
    verdict, said = checked(page, address)
    epsilon = float(shown.store.survey(bytes.fromhex(shown.ids["busy"])).survey.epsilon)
    assert verdict == "kept"
    assert hashlib.sha256(shipped()["hubbub.mjs"].body).hexdigest() in said
    found = re.search(r"That is ([\d.,]+) times as often.* between ([\d.,]+) and ([\d.,]+)\. .*at most ([\d.,]+)", said)
    assert found is not None
    ratio, low, high, promised = (float(each.replace(",", "")) for each in found.groups())
    assert promised == pytest.approx(math.exp(epsilon), rel=1e-3)
    assert low < ratio < high
    assert low <= promised <= 1.3 * high  # the check finds nearly all that the script tells
    tells = "export const readSurvey = () => (value, random) => [...random.slice(0, 16), value.length % 256]"
    context.route("**/hubbub.mjs", lambda route: route.fulfill(body=tells, content_type="text/javascript"))
    verdict, said = checked(context.new_page(), address)
    assert verdict == "broken"
    assert "tells more than the survey promises" in said


def test_the_caption_speaks_of_a_line_that_is_drawn(page: Any, shown: Shown) -> None:
    """The caption explains the line of the limit where it is drawn, and not where it is beyond the chart."""
    page.goto(f"{shown.url}/surveys/{shown.ids['busy']}")
    page.locator(".limit-note").wait_for()
    assert page.locator(".plot .limit").count() == 1
    page.evaluate(
        """async () => {
          const { bars } = await import("/dashboard/charts.js");
          const figure = document.querySelector("figure[data-chart]");
          figure.dataset.chart = JSON.stringify({ ...JSON.parse(figure.dataset.chart), limit: 1e9 });
          bars(figure);
        }"""
    )
    page.locator(".limit-note").wait_for(state="hidden")
    assert page.locator(".plot .limit").count() == 0


@pytest.mark.parametrize(("scheme", "width"), [("light", 1180), ("dark", 360)])
def test_pages_are_for_everybody(browser: Any, shown: Shown, scheme: str, width: int) -> None:
    """Axe finds nothing on any page, and no page and no table is wider than its window."""
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{shown.url}/login")
    found = {"login": Axe().run(page).response["violations"]}
    log_in(page, shown.url, make_code(shown.store.engine))
    for name, path in pages(shown.ids).items():
        page.goto(shown.url + path, wait_until="load")
        if name.startswith("survey"):
            page.locator("#answer .answer").wait_for()
        found[name] = Axe().run(page).response["violations"]
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        for table in page.locator(".scroll").all():
            assert table.evaluate("place => place.scrollWidth - place.clientWidth") <= 0, name
    context.close()
    assert {
        name: [(each["id"], each["nodes"][0]["html"]) for each in all_] for name, all_ in found.items() if all_
    } == {}
