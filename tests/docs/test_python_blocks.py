"""Every Python block of the documentation runs and prints what is shown below it; so does the example script."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.docs.pages import PAGES, ROOT, blocks, label

from hubbub import SeededRandomWords

pytestmark = pytest.mark.slow


def with_python() -> list[Path]:
    """The pages that have a Python block."""
    return [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


def test_there_are_python_blocks() -> None:
    """The README and the page of commands have Python to run, so that an empty suite cannot pass."""
    assert {"README.md", "docs/commands.md"} <= {label(page) for page in with_python()}


@pytest.mark.parametrize("page", with_python(), ids=label)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs, in order, in one fresh namespace; a text block right after it is what it prints."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block.text, label(page), "exec"), namespace)  # noqa: S102  # our own documentation
            printed = output.getvalue()
        elif block.language == "text" and block.follows and printed:
            assert printed == block.text
            printed = ""


def test_readme_example_finds_the_sites(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's example is at most 12 lines and prints all three sites with intervals, the largest first."""
    monkeypatch.setattr("hubbub.mechanisms.registry.os", SimpleNamespace(urandom=bytes))
    monkeypatch.setattr("hubbub.simulation.rehearsal.BulkRandomWords", lambda: SeededRandomWords(1))
    example = next(block.text for block in blocks(ROOT / "README.md") if block.language == "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["search.example", "news.example", "blog.example"]
    assert all("between" in line for line in lines[:3])
    assert len(lines) == 4  # and nobody holds another one


def test_example_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """examples/referrers.py prints the largest site first."""
    runpy.run_path(str(ROOT / "examples" / "referrers.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[1].startswith("search.example")
