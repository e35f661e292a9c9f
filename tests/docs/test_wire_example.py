"""The worked example of docs/wire-format.md, by the library and by a second implementation written from the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.docs.pages import DOCS
from tests.docs.wire_from_library import from_the_library
from tests.docs.wire_from_page import from_the_page

from hubbub.mechanisms.registry import REGISTRY
from hubbub.numeric.hashing import Purpose


def test_worked_example_is_what_library_and_page_give() -> None:
    """Every line of the worked example in docs/wire-format.md is recomputed twice."""
    page = (DOCS / "wire-format.md").read_text(encoding="utf-8").partition("## A worked example")[2]
    lines = re.search(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1].splitlines()
    written = dict(line.split(" = ", 1) for line in lines)
    assert written == from_the_page()
    assert written == from_the_library()


def test_purposes_of_the_hash_are_documented() -> None:
    """The page has the number of every purpose that a registered mechanism uses, and no wrong one."""
    page = (DOCS / "wire-format.md").read_text(encoding="utf-8")
    listed = {name: int(number) for name, number in re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", page, re.MULTILINE)}
    modules = {entry.build.__module__ for entry in REGISTRY.values()} | {"hubbub.mechanisms.channels"}
    sources = "".join(Path(sys.modules[module].__file__).read_text(encoding="utf-8") for module in modules)
    used = set(re.findall(r"\bPurpose\.([A-Z_]+)", sources))
    assert used <= set(listed)
    assert all(Purpose[name] == number for name, number in listed.items())
