"""The ledger: the surveys that this device has answered. It is a small JSON file that a person can read.

    {"version": 1, "surveys": {"<survey id>": {"name": …, "url": …, "epsilon": …, "delta": …, "answered": …,
                                               "state": "pending", "report": "<hex of what is sent>", "detail": ""}}}

An entry is written before its report is sent, and it is never removed. So a survey is answered once, a retry sends the
same bytes, and the sums of ε and δ only grow. No value is in the ledger. The bytes of a report are removed when it is
delivered.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Final

from .checks import BudgetError, LedgerError
from .survey import DeviceSurvey

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LEDGER_VERSION: Final = 1
SURVEY_URL: Final = re.compile(
    r"(?=[!-~]+\Z)https?://[^/?#@]+(?:/[^?#]+)?/v1/surveys/([0-9a-f]{64})"
)  # ASCII, no blanks
_ENTRY: Final = {
    "name": re.compile(r"(?s).{1,200}"),
    "url": SURVEY_URL,
    "epsilon": re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII),
    "delta": re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII),
    "answered": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII),
    "state": re.compile(r"pending|sent|refused"),
    "report": re.compile(r"([0-9a-f]{2})*"),
    "detail": re.compile(r"(?s).*"),
}
LOCK_SECONDS = 5.0
"""How long a process waits for another that is writing the ledger."""

_EXACT: Final = Context(prec=200, rounding=ROUND_CEILING)  # sums of privacy losses are never rounded down

Entry = dict[str, str]


def default_ledger() -> str:
    """Return the path of a person's ledger: one for all programs, since the privacy losses of a person add up."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(base, "hubbub", "ledger.json")


class Ledger:
    """The ledger in a file. A file that does not exist is an empty ledger.

    Parameters
    ----------
    path : str or path, optional
        The file; by default `default_ledger()`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.path.realpath(default_ledger() if path is None else path)

    def read(self) -> dict[str, Entry]:
        """Return all entries by survey id, the oldest first. Raises LedgerError if the file is not a ledger."""
        try:
            with open(self.path, "rb") as file:
                data = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LedgerError(f"the ledger {self.path!r} cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError):
            data = None
        version = data.get("version") if isinstance(data, dict) else None
        version = version if type(version) is int else 0
        if version > LEDGER_VERSION:
            raise LedgerError(
                f"the ledger {self.path!r} is of version {version}, which a newer client wrote: use that client"
            )
        if version < 1 or set(data) != {"version", "surveys"} or not _are_entries(data["surveys"]):
            raise LedgerError(
                f"the ledger {self.path!r} is damaged or another kind of file, and is left as it is: "
                "repair it, or move it away to begin an empty ledger"
            )
        entries: dict[str, Entry] = data["surveys"]
        return entries

    @staticmethod
    def totals(entries: dict[str, Entry]) -> tuple[Decimal, Decimal]:
        """Return the sums of ε and of δ over all entries. The privacy losses of all surveys of a person add up."""
        with localcontext(_EXACT):
            spent = [
                sum((Decimal(entry[name]) for entry in entries.values()), Decimal(0)) for name in ("epsilon", "delta")
            ]
            return spent[0], spent[1]

    def add(self, survey: DeviceSurvey, url: str, batch: bytes, cap: tuple[Decimal, Decimal]) -> bool:
        """Write a report to the ledger, durably, unless the survey was answered before. Returns whether it was written.

        Raises
        ------
        BudgetError
            A sum would be larger than its part of `cap`; nothing is written.
        """
        with self.changing() as entries:
            if survey.survey_id.hex() in entries:
                return False
            with localcontext(_EXACT):
                for name, spent, cost, most in zip(
                    ("ε", "δ"), self.totals(entries), (survey.epsilon, survey.delta), cap, strict=True
                ):
                    if spent + cost > most:
                        raise BudgetError(
                            f"{name} of all surveys together must be at most {most}, got {spent} and {cost} more"
                        )
            entries[survey.survey_id.hex()] = {
                "name": survey.name,
                "url": url,
                "epsilon": format(survey.epsilon, "f"),
                "delta": format(survey.delta, "f"),
                "answered": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "state": "pending",
                "report": batch.hex(),
                "detail": "",
            }
        return True

    def settle(self, survey_id: str, state: str, detail: str) -> None:
        """Note that a report was sent or refused, and remove its bytes. Only the first note counts."""
        with self.changing() as entries:
            if survey_id in entries and entries[survey_id]["state"] == "pending":
                entries[survey_id] |= {"state": state, "report": "", "detail": detail}

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Entry]]:
        """Yield the entries under a lock. What the caller changes in them is on the disk when this ends."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            lock = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _take_lock(lock)
                before = self.read()
                entries = {survey_id: dict(entry) for survey_id, entry in before.items()}
                yield entries
                if entries != before:
                    self._write(entries)
            finally:
                # A child that was forked meanwhile has the file open, too, and would keep the lock.
                if sys.platform != "win32":
                    fcntl.flock(lock, fcntl.LOCK_UN)
                os.close(lock)
        except OSError as error:
            raise LedgerError(f"the ledger {self.path!r} cannot be written ({error.strerror})") from None

    def _write(self, entries: dict[str, Entry]) -> None:
        """Replace the file, durably: after a crash it is either the old or the new one."""
        text = json.dumps({"version": LEDGER_VERSION, "surveys": entries}, ensure_ascii=False, indent=1)
        new = self.path + ".new"  # one name is enough under the lock, and a crash leaves at most one file behind
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        if sys.platform != "win32":
            # If this fails, the entry is in the ledger all the same, and will be sent.
            with contextlib.suppress(OSError):
                folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)


def _are_entries(data: object) -> bool:
    """Return whether this is a dictionary of well-formed entries by survey id."""
    if not isinstance(data, dict) or not all(isinstance(entry, dict) for entry in data.values()):
        return False
    return all(
        set(entry) == set(_ENTRY)
        and all(isinstance(entry[name], str) and pattern.fullmatch(entry[name]) for name, pattern in _ENTRY.items())
        and entry["url"].rpartition("/")[2] == survey_id
        for survey_id, entry in data.items()
    )


def _take_lock(file: int) -> None:
    """Lock a file. Raises LedgerError if another process keeps it locked for too long."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            if sys.platform == "win32":
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise LedgerError(f"timed out after {LOCK_SECONDS:g} s waiting for the ledger's lock") from None
            time.sleep(0.01)
