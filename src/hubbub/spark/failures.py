"""Errors of tasks: what hubbub raised on an executor is raised on the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hubbub import errors
from hubbub.errors import HubbubError

_PREFIX = f"{errors.__name__}."


@contextmanager
def own_errors() -> Iterator[None]:
    """If a task fails with an error of hubbub, raise that error instead of Spark's, which quotes it."""
    try:
        yield
    except HubbubError:
        raise
    except Exception as error:
        if (own := _quoted(error)) is not None:
            raise own from None
        raise


def _quoted(error: Exception) -> HubbubError | None:
    """The error of hubbub that a message of Spark quotes, if there is one."""
    for line in str(error).splitlines():
        name, found, message = line.strip().removeprefix(_PREFIX).partition(": ")
        kind = getattr(errors, name, None) if found and line.strip().startswith(_PREFIX) else None
        if isinstance(kind, type) and issubclass(kind, HubbubError):
            return kind(message)
    return None
