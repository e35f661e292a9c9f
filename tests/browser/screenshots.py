"""`python -m tests.browser.screenshots FOLDER`: every page at two widths, light and dark.

With `docs/images/dashboard.png` instead of a folder it writes that one picture, which README shows.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.chromium import launch_options
from tests.browser.samples import fill

from hubbub.collector.serving import serving
from hubbub.collector.state import Collector
from hubbub.dashboard.app import create_app
from hubbub.store.keys import make_code
from hubbub.store.store import Store

WIDTHS = {"desk": 1280, "phone": 390}
PATIENCE = 120_000


def pages(ids: dict[str, str]) -> dict[str, str]:
    """Every page that the owner can see, by name."""
    surveys = {f"survey-{name}": f"/surveys/{survey_id}" for name, survey_id in ids.items()}
    busy = ids["busy"]
    return {
        "home": "/",
        "new": "/new",
        **surveys,
        "close": f"/surveys/{busy}/close",
        "delete": f"/surveys/{busy}/delete",
        "tokens": "/tokens",
        "public": f"/surveys/{busy}/public",
        "about": f"/about/{busy}",
        "about-list": f"/about/{ids['hostile']}",
        "missing": f"/surveys/{'0' * 64}",
    }


def settle(page: Any, name: str) -> None:
    """Wait until a page shows all that it asks for by itself."""
    if name == "home":
        for place in page.locator("[data-limit]").all():
            place.scroll_into_view_if_needed()
            place.filter(has_not_text="…").wait_for()
    if name == "new":
        page.locator("#preview .share").first.wait_for()
    if name.startswith("survey"):
        page.locator("#answer .answer").wait_for()
    if name.startswith("about"):
        page.locator("#try[data-ready]").wait_for()
        for _ in range(4):
            page.get_by_role("button", name="Randomise my value").click()
    page.evaluate("scrollTo(0, 0)")


def take(page: Any, folder: Path, name: str) -> None:
    """Write the pictures of one page, at all widths, light and dark."""
    for kind, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)  # charts are drawn again
            page.screenshot(path=folder / f"{name}-{kind}-{scheme}.png", full_page=True)


def main(place: Path, only: list[str]) -> None:
    """Write pictures of each page, or of those that are named; or the one picture of README."""
    from playwright.sync_api import sync_playwright

    one = place.suffix == ".png"
    if not one:
        place.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        Store(f"{temporary}/a.db") as store,
        sync_playwright() as playwright,
    ):
        ids = fill(store)
        browser = playwright.chromium.launch(**launch_options())
        with serving(Collector(store), build=create_app) as url:
            context = browser.new_context(device_scale_factor=1, reduced_motion="reduce")
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(f"{url}/login")
            if not one and (not only or "login" in only):
                take(page, place, "login")
            page.goto(f"{url}/login#{make_code(store.engine)}")
            page.wait_for_url(f"{url}/")
            for name, path in pages(ids).items():
                if name == "survey-busy" if one else not only or name in only:
                    page.goto(url + path)
                    settle(page, name)
                    if one:
                        page.set_viewport_size({"width": 1180, "height": 860})
                        page.get_by_text("from 170,356 reports").wait_for()
                        page.screenshot(path=place)
                    else:
                        take(page, place, name)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
