"""Each statement of the paper has its module and its test, and every place that a page names is there."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT


@functools.cache
def defined(file: Path) -> set[str]:
    """The names of all functions and classes of a file."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("name", ["glossary.md", "how-it-works.md", "paper.md", "theory-of-tree.md"])
def test_named_places_exist(name: str) -> None:
    """Every module and test that the page names is there, and so is the name after "::"."""
    text = (DOCS / name).read_text(encoding="utf-8")
    places = re.findall(r"((?:src|tests|tools|benchmarks)/[\w/]+\.py)(?:::(\w+))?", text)
    assert len(places) >= 10
    for path, member in places:
        file = ROOT / path
        assert file.is_file(), f"{name} names {path}"
        assert not member or member in defined(file), f"{name} names {path}::{member}"


STATEMENTS = (
    *(f"Definition 2.{k}" for k in (1, 2, 3, 6, 7, 8)),
    *(f"Theorem 2.{k}" for k in (4, 5, 9, 10)),
    *("Algorithm 1", "Lemma 3.1", "Theorem 3.2", "Theorem 3.3", "Theorem 3.4", "Lemma 3.5"),
    *("Algorithm 2", "Theorem 4.1", "Theorem 4.2", "Algorithm 3", "Theorem 4.3", "Theorem 4.4"),
    *("Lemma 4.5", "Lemma 4.6", "Lemma 4.7", "Theorem 4.8"),
)


def test_every_statement_of_the_paper_has_a_place_and_a_test() -> None:
    """docs/paper.md has a row for each of them, once, with a module and a test; and every erratum is in it."""
    text = (DOCS / "paper.md").read_text(encoding="utf-8").partition("\n## Errata\n")[0]
    rows = [line.strip("|").split(" | ") for line in re.findall(r"^\| .* \|$", text, re.MULTILINE)]
    rows = [row for row in rows if row[0].strip() not in ("statement", "---")]
    assert all(len(row) == 4 for row in rows)
    named = [row[0].strip().partition(",")[0] for row in rows]
    numbered = [name for name in named if re.fullmatch(r"(Definition|Theorem|Lemma|Algorithm) [\d.]+", name)]
    assert sorted(numbered) == sorted(STATEMENTS)
    for row in rows:
        assert re.search(r"`src/hubbub/[\w/]+\.py(::\w+)?`", row[1]), row[0]
        assert re.search(r"`tests/[\w/]+\.py(::test_\w+)?`", row[2]), row[0]
    errata = {int(number) for number in re.findall(r"\bE(\d+)\b", text)}
    ranges = re.findall(r"\bE(\d+) to E(\d+)\b", text)
    assert errata | {k for low, high in ranges for k in range(int(low), int(high) + 1)} == set(range(1, 34))
