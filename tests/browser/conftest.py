"""A real browser, a real collector, a site. Without a browser these tests are skipped, and in CI they fail.

The tests share one browser, so they run in one worker, and it ends with them: while it lives, nothing else in its
process can run an event loop in the main thread.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.chromium import MISSING, REQUIRED, find_chromium, launch_options
from tests.browser.servers import Collector, Relay, Site, collector_process, relay_to, site_server

PATIENCE = 120_000
"""Milliseconds until a test gives up waiting; a search takes seconds on a machine that does other things, too."""


@pytest.fixture(scope="package")
def needs_browser() -> None:
    """Skip the test, or fail where a browser is required, if there is none."""
    if find_chromium() is None:
        (pytest.fail if REQUIRED else pytest.skip)(MISSING)


@pytest.fixture(scope="package")
def browser(needs_browser: None) -> Iterator[object]:
    """One browser for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**launch_options())
        yield started
        started.close()


@pytest.fixture
def context(browser) -> Iterator[object]:
    """A fresh profile of the browser."""
    opened = browser.new_context()
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """A collector that all tests use."""
    with collector_process(tmp_path_factory.mktemp("browser") / "hubbub.db") as started:
        yield started


@pytest.fixture
def relay(collector: Collector) -> Iterator[Relay]:
    """What stands in front of the collector and writes down requests."""
    with relay_to(collector) as started:
        yield started


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    """A site of another origin."""
    with site_server() as started:
        yield started
