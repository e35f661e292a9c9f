"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from hubbub.errors import ParameterError

PathLike = str | os.PathLike[str]


def write_whole(path: PathLike, data: bytes) -> None:
    """Write a file so that whoever looks sees the old content or all of the new, also after a crash."""
    place_whole(path, lambda temporary: Path(temporary).write_bytes(data))


def place_whole(path: PathLike, write: Callable[[str], object]) -> None:
    """Do the same with a file that `write` makes at the path it is given, which is beside the final one.

    Raises
    ------
    ParameterError
        The file cannot be written; then nothing is left behind.
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
        reason = (error.strerror or type(error).__name__).lower()
        raise ParameterError(f"the output must be a file that can be written, got {str(target)!r} ({reason})") from None


def identity(path: PathLike) -> object:
    """What two paths have in common if they lead to the same file, by whatever links."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def check_output(path: PathLike, inputs: Iterable[PathLike]) -> None:
    """See before a long job that its output can be a file here, and that it replaces none of the inputs.

    Raises
    ------
    ParameterError
        If not.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ParameterError(f"the output must be in a folder that is there, got {os.fspath(path)!r}")
    if os.path.isdir(path):
        raise ParameterError(f"the output must be a file, got {os.fspath(path)!r}, which is a folder")
    if os.path.exists(path) and identity(path) in {identity(each) for each in inputs}:
        raise ParameterError(f"the output must be none of the inputs, got {os.fspath(path)!r}")
