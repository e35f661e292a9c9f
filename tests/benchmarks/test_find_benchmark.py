from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import find

pytestmark = pytest.mark.slow


def test_lines_are_as_many_and_as_different_as_asked(tmp_path: Path) -> None:
    """Every kind has all its people, every value at least once, and can be found in."""
    find.write_lines(tmp_path, 500, 60)
    for kind in {kind for kind, _ in find.CASES}:
        lines = (tmp_path / kind).read_text("utf-8").splitlines()
        assert (len(lines), len(set(lines))) == (500, 60)
    assert set((tmp_path / "LIST").read_text("utf-8").split()) == set((tmp_path / "hosts").read_text("utf-8").split())
    spent = find.run(tmp_path / "hosts", ["--domain", "integers:8", "--candidates", "LIST", "--help"])
    assert spent.cpu > 0
    assert spent.peak_mib > 1
