"""docs/tutorial-site-owner.md, followed in a real browser: what it names in bold is there, at that step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.browser.servers import Collector, Site, collector_process
from tests.browser.visits import DELIVERED

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial-site-owner.md"


@pytest.fixture
def own(tmp_path: Path) -> Any:
    """A collector that starts for the first time."""
    with collector_process(tmp_path / "hubbub.db") as started:
        yield started


def test_the_tutorial(context: Any, own: Collector, site: Site) -> None:
    """Every step can be done as it is written, and every name in bold was used."""
    steps = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    bold = [re.findall(r"\*\*(.+?)\*\*", step.replace("\n", " ")) for step in steps]
    page = context.new_page()
    page.goto(own.login)

    new, called, where, *asked, private, often, people, make = bold[1]
    page.get_by_role("link", name=new).first.click()
    page.get_by_label(called).fill("a site")
    page.get_by_label(where).fill(site.url)
    assert len(asked) == 3
    for each in asked:
        assert page.get_by_label(each).is_checked()
    assert page.get_by_label(private, exact=False).nth(1).is_checked()
    assert page.get_by_label(often).input_value() == "28"
    page.get_by_label(people).fill("3000")
    page.get_by_role("button", name=make).click()

    paste, policy = bold[2]
    page.get_by_role("heading", name=paste).wait_for()
    line = page.locator(".copy code").first.inner_text()
    shown = re.search(r"<script defer.*</script>", steps[2])
    assert shown
    key = page.url.rpartition("/")[2]
    assert line == shown[0].replace("https://collector.example", own.url).replace("KEY", key)
    page.get_by_text(policy).click()
    page.get_by_text(f"script-src {own.url}; connect-src {own.url}").wait_for()
    page.get_by_text("each gets about 1,000.").wait_for()

    first, reasons, answers, means, names = bold[3]
    page.get_by_text(reasons).click()
    page.get_by_text("A browser answers once every 28 days.").wait_for()
    visitor = context.browser.new_context()
    tab = visitor.new_page()
    tab.goto(site.add("/tutorial", line), referer="https://news.example/")
    tab.wait_for_function(DELIVERED)
    visitor.close()
    page.get_by_text(first).wait_for()
    page.get_by_role("heading", name=answers).wait_for()
    page.get_by_text("1 report", exact=True).first.wait_for()
    page.get_by_role("link", name="Referrers").first.click()
    page.get_by_role("heading", name="A question of a site").wait_for()
    page.get_by_role("heading", name=names).wait_for()
    page.go_back()
    page.locator(".one", has_text="1 report").get_by_role("link").click()
    page.get_by_role("heading", name=means).wait_for()
    page.go_back()

    public, visitors, remove, delete = bold[4]
    page.get_by_text("The line on your pages").click()
    page.get_by_text(visitors).click()
    assert "data-hubbub-ledger" in page.locator(".copy code").last.inner_text()
    page.get_by_role("link", name=public, exact=True).first.click()
    page.get_by_role("button", name="Randomise my value").wait_for()
    page.go_back()
    page.get_by_role("button", name=remove).first.click()
    page.get_by_text("2 questions").first.wait_for()
    page.get_by_role("link", name=delete).click()
    page.get_by_label("To be sure").fill("a site")
    page.get_by_role("button", name="Delete the site").click()
    page.get_by_role("heading", name="Surveys", exact=True).wait_for()
    assert bold[0] == []
