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


def check_outputs(outputs: Iterable[PathLike | None], inputs: Iterable[PathLike | None]) -> None:
    """See before a long job that its outputs can be files here, and that they replace no input and no other output.

    A name that is None stands for a file that was not asked for.

    Raises
    ------
    ParameterError
        If not.
    """
    written = [os.fspath(path) for path in outputs if path is not None]
    for path in written:
        if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise ParameterError(f"the output must be in a folder that is there, got {path!r}")
        if os.path.isdir(path):
            raise ParameterError(f"the output must be a file, got {path!r}, which is a folder")
    check_distinct(written, inputs)


def check_distinct(outputs: Iterable[PathLike | None], inputs: Iterable[PathLike | None]) -> None:
    """Refuse an output that is one of the inputs, or another output, by whatever path. Reads nothing.

    Raises
    ------
    ParameterError
        If there is one.
    """
    read = {identity(path) for path in inputs if path is not None}
    seen: dict[object, str] = {}
    for path in (os.fspath(each) for each in outputs if each is not None):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            continue  # a terminal or a pipe takes several things one after the other
        mark = identity(path)
        if mark in read and os.path.exists(path):
            raise ParameterError(f"the output must be none of the inputs, got {path!r}")
        if mark in seen:
            raise ParameterError(f"two outputs must be two files, got {seen[mark]!r} and {path!r}, which are the same")
        seen[mark] = path
