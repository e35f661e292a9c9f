"""Chooses which of several values a person reports: she has a few slots, and reports the content of one.

Each of her distinct values is in a slot of its own, and the other slots are empty. One slot is drawn uniformly, with
randomness of the operating system. An empty slot is reported like a value outside the domain. So exactly one report is
made in any case, even if she has no value: whether she reports reveals nothing about her values.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from itertools import islice
from typing import Final

from .checks import ClientError, SurveyError
from .domains import Domain

MAX_SLOTS: Final = 1000
_MOST_VALUES: Final = 10_000  # the most values that are read, since an iterator may be endless


class Slots:
    """The values of one person, before the survey's domain is known. `repr` shows none of them."""

    def __init__(self, values: object, slots: int) -> None:
        if type(slots) is not int or not 1 <= slots <= MAX_SLOTS:
            raise ClientError(f"k must be a whole number from 1 to {MAX_SLOTS}, got k={str(slots)[:40]!r}")
        if isinstance(values, str | bytes | bytearray | dict) or not isinstance(values, Iterable):
            raise ClientError(f"values must be a list of values, got {type(values).__name__}")
        self._slots = slots
        self._values: list[object] = []
        try:
            self._values.extend(islice(values, _MOST_VALUES))
        except Exception:  # foreign objects may raise anything; what came before counts
            return

    @staticmethod
    def check(domain: Domain) -> None:
        """Raise SurveyError if a domain has no item for empty slots."""
        if domain.names:
            raise SurveyError('report_any must have a survey with "(other)" for empty slots, got a closed list')

    def draw(self, domain: Domain) -> object:
        """Return the value of one slot; None, which is in no domain, for an empty slot.

        If there are more distinct values than slots, a random choice of them gets the slots.
        """
        different = {domain.item(value): value for value in self._values}
        different.pop(domain.fallback, None)
        drawn = secrets.randbelow(max(self._slots, len(different)))
        return list(different.values())[drawn] if drawn < len(different) else None
