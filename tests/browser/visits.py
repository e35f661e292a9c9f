"""Many visitors of a site: a fresh profile each, real pages, the real script.

`python -m tests.browser.visits --visits 2000` does it with the browser's own randomness and prints what came out. With
`--stay 100` every visitor leaves 100 ms after the page has loaded, which is often before its report was due.
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
from tests.browser.servers import collector_process, site_server, snippet

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
    upload_path: str = "/reports",
) -> int:
    """Visit a page once for every host, until the report is acknowledged, or for `stay` milliseconds.

    Returns how many visits were too short: the survey had not arrived, so no report was made.

    Each visitor comes to a host of her own, v<number>.site.localhost, of which the browser has nothing in its storage.
    A new profile for each would be the same to the script, and takes a second. The hosts are of one site, so that the
    browser need not start a process for each, and may take the script from its cache.
    """
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**launch_options("--disable-site-isolation-trials"))
        context = await browser.new_context()
        context.set_default_timeout(120_000)
        if seeded:
            await context.add_init_script(SEEDED_CRYPTO)
        waiting = list(enumerate(hosts))
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


def main() -> int:
    """Run the visits that were asked for, and compare what comes out with what was planted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=2000)
    parser.add_argument("--stay", type=float, help="milliseconds until a visitor leaves, after the page has loaded")
    visits, stay = (given := parser.parse_args()).visits, given.stay
    if find_chromium() is None:
        print(MISSING, file=sys.stderr)  # noqa: T201
        return 2
    with tempfile.TemporaryDirectory() as folder, collector_process(Path(folder) / "a.db") as collector:
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
