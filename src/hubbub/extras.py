"""Optional packages: they are installed with an extra, such as `hubbub[server]`, or by their own name."""

from __future__ import annotations

from importlib.util import find_spec

from hubbub.errors import MissingExtra


def require(what: str, package: str, extra: str | None = None) -> None:
    """Raise MissingExtra with an installation hint if a package is missing. It is looked for, but not imported.

    `what` is the feature that needs it, as the start of a sentence: "A Parquet file". `extra` is the extra of hubbub
    that installs it; by default the package is installed by its own name.
    """
    if find_spec(package) is None:
        install = package if extra is None else f"'hubbub[{extra}]'"
        raise MissingExtra(f"{what} needs {package}; install it with: pip install {install}")
