"""Writes files completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from hubbub.errors import ParameterError, system_reason

PathLike = str | os.PathLike[str]


def write_whole(path: PathLike, data: bytes) -> None:
    """Write a file so that readers see either the old content or all of the new, even after a crash."""
    place_whole(path, lambda temporary: Path(temporary).write_bytes(data))


def place_whole(path: PathLike, write: Callable[[str], object]) -> None:
    """Like `write_whole`, for a file that `write` creates at a temporary path in the same directory.

    Raises ParameterError if the file cannot be written. Then no temporary file is left behind.
    """
    target = Path(path)
    temporary = str(target.with_name(f".{target.name}.{secrets.token_hex(4)}"))
    try:
        try:
            write(temporary)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise ParameterError(f"cannot write {str(target)!r}: {system_reason(error)}") from None


def identity(path: PathLike) -> object:
    """The identity of a file: equal for two paths that lead to the same file, through any links."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def check_outputs(outputs: Iterable[PathLike | None], inputs: Iterable[PathLike | None]) -> None:
    """Raise ParameterError before a long job unless its outputs can be created, and replace no input or other output.

    A path that is None is skipped.
    """
    written = [os.fspath(path) for path in outputs if path is not None]
    for path in written:
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise ParameterError(f"the output must be in a directory that exists, got {path!r}")
        if os.path.isdir(path):
            raise ParameterError(f"the output must be a file, got {path!r}, which is a directory")
    check_distinct(written, inputs)


def check_distinct(outputs: Iterable[PathLike | None], inputs: Iterable[PathLike | None]) -> None:
    """Raise ParameterError if an output is the same file as an input or another output, by any path. Reads nothing."""
    read = {identity(path) for path in inputs if path is not None}
    seen: dict[object, str] = {}
    for path in (os.fspath(each) for each in outputs if each is not None):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            continue  # a terminal or a pipe can take several outputs one after the other
        mark = identity(path)
        if mark in read and os.path.exists(path):
            raise ParameterError(f"the output must be none of the inputs, got {path!r}")
        if mark in seen:
            raise ParameterError(f"two outputs must be two files, got {seen[mark]!r} and {path!r}, which are the same")
        seen[mark] = path
