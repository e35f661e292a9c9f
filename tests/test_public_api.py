"""The public names: small, complete, lazy, and the same wherever they are written down."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import hubbub

HEAVY = (
    *("cryptography", "fastapi", "matplotlib", "numba", "psycopg", "pyarrow", "pydantic", "rich", "scipy"),
    *("sqlalchemy", "starlette", "typer", "uvicorn"),
)


def names_for_type_checkers() -> dict[str, str]:
    """Each name imported under TYPE_CHECKING, and the module it is imported from, without the package."""
    tree = ast.parse(Path(hubbub.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(guarded.test) == "TYPE_CHECKING"
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module).removeprefix("hubbub.") for node in imports for alias in node.names}


def test_all_is_sorted_and_is_what_dir_shows() -> None:
    """`__all__` has every public name once, in order, and `dir` shows nothing else."""
    assert hubbub.__all__ == sorted(set(hubbub.__all__))
    assert dir(hubbub) == hubbub.__all__


def test_all_is_the_set_of_homes() -> None:
    """Every public name has a home, and every home belongs to a public name."""
    assert set(hubbub._HOMES) == set(hubbub.__all__)


def test_type_checkers_see_the_same_names() -> None:
    """What a type checker imports is what `_HOMES` loads, from the same modules."""
    assert names_for_type_checkers() == hubbub._HOMES


@pytest.mark.parametrize("name", hubbub.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    """Each public name loads from its home, and is the object that is there."""
    home = importlib.import_module(f"hubbub.{hubbub._HOMES[name]}")
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
