"""The notebooks of examples/ run from top to bottom, as they are committed: without outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

# The one for Spark runs in tests/spark, in the session that is there.
NOTEBOOKS = sorted(set((ROOT / "examples").glob("*.ipynb")) - {ROOT / "examples" / "spark_notebook.ipynb"})
SHOWN = {
    "private_words": ["<table>", "yeet", "people have it", "image/png", "one of 2 slots"],
    "choosing_epsilon": ["at most 73% sure", "image/png", "after simplex", "Take ε ="],
}


def test_there_are_two_notebooks() -> None:
    """So that an empty suite cannot pass."""
    assert {notebook.stem for notebook in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    """Each runs in a fresh kernel and shows what it speaks of; what is committed has no outputs and is small."""
    assert path.stat().st_size < 100_000
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = str([cell.outputs for cell in code])
    for words in SHOWN[path.stem]:
        assert words in outputs
