"""Packages that only some work needs: they are installed with an extra, such as `hubbub[server]`, or by themselves."""

from __future__ import annotations

from importlib.util import find_spec

from hubbub.errors import MissingExtra


def require(what: str, package: str, extra: str | None = None) -> None:
    """Say how to install a package that is missing; costs a look into the folders of packages, and loads nothing.

    Parameters
    ----------
    what : str
        The work that needs it, as a sentence begins: "A Parquet file".
    package : str
        The name it is imported by.
    extra : str, optional
        The extra of hubbub that installs it; without one, the package is installed by its own name.
    """
    if find_spec(package) is None:
        install = package if extra is None else f"'hubbub[{extra}]'"
        raise MissingExtra(f"{what} needs {package}; install it with: pip install {install}")
