"""The files that somebody names: by paths, directories and patterns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from typing import Final, NoReturn

from hubbub.errors import InputError, system_reason
from hubbub.inputs.files import local_path
from hubbub.outputs import identity

SUFFIX: Final = ".parquet"


def list_files(sources: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths name; a directory stands for all *.parquet files in and below it, sorted by name.

    A path may begin with ~ or be a pattern such as `reports/2024-*`, as in a shell. `file:` is the only scheme. Raises
    InputError if a file is named twice (possibly by different paths) or does not exist, or a directory has no such
    files.
    """
    found: dict[object, str] = {}
    for given in sources:
        for source in _named(os.fspath(given)):
            inside = [source]
            if os.path.isdir(source):
                inside = sorted(_reports_below(source))
                if not inside:
                    raise InputError(
                        f"a directory of reports must have files *{SUFFIX} in it or below, got none in {source!r}"
                    )
            for path in inside:
                mark = identity(path)
                if mark in found:
                    raise InputError(f"a file of reports must be given once, got {found[mark]!r} and {path!r}")
                found[mark] = path
    if not found:
        raise InputError("there must be at least one file of reports, got none")
    return list(found.values())


def _named(source: str) -> list[str]:
    """The paths that exist under a name: itself, or those that it matches as a pattern."""
    path = local_path(source, "mount or copy it, or let Spark read it and count the DataFrame")
    if os.path.exists(path):
        return [path]
    if matched := sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []:
        return matched
    raise InputError(f"cannot read {source!r}: no such file or directory")


def _reports_below(folder: str) -> Iterator[str]:
    """Yield the *.parquet files in and below a directory, except hidden ones (names that begin with _ or a dot)."""
    for parent, inside, files in os.walk(folder, onerror=_refuse):
        inside[:] = [name for name in inside if not name.startswith(("_", "."))]
        for name in files:
            if name.endswith(SUFFIX) and not name.startswith(("_", ".")):
                yield os.path.join(parent, name)


def _refuse(error: OSError) -> NoReturn:
    """Refuse a directory that cannot be listed: its reports would be missed."""
    raise InputError(f"cannot read the directory {error.filename!r}: {system_reason(error)}") from None


Stamp = list[str | int]


def stamps_of(files: Iterable[str]) -> list[Stamp]:
    """What identifies the content of each file: its path, size and time of change; −1 if there is no such file."""
    return [_stamp(path) for path in files]


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return [os.path.realpath(path), -1, -1]
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns]


def check_unchanged(files: Iterable[str], stamps: Iterable[Stamp]) -> None:
    """Raise an InputError if a file is not as it was when its stamp was taken."""
    for path, before in zip(files, stamps, strict=True):
        if _stamp(path) != before:
            raise changed(path)


def changed(path: str) -> InputError:
    """The error to raise if a file has changed since the job began."""
    return InputError(f"the file {path!r} changed while it was counted, so nothing was counted; run it again")
