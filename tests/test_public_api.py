"""The public names: small, complete, lazy, and the same wherever they are written down."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hubbub

HEAVY = (
    *("click", "cryptography", "fastapi", "matplotlib", "numba", "psycopg", "pyarrow", "pydantic", "rich", "scipy"),
    *("sqlalchemy", "starlette", "uvicorn"),
)


STUB = Path(hubbub.__file__).with_suffix(".pyi")


def homes() -> dict[str, str]:
    """Each public name and the module that the stub imports it from."""
    found = re.findall(r"^from (\S+) import (\w+) as (\w+)$", STUB.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(name == exported for _, name, exported in found)
    return {name: module for module, name, _ in found}


def test_all_is_sorted_and_is_what_dir_shows() -> None:
    """`__all__` has every public name once, in order, and `dir` shows nothing else."""
    assert hubbub.__all__ == sorted(set(hubbub.__all__))
    assert dir(hubbub) == hubbub.__all__


def test_all_is_what_type_checkers_see() -> None:
    """Every name of the stub is exported in the form that mypy and editors take for public, and nothing else is."""
    assert sorted(homes()) == hubbub.__all__


@pytest.mark.parametrize("name", hubbub.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    """Each public name loads from its home, and is the object that is there."""
    home = importlib.import_module(homes()[name])
    assert getattr(hubbub, name) is getattr(home, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'create_surveys'"):
        _ = hubbub.create_surveys


def test_import_pulls_in_nothing_heavy() -> None:
    """`import hubbub` loads no compiler, no file format, no cipher and no command line."""
    code = f"import sys, hubbub; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_version_is_that_of_the_package() -> None:
    """`__version__` is the version that was installed."""
    assert hubbub.__version__ == importlib.metadata.version("hubbub")
