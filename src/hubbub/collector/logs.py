"""The log: a line for each event with its time and level, at most one line a minute for each kind of event.

Strangers can cause errors as often as they like. So a line that was written less than a minute ago is not written
again; the next one says how many were left out. A failure is logged with its type and place, not a long traceback.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final

from hubbub.errors import HubbubError

SECONDS: Final = 60.0
_MOST_KINDS: Final = 1000


class OncePerMinute(logging.Filter):
    """Lets one record of each kind through in a minute; the kind is its logger, message format and exception."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written, and note in it how many like it were left out before."""
        failure = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        kind = (record.name, str(record.msg), failure)
        now = self._clock()
        with self._lock:
            until, left_out = self._kinds.get(kind, (-1.0, 0))
            if now < until:
                self._kinds[kind] = until, left_out + 1
                return False
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
            self._kinds[kind] = now + SECONDS, 0
        record.left_out = left_out
        return True


class OneLine(logging.Formatter):
    """A record as one line of text, or as one JSON object."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        message, left_out = record.getMessage(), getattr(record, "left_out", 0)
        place = ""
        if record.exc_info and record.exc_info[2] is not None:
            last = traceback.extract_tb(record.exc_info[2])[-1]
            kind = record.exc_info[0].__name__ if record.exc_info[0] else ""
            place = f"{kind} at {os.path.basename(last.filename)}:{last.lineno}"
        if self._as_json:
            document = {"time": moment, "level": record.levelname, "logger": record.name, "message": message}
            more = {"failure": place} if place else {}
            return json.dumps({**document, **more, "left_out": left_out})
        more_text = f" ({place})" if place else ""
        count = f" [{left_out} more like this were left out]" if left_out else ""
        return f"{moment} {record.levelname} {record.name}: {' '.join(message.split())}{more_text}{count}"


def set_up_logs(as_json: bool) -> None:
    """Send all lines, of hubbub, its server and every other library, to standard error.

    Python's warnings and errors that nothing handles become lines of the log, too.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(as_json))
    handler.addFilter(OncePerMinute())
    for name in ("", "hubbub", "uvicorn", "asyncio", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO if name == "hubbub" else logging.WARNING)
        logger.propagate = False
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda failed: _log_uncaught(failed.exc_type, failed.exc_value, failed.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log an error that nothing handled, with its type and place."""
    failure = (kind, error or kind(), trace)
    logging.getLogger("hubbub").critical("an error was not handled", exc_info=failure)


@contextmanager
def log_failures(wanted: bool) -> Iterator[None]:
    """End the process with exit code 2 and a line of the log if a command fails; do nothing unless `wanted`."""
    try:
        yield
    except (HubbubError, OSError) as error:
        if not wanted:
            raise
        logging.getLogger("hubbub").error("%s", error)
        raise SystemExit(2) from None
