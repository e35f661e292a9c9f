"""A site in a real browser, from the form to its answers: 300 visits through `data-site`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.browser.servers import Site, collector_process
from tests.browser.visits import new_site, visit_site, wrong_in

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.usefixtures("needs_browser")
def test_visits_through_a_site(site: Site, tmp_path: Path) -> None:
    """300 visits: each answers one of three questions, and what was planted is found."""
    with collector_process(tmp_path / "a.db") as collector:
        made = new_site(collector, 300)
        with ThreadPoolExecutor(1) as thread:  # the browser of the other tests has the loop of this one
            thread.submit(visit_site, collector, site, made["site"], 300, True).result()
        assert wrong_in(collector, made, 300) == []


def test_the_page_of_a_site(context: Any, tmp_path: Path) -> None:
    """The form, the forecast of one more question, and a card at home, without an error and without a wide page."""
    from axe_playwright_python.sync_playwright import Axe

    with collector_process(tmp_path / "a.db") as collector:
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: "Content Security Policy" in line.text and problems.append(line.text))
        page.goto(collector.login)
        page.get_by_role("link", name="Make the first site").click()
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []
        page.get_by_label("What is your site called?").fill("Wal\u202e & <b>Söhne</b>")
        page.get_by_role("button", name="Make the site").click()
        page.get_by_text("Waiting for the first report").wait_for()
        page.get_by_text("0 reports").nth(2).wait_for()
        assert page.locator("#of").is_hidden()
        page.get_by_text("Own question", exact=True).click()
        page.locator("#of").fill("plan")
        page.locator("#values").fill("free\npaid")
        page.locator("#preview").get_by_text("With 4 questions each gets about 2,500.").wait_for()
        page.get_by_role("button", name="Add the question").click()
        page.get_by_role("button", name="Move Own question: plan up").click()
        page.get_by_role("button", name="Remove Devices").click()
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name="Surveys").click()
        page.get_by_role("list", name="Sites").get_by_text("Own question: plan").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert problems == []
