"""Packages that only some work needs: they are installed with an extra, such as `hubbub[server]`."""

from __future__ import annotations

from importlib.util import find_spec

from hubbub.errors import MissingExtra


def require(what: str, package: str, extra: str) -> None:
    """Say how to install a package that is missing; costs a look into the folders of packages, and loads nothing.

    Parameters
    ----------
    what : str
        The work that needs it, as a sentence begins: "A Parquet file".
    package : str
        The name it is imported by.
    extra : str
        The extra of hubbub that installs it.
    """
    if find_spec(package) is None:
        raise MissingExtra(f"{what} needs {package}; install it with: pip install 'hubbub[{extra}]'")
