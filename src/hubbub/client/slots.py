"""Several values of one person: she has a few slots, and reports what is in one of them.

Each of her different values is in a slot of its own, and the others are empty. One slot is drawn uniformly, with
randomness of the operating system. An empty one is reported as what is not in the domain. So exactly one report is made
whatever she has, nothing included: that somebody is silent never tells that she has nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from itertools import islice
from typing import Final

from .checks import ClientError, SurveyError
from .domains import Domain

MAX_SLOTS: Final = 1000
_MOST_VALUES: Final = 10_000  # that are looked at: an iterator may have no end


class Slots:
    """The values of one person, before it is known what the survey asks. `repr` shows none of them."""

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

    def draw(self, domain: Domain) -> object:
        """Return the value of one slot, None for an empty one, which no domain has.

        If there are more different values than slots, some of them, at random, have a slot.
        """
        if domain.closed:
            raise SurveyError('report_any needs a survey with "(other)", got a closed list, where nothing is a vote')
        different = {domain.item(value): value for value in self._values}
        different.pop(domain.fallback, None)
        drawn = secrets.randbelow(max(self._slots, len(different)))
        return list(different.values())[drawn] if drawn < len(different) else None
