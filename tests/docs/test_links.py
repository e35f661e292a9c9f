"""Links resolve, every page is in the site, and pictures are shown somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, PAGES, ROOT, label

from hubbub.paper.run import STUDIES


def slug(heading: str) -> str:
    """The anchor of a heading; one that is not ASCII has different anchors in different places, so it has none."""
    if not heading.isascii():
        return ""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_resolve(page: Path) -> None:
    """A relative link points to a file that is there, and its anchor to a heading that is there."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.is_file(), f"{label(page)} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{label(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_named_tests_are_there(page: Path) -> None:
    """A test that a page names as `tests/file.py::test` is in that file."""
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
        assert (ROOT / file).is_file(), f"{label(page)} names {file}"
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"^ *(def|class) {name}\b", text, re.MULTILINE), f"{label(page)} names {name}"


def test_every_page_is_in_the_site() -> None:
    """mkdocs.yml names every page of docs/, and none that is not there."""
    named = set(re.findall(r"^\s*- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert named == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def test_pictures_are_small_and_shown_and_come_from_the_command() -> None:
    """Each file of docs/images is a figure of `hubbub paper` or `hubbub find`, or the dashboard; small; shown."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = sorted((DOCS / "images").iterdir())
    assert pictures
    for picture in pictures:
        # The dashboard's is made by python -m tests.browser.screenshots.
        assert picture.stem in {*STUDIES, "dashboard"} or f"--plot {picture.name}`" in pages
        assert picture.stat().st_size < 200_000
        assert f"images/{picture.name})" in pages
