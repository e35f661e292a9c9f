"""The site builds without a warning, loads nothing from anywhere else, and has every public name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT

import hubbub

pytestmark = pytest.mark.slow

LOADED = {  # the attributes whose addresses a browser fetches by itself
    **dict.fromkeys(("script", "img", "iframe", "source", "video", "audio", "embed"), "src"),
    **dict.fromkeys(("use", "image"), "href"),
    "object": "data",
    "form": "action",
}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}


class Addresses(HTMLParser):
    """The addresses that a page loads, and those that it links to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses of a tag."""
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and set(given.get("rel", "").split()) & FETCHED_LINKS:
            self.loaded.append(given.get("href", ""))
        elif tag == "a":
            self.linked.append(given.get("href", ""))
        elif tag in LOADED:
            self.loaded.append(given.get(LOADED[tag], ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return folder


def is_foreign(address: str) -> bool:
    """Whether an address is on another host."""
    return bool(re.match(r"(?:[a-z]+:)?//", address))


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No script, style, font, icon or picture of any page is on another host, and there is no link to edit a page."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.glob("*.md")))
    for page in pages:
        found = Addresses(page.read_text(encoding="utf-8"))
        assert found.loaded
        assert not [address for address in found.loaded if is_foreign(address)], page.name
        assert not [address for address in found.linked if "/edit/" in address], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_the_check_notices_what_is_loaded() -> None:
    """A script, a font and a picture from another host are found; a link to another host is none of them."""
    page = '<script src="https://cdn.example/a.js"></script><link rel="preconnect" href="//fonts.example">'
    page += '<img src="http://pictures.example/a.png"><img src="a.png"><a href="https://example.org">there</a>'
    assert [is_foreign(address) for address in Addresses(page).loaded] == [True, True, True, False]


def test_the_python_page_has_every_public_name(site: Path) -> None:
    """docs/python-api.md has each name once, at its home, and the site shows its docstring."""
    stub = Path(hubbub.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {f"{module}.{name}" for module, name in re.findall(r"^from (\S+) import (\w+) as", stub, re.MULTILINE)}
    listed = re.findall(r"^::: (\S+)$", (DOCS / "python-api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {name for name in listed if not name.startswith("hubbub.client.")} == homes
    page = (site / "python-api.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in listed)
    assert "Find the values that many people hold" in page
