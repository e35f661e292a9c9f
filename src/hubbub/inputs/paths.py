"""Paths as people give them: with ~, or as the address of a file."""

from __future__ import annotations

import os
from urllib.parse import urlsplit
from urllib.request import url2pathname

from hubbub.errors import InputError


def local_path(source: str, hint: str = "mount or copy it") -> str:
    """The path of a file on this machine: ~ is the home, and `file:` the only scheme; other addresses are refused."""
    if "\0" in source:
        raise InputError(f"cannot read {source!r}: a name has no null character")
    if "://" not in source and not source.startswith("file:/"):
        return os.path.expanduser(source)
    if os.path.exists(source):
        return source
    address = urlsplit(source)
    if address.scheme != "file" or address.netloc not in ("", "localhost"):
        raise InputError(f"a file must be in a directory of this machine, got {source!r}: {hint}")
    return url2pathname(address.path)
