"""The script in a real browser, on a page of another origin, against a real collector."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.browser.servers import Collector, Relay, Site, snippet
from tests.browser.visits import DELIVERED, PLANTED, referrers, visit_all

from hubbub.collector.scripts import shipped
from hubbub.store.keys import make_code
from hubbub.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

HOSTILE = '</script><img src=x onerror="window.broken=1">\'"&\u202e'


class Watch:
    """What went wrong in a page: exceptions of scripts, and dialogs."""

    def __init__(self, page: Any) -> None:
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message) or dialog.dismiss())


def view(context: Any, url: str, referer: str | None = "https://news.example/") -> Any:
    """Load a page in a new tab until the network is quiet."""
    page = context.new_page()
    watch = Watch(page)
    page.goto(url, referer=referer, wait_until="networkidle")
    assert page.locator("h1").first.inner_text() == "A site"  # the page is unharmed
    assert watch.errors == []
    return page


def ledger(page: Any) -> list[dict[str, Any]]:
    """The entries that the browser keeps for the site."""
    return list(json.loads(page.evaluate("localStorage.hubbub ?? '{}'")).values())


def test_visitors_make_an_answer(context: Any, collector: Collector, site: Site) -> None:
    """300 visits, each of a browser that has seen nothing: every report counts once, the planted sites are shown."""
    survey_id = collector.new_survey("visits", public_seed=bytes(32).hex())
    site.add("/visits", snippet(collector.url, survey_id))
    with ThreadPoolExecutor(1) as thread:  # where no other event loop runs
        thread.submit(asyncio.run, visit_all(site.url, "/visits", referrers(300), seeded=True)).result()
    answer = collector.ask("GET", f"/v1/surveys/{survey_id}/hitters")
    assert answer["reports"] == 300
    assert [row["value"] for row in answer["hitters"]] == [host for host, _ in PLANTED]
    for row, (_, share) in zip(answer["hitters"], PLANTED, strict=True):
        assert row["low"] <= share * 300 <= row["high"]
    with Store(collector.database) as store:
        code = make_code(store.engine)
    page = context.new_page()
    page.goto(f"{collector.url}/login#{code}")
    page.get_by_role("link", name="visits").click()
    page.get_by_text("from 300 reports").wait_for()
    assert page.locator("#answer tbody th").all_inner_texts() == [host for host, _ in PLANTED]
    assert page.locator("figure.chart svg rect").count() == len(PLANTED)


def test_a_first_view_and_a_repeat_view(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """A first view costs three simple requests, without cookie, referrer or preflight; a repeat view costs none."""
    survey_id = collector.new_survey("views")
    url = site.add("/views", snippet(relay.url, survey_id))
    context.add_cookies([{"name": "spy", "value": "1", "url": relay.url}])
    page = view(context, url)
    page.wait_for_function(DELIVERED)
    assert relay.requests() == ["GET /hubbub.js", "GET /v1/surveys/", "POST reports"]
    for _, path, headers, _ in relay.seen[1:]:
        assert "cookie" not in headers, path
        assert "referer" not in headers, path
        assert headers["origin"] == site.url
        assert not {name for name in headers if name.startswith("x-")}
    assert len(relay.uploads()[0]) == 50
    [entry] = ledger(page)
    assert "report" not in entry
    assert "news" not in json.dumps(entry)
    relay.seen.clear()
    for _ in range(3):
        view(context, url)
    assert relay.seen == []
    assert collector.reports(survey_id) == 1


@pytest.mark.parametrize(
    "signal",
    [
        "Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true })",
        "Object.defineProperty(Navigator.prototype, 'doNotTrack', { get: () => '1' })",
        "localStorage.hubbubOut = '1'",
    ],
    ids=["global privacy control", "do not track", "opted out"],
)
def test_who_does_not_want_to_is_left_alone(
    context: Any, collector: Collector, relay: Relay, site: Site, signal: str
) -> None:
    """Nothing is stored and nothing is sent."""
    survey_id = collector.new_survey("signals")
    context.add_init_script(signal)
    page = view(context, site.add("/signals", snippet(relay.url, survey_id)))
    assert ledger(page) == []
    assert relay.requests() == ["GET /hubbub.js"]


def test_opting_out_on_the_privacy_page(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """The second script lists what was told, as text; after a click nothing more is sent, not even what waited."""
    survey_id = collector.new_survey(HOSTILE)
    url = site.add("/out", snippet(relay.url, survey_id))
    privacy = site.add(
        "/privacy", f'<div data-hubbub-ledger></div><script defer src="{relay.url}/hubbub-ledger.js"></script>'
    )
    relay.down = True
    view(context, url)
    page = view(context, privacy)
    assert page.locator("td").first.inner_text() == HOSTILE
    assert page.evaluate("window.broken") is None
    assert page.get_by_text("not delivered yet").count() == 1
    page.get_by_role("button", name="Opt out").click()
    page.get_by_role("button", name="Take part again").wait_for()
    relay.down = False
    relay.seen.clear()
    view(context, url)
    assert relay.uploads() == []
    assert collector.reports(survey_id) == 0


def test_a_blocked_collector_harms_no_page(context: Any, collector: Collector, site: Site) -> None:
    """Where a blocker or a firewall stops the script or its requests, the page does not notice."""
    survey_id = collector.new_survey("blocked")
    url = site.add("/blocked", snippet(collector.url, survey_id))
    for pattern in ("**/hubbub.js", "**/v1/**"):
        context.route(pattern, lambda route: route.abort("blockedbyclient"))
        assert ledger(view(context, url)) == []
        context.unroute(pattern)
    view(context, url).wait_for_function(DELIVERED)
    assert collector.reports(survey_id) == 1


def test_a_strict_policy(context: Any, collector: Collector, site: Site) -> None:
    """The two lines of the documentation are enough for a strict policy; without them nothing happens."""
    survey_id = collector.new_survey("policy")
    line = snippet(collector.url, survey_id)
    closed = site.add("/closed", line, Content_Security_Policy="default-src 'self'")
    assert ledger(view(context, closed)) == []
    policy = f"default-src 'none'; script-src {collector.url}; connect-src {collector.url}"
    view(context, site.add("/strict", line, Content_Security_Policy=policy)).wait_for_function(DELIVERED)
    assert collector.reports(survey_id) == 1


def test_no_storage(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """A page whose storage is refused (an opaque origin) sends nothing, and so does one whose storage is full."""
    survey_id = collector.new_survey("storage")
    line = snippet(relay.url, survey_id)
    view(context, site.add("/opaque", line, Content_Security_Policy="sandbox allow-scripts"))
    assert relay.requests() == ["GET /hubbub.js"]
    site.add("/empty", "")
    page = view(context, site.url + "/empty")
    page.evaluate(
        "for (let size = 1 << 22; size; size >>= 1)"
        " try { for (let n = 0; ; n++) localStorage[`${size} ${n}`] = 'x'.repeat(size) } catch {}"
    )
    view(context, site.add("/full", line))
    assert relay.uploads() == []


def test_two_tabs_at_once(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """Tabs that load the page in the same moment make one report together."""
    survey_id = collector.new_survey("tabs")
    url = site.add("/tabs", snippet(relay.url, survey_id))
    site.add("/opener", "")
    opener = view(context, site.url + "/opener")
    opener.evaluate(f"for (let tab = 0; tab < 5; tab++) open({url!r})")
    opener.wait_for_function(DELIVERED)
    for page in context.pages:
        page.wait_for_load_state("networkidle")
    assert len(context.pages) == 6
    assert len(relay.uploads()) == 1
    assert collector.reports(survey_id) == 1


def test_after_an_outage(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """The same bytes are sent on later views until they are acknowledged, and count once."""
    survey_id = collector.new_survey("outage")
    url = site.add("/outage", snippet(relay.url, survey_id))
    relay.down = True
    for _ in range(2):
        assert "report" in ledger(view(context, url))[0]
    relay.down = False
    view(context, url).wait_for_function(DELIVERED)
    assert len(set(relay.uploads())) == 1
    assert len(relay.uploads()) >= 3
    assert collector.reports(survey_id) == 1


def test_leaving_before_the_upload(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """A report that waits for its moment is sent at once when its page goes away, and counts."""
    survey_id = collector.new_survey("leaving")
    site.add("/elsewhere", "")
    context.add_init_script("window.setTimeout = () => 0")  # its moment never comes
    page = view(context, site.add("/leaving", snippet(relay.url, survey_id)))
    page.wait_for_function("Object.values(JSON.parse(localStorage.hubbub ?? '{}')).some((entry) => entry.report)")
    assert relay.uploads() == []
    page.goto(site.url + "/elsewhere")
    deadline = time.monotonic() + 60
    while collector.reports(survey_id) < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert collector.reports(survey_id) == 1


def test_consent_comes_first(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """With data-consent nothing is stored or sent before the page says so."""
    survey_id = collector.new_survey("consent")
    page = view(context, site.add("/consent", snippet(relay.url, survey_id, "data-consent")))
    assert ledger(page) == []
    assert relay.requests() == ["GET /hubbub.js"]
    page.evaluate("hubbub.consent()")
    page.wait_for_function(DELIVERED)
    assert collector.reports(survey_id) == 1


def test_hostile_values(context: Any, collector: Collector, relay: Relay, site: Site) -> None:
    """Whatever the value is, a report of the same size is made and the page is unharmed."""
    survey_id = collector.new_survey("hostile")
    page = view(context, site.add("/hostile", snippet(relay.url, survey_id, "data-manual")))
    page.evaluate("(value) => hubbub.report(value)", HOSTILE * 100)
    page.wait_for_function(DELIVERED)
    assert [len(body) for body in relay.uploads()] == [50]
    assert page.evaluate("window.broken") is None


def test_the_script_under_its_hash(context: Any, collector: Collector, site: Site) -> None:
    """With `integrity` the right bytes run; others do not."""
    survey_id = collector.new_survey("hash")
    script = shipped()["hubbub.js"]
    wrong = site.add("/wrong", snippet(collector.url, survey_id, f'integrity="sha384-{"A" * 64}" crossorigin'))
    assert ledger(view(context, wrong)) == []
    attributes = f'integrity="{script.integrity}" crossorigin'
    url = site.add("/right", snippet(collector.url, survey_id, attributes, script.hashed_name))
    view(context, url).wait_for_function(DELIVERED)
    assert collector.reports(survey_id) == 1
