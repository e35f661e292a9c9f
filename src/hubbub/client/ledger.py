"""The ledger: the surveys that this device has answered. It is a small JSON file that a person can read.

    {"version": 1, "cap": {"month": "8", "year": "28", "lifetime": "", "delta": "0.000001"},
     "surveys": {"<survey id>": {"name": …, "url": …, "epsilon": …, "delta": …, "answered": "2030-01-31",
                                 "state": "pending", "report": "<hex of what is sent>", "detail": ""}}}

If a survey repeats, the key of an answer is "<survey id>/<day when the next period begins>".

An entry is written before anything random is drawn for its report, and it is never removed. So whatever happens after
that (an error, a full disk, the end of the process), the survey is answered at most once in each period, a retry sends
the same bytes, and the sums of ε and δ only grow. `cap` has the person's limits. No value is in the ledger. The bytes
of a report are removed when it is delivered or given up.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from typing import Any, Final, NamedTuple

from .budget import DAY, DEFAULT_CAP, EXACT, Cap, parse_limit
from .checks import LedgerError, SurveyError, once
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
    "answered": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),  # a day, in UTC
    "state": re.compile(r"begun|pending|sent|refused"),  # begun: while its report is made, under the lock
    "report": re.compile(r"([0-9a-f]{2})*"),
    "detail": re.compile(r"(?s).*"),
}
_RELAY: Final = {"relay": re.compile(r"https?://[!-~]+")}  # only of a report that goes through one: where it is sent
_INTERRUPTED: Final = "the making of the report was interrupted; its cost counts, and nothing will be sent"
_LIMIT: Final = re.compile(r"([0-9]{1,7}(\.[0-9]{1,60})?)?", re.ASCII)
LOCK_SECONDS = 5.0
"""How long a process waits for another that is writing the ledger."""

_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)

Entry = dict[str, str]


def default_ledger() -> str:
    """Return the path of a person's ledger: one for all programs, since the privacy losses of a person add up."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(base):  # the XDG standard says to ignore a relative path
            base = os.path.join(home, ".local", "state")
    return os.path.join(base, "hubbub", "ledger.json")


class Contents(NamedTuple):
    """What is in a ledger: the person's limits, and all entries by survey id, the oldest first."""

    cap: Cap
    entries: dict[str, Entry]


