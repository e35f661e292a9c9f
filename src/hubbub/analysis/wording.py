"""How numbers and values are written for people, in the same way everywhere."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.model.estimates import Hitter

_LEAST = 1e-6  # smaller counts are rounding errors, and are shown as 0
_NOISE = 1e-12  # the relative rounding error of a sum or product of floats


def visible(text: str) -> str:
    r"""Text with escapes for all characters that could move a cursor, colour a terminal or turn the writing direction.

    >>> print(visible("tab\t, bell\x07, right to left\u202e"))
    tab\t, bell\x07, right to left\u202e
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun; the plural is the noun with an s unless given.

    >>> plural(1, "survey"), plural(2_000, "person", "people"), plural(0, "row")
    ('1 survey', '2,000 people', '0 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number(value: float) -> str:
    """A count for people: with thousands separators, and at most three significant digits below 10.

    >>> number(1234.5), number(2.345), number(-4e-18)
    ('1,234', '2.35', '0')
    """
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:,.3g}" if abs(value) >= _LEAST else "0"


def percent(share: float) -> str:
    """A share for people, in per cent.

    >>> percent(0.5), percent(-4e-18)
    ('50.00%', '0.00%')
    """
    text = f"{share:.2%}"
    return "0.00%" if text == "-0.00%" else text


def at_most(number: float, digits: int = 2) -> str:
    """An upper bound with this many significant digits, rounded up, so that the shown number is a bound, too.

    >>> at_most(0.0151), at_most(0.1), at_most(9.01e-8), at_most(49.12, 3), at_most(12 * 1.35, 3), at_most(0.0)
    ('0.016', '0.1', '9.1e-08', '49.2', '16.2', '0')
    """
    exactly = Decimal(number * (1 - _NOISE))
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(exactly)):.{digits}g}"


def interval(hitter: Hitter) -> str:
    """The interval of a row, widened to include the count: an unbiased count may be below 0 or above all reports.

    >>> from hubbub import Hitter
    >>> interval(Hitter("tea", count=-3, share=-0.03, stderr=9, low=0, high=20, confidence=0))
    '-3 – 20'
    """
    return f"{number(min(hitter.low, hitter.count))} – {number(max(hitter.high, hitter.count))}"


def sure(hitter: Hitter) -> str:
    """The confidence that somebody holds the value, never rounded up to 100 %; a dash if it does not stand out."""
    if not hitter.stands_out:
        return "–"
    return ">99.99%" if hitter.confidence > 0.9999 else f"{hitter.confidence:.2%}"


def finite(limit: float | None) -> float | None:
    """A limit for JSON, which has no infinity: None if the limit is infinite or None."""
    return limit if limit is not None and math.isfinite(limit) else None
