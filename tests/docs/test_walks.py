"""The walks of docs/data-flow.md: `find` as it is traced now, and functions that exist in all of them."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys

import pytest
from tests.docs.pages import ROOT
from tools import walks

TEXT = walks.PAGE.read_text("utf-8")
BLOCKS = re.findall(r"```text\n(.*?)```", TEXT.split(walks.BEGIN)[1].split(walks.END)[0], re.DOTALL)


@functools.cache
def defined(file: str) -> set[str]:
    """The qualified names of all functions of a file, those inside of functions included."""
    names: set[str] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        """Add what is defined below a node."""
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(inner := f"{prefix}{child.name}")
                inner += "."
            visit(child, inner)

    visit(ast.parse((ROOT / "src/hubbub" / file).read_text("utf-8")), "")
    return names


@pytest.mark.parametrize("block", BLOCKS, ids=[name for name, _, _ in walks.WALKS])
def test_functions_of_a_walk_exist(block: str) -> None:
    """Whatever is renamed or removed must be gone from the page, too."""
    file = ""
    for line in block.splitlines():
        start, _, names = line.rpartition(": ")
        file = start or file
        assert {name.strip() for name in names.split(",")} <= defined(file), f"run make walks: {line}"


@pytest.mark.slow
def test_find_walks_as_drawn() -> None:
    """The first walk is what `find` passes through today, in a process in which nothing else is cached."""
    command = [sys.executable, "-m", "tools.walks", "find"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed == BLOCKS[0], "run make walks"