class Ledger:
    """The ledger in a file, by default `default_ledger()`. A file that does not exist is an empty ledger."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = os.path.realpath(default_ledger() if path is None else path)

    def read(self) -> dict[str, Entry]:
        """Return all entries by survey id, the oldest first. Raises LedgerError if the file is not a ledger."""
        return self.load().entries

    def cap(self) -> Cap:
        """Return the person's limits. Raises LedgerError if the file is not a ledger."""
        return self.load().cap

    def set_cap(self, cap: Cap) -> None:
        """Set the person's limits, durably. Raises ClientError if one is not a number from 0 to 10^6."""
        limits = {name: None if most is None else parse_limit(name, most) for name, most in cap._asdict().items()}
        with self.changing() as (_, entries):
            self._write(Cap(**limits), entries)

    def load(self) -> Contents:
        """Return the limits and the entries in the file. Raises LedgerError if it is not a ledger."""
        try:
            with open(self.path, "rb") as file:
                data = json.loads(file.read(), object_pairs_hook=once)
        except FileNotFoundError:
            return Contents(DEFAULT_CAP, {})
        except OSError as error:
            raise LedgerError(f"the ledger {self.path!r} cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError, SurveyError):
            data = None
        version = data.get("version") if isinstance(data, dict) else None
        version = version if type(version) is int else 0
        if version > LEDGER_VERSION:
            raise LedgerError(
                f"the ledger {self.path!r} is of version {version}, which a newer client wrote: use that client"
            )
        contents = _read_contents(data) if version >= 1 else None
        if contents is None:
            raise LedgerError(
                f"the ledger {self.path!r} is damaged or another kind of file; it was not changed: "
                "repair it, or move it away to begin an empty ledger"
            )
        return contents

    @staticmethod
    def totals(entries: dict[str, Entry]) -> tuple[Decimal, Decimal]:
        """Return the sums of ε and of δ over all entries. The privacy losses of all surveys of a person add up."""
        with localcontext(EXACT):
            spent = [
                sum((Decimal(entry[name]) for entry in entries.values()), Decimal(0)) for name in ("epsilon", "delta")
            ]
            return spent[0], spent[1]

    def add(
        self, survey: DeviceSurvey, url: str, make: Callable[[], bytes], asked: Cap | None = None, relay: str = ""
    ) -> bool:
        """Make a report and write it, durably, unless the survey was answered before. Returns whether it was written.

        The entry with its cost is on the disk before the report is made. If this raises an error after that, or never
        ends, the cost is spent, and the survey counts as answered.

        Parameters
        ----------
        survey : DeviceSurvey
            The survey that was answered.
        url : str
            Its address.
        make : callable
            Makes the bytes to send. It is called once or not at all; only it may draw anything random.
        asked : Cap, optional
            The program's limits. The person's own limits hold as well.
        relay : str
            Where the bytes are sent, if not to the survey's address.

        Raises
        ------
        BudgetError
            The report would cost more than one of these limits allows; nothing is written.
        """
        with self.changing() as (cap, entries):
            today = datetime.now(UTC).date()
            key = survey.key(today)
            if current(entries, survey.survey_id.hex(), today):
                return False
            cap.check(entries.values(), survey.epsilon, survey.delta, asked=asked)
            entries[key] = {
                "name": survey.name,
                "url": url,
                "epsilon": format(survey.epsilon, "f"),
                "delta": format(survey.delta, "f"),
                "answered": today.strftime(DAY),
                "state": "begun",
                "report": "",
                "detail": "",
                **({"relay": relay} if relay else {}),
            }
            self._write(cap, entries)
            entries[key] |= {"state": "pending", "report": make().hex()}
        return True

    def settle(self, key: str, state: str, detail: str) -> None:
        """Note that a report was sent or refused, and remove its bytes. Only the first note counts."""
        with self.changing() as (_, entries):
            if key in entries and entries[key]["state"] == "pending":
                entries[key] |= {"state": state, "report": "", "detail": detail}

    def settled(self, survey_id: str) -> Entry | None:
        """Return today's answer to a survey, if there is one; while another process makes its report, wait for that."""
        entries = self.load().entries
        key = current(entries, survey_id)
        if key and entries[key]["state"] == "begun":
            with self.changing() as (_, entries):
                pass
        return entries.get(key)

    @contextlib.contextmanager
    def changing(self) -> Iterator[tuple[Cap, dict[str, Entry]]]:
        """Yield the cap and the entries under a lock. Changes of the entries are on the disk when this ends."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            lock = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o600)
            try:
                _take_lock(lock)
                cap, before = self.load()
                if begun := [entry for entry in before.values() if entry["state"] == "begun"]:
                    for entry in begun:  # whoever began it had the lock, and is gone
                        entry |= {"state": "refused", "detail": _INTERRUPTED}
                    self._write(cap, before)
                entries = {survey_id: dict(entry) for survey_id, entry in before.items()}
                yield cap, entries
                if entries != before:
                    self._write(cap, entries)
            finally:
                # A child process forked meanwhile has the file open, too, and would keep the lock.
                if sys.platform != "win32":
                    fcntl.flock(lock, fcntl.LOCK_UN)
                os.close(lock)
        except OSError as error:
            raise LedgerError(f"the ledger {self.path!r} cannot be written ({error.strerror})") from None

    def _write(self, cap: Cap, entries: dict[str, Entry]) -> None:
        """Replace the file, durably: after a crash it is either the old or the new one."""
        limits = {name: "" if limit is None else format(limit, "f") for name, limit in cap._asdict().items()}
        document = {"version": LEDGER_VERSION, "cap": limits, "surveys": entries}
        text = json.dumps(document, ensure_ascii=False, indent=1)
        new = self.path + ".new"  # one name is enough under the lock, and a crash leaves at most one file behind
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)  # left by a crash, or a link that somebody put there
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600), "wb") as file:
            file.write(text.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)
        if sys.platform != "win32":
            # If this fails, the entry is in the ledger anyway, and will be sent.
            with contextlib.suppress(OSError):
                folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)


def current(entries: Iterable[str], survey_id: str, today: date | None = None) -> str:
    """Return the key of the answer to a survey, or to its period of today; empty if there is none.

    An answer of a later period counts, too: the clock may have been wrong.
    """
    day = (datetime.now(UTC).date() if today is None else today).isoformat()
    return next((key for key in entries if key.startswith(survey_id) and not is_over(key, day)), "")


def period_of(survey: DeviceSurvey) -> str:
    """Return the key of an answer to a survey that is given today. Raises SurveyError if it has no period today."""
    return survey.key(datetime.now(UTC).date())


def is_over(key: str, today: str) -> bool:
    """Return whether the period of an answer is over; never, if its survey does not repeat."""
    return "/" in key and key.partition("/")[2] <= today


def _read_contents(data: dict[str, Any]) -> Contents | None:
    """Return what a ledger holds, or None if it is not one."""
    cap, entries = data.get("cap"), data.get("surveys")
    if set(data) != {"version", "cap", "surveys"} or not isinstance(cap, dict) or not isinstance(entries, dict):
        return None
    if set(cap) != set(Cap._fields):
        return None
    if not all(isinstance(limit, str) and _LIMIT.fullmatch(limit) for limit in cap.values()):
        return None
    for key, entry in entries.items():
        if isinstance(entry, dict):
            entry.pop("missing", None)  # which earlier clients wrote
        if not isinstance(entry, dict) or set(entry) - set(_RELAY) != set(_ENTRY):
            return None
        rules = {**_ENTRY, **_RELAY}
        if not all(isinstance(text, str) and rules[name].fullmatch(text) for name, text in entry.items()):
            return None
        survey_id, repeats, until = key.partition("/")
        if entry["url"].rpartition("/")[2] != survey_id or not Decimal(entry["epsilon"]) > 0:
            return None
        try:
            date.fromisoformat(entry["answered"])
            if repeats and date.fromisoformat(until).isoformat() != until:
                return None
        except ValueError:
            return None
    return Contents(Cap(**{name: Decimal(limit) if limit else None for name, limit in cap.items()}), entries)


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
