"""`data-site` in a real browser: one line for several questions, against a list of questions that a relay serves."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from tests.browser.chromium import launch_options
from tests.browser.servers import Collector, Relay, Site
from tests.browser.test_script import view
from tests.browser.visits import DELIVERED

from hubbub import Categories

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

KEY = "0123456789abcdef" * 2
MANIFEST = f"/v1/sites/{KEY}"
FIRST_VIEW = ["GET /hubbub.js", "GET /hubbub-more", "GET /v1/sites/012", "GET /v1/surveys/", "POST reports"]


def line(url: str, attributes: str = "") -> str:
    """The line that a site owner pastes."""
    return f'<script defer src="{url}/hubbub.js" data-site="{KEY}" {attributes}></script>'


def serve(relay: Relay, collector: Collector, *questions: tuple[str, str, Any]) -> list[str]:
    """Make the relay serve a site with questions: what each asks, of what, and its domain; the ids of their surveys."""
    ids = []
    for number, (asks, _, domain) in enumerate(questions):
        more = {} if domain is None else {"domain": domain.to_json(), "mechanism": "subset"}
        ids.append(collector.new_survey(f"{asks} {number} {len(relay.seen)} {id(relay)}", **more))
    listed = [
        {"asks": asks, **({"of": of} if of else {}), "survey": survey_id}
        for (asks, of, _), survey_id in zip(questions, ids, strict=True)
    ]
    manifest = {"own": ["localhost"], "questions": listed, "site": KEY, "version": 1}
    relay.served[MANIFEST] = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    return ids


def requests(relay: Relay) -> list[str]:
    """All requests, without ids."""
    return [f"{method} {path.split('/')[-1] if 'reports' in path else path[:12]}" for method, path, *_ in relay.seen]


DEVICES = Categories(("phone", "tablet", "computer"), other=False)
GOAL = Categories(("no", "yes"), other=False)


def test_a_first_view_and_a_later_visit(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """The first view draws one of the questions and answers it; later views and visits send nothing."""
    ids = serve(relay, collector, ("referrer", "", None), ("path", "", None), ("device", "", DEVICES))
    url = site.add("/site", line(relay.url))
    page = view(context, url)
    page.wait_for_function(DELIVERED)
    assert [each[:16] for each in requests(relay)] == [each[:16] for each in FIRST_VIEW]
    for _, path, headers, _ in relay.seen[2:]:
        assert "cookie" not in headers, path
        assert "referer" not in headers, path
    assert sum(collector.reports(each) for each in ids) == 1
    entries = json.loads(page.evaluate("localStorage.hubbub"))
    assert list(entries) == [relay.url + MANIFEST]
    relay.seen.clear()
    page.reload(wait_until="networkidle")
    view(context, url)
    assert relay.seen == []


def test_every_question_can_be_asked(browser: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """Each kind of question makes a report that the collector takes."""
    url = site.add("/kinds", line(relay.url))
    for asks, of, domain in (
        *(("referrer", "", None), ("campaign", "", None), ("path", "", None), ("search", "q", None)),
        *(("device", "", DEVICES), ("language", "", None), ("zone", "", None), ("goal", "bought", GOAL)),
    ):
        [survey_id] = serve(relay, collector, (asks, of, domain))
        fresh = browser.new_context()
        view(fresh, url + "?q=x").wait_for_function(DELIVERED)
        fresh.close()
        assert collector.reports(survey_id) == 1, asks


def test_an_own_question_waits_for_the_page(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """It is drawn on the first view, and answered by a call, which the stub of the documentation keeps."""
    [survey_id] = serve(relay, collector, ("own", "plan", Categories(("gold", "silver"))))
    stub = """<script>
  var hubbub = [];
  hubbub.consent = () => hubbub.push(0); hubbub.report = (...given) => hubbub.push(given);
