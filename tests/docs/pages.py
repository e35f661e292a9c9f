"""The pages of the documentation and the fenced blocks in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
COMMANDS = DOCS / "commands.md"
BUILT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = sorted([*(ROOT / name for name in BUILT), *DOCS.rglob("*.md")])


class Block(NamedTuple):
    """A fenced block: its language, its text, and whether it follows the block before it with nothing between."""

    language: str
    text: str
    follows: bool


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found, end = [], 0
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        found.append(Block(match[1], match[2], bool(found) and not text[end : match.start()].strip()))
        end = match.end()
    return found


def label(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(ROOT).as_posix()
