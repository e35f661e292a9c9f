"""Many visitors of a site: a fresh profile each, real pages, the real script.

`python -m tests.browser.visits --visits 2000` does it with the browser's own randomness and prints what came out. With
`--stay 100` every visitor leaves 100 ms after the page has loaded, which is often before its report was due. With
`--site` the line is that of a site with three questions, of which each visitor answers one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.browser.chromium import MISSING, SEEDED_CRYPTO, find_chromium, launch_options
from tests.browser.servers import Collector, Site, collector_process, site_server, snippet

DELIVERED = "() => Object.values(JSON.parse(localStorage.hubbub ?? '{}')).some((entry) => !entry.report)"
PLANTED = (("news.example", 0.45), ("search.example", 0.35))
AT_ONCE = 4
MOST_LOST = 0.005
"""The share of reports that may be lost where visitors leave early."""


def referrers(visits: int) -> list[str | None]:
    """Where the visitors come from: mostly from two sites, some from nowhere, the rest from many."""
    planted = [host for host, share in PLANTED for _ in range(round(share * visits))]
    rest = visits - len(planted)
    return [*planted, *[None] * (rest // 4), *(f"small{number}.example" for number in range(rest - rest // 4))]


async def visit_all(
    site_url: str,
    path: str,
    hosts: Sequence[str | None],
    seeded: bool,
    stay: float | None = None,
    first: int = 0,
    upload_path: str = "/reports",
) -> int:
    """Visit a page once for every host, until the report is acknowledged, or for `stay` milliseconds.

    Returns how many visits were too short: the survey had not arrived, so no report was made.

    Each visitor comes to a host of her own, v<number>.site.localhost from `first` on, of which the browser has nothing
    in its storage. A new profile for each would be the same to the script, and takes a second. The hosts are of one
    site, so that the browser need not start a process for each, and may take the script from its cache.
    """
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options("--disable-site-isolation-trials"))
        context = await browser.new_context()
        context.set_default_timeout(120_000)
        if seeded:
            await context.add_init_script(SEEDED_CRYPTO)
        waiting = list(enumerate(hosts, first))
        short: list[int] = []

        async def visitor() -> None:
            page = await context.new_page()
            while waiting:
                number, host = waiting.pop()
                url = site_url.replace("//", f"//v{number}.site.") + path
                if stay is not None:
                    await page.goto(url, referer=f"https://{host}/path" if host else None, wait_until="load")
                    await page.wait_for_timeout(stay)
                    if number % 2:  # half of the visitors close the tab, the others go elsewhere
                        await page.close()
                        page = await context.new_page()
                    await page.goto(url + "empty", wait_until="commit")
                    short.extend([number] * (await page.evaluate("localStorage.hubbub ?? ''") == ""))
                    continue
                async with page.expect_response(lambda reply: reply.url.endswith(upload_path)) as upload:
                    await page.goto(url, referer=f"https://{host}/path" if host else None, wait_until="commit")
                assert (await upload.value).ok

        await asyncio.gather(*(visitor() for _ in range(AT_ONCE if stay is None else 1)))
        await browser.close()
        return len(short)


def new_site(collector: Collector, visits: int) -> dict[str, str]:
    """Make a site that asks for the referrer, the entry page and the device; its key, and its surveys by question."""
    asked = [
        {"asks": "referrer", "names": ["news.example"]},
        {"asks": "path", "values": ["/a", "/b"]},
        {"asks": "device"},
    ]
    facts = {"name": "a site", "epsilon": 4, "every": None, "expected_reports": visits, "questions": asked}
    made = collector.ask("POST", "/v1/sites", facts)
    return {"site": made["site"], **{each["asks"]: each["survey_id"] for each in made["questions"]}}


def visit_site(collector: Collector, site: Site, key: str, visits: int, seeded: bool) -> None:
    """Visit a site: six in ten visitors arrive at /a, the others at /b; nine in ten come from news.example."""
    line = f'<script defer src="{collector.url}/hubbub.js" data-site="{key}"></script>'
    for path, share in (("/a", 0.6), ("/b", 0.4)):
        some = round(share * visits)
        hosts = ["news.example" if number % 10 else "small.example" for number in range(some)]
        site.add(path, line)
        asyncio.run(visit_all(site.url, path, hosts, seeded, first=0 if path == "/a" else visits))


def wrong_in(collector: Collector, made: dict[str, str], visits: int) -> list[str]:
    """Return what is not as it was planted, in the answers to the questions of `new_site`."""
    answers = {
        asks: collector.ask("GET", f"/v1/surveys/{made[asks]}/hitters") for asks in ("referrer", "path", "device")
    }
    people = {asks: answer["reports"] for asks, answer in answers.items()}
    found = {
        asks: {row["value"]: row for row in answer["hitters"] if row["stands_out"]} for asks, answer in answers.items()
    }
    wrong = [] if sum(people.values()) == visits else [f"{sum(people.values())} reports of {visits} visits"]
    # A third each, within what happens by chance in all but 10^-9 of cases: 6.2 standard deviations.
    spread = 6.2 * (visits * 2 / 9) ** 0.5
    wrong += [f"{asks} has {many} reports" for asks, many in people.items() if abs(many - visits / 3) > spread]
    for asks, value in (("referrer", "news.example"), ("path", "/a"), ("path", "/b"), ("device", "computer")):
        if value not in found[asks]:
            wrong.append(f"{value} is not found")
    return wrong


def main() -> int:
    """Run the visits that were asked for, and compare what comes out with what was planted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=2000)
    parser.add_argument("--stay", type=float, help="milliseconds until a visitor leaves, after the page has loaded")
    parser.add_argument("--site", action="store_true", help="a line with data-site")
    visits, stay = (given := parser.parse_args()).visits, given.stay
    if find_chromium() is None:
        print(MISSING, file=sys.stderr)  # noqa: T201
        return 2
    with tempfile.TemporaryDirectory() as folder, collector_process(Path(folder) / "a.db") as collector:
        if given.site:
            made = new_site(collector, visits)
            with site_server() as pages:
                visit_site(collector, pages, made["site"], visits, seeded=False)
            wrong = wrong_in(collector, made, visits)
            print(*(wrong or [f"{visits} visits of a site: all that was planted is found"]), sep="\n")  # noqa: T201
            return 1 if wrong else 0
        survey_id = collector.new_survey("referrers", expected_reports=visits)
        with site_server() as site:
            site.add("/", snippet(collector.url, survey_id))
            started = time.perf_counter()
            site.add("/empty", "")
            short = asyncio.run(visit_all(site.url, "/", referrers(visits), seeded=False, stay=stay))
            seconds = time.perf_counter() - started
        answer = collector.ask("GET", f"/v1/surveys/{survey_id}/hitters")
    print(f"{answer['reports']} reports of {visits} visits in {seconds:.0f} s")  # noqa: T201
    if stay is not None:
        lost = 1 - answer["reports"] / (visits - short)
        print(f"{short} visits ended before the survey was there")  # noqa: T201
        print(f"{lost:.2%} of the others' reports were not sent, and would be on a later view")  # noqa: T201
        return 0 if lost <= MOST_LOST else 1
    for row in answer["hitters"]:
        print(f"{row['value']:<24} {row['count']:8.0f}  {row['low']:6.0f} – {row['high']:.0f}")  # noqa: T201
    found = {row["value"] for row in answer["hitters"]}
    return 0 if answer["reports"] == visits and {host for host, _ in PLANTED} <= found else 1


if __name__ == "__main__":
    sys.exit(main())