</script>"""
    url = site.add("/own", stub + line(relay.url))
    view(context, url).wait_for_function(
        "Object.values(JSON.parse(localStorage.hubbub ?? '{}')).some((each) => each.waits)"
    )
    assert collector.reports(survey_id) == 0
    site.add("/calls", stub + "<script>hubbub.report('plan', 'gold')</script>" + line(relay.url))
    view(context, site.url + "/calls").wait_for_function(DELIVERED)
    page = view(context, site.url + "/calls")
    page.evaluate("hubbub.report('plan', 'silver')")
    assert collector.reports(survey_id) == 1
    assert "gold" not in page.evaluate("localStorage.hubbub")


def test_two_tabs_and_two_lines(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """Tabs that load at once, with the line twice on each page, make one report."""
    ids = serve(relay, collector, ("path", "", None), ("device", "", DEVICES))
    url = site.add("/twice", line(relay.url) + line(relay.url))
    site.add("/opener", "")
    opener = view(context, site.url + "/opener")
    opener.evaluate(f"for (let tab = 0; tab < 4; tab++) open({url!r}, '_blank', 'noopener')")
    opener.wait_for_function(DELIVERED)
    for page in context.pages:
        page.wait_for_load_state("networkidle")
    assert len(relay.uploads()) == 1
    assert sum(collector.reports(each) for each in ids) == 1


def test_a_pinned_list_a_nonce_and_a_policy(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """`data-manifest` refuses another list; a nonce on the line is enough for both parts of the script."""
    [survey_id] = serve(relay, collector, ("path", "", None))
    digest = base64.b64encode(hashlib.sha256(relay.served[MANIFEST]).digest()).decode()
    policy = f"default-src 'none'; script-src 'nonce-n0nce'; connect-src {relay.url}"
    for pin in ("sha256-" + "A" * 43 + "=", f"sha256-{digest}"):
        assert collector.reports(survey_id) == 0
        page = site.add("/pin", line(relay.url, f'nonce="n0nce" data-manifest="{pin}"'), Content_Security_Policy=policy)
        opened = view(context, page)
        if digest not in pin:
            assert opened.evaluate("localStorage.hubbub ?? '{}'") == "{}"
        else:
            opened.wait_for_function(DELIVERED)
    assert collector.reports(survey_id) == 1


def test_a_changed_second_part_is_not_run(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """The first part has the hash of the second: other bytes under its name do not run."""
    serve(relay, collector, ("path", "", None))
    context.route(
        "**/hubbub-more-*.js", lambda route: route.fulfill(body="window.broken = 1", content_type="text/javascript")
    )
    page = view(context, site.add("/changed", line(relay.url)))
    assert page.evaluate("window.broken") is None
    assert page.evaluate("localStorage.hubbub ?? '{}'") == "{}"


def test_what_the_console_says(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """With `data-debug` one sentence says what became of the view."""
    serve(relay, collector, ("referrer", "", None))
    url = site.add("/debug", line(relay.url, "data-debug"))
    page = context.new_page()
    with page.expect_console_message(lambda message: message.text.startswith("hubbub: ")) as said:
        page.goto(url, referer="https://secret.example/")
    assert "this browser answered on" in said.value.text
    assert "secret" not in said.value.text
    relay.served[MANIFEST] = b""
    fresh = context.browser.new_context()
    page = fresh.new_page()
    with page.expect_console_message(lambda message: message.text.startswith("hubbub: ")) as said:
        page.goto(url)
    assert said.value.text == "hubbub: nothing was sent: the site has no open question, or none of this key."
    fresh.close()


def test_a_browser_that_a_program_drives(
    needs_browser: None, browser: Any, collector: Collector, relay: Relay, site: Site
) -> None:
    """With the mark of automation, which the other tests take off, nothing is asked, stored or sent."""
    serve(relay, collector, ("path", "", None))
    survey_id = collector.new_survey("marked")
    tag = f'<script defer src="{relay.url}/hubbub.js" data-survey="{survey_id}"></script>'
    url = site.add("/marked", tag + line(relay.url))
    marked = browser.browser_type.launch(**launch_options(marked=True))
    try:
        page = view(marked.new_context(), url)
        assert page.evaluate("navigator.webdriver") is True
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    finally:
        marked.close()
    assert [path for _, path, *_ in relay.seen if "/v1/" in path] == []


def test_the_ledger_page_on_the_first_view(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """The page shows an answer that is made while it is open, and says that it was one question of several."""
    serve(relay, collector, ("path", "", None), ("referrer", "", None))
    part = f'<div data-hubbub-ledger></div><script defer src="{relay.url}/hubbub-ledger.js"></script>'
    page = view(context, site.add("/privacy-page", part + line(relay.url)))
    page.get_by_text("This browser has answered these surveys of this site:").wait_for()
    page.get_by_role("cell", name="(the one question drawn of several)").wait_for()
    assert page.get_by_text("answered no survey").count() == 0
