"""Surveys through a relay: what their documents say of it, and the rules for that.

`through` is "relay", `crowd` the fewest reports that a relay may pass on together, and `key` the SHA-256 of the public
key that reports are sealed with. All three are left out of other surveys.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from hubbub.errors import ParameterError, shown
from hubbub.sealing.request import LEAST_CROWD, MOST_CROWD, MOST_REPORT_BYTES

RELAY: Final = "relay"
MOST_DAYS_OPEN: Final = 366
GOOD_CROWD: Final = 100
"""Smaller crowds hide hardly anybody."""


def check_relayed(through: object, crowd: object, key: object, opens: datetime | None, closes: datetime | None) -> None:
    """Raise ParameterError unless these facts of a survey fit each other; all of the first three may be None."""
    if through is None and crowd is None and key is None:
        return
    if through != RELAY:
        raise ParameterError(f'through must be "relay", or left out with crowd and key, got through={shown(through)}')
    if type(crowd) is not int or not LEAST_CROWD <= crowd <= MOST_CROWD:
        raise ParameterError(f"crowd must be a whole number from {LEAST_CROWD} to {MOST_CROWD}, got {shown(crowd)}")
    if not isinstance(key, str) or not re.fullmatch(r"[0-9a-f]{64}", key, re.ASCII):
        raise ParameterError(f"key must be the SHA-256 of a public key in 64 lower-case hex digits, got {shown(key)}")
    if closes is None:
        raise ParameterError("a survey through a relay must say when it closes, got closes=None")
    if opens is not None:
        check_length(opens, closes)


def check_length(opens: datetime, closes: datetime | None) -> None:
    """Raise ParameterError if a survey through a relay would be open for too long: its key lives as long."""
    if closes is not None and closes - opens > timedelta(days=MOST_DAYS_OPEN):
        said = closes.replace(tzinfo=None).isoformat()
        raise ParameterError(f"a survey through a relay must close within {MOST_DAYS_OPEN} days, got closes={said}Z")


def check_fits(through: str | None, size: int) -> None:
    """Raise ParameterError if a report of so many bytes does not fit a sealed request."""
    if through is not None and size > MOST_REPORT_BYTES:
        raise ParameterError(
            f"a report through a relay must have at most {MOST_REPORT_BYTES} bytes, so that all sealed reports have "
            f"one size, got {size} bytes; another mechanism, or none, makes shorter ones"
        )
