"""hubbub: learn what a crowd is talking about without hearing anyone.

Many people each hold one value of a huge universe and nobody is trusted with it. Each device randomises its own
value before anything leaves it; a collector keeps sums; the decoder finds the values many people hold.

The public names are listed once, in `__init__.pyi`, where type checkers and editors find them. Each is loaded from its
home when it is first used, so that `import hubbub` is quick and pulls in no compiler.
"""

from __future__ import annotations

from functools import cache

__version__ = "0.1.0"


@cache
def _homes() -> dict[str, str]:
    """Each public name and the module it is imported from in `__init__.pyi`."""
    import ast
    from pkgutil import get_data  # the package may be in a zip, where nothing is a file

    stub = ast.parse(get_data(__name__, "__init__.pyi") or b"")
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: str(statement.module) for statement in imports for alias in statement.names}


def __getattr__(name: str) -> object:
    """Load a public name from its home, once."""
    from importlib import import_module

    if name == "__all__":
        return __dir__()
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module 'hubbub' has no attribute {name!r}")
    globals()[name] = loaded = getattr(import_module(_homes()[name]), name)
    return loaded


def __dir__() -> list[str]:
    return sorted(_homes())
