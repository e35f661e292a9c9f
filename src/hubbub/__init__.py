"""hubbub: learn what a crowd is talking about without hearing anyone.

Many people each hold one value of a huge universe and nobody is trusted with it. Each device randomises its own
value before anything leaves it; a collector keeps sums; the decoder finds the values many people hold.

The public names are listed once, in `__init__.pyi`, where type checkers and editors find them. Each is loaded from its
home when it is first used, so that `import hubbub` is quick and pulls in no compiler.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    alias.name: str(statement.module)
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for alias in statement.names
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hubbub' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
