"""Delivers a ledger's reports and fetches surveys. An address is not contacted before its Retry-After has passed."""

from __future__ import annotations

import json
import secrets
import threading
import time
from datetime import UTC, date, datetime
from typing import Final

from .ledger import Entry, Ledger, current, is_over
from .transport import Missing, Refused, TryLater, exchange

DAYS_TO_DELIVER: Final = 7
"""After so many days a report is given up. A collector knows its id for longer, so that it is never counted twice."""


class Delivery:
    """Talks to the collectors whose addresses are in a ledger.

    A collector may be silent for `timeout` seconds in an exchange, and take as long for the body of its reply. Reports
    that earlier processes left behind are sent within `spread` seconds, each at a random moment.
    """

    def __init__(self, ledger: Ledger, timeout: float, spread: float) -> None:
        self._ledger = ledger
        self._timeout = timeout
        self._spread = spread
        self._moments: dict[str, float] = {}  # by key: when the report that was left behind may be sent
        self._not_before: dict[str, tuple[float, str]] = {}  # by address: when it may be tried again, and why not now

    def send_pending(self, first: str, changed: threading.Condition) -> None:
        """Send each pending report of the ledger once, also those that earlier processes left.

        Begins with today's report to the survey with the id `first`.

        `changed` is notified after each try. Raises TryLater if some reports are still pending; its `seconds` are the
        shortest time that one of them has to wait.
        """
        entries = self._ledger.load().entries
        later = []
        mine = current(entries, first)
        for key in sorted(entries, key=lambda each: each != mine):
            entry = entries[key]
            if entry["state"] == "pending":
                try:
                    if key != mine:
                        self._await_moment(key)
                    self._ledger.settle(key, *self._send(key, entry))
                except TryLater as error:
                    later.append(error)
                with changed:
                    changed.notify_all()
        if later:
            raise TryLater(str(later[0]), min(error.seconds for error in later))

    def _await_moment(self, key: str) -> None:
        """Raise TryLater until the random moment of a report has come. It is drawn when the report is first seen."""
        drawn = time.monotonic() + self._spread * secrets.randbelow(1 << 32) / 2**32
        if (left := self._moments.setdefault(key, drawn) - time.monotonic()) > 0:
            raise TryLater("it waits for a moment of its own", left)

    def _send(self, key: str, entry: Entry) -> tuple[str, str]:
        """Send one report, or give it up; return the new state of its entry, and why."""
        today = datetime.now(UTC).date()
        if is_over(key, today.isoformat()):
            return "refused", "the next period began before the report was delivered"
        if (today - date.fromisoformat(entry["answered"])).days > DAYS_TO_DELIVER:  # of the first, a part has passed
            return "refused", f"the report could not be delivered within {DAYS_TO_DELIVER} days"
        relay = entry.get("relay", "")
        try:
            reply = self.exchange(relay or entry["url"] + "/reports", bytes.fromhex(entry["report"]), bool(relay))
        except Missing as error:  # this may be an operator's mistake
            raise TryLater(str(error)) from None
        except Refused as error:
            return "refused", str(error)
        if relay:  # what becomes of it, nobody may know: it is one of a crowd
            return "sent", ""
        try:
            status = json.loads(reply)["statuses"]
        except (ValueError, KeyError, TypeError, RecursionError):
            status = None
        if status == ["invalid"]:
            return "refused", "the collector found the report invalid"
        if status not in (["accepted"], ["duplicate"]):
            raise TryLater("the reply did not come from a collector")
        return "sent", ""

    def exchange(self, url: str, body: bytes | None, relayed: bool = False) -> bytes:
        """Do an exchange, unless this address asked to wait: then raise its TryLater again, with the time left.

        A relay replies 202 if it has taken what was sent.
        """
        when, trouble = self._not_before.get(url, (0.0, ""))
        if (left := when - time.monotonic()) > 0:
            raise TryLater(trouble, left)
        try:
            return exchange(url, body, self._timeout, 202 if relayed else 200)
        except TryLater as error:
            self._not_before[url] = time.monotonic() + error.seconds, str(error)
            raise
